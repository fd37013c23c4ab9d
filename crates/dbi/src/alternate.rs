//! [`AlternateStack`]: the stack on which the program wants its handlers to run (`sigaltstack`).
//! The kernel has a stack of ours there, so the program's own is kept here, by the kernel's rules
//! (`kernel/signal.c`).

use reuselens_guest::sys;

use crate::image::thread::Thread;
use crate::image::x86_64::registers::RSP;

/// The stack is in use (SS_ONSTACK).
const ON_IT: u64 = 1;
/// There is none (SS_DISABLE).
const DISABLED: u64 = 2;
/// It is disabled while a handler runs on it (SS_AUTODISARM).
const DISARMS: u64 = 1 << 31;
/// The fewest bytes of a stack (MINSIGSTKSZ).
const FEWEST: u64 = 2048;
/// Bytes of the kernel's `stack_t`.
const BYTES: usize = 24;

/// The program's alternate stack of a thread.
#[derive(Clone, Copy)]
pub struct AlternateStack {
    low: u64,
    flags: u64,
    bytes: u64,
}

impl AlternateStack {
    /// A program starts without one.
    pub const NONE: AlternateStack = AlternateStack {
        low: 0,
        flags: 0,
        bytes: 0,
    };
    /// It was disabled. Threads start so.
    pub const DISABLED: AlternateStack = AlternateStack {
        flags: DISABLED,
        ..AlternateStack::NONE
    };

    /// Whether a stack pointer is on it.
    fn has(&self, pointer: u64) -> bool {
        let above = pointer.wrapping_sub(self.low);
        self.flags & DISARMS == 0 && above != 0 && above <= self.bytes
    }

    /// The stack pointer with which a handler starts that is to run on it; `None` if there is no
    /// such stack, or the thread is on it already.
    pub fn top(&self, pointer: u64) -> Option<u64> {
        (self.bytes != 0 && !self.has(pointer)).then(|| self.low + self.bytes)
    }

    /// The kernel's `stack_t`, as frames of signals have it.
    pub fn words(&self) -> [u64; 3] {
        [self.low, self.flags, self.bytes]
    }

    /// A handler was started: the stack is disabled, if the program wants that.
    pub fn started(&mut self) {
        if self.flags & DISARMS != 0 {
            *self = AlternateStack::DISABLED;
        }
    }

    /// Changes it to what a `stack_t` says, for a thread with this stack pointer. Returns the
    /// kernel's result.
    pub fn change(&mut self, [low, flags, bytes]: [u64; 3], pointer: u64) -> i64 {
        let flags = flags & 0xffff_ffff;
        if self.has(pointer) {
            return sys::EPERM;
        }
        *self = match flags & !DISARMS {
            DISABLED => AlternateStack {
                flags,
                ..AlternateStack::NONE
            },
            0 | ON_IT if bytes < FEWEST => return sys::ENOMEM,
            0 | ON_IT => AlternateStack { low, flags, bytes },
            _ => return sys::EINVAL,
        };
        0
    }

    /// What the program is shown of it.
    fn shown(&self, pointer: u64) -> [u64; 3] {
        let state = match self.bytes {
            0 => DISABLED,
            _ if self.has(pointer) => ON_IT,
            _ => 0,
        };
        [self.low, state | self.flags & DISARMS, self.bytes]
    }
}

/// `sigaltstack` of the program.
pub fn sigaltstack(thread: &mut Thread, new: u64, old: u64) -> i64 {
    let pointer = thread.registers[usize::from(RSP)];
    let mut shown = [0_u8; BYTES];
    for (to, word) in shown
        .chunks_exact_mut(8)
        .zip(thread.signals.stack.shown(pointer))
    {
        to.copy_from_slice(&word.to_le_bytes());
    }
    if new != 0 {
        let mut words = [[0_u8; 8]; BYTES / 8];
        if !sys::peek(new, words.as_flattened_mut()) {
            return sys::EFAULT;
        }
        let result = thread
            .signals
            .stack
            .change(words.map(u64::from_le_bytes), pointer);
        if result != 0 {
            return result;
        }
    }
    // SAFETY: the address is the program's, which has nothing of ours.
    if old != 0 && !unsafe { sys::poke(old, &shown) } {
        return sys::EFAULT;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: u64 = 0x10_0000;
    const ROOM: u64 = 8192;

    fn changed(words: [u64; 3]) -> (AlternateStack, i64) {
        let mut stack = AlternateStack::NONE;
        let result = stack.change(words, 0);
        (stack, result)
    }

    #[test]
    fn stack_in_use_cannot_be_changed() {
        let (mut stack, result) = changed([LOW, 0, ROOM]);
        assert_eq!(result, 0);
        assert_eq!(stack.top(0), Some(LOW + ROOM));
        assert_eq!(stack.top(LOW + ROOM), None);
        assert_eq!(stack.change([0, DISABLED, 0], LOW + 8), sys::EPERM);
        assert_eq!(stack.shown(LOW + 8), [LOW, ON_IT, ROOM]);
        assert_eq!(stack.change([LOW, DISABLED, ROOM], LOW), 0);
        assert_eq!(stack.shown(LOW + 8), [0, DISABLED, 0]);
        assert_eq!(stack.top(0), None);
    }

    #[test]
    fn stack_that_disarms_is_gone_while_a_handler_runs() {
        let (mut stack, result) = changed([LOW, DISARMS, ROOM]);
        assert_eq!(result, 0);
        assert_eq!(stack.shown(LOW + 8), [LOW, DISARMS, ROOM]);
        let frame = stack.words();
        stack.started();
        assert_eq!(stack.shown(LOW + 8), [0, DISABLED, 0]);
        assert_eq!(stack.change(frame, LOW + 8), 0);
        assert_eq!(stack.top(0), Some(LOW + ROOM));
    }

    #[test]
    fn small_stack_and_unknown_flags_are_refused() {
        assert_eq!(changed([LOW, 0, FEWEST - 1]).1, sys::ENOMEM);
        assert_eq!(changed([LOW, 4, ROOM]).1, sys::EINVAL);
    }
}
