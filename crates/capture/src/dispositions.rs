//! Dispositions of signals: of this process while a measured program runs, and of the program when
//! it starts.
//!
//! While a program runs, this process ignores the signals that a terminal sends to both (Ctrl-C),
//! so that it can report what the program did ([`LeftToTheProgram`]). The program starts with the
//! dispositions that this process was started with ([`Inherited`]): a signal that was ignored then
//! (`nohup`, `trap '' INT`) is ignored by the program, all others have their default.

use std::mem::MaybeUninit;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::c_int;

/// Signals that a terminal sends to the program and to us at once.
const OF_THE_TERMINAL: [c_int; 2] = [libc::SIGINT, libc::SIGQUIT];

/// Whether `SIGPIPE` was ignored when this process began: Rust's own start ignores it.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);

/// Called by the loader, before Rust's own start.
#[used]
// SAFETY: the section holds functions of this signature, called before `main` with the C library
// ready.
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = {
    extern "C" fn begin() {
        let ignored = is_ignored(libc::SIGPIPE);
        PIPE_IGNORED.store(ignored, Ordering::Relaxed);
    }
    begin
};

/// What a signal does in this process now.
fn disposition(signal: c_int) -> libc::sigaction {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: reads a disposition into memory of that type, in which all zeros are valid too.
    unsafe {
        libc::sigaction(signal, core::ptr::null(), now.as_mut_ptr());
        now.assume_init()
    }
}

fn is_ignored(signal: c_int) -> bool {
    disposition(signal).sa_sigaction == libc::SIG_IGN
}

/// How many programs run, and what the terminal's signals did before the first of them.
struct Held {
    programs: usize,
    before: Option<[libc::sigaction; 2]>,
}

static HELD: Mutex<Held> = Mutex::new(Held {
    programs: 0,
    before: None,
});

fn held() -> MutexGuard<'static, Held> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While this lives, Ctrl-C is for the program; we stay to report what it did.
pub(crate) struct LeftToTheProgram(());

impl LeftToTheProgram {
    pub fn begin() -> Self {
        let mut held = held();
        held.programs += 1;
        if held.before.is_none() {
            held.before = Some(OF_THE_TERMINAL.map(disposition));
            for signal in OF_THE_TERMINAL {
                // SAFETY: ignores a signal.
                unsafe { libc::signal(signal, libc::SIG_IGN) };
            }
        }
        LeftToTheProgram(())
    }
}

impl Drop for LeftToTheProgram {
    fn drop(&mut self) {
        let mut held = held();
        held.programs -= 1;
        if held.programs > 0 {
            return;
        }
        for (signal, before) in OF_THE_TERMINAL
            .iter()
            .zip(held.before.take().iter().flatten())
        {
            // SAFETY: puts back what `sigaction` gave.
            unsafe { libc::sigaction(*signal, before, core::ptr::null_mut()) };
        }
    }
}

/// What a program is to begin with.
#[derive(Clone, Copy)]
pub(crate) struct Inherited {
    terminal: [bool; 2],
    pipe: bool,
}

impl Inherited {
    /// That of this process, whatever it does itself meanwhile.
    pub fn now() -> Inherited {
        let held = held();
        let ignored = |action: libc::sigaction| action.sa_sigaction == libc::SIG_IGN;
        let terminal = held
            .before
            .unwrap_or_else(|| OF_THE_TERMINAL.map(disposition));
        Inherited {
            terminal: terminal.map(ignored),
            pipe: PIPE_IGNORED.load(Ordering::Relaxed),
        }
    }

    /// Sets it up, between `fork` and `exec`: makes async-signal-safe calls alone.
    pub fn set_up(self) {
        let [interrupt, quit] = OF_THE_TERMINAL;
        let all = [
            (interrupt, self.terminal[0]),
            (quit, self.terminal[1]),
            (libc::SIGPIPE, self.pipe),
        ];
        for (signal, ignored) in all {
            let disposition = if ignored {
                libc::SIG_IGN
            } else {
                libc::SIG_DFL
            };
            // SAFETY: a call that is allowed between `fork` and `exec`.
            unsafe { libc::signal(signal, disposition) };
        }
    }
}

/// Sends a signal to a child that has not been waited for.
pub(crate) fn send(child: &Child, signal: i32) {
    // SAFETY: a system call without pointers. The number is still the child's: it was not waited
    // for.
    unsafe { libc::kill(child.id() as libc::pid_t, signal) };
}
