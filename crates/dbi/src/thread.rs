//! [`Thread`]: the state of a thread. The segment register gs points to it while the thread runs
//! code of the cache or of ours. One mapping holds the state, and after it the look-up tables for
//! indirect branches, the buffer of block records with its guard, and two stacks.
//!
//! Code in the cache and the assembly in `x86_64/asm.rs` use the first fields by their offsets.

use core::sync::atomic::{AtomicU32, AtomicU64};

use reuselens_wire::{Gate, Record, RecordingScope};

use super::channel::Channel;
use super::expand::Pending;
use super::signals::Signals;
use super::{gate, memory};

/// Words of each look-up table for indirect branches; the index is the low 16 bits of the target.
pub const TABLE: usize = 1 << 16;
/// Offset of the table of keys from the state.
pub const KEYS: u64 = 1 << 16;
/// Offset of the table of cache addresses.
pub const CODES: u64 = KEYS + 8 * TABLE as u64;
const BUFFER: u64 = CODES + 8 * TABLE as u64;
/// Bytes of the buffer. A block checks for room once, at its start, so the buffer is followed by
/// slack for one block record. After the slack is a guard without access rights, at which blocks
/// fault that cannot check (because the check would change flags).
pub const BUFFER_BYTES: u64 = 128 << 10;
/// The most bytes of a block record.
pub const SLACK: u64 = 4096;
const GUARD_BYTES: u64 = 8192;
const STACK_BYTES: u64 = 256 << 10;
const SIGNAL_STACK: u64 = BUFFER + BUFFER_BYTES + SLACK + GUARD_BYTES;
/// Bytes of the stack on which signals arrive.
pub const SIGNAL_STACK_BYTES: u64 = 64 << 10;
const STACK: u64 = SIGNAL_STACK + SIGNAL_STACK_BYTES;
const TOTAL_BYTES: u64 = STACK + STACK_BYTES;

/// The state of a thread.
#[repr(C, align(64))]
pub struct Thread {
    /// Where the next block record goes.
    pub cursor: u64,
    /// If the cursor is above this, a block calls the dispatcher; 0 if a signal waits.
    pub limit: AtomicU64,
    /// Values of spilled registers; the blocks decide which.
    pub spill: [u64; 3],
    /// Flags of the program that a block has overwritten; see `CodePart::stale`.
    pub saved_flags: u16,
    /// Address in the program at which it continues.
    pub target: u64,
    /// The exit that was taken, or [`NO_EXIT`].
    pub exit: u32,
    /// The exit that stands for the indirect branch that was taken last, if its target was not in
    /// the look-up table and is looked for now; else [`NO_EXIT`].
    pub branch: u32,
    /// Whether the thread is in a system call of the program.
    pub in_call: AtomicU32,
    /// Whether a signal waits to be delivered.
    pub pending: AtomicU32,
    /// Whether the buffer was emptied for the last time; see `final_drain`.
    pub drain_state: AtomicU32,
    /// The program's base of fs.
    pub fs_base: u64,
    /// Top of the stack for our code.
    pub stack: u64,
    /// Address to which `rl_resume` jumps.
    pub jump: u64,
    /// Where code of the cache continues after a call of ours, or the program once it has left the
    /// cache.
    pub back: u64,
    /// This state's address.
    pub own: u64,
    /// The program's registers while our code runs, in the order of their numbers.
    pub registers: [u64; 16],
    pub flags: u64,
    /// Where the allocator's function that began last stores its block, if it does that.
    pub block_place: u64,
    pub vectors: [[u64; 2]; 16],
    /// The program's rax and rdx while the time-stamp counter is read.
    pub stamped: [u64; 2],
    /// Where its records go. Code in the cache does not use this and the fields after it.
    pub channel: Channel,
    pub signals: Signals,
    pub waiting: Pending,
    /// Which of its accesses are recorded; used if `gated`.
    pub gate: Gate,
    pub gated: bool,
    /// Address of the buffer.
    pub buffer: u64,
    /// Address of the instruction of the current system call.
    pub call_pc: u64,
    /// Number of the current system call.
    pub call_number: u64,
    pub tid: u32,
    /// Whether the system call is made again because of pages that were watched.
    pub retried: bool,
    /// How many times in a row a signal arrived before `exec` was called.
    pub exec_interruptions: u32,
    /// Whether a system call has returned with TF set, and nothing of the program has run since.
    pub returned: bool,
    /// Whether this is the child of a `vfork`, which shares its parent's memory.
    pub borrowed: bool,
    /// Whether the thread leaves or has left the cache.
    pub detached: bool,
}

const _: () = assert!(size_of::<Thread>() as u64 <= KEYS);

/// No exit: an indirect branch was taken.
pub const NO_EXIT: u32 = u32::MAX;

impl Thread {
    /// A new thread's state, with its buffer, stacks and tables; `None` if there is no memory.
    pub fn create() -> Option<&'static mut Thread> {
        let (at, is_guarded) = memory::take_thread(TOTAL_BYTES, 1 << 16)?;
        // SAFETY: fresh zeros, for which no other references exist. Fields of which zeros are not
        // valid are written here.
        let thread = unsafe {
            let thread = at as *mut Thread;
            (&raw mut (*thread).channel).write(Channel::default());
            (&raw mut (*thread).signals).write(Signals::new());
            (&raw mut (*thread).waiting).write(Pending::default());
            (&raw mut (*thread).gate).write(gate::new(RecordingScope::default()));
            &mut *thread
        };
        thread.own = at;
        thread.branch = NO_EXIT;
        // Any readable address, until the first function of an allocator sets it.
        thread.block_place = at;
        thread.stack = at + TOTAL_BYTES;
        thread.buffer = at + BUFFER;
        thread.cursor = thread.buffer;
        *thread.limit.get_mut() = thread.buffer + BUFFER_BYTES;
        // A key of 0 would match address 0; this key is that of the last byte of the address space,
        // to which no program jumps.
        // SAFETY: within the table, which is ours.
        unsafe { *((at + KEYS) as *mut u64) = 1 };
        if !is_guarded && !memory::set_rights(thread.guard(), GUARD_BYTES, 0) {
            // Without its guard it cannot be used, as it could not by a later thread.
            return None;
        }
        Some(thread)
    }

    /// Writes records that belong together, unless they are not wanted.
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

    /// First address of the guard after the buffer.
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

    /// Frees the state at `at`, with its buffer, stacks and tables.
    ///
    /// # Safety
    /// The thread must be gone.
    pub unsafe fn destroy(at: u64) {
        memory::give_thread(at, TOTAL_BYTES);
    }

    /// Enters into the look-up table that indirect branches to `pc` continue at `code`.
    pub fn remember(&mut self, pc: u64, code: u64) {
        let index = pc & (TABLE as u64 - 1);
        // SAFETY: within the tables. Keys are negated targets: blocks add the two and test for
        // zero.
        unsafe {
            *((self.own + CODES + 8 * index) as *mut u64) = code;
            *((self.own + KEYS + 8 * index) as *mut u64) = pc.wrapping_neg();
        }
    }
}
