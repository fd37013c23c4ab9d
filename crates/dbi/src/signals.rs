//! Signals: caught by a handler of ours, delivered to the program's between blocks, with the
//! registers that the program would see.

#[path = "faults.rs"]
mod faults;
#[path = "frame.rs"]
mod frame;

use core::sync::atomic::{AtomicU32, Ordering};

use super::lock::Lock;
use super::thread::{SIGNAL_STACK_BYTES, Thread};
use super::x86_64::asm;
use super::{expand, process, sys};

pub use frame::sigreturn;

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
/// SA_NOCLDSTOP and SA_NOCLDWAIT, which are for the kernel.
const FOR_KERNEL: u64 = 3 | SA_RESTART;
/// Signals that tell of faults: never blocked, because ours come by them too.
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

/// What a thread knows of signals.
pub struct Signals {
    /// The program's mask.
    pub mask: u64,
    /// The program's `sigaltstack`: address, flags, bytes.
    pub stack: [u64; 3],
    /// The signal that waits: its number and what the kernel says of it.
    pub number: u32,
    pub info: [u64; 16],
    /// One more that waits, or 0: only those of [`FAULTS`] can come while another waits.
    later: AtomicU32,
    later_info: [u64; 16],
}

impl Signals {
    pub const fn new() -> Self {
        const DISABLED: u64 = 2;
        Signals {
            mask: 0,
            stack: [0, DISABLED, 0],
            number: 0,
            info: [0; 16],
            later: AtomicU32::new(0),
            later_info: [0; 16],
        }
    }

    /// Another signal waits, which the one that is delivered first comes before.
    fn wait_more(&mut self, number: u32, info: &[u64; 16]) {
        self.later_info = *info;
        self.later.store(number, Ordering::Relaxed);
    }

    /// Takes the one more that waits: from now on it is the signal that waits.
    fn take_later(&mut self) -> bool {
        let number = self.later.swap(0, Ordering::Relaxed);
        if number != 0 {
            (self.number, self.info) = (number, self.later_info);
        }
        number != 0
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

/// Takes an action once: what `SA_RESETHAND` asks for.
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

/// Sets the kernel's action for a signal so that the program's can be had.
fn install(signal: u32, action: &Action) -> i64 {
    let caught = action.handler > 1
        || (action.handler == 0 && is_fatal(signal))
        || FAULTS >> (signal - 1) & 1 != 0;
    let ours = if caught {
        Action {
            handler: asm::signal_address(),
            // All signals wait while the handler runs, also those of faults that processes send: a
            // storm of these would nest until the stack overflows.
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

/// Sets the calling thread's mask in the kernel.
pub fn set_mask(mask: u64) {
    let mask = mask & !FAULTS;
    let a = [2, &raw const mask as u64, 0, 8, 0, 0];
    // SAFETY: the kernel reads a word.
    unsafe { sys::call(sys::RT_SIGPROCMASK, a) };
}

/// Catches what there is to catch, at the program's start.
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
    set_mask(mask);
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
    if old != 0 && !sys::poke(old, &words) {
        return sys::EFAULT;
    }
    0
}

/// `rt_sigprocmask` of the program.
pub fn sigprocmask(thread: &mut Thread, how: u64, new: u64, old: u64) -> i64 {
    let before = thread.signals.mask;
    if new != 0 {
        let mut bytes = [0; 8];
        if !sys::peek(new, &mut bytes) {
            return sys::EFAULT;
        }
        let set = u64::from_le_bytes(bytes);
        let mask = match how {
            0 => before | set,
            1 => before & !set,
            2 => set,
            _ => return sys::EINVAL,
        };
        thread.signals.mask = mask & !UNBLOCKED;
    }
    if old != 0 && !sys::poke(old, &before.to_le_bytes()) {
        return sys::EFAULT;
    }
    if new != 0 {
        set_mask(thread.signals.mask);
    }
    0
}

/// What the kernel gives to handlers.
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

/// Where in the kernel's structure the registers are, by their numbers.
const ORDER: [usize; 16] = [13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7];
const RSP: usize = 15;
const RIP: usize = 16;

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
    // A program may send itself a signal that says it is a fault.
    let is_fault = FAULTS >> (signal - 1) & 1 != 0 && code > 0 && !asm::is_call(here);
    let waits = thread.pending.load(Ordering::Relaxed) != 0;
    let nested = thread.is_signal_stack(context.registers[RSP]);
    if !is_fault && (waits || nested) {
        thread.signals.wait_more(signal, info);
        context.mask = !FAULTS;
        return;
    }
    let answered = is_fault && faults::answer(thread, signal, (code, info[2]), context);
    if !answered {
        if waits {
            let Signals { number, info, .. } = thread.signals;
            thread.signals.wait_more(number, &info);
        }
        (thread.signals.number, thread.signals.info) = (signal, *info);
    } else if waits || !thread.signals.take_later() {
        return;
    }
    if !is_fault && asm::is_before_call(here) {
        context.registers[RIP] = asm::interrupted_address();
    }
    // That mask may be ours, set below. If it is the program's, it is known already.
    if context.mask | UNBLOCKED != !FAULTS {
        thread.signals.mask = context.mask & !FAULTS | thread.signals.mask & FAULTS;
    }
    // One at a time: the rest waits in the kernel until this one is delivered.
    context.mask = !FAULTS;
    thread.pending.store(1, Ordering::Relaxed);
    thread.limit.store(0, Ordering::Relaxed);
}

/// The program jumped to where there is no code.
pub fn fault(thread: &mut Thread, address: u64) {
    const NOT_MAPPED: u64 = 1;
    thread.signals.number = SIGSEGV;
    thread.signals.info = [0; 16];
    thread.signals.info[0] = u64::from(SIGSEGV);
    thread.signals.info[1] = NOT_MAPPED;
    thread.signals.info[2] = address;
    thread.pending.store(1, Ordering::Relaxed);
}

/// Delivers the signal that waits: the program goes on in its handler, or ends.
pub fn deliver(thread: &mut Thread) {
    let signal = thread.signals.number;
    let action = take_action(signal);
    expand::drain(thread);
    let forced = FAULTS >> (signal - 1) & 1 != 0 && (thread.signals.info[1] as i32) > 0;
    let blocked = thread.signals.mask >> (signal - 1) & 1 != 0;
    if action.handler == 1 && !forced {
        return delivered(thread);
    }
    if action.handler <= 1 || (forced && blocked) || !frame::push(thread, signal, &action) {
        process::die_of(thread, signal);
    }
    let own = if action.flags & SA_NODEFER == 0 {
        1 << (signal - 1)
    } else {
        0
    };
    thread.signals.mask |= action.mask | own;
    delivered(thread);
}

/// The signal that waited does so no more.
fn delivered(thread: &mut Thread) {
    thread.pending.store(0, Ordering::Relaxed);
    if thread.signals.take_later() {
        thread.pending.store(1, Ordering::Relaxed);
    }
    expand::drain(thread);
    if thread.pending.load(Ordering::Relaxed) == 0 {
        set_mask(thread.signals.mask);
    }
}

/// Gives the kernel's actions back to what the program has asked for, before it runs on its own.
pub fn give_back(thread: &Thread) {
    for signal in (1..SIGNALS as u32).filter(|s| *s != SIGKILL && *s != SIGSTOP) {
        let action = action(signal);
        let a = [u64::from(signal), &raw const action as u64, 0, 8, 0, 0];
        // SAFETY: the kernel reads the structure: the program's own.
        unsafe { sys::call(sys::RT_SIGACTION, a) };
    }
    give_back_stack(thread);
}

/// Gives the calling thread the stack for signals that the program has asked for.
pub fn give_back_stack(thread: &Thread) {
    let a = [thread.signals.stack.as_ptr() as u64, 0, 0, 0, 0, 0];
    // SAFETY: as above.
    unsafe { sys::call(sys::SIGALTSTACK, a) };
}

/// Holds the lock of this module, for a fork.
pub fn hold() -> impl Sized {
    ACTIONS.lock()
}
