//! The state of a thread, which the register gs points to.

use core::sync::atomic::{AtomicU32, AtomicU64};

use reuselens_wire::{Gate, Place, Record};

use super::channel::Channel;
use super::expand::Pending;
use super::signals::Signals;
use super::{gate, memory};

/// Words of the look-up table for indirect branches, by the low 16 bits of the target.
pub const TABLE: usize = 1 << 16;
/// Where the table of keys begins, from the state on.
pub const KEYS: u64 = 1 << 16;
/// Where the table of cache addresses begins.
pub const CODES: u64 = KEYS + 8 * TABLE as u64;
const BUFFER: u64 = CODES + 8 * TABLE as u64;
/// Bytes of the buffer. What a block notes is checked for room once, at its beginning, so there is
/// slack behind; the guard behind that catches blocks which cannot check.
pub const BUFFER_BYTES: u64 = 128 << 10;
/// The most bytes that a block may note.
pub const SLACK: u64 = 4096;
const GUARD_BYTES: u64 = 8192;
const STACK_BYTES: u64 = 256 << 10;
const SIGNAL_STACK: u64 = BUFFER + BUFFER_BYTES + SLACK + GUARD_BYTES;
/// Bytes of the stack on which signals arrive.
pub const SIGNAL_STACK_BYTES: u64 = 64 << 10;
const STACK: u64 = SIGNAL_STACK + SIGNAL_STACK_BYTES;
const WHOLE: u64 = STACK + STACK_BYTES;

/// The state. Code in the cache uses its first words.
#[repr(C, align(64))]
pub struct Thread {
    /// Where the next block's note goes.
    pub cursor: u64,
    /// A cursor above this calls for attention; 0 if a signal waits.
    pub limit: AtomicU64,
    /// A spilled register; which, the block knows.
    pub spill: [u64; 3],
    /// Where the program goes on.
    pub target: u64,
    /// The exit that was taken, or [`NO_EXIT`].
    pub exit: u32,
    /// Whether the thread is in a system call of the program.
    pub in_call: AtomicU32,
    /// Whether a signal waits to be delivered.
    pub pending: AtomicU32,
    /// When the process ends or is left: 1 = somebody empties the buffer for the last time, 2 = it
    /// is empty; see `process::last`.
    pub last: AtomicU32,
    /// The program's base of fs.
    pub fs_base: u64,
    /// Top of our own stack.
    pub stack: u64,
    /// Where the cache goes on.
    pub jump: u64,
    /// This state's address.
    pub own: u64,
    /// The program's registers while our code runs, in the order of their numbers.
    pub registers: [u64; 16],
    pub flags: u64,
    /// Where the function of an allocator that began last stores its block, if it is one that does
    /// so.
    pub block_place: u64,
    pub vectors: [[u64; 2]; 16],
    /// The program's rax and rdx while the time-stamp counter is read.
    pub stamped: [u64; 2],
    /// Not used by code in the cache from here on.
    pub channel: Channel,
    pub signals: Signals,
    pub waiting: Pending,
    /// Which of its accesses are recorded; looked at if `gated`.
    pub gate: Gate,
    pub gated: bool,
    /// Base of the buffer.
    pub buffer: u64,
    /// Address of the instruction of the system call that is made.
    pub call_pc: u64,
    /// Its number.
    pub call_number: u64,
    pub tid: u32,
    /// Whether the system call is made again because of pages that were watched.
    pub retried: bool,
    /// Whether a system call has returned with TF set, and nothing of the program has run since.
    pub returned: bool,
    /// Whether this is the child of a `vfork`, on borrowed memory.
    pub borrowed: bool,
    /// Whether it runs on its own from now on.
    pub detached: bool,
}

const _: () = assert!(size_of::<Thread>() as u64 <= KEYS);

/// No exit: an indirect branch was taken.
pub const NO_EXIT: u32 = u32::MAX;

impl Thread {
    /// A new thread's state, with its buffer, stacks and tables.
    pub fn create() -> &'static mut Thread {
        let at = memory::map(WHOLE, 1 << 16);
        // SAFETY: fresh zeros, of which this value is made; nobody else knows them.
        let thread = unsafe {
            let thread = at as *mut Thread;
            (&raw mut (*thread).channel).write(Channel::default());
            (&raw mut (*thread).signals).write(Signals::new());
            (&raw mut (*thread).waiting).write(Pending::default());
            (&raw mut (*thread).gate).write(Gate::new(Place::default()));
            &mut *thread
        };
        thread.own = at;
        // Readable before the first function of an allocator has begun.
        thread.block_place = at;
        thread.stack = at + WHOLE;
        thread.buffer = at + BUFFER;
        thread.cursor = thread.buffer;
        *thread.limit.get_mut() = thread.buffer + BUFFER_BYTES;
        // No program jumps to the last byte of all.
        // SAFETY: within the table, which is ours.
        unsafe { *((at + KEYS) as *mut u64) = 1 };
        // SAFETY: within the mapping; nothing of ours lies there.
        unsafe {
            super::sys::call(
                super::sys::MPROTECT,
                [thread.guard(), GUARD_BYTES, 0, 0, 0, 0],
            )
        };
        thread
    }

    /// Writes records that belong together, as far as they are wanted.
    pub fn put(&mut self, records: &[Record]) {
        if self.gated {
            gate::put(self, records);
        } else {
            self.channel.put(records);
        }
    }

    /// Whether everything is recorded for now.
    pub fn is_direct(&self) -> bool {
        gate::control().is_some_and(|control| self.gate.is_direct(control))
    }

    /// First address of the guard behind the buffer.
    pub fn guard(&self) -> u64 {
        self.buffer + BUFFER_BYTES + SLACK
    }

    /// Whether an address is in that guard.
    pub fn is_guard(&self, address: u64) -> bool {
        (self.guard()..self.guard() + GUARD_BYTES).contains(&address)
    }

    /// Lowest address of the stack on which signals arrive.
    pub fn signal_stack(&self) -> u64 {
        self.own + SIGNAL_STACK
    }

    /// Gives the state's memory back.
    ///
    /// # Safety
    /// The thread must be gone.
    pub unsafe fn destroy(at: u64) {
        // SAFETY: by the caller.
        unsafe { super::sys::unmap(at, WHOLE) };
    }

    /// Remembers where the code for a target of indirect branches is.
    pub fn remember(&mut self, pc: u64, code: u64) {
        let index = pc & (TABLE as u64 - 1);
        // SAFETY: within the tables. Keys are negated, so that a sum tells equality.
        unsafe {
            *((self.own + CODES + 8 * index) as *mut u64) = code;
            *((self.own + KEYS + 8 * index) as *mut u64) = pc.wrapping_neg();
        }
    }
}
