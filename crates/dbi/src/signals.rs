//! Signals of the program. A handler of ours ([`handle`]) catches all signals; they are delivered
//! to the program's handlers between blocks ([`deliver`]), with the registers that the program
//! would have without the rewriter. The program's own settings (actions, masks, alternate stacks)
//! are kept here, and its system calls that change or query them are answered from here.
//!
//! Signals that wait are in `held`, faults are sorted out in `faults`, frames on the program's
//! stack are made in `frame`.

#[path = "alternate.rs"]
mod alternate;
#[path = "faults.rs"]
mod faults;
#[path = "frame.rs"]
mod frame;
#[path = "held.rs"]
mod held;

use core::sync::atomic::Ordering;

use reuselens_guest::sys;

use super::lock::Lock;
use super::thread::{SIGNAL_STACK_BYTES, Thread};
use super::x86_64::asm;
use super::{codes, expand, process, syscalls};

pub use alternate::{AlternateStack, sigaltstack};
pub use frame::sigreturn;
use held::Held;

const SIGNALS: usize = 65;
const SIGILL: u32 = 4;
const SIGTRAP: u32 = 5;
const SIGBUS: u32 = 7;
const SIGFPE: u32 = 8;
const SIGKILL: u32 = 9;
const SIGSEGV: u32 = 11;
const SIGSTOP: u32 = 19;
pub const SA_SIGINFO: u64 = 4;
const SA_RESTORER: u64 = 0x0400_0000;
pub const SA_ONSTACK: u64 = 0x0800_0000;
const SA_RESTART: u64 = 0x1000_0000;
pub const SA_NODEFER: u64 = 0x4000_0000;
pub const SA_RESETHAND: u64 = 0x8000_0000;
/// Flags of actions that only the kernel acts on: SA_NOCLDSTOP, SA_NOCLDWAIT and SA_RESTART.
const FOR_KERNEL: u64 = 3 | SA_RESTART;
/// The signals of faults. They are never blocked in the kernel, because faults of our own making
/// arrive by them, too. If the program blocks one and it is sent, it waits in [`Held`].
const FAULTS: u64 = 1 << (SIGILL - 1)
    | 1 << (SIGTRAP - 1)
    | 1 << (SIGBUS - 1)
    | 1 << (SIGFPE - 1)
    | 1 << (SIGSEGV - 1);
/// Signals that cannot be blocked: the kernel takes them out of every mask.
const UNBLOCKED: u64 = 1 << (SIGKILL - 1) | 1 << (SIGSTOP - 1);

/// The kernel's `struct sigaction`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Action {
    pub handler: u64,
    pub flags: u64,
    pub restorer: u64,
    pub mask: u64,
}

/// The last fault of a thread, as the kernel shows it in the frame of each signal that comes at or
/// after the fault.
#[derive(Clone, Copy)]
pub struct Trap {
    /// Error code of the processor.
    pub error: u64,
    /// Number of the exception.
    pub number: u64,
    /// Address of the last page fault (register CR2).
    pub address: u64,
}

impl Trap {
    /// There was no fault yet.
    const NONE: Trap = Trap {
        error: 0,
        number: 0,
        address: 0,
    };
}

/// Number of the exception of a general protection fault.
const GENERAL_PROTECTION: u64 = 13;
/// Number of the exception of a page fault.
const PAGE_FAULT: u64 = 14;

/// The state of a thread's signals.
pub struct Signals {
    /// The program's mask.
    pub mask: u64,
    pub stack: AlternateStack,
    /// The signal of a fault of the program, which is delivered before all that wait, or 0.
    fault: u32,
    /// The `siginfo` of that fault, or of the signal that is being delivered.
    info: [u64; 16],
    /// What the frames of signals show of the thread's last fault.
    pub trap: Trap,
    /// The flags at that fault, as the processor has pushed them.
    fault_flags: u64,
    /// Signals that wait.
    held: Held,
}

impl Signals {
    pub const fn new() -> Self {
        Signals {
            mask: 0,
            stack: AlternateStack::NONE,
            fault: 0,
            info: [0; 16],
            trap: Trap::NONE,
            fault_flags: 0,
            held: Held::new(),
        }
    }

    /// A fault of the program has come: it is delivered next. Only page faults set the address that
    /// frames show.
    fn begin_fault(&mut self, signal: u32, info: [u64; 16], trap: Trap, flags: u64) {
        (self.fault, self.info, self.fault_flags) = (signal, info, flags);
        let address = if trap.number == PAGE_FAULT {
            trap.address
        } else {
            self.trap.address
        };
        self.trap = Trap { address, ..trap };
    }

    /// Takes the signal that is delivered next, and whether it is a fault.
    fn take(&mut self) -> Option<(u32, bool)> {
        if self.fault != 0 {
            return Some((core::mem::take(&mut self.fault), true));
        }
        let (signal, info) = self.held.take(self.mask, FAULTS)?;
        self.info = info;
        Some((signal, false))
    }

    /// The signals that wait, a bit each.
    pub fn held(&self) -> u64 {
        self.held.waiting()
    }
}

/// The program's actions.
static ACTIONS: Lock<[Action; SIGNALS]> = Lock::new(
    [const {
        Action {
            handler: 0,
            flags: 0,
            restorer: 0,
            mask: 0,
        }
    }; SIGNALS],
);

/// The program's action for a signal.
pub fn action(signal: u32) -> Action {
    ACTIONS.lock()[signal as usize % SIGNALS]
}

/// The action for a signal that is about to be delivered; resets it if it has `SA_RESETHAND`.
fn take_action(signal: u32) -> Action {
    let mut actions = ACTIONS.lock();
    let action = actions[signal as usize % SIGNALS];
    if action.flags & SA_RESETHAND != 0 && action.handler > 1 {
        actions[signal as usize % SIGNALS].handler = 0;
    }
    action
}

/// Whether a signal's default ends the process.
fn is_fatal(signal: u32) -> bool {
    // CHLD, CONT, STOP, TSTP, TTIN, TTOU, URG, WINCH
    !matches!(signal, 17 | 18 | 19 | 20 | 21 | 22 | 23 | 28)
}

/// Sets the kernel's action for a signal to what the program's action needs: our handler, or the
/// program's action itself if it ignores the signal or the default does nothing.
fn install(signal: u32, action: &Action) -> i64 {
    let caught = action.handler > 1
        || (action.handler == 0 && is_fatal(signal))
        || FAULTS >> (signal - 1) & 1 != 0;
    let ours = if caught {
        Action {
            handler: asm::signal_address(),
            // All signals are blocked while the handler runs, also those of faults when they are
            // sent: many of them would nest until the stack overflows.
            flags: SA_SIGINFO | SA_ONSTACK | SA_RESTORER | action.flags & FOR_KERNEL,
            restorer: asm::restorer_address(),
            mask: !0,
        }
    } else {
        *action
    };
    let a = [u64::from(signal), &raw const ours as u64, 0, 8, 0, 0];
    // SAFETY: the kernel reads the structure; the handler is ours.
    unsafe { sys::call(sys::RT_SIGACTION, a) }
}

/// Makes `mask` the program's mask.
pub fn change_mask(thread: &mut Thread, mask: u64) {
    thread.signals.mask = mask & !UNBLOCKED;
    if thread.signals.held.ready(thread.signals.mask) != 0 {
        thread.pending.store(1, Ordering::Relaxed);
    }
    unblock(thread);
}

/// Sets the program's mask in the kernel, unless a signal is to be delivered first: delivering does
/// it then.
pub fn unblock(thread: &Thread) {
    // Signals that arrive in between are held.
    if thread.pending.load(Ordering::Relaxed) == 0 {
        set_mask(thread.signals.mask);
        return_blocked(thread);
    }
}

/// Sends held signals that the program's mask blocks to this thread again, so that they wait in the
/// kernel, where `sigwait` finds them. Not those of faults, which would arrive at once.
fn return_blocked(thread: &Thread) {
    let blocked = thread.signals.mask & !FAULTS;
    while let Some((signal, info)) = thread.signals.held.first(blocked) {
        let (pid, tid) = (u64::from(sys::pid()), u64::from(sys::tid()));
        let a = [pid, tid, u64::from(signal), info.as_ptr() as u64, 0, 0];
        // SAFETY: the kernel reads what it wrote.
        if sys::failed(unsafe { sys::call(sys::RT_TGSIGQUEUEINFO, a) }) {
            return; // No memory: it stays held.
        }
        thread.signals.held.forget(1 << (signal - 1));
    }
}

/// The program is about to wait in a call with this mask. Returns whether a held signal interrupts
/// the call at once; that signal is then to be delivered.
pub fn interrupt(thread: &Thread, mask: u64) -> bool {
    let held = thread.signals.held.waiting() & !mask;
    // A pending signal is delivered before the call is made.
    if held == 0 || thread.pending.load(Ordering::Relaxed) != 0 {
        return false;
    }
    thread.signals.held.open(held);
    thread.pending.store(1, Ordering::Relaxed);
    true
}

/// In the child of a fork: forgets the signals `before` that waited before it; they are the
/// parent's.
pub fn in_child(thread: &Thread, before: u64) {
    thread.signals.held.forget(before);
}

/// Sets the calling thread's mask in the kernel.
pub fn set_mask(mask: u64) {
    let mask = mask & !FAULTS;
    let a = [2, &raw const mask as u64, 0, 8, 0, 0];
    // SAFETY: the kernel reads a word.
    unsafe { sys::call(sys::RT_SIGPROCMASK, a) };
}

/// Installs our handler for all signals, at the program's start.
pub fn begin(thread: &mut Thread) {
    thread_begin(thread);
    let mut mask = 0_u64;
    // SAFETY: the kernel writes a word, and a structure below.
    unsafe { sys::call(sys::RT_SIGPROCMASK, [0, 0, &raw mut mask as u64, 8, 0, 0]) };
    thread.signals.mask = mask;
    for signal in 1..SIGNALS as u32 {
        let mut action = Action::default();
        let a = [u64::from(signal), 0, &raw mut action as u64, 8, 0, 0];
        // SAFETY: as above.
        unsafe { sys::call(sys::RT_SIGACTION, a) };
        ACTIONS.lock()[signal as usize] = action;
        if signal != SIGKILL && signal != SIGSTOP {
            install(signal, &action);
        }
    }
    unblock(thread);
}

/// Gives a thread the stack that its signals arrive on.
pub fn thread_begin(thread: &Thread) {
    let stack = [thread.signal_stack(), 0, SIGNAL_STACK_BYTES];
    let a = [stack.as_ptr() as u64, 0, 0, 0, 0, 0];
    // SAFETY: the kernel reads the structure.
    unsafe { sys::call(sys::SIGALTSTACK, a) };
}

/// `rt_sigaction` of the program.
pub fn sigaction(thread: &Thread, signal: u64, new: u64, old: u64, bytes: u64) -> i64 {
    if bytes != 8 || !(1..SIGNALS as u64).contains(&signal) {
        return sys::EINVAL;
    }
    let signal = signal as u32;
    let before = action(signal);
    if new != 0 {
        let mut words = [0_u8; 32];
        if !sys::peek(new, &mut words) {
            return sys::EFAULT;
        }
        let word = |at: usize| u64::from_le_bytes(words[at..at + 8].try_into().unwrap_or_default());
        let action = Action {
            handler: word(0),
            flags: word(8),
            restorer: word(16),
            mask: word(24),
        };
        if signal == SIGKILL || signal == SIGSTOP {
            return sys::EINVAL;
        }
        if action.handler > 1 && FAULTS >> (signal - 1) & 1 != 0 {
            codes::CODES.lock().show_faults();
        }
        // The child of a vfork has actions of its own, but its memory is its parent's.
        if !thread.borrowed {
            ACTIONS.lock()[signal as usize] = action;
        }
        let result = install(signal, &action);
        if result < 0 {
            return result;
        }
    }
    let mut words = [0_u8; 32];
    let values = [before.handler, before.flags, before.restorer, before.mask];
    for (bytes, value) in words.chunks_exact_mut(8).zip(values) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
    // SAFETY: the address is the program's, which has nothing of ours.
    if old != 0 && !unsafe { sys::poke(old, &words) } {
        return sys::EFAULT;
    }
    0
}

/// `rt_sigprocmask` of the program.
pub fn sigprocmask(thread: &mut Thread, how: u64, new: u64, old: u64) -> i64 {
    let before = thread.signals.mask;
    let mut after = before;
    if new != 0 {
        let mut bytes = [0; 8];
        if !sys::peek(new, &mut bytes) {
            return sys::EFAULT;
        }
        let set = u64::from_le_bytes(bytes);
        after = match how {
            0 => before | set,
            1 => before & !set,
            2 => set,
            _ => return sys::EINVAL,
        };
    }
    // SAFETY: the address is the program's, which has nothing of ours.
    if old != 0 && !unsafe { sys::poke(old, &before.to_le_bytes()) } {
        return sys::EFAULT;
    }
    if new != 0 {
        change_mask(thread, after);
    }
    0
}

/// `rt_sigpending` of the program, while signals are held.
pub fn sigpending(thread: &Thread, into: u64) -> i64 {
    let mut pending = 0_u64;
    let a = [&raw mut pending as u64, 8, 0, 0, 0, 0];
    // SAFETY: the kernel writes a word.
    unsafe { sys::call(sys::RT_SIGPENDING, a) };
    let blocked = (pending | thread.signals.held()) & thread.signals.mask;
    // SAFETY: the address is the program's, which has nothing of ours.
    if unsafe { sys::poke(into, &blocked.to_le_bytes()) } {
        0
    } else {
        sys::EFAULT
    }
}

/// `rt_sigtimedwait` of the program, if one of the signals in the set is held: the call's result.
pub fn sigwait(thread: &Thread, set: u64, into: u64) -> Option<i64> {
    let mut bytes = [0; 8];
    if !sys::peek(set, &mut bytes) {
        return None;
    }
    let wanted = thread.signals.mask & u64::from_le_bytes(bytes);
    let (signal, info) = thread.signals.held.first(wanted)?;
    let mut words = [0; 128];
    for (to, word) in words.chunks_exact_mut(8).zip(info) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    thread.signals.held.forget(1 << (signal - 1));
    // SAFETY: the address is the program's, which has nothing of ours.
    let is_written = into == 0 || unsafe { sys::poke(into, &words) };
    Some(if is_written {
        i64::from(signal)
    } else {
        sys::EFAULT
    })
}

/// The kernel's `struct ucontext`, which handlers get.
#[repr(C)]
pub struct Context {
    flags: u64,
    link: u64,
    stack: [u64; 3],
    registers: [u64; 23],
    floating: u64,
    reserved: [u64; 8],
    mask: u64,
}

/// Index of each register, by its number, in [`Context::registers`].
const ORDER: [usize; 16] = [13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7];
const RIP: usize = 16;
const FLAGS: usize = 17;
const ERROR: usize = 19;
const TRAP: usize = 20;
const OLD_MASK: usize = 21;
const CR2: usize = 22;

/// The calling thread's state.
fn current() -> &'static mut Thread {
    let own: u64;
    // SAFETY: gs points to the state of every thread that runs our code.
    unsafe {
        core::arch::asm!("mov {}, gs:[{}]", out(reg) own, const core::mem::offset_of!(Thread, own),
            options(nostack, readonly));
        &mut *(own as *mut Thread)
    }
}

/// Our handler for all signals.
pub unsafe extern "C" fn handle(signal: u32, info: *const [u64; 16], context: *mut Context) {
    let thread = current();
    // SAFETY: from the kernel.
    let (info, context) = unsafe { (&*info, &mut *context) };
    let code = (info[1] & 0xffff_ffff) as i32;
    let here = context.registers[RIP];
    // The code of a sent signal is not positive, unless a program sends itself such a signal: then
    // it is in a system call.
    let is_fault = FAULTS >> (signal - 1) & 1 != 0 && code > 0 && !asm::is_call(here);
    if is_fault {
        if faults::answer(thread, signal, info, context) {
            return;
        }
    } else {
        let waits = thread.pending.load(Ordering::Relaxed) != 0;
        let open = !waits && is_open(thread, signal, here);
        thread.signals.held.add(signal, info, open);
        if !waits && !open && is_put_off(thread, signal, here) {
            return;
        }
        if asm::is_before_call(here) {
            context.registers[RIP] = asm::interrupted_address();
        }
    }
    // One at a time: the others wait in the kernel until this one is delivered.
    context.mask = !FAULTS;
    thread.pending.store(1, Ordering::Relaxed);
    thread.limit.store(0, Ordering::Relaxed);
}

/// Whether a signal that has arrived at this address is delivered whatever the program's own mask
/// is: because it has arrived in a system call of the program, whose own mask does not block it. In
/// our code the program's mask may be about to change, and decides once the signal is delivered.
fn is_open(thread: &Thread, signal: u32, here: u64) -> bool {
    let is_of_fault = FAULTS >> (signal - 1) & 1 != 0;
    asm::is_call(here) && (!is_of_fault || syscalls::mask_of_call(thread).is_some())
}

/// Whether a sent signal of a fault can only wait: the program blocks it, and is not about to make
/// a call that waits for signals. Many of these must not keep the program from going on.
fn is_put_off(thread: &Thread, signal: u32, here: u64) -> bool {
    let blocked = FAULTS & thread.signals.mask;
    blocked >> (signal - 1) & 1 != 0
        && (codes::is_cache(here) || !syscalls::waits_for_signals(thread.call_number))
}

/// The program has jumped to an address from which no instruction can be fetched, because of what
/// is at address `at`: makes that a fault of the program. Returns whether it is one of the branch
/// that leads there.
pub fn fetch_fault(thread: &mut Thread, at: u64) -> bool {
    let (code, trap) = faults::of_fetch(at);
    let flags = thread.flags | faults::RESUME;
    // The kernel shows the address of page faults only.
    let shown = if trap.number == PAGE_FAULT { at } else { 0 };
    fault(thread, (code, shown), trap, flags);
    trap.number == GENERAL_PROTECTION
}

/// A fault of the program that no instruction of it has caused in the cache.
fn fault(thread: &mut Thread, (code, address): (u64, u64), trap: Trap, flags: u64) {
    let mut info = [0; 16];
    info[..3].copy_from_slice(&[u64::from(SIGSEGV), code, address]);
    thread.signals.begin_fault(SIGSEGV, info, trap, flags);
    thread.pending.store(1, Ordering::Relaxed);
}

/// Delivers the first of the signals that wait and are not blocked, if there is one: the program
/// continues in its handler, or ends.
pub fn deliver(thread: &mut Thread) {
    expand::drain(thread);
    let Some((signal, forced)) = thread.signals.take() else {
        return delivered(thread);
    };
    let action = take_action(signal);
    let blocked = thread.signals.mask >> (signal - 1) & 1 != 0;
    let ignored = action.handler == 1 || (action.handler == 0 && !is_fatal(signal));
    if ignored && !forced {
        return delivered(thread);
    }
    if action.handler <= 1 || (forced && blocked) {
        process::die_of(thread, signal);
    }
    if forced {
        thread.flags = thread.signals.fault_flags;
    }
    if !frame::push(thread, signal, &action) {
        if signal == SIGSEGV {
            process::die_of(thread, signal);
        }
        // As in the kernel, what comes of a signal without room for its frame is SIGSEGV.
        let (trap, flags) = (thread.signals.trap, thread.flags);
        return fault(thread, (faults::BY_KERNEL, 0), trap, flags);
    }
    let own = if action.flags & SA_NODEFER == 0 {
        1 << (signal - 1)
    } else {
        0
    };
    thread.signals.mask |= action.mask | own;
    delivered(thread);
}

/// A signal was delivered or ignored: sets whether others wait.
fn delivered(thread: &mut Thread) {
    // Cleared first, so that a signal that arrives after the check below is not missed.
    thread.pending.store(0, Ordering::SeqCst);
    if thread.signals.held.ready(thread.signals.mask) != 0 {
        thread.pending.store(1, Ordering::SeqCst);
    }
    expand::drain(thread);
    unblock(thread);
}

/// Sets the kernel's actions and this thread's alternate stack to the program's own, before the
/// program leaves the cache.
pub fn give_back(thread: &Thread) {
    for signal in (1..SIGNALS as u32).filter(|s| *s != SIGKILL && *s != SIGSTOP) {
        let action = action(signal);
        let a = [u64::from(signal), &raw const action as u64, 0, 8, 0, 0];
        // SAFETY: the kernel reads the structure: the program's own.
        unsafe { sys::call(sys::RT_SIGACTION, a) };
    }
    give_back_stack(thread);
}

/// Undoes [`give_back`] for the actions: signals arrive at our handler again.
pub fn take_back() {
    for signal in (1..SIGNALS as u32).filter(|s| *s != SIGKILL && *s != SIGSTOP) {
        install(signal, &action(signal));
    }
}

/// Sets the calling thread's alternate stack for signals to the program's own.
pub fn give_back_stack(thread: &Thread) {
    let stack = thread.signals.stack.words();
    let a = [stack.as_ptr() as u64, 0, 0, 0, 0, 0];
    // SAFETY: as above.
    unsafe { sys::call(sys::SIGALTSTACK, a) };
}

/// Holds the lock of this module until the result is dropped, for a fork.
pub fn hold() -> impl Sized {
    ACTIONS.lock()
}
