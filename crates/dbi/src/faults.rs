//! Faults (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP): [`answer`] finds out what one means. It is
//! one of: a fault of the program, which gets it as a signal, with its own registers; a write to a
//! page that `watch` has protected; a full buffer; a fault in our own code, which ends the process.
//!
//! Nothing is locked before it is known that the fault is in the cache: at a fault in our own code
//! the thread may hold any lock.

use reuselens_guest::sys;

use super::{
    CR2, Context, ERROR, FLAGS, GENERAL_PROTECTION, ORDER, PAGE_FAULT, RIP, SIGBUS, SIGFPE, SIGILL,
    SIGSEGV, SIGTRAP, TRAP, Trap,
};
use crate::image::blocks::{Position, Spilled};
use crate::image::codes::{self, CODES};
use crate::image::thread::Thread;
use crate::image::x86_64::asm;
use crate::image::{expand, maps, process, watch};

/// The code of a fault at an address where nothing is mapped.
const NOT_MAPPED: u64 = 1;
/// The code of a fault at a page that is mapped without the necessary right.
const DENIED: i32 = 2;
/// The code of faults that have no address, and of signals that the kernel sends by itself.
pub const BY_KERNEL: u64 = 128;
/// The flag that the processor sets in the flags it pushes at a fault, so that a breakpoint at the
/// instruction does not stop it again (RF).
pub const RESUME: u64 = 1 << 16;
/// The code of a trap after an instruction that ran with TF set.
const TRACE: i32 = 2;

/// Handles the fault `signal` with this code at the address `at`. Returns true if it was ours and
/// the thread may go on. Returns false if it is the program's: then `context` leads to the signal's
/// delivery, with the registers as the program has them.
pub fn answer(thread: &mut Thread, signal: u32, info: &[u64; 16], context: &mut Context) -> bool {
    let (code, at) = ((info[1] & 0xffff_ffff) as i32, info[2]);
    let here = context.registers[RIP];
    let steps = signal == SIGTRAP && code == TRACE;
    if !codes::is_cache(here) {
        // With TF set, the code between the cache and our own code traps, too.
        if steps {
            return true;
        }
        broken(signal, here, at);
    }
    let may_be_ours = signal == SIGSEGV || signal == SIGBUS;
    if may_be_ours && watch::unwatch(at, signal == SIGSEGV && code == DENIED) {
        return true;
    }
    let found = CODES.lock().position(here);
    match found {
        // One instruction of the program is several in the cache.
        Some((position, _)) if steps && !position.begins => true,
        None if steps => true,
        // The processor does not trap between a system call (or the return of a handler) and the
        // next instruction.
        Some(_) if steps && core::mem::take(&mut thread.returned) => true,
        None => broken(signal, here, at),
        Some((position, _))
            if signal == SIGSEGV
                && thread.is_guard(at)
                && makes_room(thread, &position, context) =>
        {
            true
        }
        Some((position, _)) => {
            at_instruction(thread, &position, context);
            // After a breakpoint the program counter is one byte past it.
            let is_breakpoint = signal == SIGTRAP && !steps;
            thread.target = position.pc + u64::from(is_breakpoint);
            show(thread, signal, info, context);
            context.registers[RIP] = asm::deliver_address();
            false
        }
    }
}

/// Makes a fault in the cache one of the program at `thread.target`.
fn show(thread: &mut Thread, signal: u32, info: &[u64; 16], context: &Context) {
    let registers = &context.registers;
    let trap = Trap {
        error: registers[ERROR],
        number: registers[TRAP],
        address: registers[CR2],
    };
    let mut info = *info;
    // These signals have the address of the instruction, unless they have none.
    if matches!(signal, SIGILL | SIGFPE | SIGTRAP) && codes::is_cache(info[2]) {
        info[2] = thread.target;
    }
    let signals = &mut thread.signals;
    signals.begin_fault(signal, info, trap, registers[FLAGS]);
}

/// What the processor and the kernel make of an instruction that cannot be fetched at an address:
/// the code of the signal, and the fault.
pub fn of_fetch(at: u64) -> (u64, Trap) {
    /// Bits of the error code: the page is present, in user mode, by fetching an instruction.
    const PRESENT: u64 = 1;
    const FETCH: u64 = 4 | 16;
    /// The first address after those of programs.
    const END: u64 = (1 << 47) - 4096;
    let is_canonical = matches!((at as i64) >> 47, 0 | -1);
    if !is_canonical {
        let trap = Trap {
            error: 0,
            number: GENERAL_PROTECTION,
            address: 0,
        };
        return (BY_KERNEL, trap);
    }
    let mapping = maps::around(at);
    // Before it looks for the right to execute, the kernel brings in a page that may be accessed at
    // all. It does not show what is at its own addresses.
    let is_present = match &mapping {
        _ if at >= END => true,
        Some(mapping) => mapping.readable || mapping.writable,
        None => false,
    };
    let code = mapping.map_or(NOT_MAPPED, |_| DENIED as u64);
    let trap = Trap {
        error: FETCH | if is_present { PRESENT } else { 0 },
        number: PAGE_FAULT,
        address: at,
    };
    (code, trap)
}

/// The buffer is full: empties it and moves the part of the block record that has been written to
/// its start. False if the block writes no block record.
fn makes_room(thread: &mut Thread, position: &Position, context: &mut Context) -> bool {
    let block_record = thread.cursor;
    let pointer = match position.spilled {
        Spilled::Two(_, pointer) | Spilled::Branch(_, pointer) => pointer,
        Spilled::None => return false,
    };
    let written = (thread.guard() - block_record) as usize;
    expand::drain(thread);
    // SAFETY: both are in the buffer.
    unsafe { core::ptr::copy(block_record as *const u8, thread.buffer as *mut u8, written) };
    context.registers[ORDER[usize::from(pointer)]] = thread.buffer;
    true
}

/// Gives the registers the values that they have in the program before an instruction, and records
/// the accesses of the block up to there.
fn at_instruction(thread: &mut Thread, position: &Position, context: &mut Context) {
    let block_record = thread.cursor;
    context.registers[FLAGS] = position.flags(thread.saved_flags, context.registers[FLAGS]);
    let mut registers = ORDER.map(|at| context.registers[at]);
    position.restore(thread, &mut registers);
    for (value, at) in registers.into_iter().zip(ORDER) {
        context.registers[at] = value;
    }
    expand::drain(thread);
    // A block that only borrows registers writes no block record.
    if let (Spilled::Two(..), Some(head)) = (position.spilled, position.descriptor) {
        let descriptor = codes::descriptor(head.get());
        expand::expand(thread, descriptor, block_record, position.instruction);
    }
}

/// A fault in our own code: a bug. Locks may be held, with what they guard half changed, so the
/// program can go on neither in the cache nor outside of it. It ends by the signal, as by a fault
/// of its own.
fn broken(signal: u32, here: u64, at: u64) -> ! {
    let mut line = MessageLine::default();
    line.text("reuselens: the rewriter failed (signal ");
    line.number(u64::from(signal), 10);
    line.text(" at 0x");
    line.number(here, 16);
    line.text(", address 0x");
    line.number(at, 16);
    line.text(
        ") and the program ends by that signal; please report which program this was, and measure it \
         with `reuselens cc` instead\n",
    );
    sys::complain(line.as_str());
    process::end_by(signal)
}

/// A line of a message, composed without allocating.
struct MessageLine {
    bytes: [u8; 256],
    length: usize,
}

impl Default for MessageLine {
    fn default() -> MessageLine {
        MessageLine {
            bytes: [0; 256],
            length: 0,
        }
    }
}

impl MessageLine {
    /// Adds text, as far as there is room.
    fn text(&mut self, text: &str) {
        for (to, from) in self.bytes[self.length..].iter_mut().zip(text.bytes()) {
            *to = from;
            self.length += 1;
        }
    }

    /// Adds a number in this base.
    fn number(&mut self, number: u64, base: u64) {
        if number >= base {
            self.number(number / base, base);
        }
        let digit = (number % base) as usize;
        self.text(&"0123456789abcdef"[digit..=digit]);
    }

    fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}
