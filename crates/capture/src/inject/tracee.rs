//! [`Tracee`]: a process or thread that this thread traces (`ptrace`), for the time that it takes
//! to put the rewriter into it. `inject`, `program` and `follow` use it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::process::{Child, ExitStatus};

use reuselens_io::retry_interrupted;
use reuselens_wire::Registers;

/// A process or thread that is traced, or about to be.
#[derive(PartialEq, Eq)]
pub struct Tracee {
    pid: libc::pid_t,
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitOutcome {
    /// It is stopped by this signal, with this event of `ptrace`.
    Signal(i32, i32),
    /// It is gone: the status of `wait`.
    Gone(i32),
    /// It runs.
    Not,
}

fn check(result: i64) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// The exit status of a child, if it has ended. [`Child::try_wait`] alone would also return the
/// stops of a child that is traced, as if they were its end, and take them from the tracer.
pub fn try_wait(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    if has_ended(child.id())? {
        child.try_wait()
    } else {
        Ok(None)
    }
}

/// Whether a child has ended, and its status was not taken yet.
fn has_ended(pid: u32) -> io::Result<bool> {
    let mut found = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    retry_interrupted(|| {
        // SAFETY: the kernel writes what it found into `found`.
        check(unsafe { libc::waitid(libc::P_PID, pid, found.as_mut_ptr(), options) }.into())
    })?;
    // SAFETY: zeros, which are a `siginfo_t` too, stay where the kernel found nothing.
    let found = unsafe { found.assume_init() };
    let ends = [libc::CLD_EXITED, libc::CLD_KILLED, libc::CLD_DUMPED];
    Ok(found.si_signo == libc::SIGCHLD && ends.contains(&found.si_code))
}

impl Tracee {
    /// A process that has asked to be traced, or is attached to.
    pub fn new(pid: u32) -> Tracee {
        Tracee {
            pid: pid as libc::pid_t,
        }
    }

    fn request(&self, request: libc::c_uint, address: u64, data: u64) -> io::Result<()> {
        // SAFETY: requests without pointers into this process, or with one that lives for the call.
        check(unsafe { libc::ptrace(request, self.pid, address, data) })
    }

    /// Begins to trace a running process, to be stopped when it calls `exec`.
    pub fn seize(&self) -> io::Result<()> {
        self.request(libc::PTRACE_SEIZE, 0, libc::PTRACE_O_TRACEEXEC as u64)
    }

    /// Makes it die with this process: a rewriter that is half written must not run.
    pub fn die_with_us(&self) -> io::Result<()> {
        self.request(libc::PTRACE_SETOPTIONS, 0, libc::PTRACE_O_EXITKILL as u64)
    }

    /// Stops a process that was seized.
    pub fn interrupt(&self) -> io::Result<()> {
        self.request(libc::PTRACE_INTERRUPT, 0, 0)
    }

    /// Lets it go on, with a signal or 0.
    pub fn go(&self, signal: i32) -> io::Result<()> {
        self.request(libc::PTRACE_CONT, 0, signal as u64)
    }

    /// Lets it finish the system call that it is in, and returns its next stop.
    pub fn finish_call(&self) -> io::Result<WaitOutcome> {
        self.step(libc::PTRACE_SYSCALL)
    }

    /// Resumes it by a request and waits for its next stop. Signals must be held
    /// ([`Self::hold_signals`]). `SIGSTOP` cannot be: it is put off until after that stop.
    fn step(&self, request: libc::c_uint) -> io::Result<WaitOutcome> {
        let mut is_put_off = false;
        loop {
            self.request(request, 0, 0)?;
            match self.wait(false)? {
                WaitOutcome::Signal(libc::SIGSTOP, 0) => is_put_off = true,
                stop => {
                    if is_put_off {
                        // SAFETY: sends a signal to a process that is stopped.
                        unsafe { libc::kill(self.pid, libc::SIGSTOP) };
                    }
                    return Ok(stop);
                }
            }
        }
    }

    /// Acts on it while it is stopped with its signals blocked: one that arrived meanwhile would
    /// be the next stop, in place of the one that is waited for. It gets them after that.
    pub fn hold_signals<T>(&self, act: impl FnOnce() -> T) -> io::Result<T> {
        const PTRACE_GETSIGMASK: libc::c_uint = 0x420a;
        const PTRACE_SETSIGMASK: libc::c_uint = 0x420b;
        const BYTES: u64 = 8;
        let (mut before, all) = (0_u64, u64::MAX);
        self.request(PTRACE_GETSIGMASK, BYTES, &raw mut before as u64)?;
        self.request(PTRACE_SETSIGMASK, BYTES, &raw const all as u64)?;
        let result = act();
        // This fails if the process has ended, which the result reports.
        let _ = self.request(PTRACE_SETSIGMASK, BYTES, &raw const before as u64);
        Ok(result)
    }

    /// Lets it go on, no longer traced, with a signal or 0.
    pub fn let_go(&self, signal: i32) -> io::Result<()> {
        self.request(libc::PTRACE_DETACH, 0, signal as u64)
    }

    /// Waits for the next stop; does not wait with `only_look`.
    pub fn wait(&self, only_look: bool) -> io::Result<WaitOutcome> {
        let options = libc::__WALL | if only_look { libc::WNOHANG } else { 0 };
        let mut status = 0;
        let found = retry_interrupted(|| {
            // SAFETY: the kernel writes the status.
            let found = unsafe { libc::waitpid(self.pid, &raw mut status, options) };
            check(found.into()).map(|()| found)
        })?;
        if found == 0 {
            return Ok(WaitOutcome::Not);
        }
        if libc::WIFSTOPPED(status) {
            return Ok(WaitOutcome::Signal(libc::WSTOPSIG(status), status >> 16));
        }
        Ok(WaitOutcome::Gone(status))
    }

    /// Whether the calling thread traces it, and so will learn of its end.
    pub fn is_ours(&self) -> bool {
        // SAFETY: no arguments.
        let own = unsafe { libc::gettid() };
        // It has the program's name, which may be any bytes.
        let status = std::fs::read(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let status = String::from_utf8_lossy(&status);
        let tracer = status.lines().find_map(|line| {
            let number = line.strip_prefix("TracerPid:")?;
            number.trim().parse().ok()
        });
        tracer == Some(own)
    }

    /// Whether it is a program for this processor, in 64 bits.
    ///
    /// # Errors
    /// If its file cannot be opened: `NotFound` if it has been killed.
    pub fn is_native(&self) -> io::Result<bool> {
        const X86_64: [u8; 2] = [62, 0];
        let mut head = [0; 20];
        let read = File::open(self.executable())?.read_exact_at(&mut head, 0);
        Ok(read.is_ok() && head.starts_with(b"\x7fELF\x02") && head[18..20] == X86_64)
    }

    /// Where the file of its program can be read.
    pub fn executable(&self) -> String {
        format!("/proc/{}/exe", self.pid)
    }

    /// Its registers.
    pub fn registers(&self) -> io::Result<Registers> {
        let mut registers = Registers::default();
        self.request(libc::PTRACE_GETREGS, 0, &raw mut registers as u64)?;
        Ok(registers)
    }

    /// Sets its registers.
    pub fn set_registers(&self, registers: &Registers) -> io::Result<()> {
        self.request(
            libc::PTRACE_SETREGS,
            0,
            core::ptr::from_ref(registers) as u64,
        )
    }

    fn memory(&self) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .open(format!("/proc/{}/mem", self.pid))
    }

    /// Writes into its memory, whatever its protection.
    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.memory()?.write_all_at(bytes, address)
    }

    /// Makes it execute a system call with these arguments at its current program counter, whose
    /// code is then restored, as are its `registers`. Returns the result of the call. Signals must
    /// be held.
    pub fn call(&self, registers: &Registers, number: u64, a: [u64; 6]) -> io::Result<i64> {
        /// syscall; int3
        const CODE: [u8; 3] = [0x0f, 0x05, 0xcc];
        let memory = self.memory()?;
        let mut before = CODE;
        memory.read_exact_at(&mut before, registers.rip)?;
        memory.write_all_at(&CODE, registers.rip)?;
        let call = Registers {
            rax: number,
            orig_rax: u64::MAX,
            rdi: a[0],
            rsi: a[1],
            rdx: a[2],
            r10: a[3],
            r8: a[4],
            r9: a[5],
            ..*registers
        };
        self.set_registers(&call)?;
        let stop = self.step(libc::PTRACE_CONT)?;
        let result = self.registers()?.rax;
        memory.write_all_at(&before, registers.rip)?;
        self.set_registers(registers)?;
        if stop != WaitOutcome::Signal(libc::SIGTRAP, 0) {
            return Err(io::Error::other(format!(
                "it did not stop after a system call ({stop:?})"
            )));
        }
        Ok(result as i64)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::Command;

    use super::*;

    #[test]
    fn stop_under_another_tracer_is_left_alone() -> io::Result<()> {
        let mut child = Command::new("sleep").arg("1000").spawn()?;
        let tracee = Tracee::new(child.id());
        tracee.seize()?;
        tracee.interrupt()?;
        // A stop comes at some time, and stays.
        let status = format!("/proc/{}/status", child.id());
        while !std::fs::read_to_string(&status)?.contains("State:\tt") {
            assert!(try_wait(&mut child)?.is_none());
            std::thread::yield_now();
        }
        assert!(try_wait(&mut child)?.is_none());
        assert!(matches!(tracee.wait(true)?, WaitOutcome::Signal(..)));
        tracee.let_go(0)?;
        child.kill()?;
        while try_wait(&mut child)?.is_none() {
            std::thread::yield_now();
        }
        Ok(())
    }

    /// A tracee is killed between any two requests.
    #[test]
    fn requests_to_a_killed_process_say_that_it_is_gone() -> io::Result<()> {
        let mut command = Command::new("sleep");
        // SAFETY: a system call without pointers.
        unsafe { command.pre_exec(|| check(libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0))) };
        let mut child = command.arg("1000").spawn()?;
        let tracee = Tracee::new(child.id());
        assert_eq!(tracee.wait(false)?, WaitOutcome::Signal(libc::SIGTRAP, 0));
        let (registers, memory) = (tracee.registers()?, tracee.memory()?);
        child.kill()?;
        // Its memory is given back before its end can be waited for.
        let stat = format!("/proc/{}/stat", child.id());
        while !std::fs::read_to_string(&stat)?.contains(") Z ") {
            std::thread::yield_now();
        }
        let errors = [
            memory
                .read_exact_at(&mut [0; 3], registers.rip)
                .unwrap_err(),
            memory.write_all_at(&[0; 3], registers.rip).unwrap_err(),
            tracee
                .call(&registers, libc::SYS_getpid as u64, [0; 6])
                .unwrap_err(),
            tracee.registers().err().unwrap(),
            tracee.set_registers(&registers).unwrap_err(),
        ];
        for error in &errors {
            assert!(crate::program::is_gone(error), "{error:?} of {errors:?}");
        }
        child.wait()?;
        Ok(())
    }

    #[test]
    fn signals_do_not_come_between_a_call_and_its_end() -> io::Result<()> {
        for signals in [
            &[libc::SIGWINCH, libc::SIGINT][..],
            &[libc::SIGSTOP, libc::SIGCONT, libc::SIGTERM],
        ] {
            let mut command = Command::new("sleep");
            let prepare = || {
                // Who runs tests in the background of a shell has them ignore SIGINT, and so would
                // the child.
                // SAFETY: a system call without pointers.
                unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
                // SAFETY: as above.
                check(unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) })
            };
            // SAFETY: it makes two system calls and nothing else.
            unsafe { command.pre_exec(prepare) };
            let mut child = command.arg("1000").spawn()?;
            let tracee = Tracee::new(child.id());
            assert_eq!(tracee.wait(false)?, WaitOutcome::Signal(libc::SIGTRAP, 0));
            tracee.hold_signals(|| {
                let registers = tracee.registers()?;
                for signal in signals {
                    // SAFETY: sends a signal to the child.
                    unsafe { libc::kill(tracee.pid, *signal) };
                    let found = tracee.call(&registers, libc::SYS_getpid as u64, [0; 6])?;
                    assert_eq!(found, i64::from(tracee.pid));
                }
                Ok::<(), io::Error>(())
            })??;
            tracee.let_go(0)?;
            assert_eq!(child.wait()?.signal(), signals.last().copied());
        }
        Ok(())
    }
}
