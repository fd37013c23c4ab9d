//! The layout of the segment: offsets and sizes of its parts, and the structures that are shared in
//! it ([`Header`], [`Slot`], [`BlockHeader`], [`Exec`]).
//!
//! ```text
//! header | slots | stages | (up to the next block border) | blocks | dictionary | marks
//! ```
//!
//! All fields are atomic and `repr(C)`: several processes map the segment, at different addresses.
//! A change of anything here needs a new [`VERSION`].

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::control::Control;
use crate::dictionary::DICTIONARY_BYTES;
use crate::gate::ControlStage;
use crate::{BlockPool, Queue};

/// First eight bytes of a segment.
pub const MAGIC: u64 = u64::from_le_bytes(*b"rlsgmnt1");
/// Changes with every change of the layout.
pub const VERSION: u32 = 13;
/// Environment variable with the path of the segment, which a measured program opens.
pub const ENVIRONMENT: &str = "REUSELENS_SEGMENT";

/// Bit in [`Header::wants`]: basic blocks are recorded too.
pub const WANTS_BASIC_BLOCKS: u32 = 1;

/// Bytes of a block; a power of two, and blocks are aligned to it, so that "the low bits of the
/// cursor are zero" is the only bounds check that an access needs.
pub const BLOCK_BYTES: usize = 1 << 16;
/// Bytes of a block's header; records follow.
pub const BLOCK_HEADER_BYTES: usize = 64 + OTHERS * size_of::<Other>();
/// How many slots, the first ones, have their progress written into each published block. Threads
/// in later slots are ordered block by block only.
pub const OTHERS: usize = 32;
/// Bytes of a record.
pub const RECORD_BYTES: usize = 16;
/// Threads that can record at one time, over all processes.
pub const SLOTS: usize = 1024;
/// Blocks in the pool: two per slot (the second for its [`ControlStage`]), one per queue cell, and
/// 64 more. Blocks that were never used take no memory.
pub const BLOCKS: usize = 2 * SLOTS + crate::QUEUE_CELLS + 64;
/// In place of a block's number: no block.
pub const NO_BLOCK: u32 = u32::MAX;

/// Bytes reserved for the header.
pub const HEADER_BYTES: usize = 8192;
/// Offset of the first slot's [`ControlStage`].
pub const STAGES_OFFSET: usize = HEADER_BYTES + SLOTS * size_of::<Slot>();
const STAGES_END: usize = STAGES_OFFSET + SLOTS * size_of::<ControlStage>();
/// Offset of the first block.
pub const BLOCKS_OFFSET: usize = STAGES_END.div_ceil(BLOCK_BYTES) * BLOCK_BYTES;
/// Offset of the dictionary of block records.
pub const DICTIONARY_OFFSET: usize = BLOCKS_OFFSET + BLOCKS * BLOCK_BYTES;
/// The most marks of a block. A thread that synchronises more often publishes its block before it
/// is full.
pub const MARKS_MOST: usize = 512;
/// Offset of the marks of the first block. They are beside the blocks, so that threads that never
/// synchronise lose no room for records.
pub const MARKS_OFFSET: usize = DICTIONARY_OFFSET + DICTIONARY_BYTES;
/// Bytes of the segment.
pub const SEGMENT_BYTES: usize = MARKS_OFFSET + BLOCKS * size_of::<Marks>();

/// A moment at which a thread synchronised with others: just before it let others go on, or just
/// after it waited for others. The events of all records in the first `used_bytes` of its block
/// happened before `stamp`, those of all later records after it.
#[repr(C)]
pub struct SyncMark {
    /// The time-stamp counter at that moment.
    pub stamp: AtomicU64,
    /// Bytes used of the block at that moment, header included.
    pub used_bytes: AtomicU32,
    /// Not used.
    pub unused: AtomicU32,
}

/// The marks of a block, oldest first; the first [`BlockHeader::marks`] are used.
pub type Marks = [SyncMark; MARKS_MOST];

impl BlockHeader {
    /// Adds a mark to `marks`, which must be this block's. Only the thread that writes to the block
    /// may call this. Returns false, and adds nothing, if there is no room.
    pub fn mark(&self, marks: &Marks, stamp: u64, used_bytes: u64) -> bool {
        let count = self.marks.load(Ordering::Relaxed);
        let Some(mark) = marks.get(count as usize) else {
            return false;
        };
        mark.stamp.store(stamp, Ordering::Relaxed);
        mark.used_bytes.store(used_bytes as u32, Ordering::Relaxed);
        self.marks.store(count + 1, Ordering::Release);
        true
    }
}

/// The start of the segment.
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// Process id of the analysing side. A producer that waits checks that this process lives.
    pub consumer_pid: AtomicU32,
    /// How many filters of system calls (`seccomp`) the analysing side is under. A program with
    /// more has been restricted, and the run time in it makes no more system calls.
    pub filters: AtomicU32,
    /// Not 0 once the analysing side takes no more blocks: producers stop recording.
    pub consumer_gone: AtomicU32,
    /// Number of the next process.
    pub next_process: AtomicU32,
    /// Number of the next thread.
    pub next_thread: AtomicU32,
    /// One more than the highest slot that was ever used.
    pub slots_used: AtomicU32,
    /// Threads that got no slot: their accesses are not recorded.
    pub unrecorded_threads: AtomicU32,
    /// Events that could not be recorded (no slot, nested signal handlers).
    pub lost_events: AtomicU64,
    /// Threads that were detached, and went on unrecorded, because their code cannot be rewritten.
    pub detached: AtomicU32,
    /// Threads that were detached because their program installed a filter of system calls
    /// (`seccomp`).
    pub detached_for_filter: AtomicU32,
    /// Not 0 if capture's memory counts towards a limit of the program's address space, so that
    /// the program has less than without capture.
    pub short_of_space: AtomicU32,
    /// Not 0 once code was rewritten that is in memory shared with other processes, which can
    /// change it without the rewriter's knowledge.
    pub shared_code: AtomicU32,
    /// What is to be recorded beyond accesses, calls and allocations: a sum of `WANTS_…`. Set
    /// before the program starts.
    pub wants: AtomicU32,
    /// How much of the dictionary is used, in units of [`crate::ENTRY_UNIT`] bytes.
    pub dictionary_used: AtomicU32,
    /// By which a rewritten process reports that it is about to call `exec`.
    pub exec: Exec,
    /// Which accesses are recorded.
    pub control: Control,
    /// Published blocks, oldest first.
    pub queue: Queue,
    /// Empty blocks.
    pub pool: BlockPool,
}

const _: () = assert!(size_of::<Header>() <= HEADER_BYTES);

/// The request of a rewritten process that is about to call `exec`: the analysing side is to attach
/// itself to it, and to put the rewriter into the new program. One process at a time has the turn.
#[repr(C)]
pub struct Exec {
    /// The process that has the turn, or 0. Other processes wait until it is 0.
    pub pid: AtomicU32,
    /// The thread of that process that calls `exec`. Once the new program runs, this thread has the
    /// process's id.
    pub tid: AtomicU32,
    /// An [`ExecState`]; a futex.
    pub state: AtomicU32,
    /// The [`Limits`](crate::Limits) that the process has set, which the new program inherits.
    pub limits: [AtomicU64; 4],
}

/// The state of an [`Exec`].
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecState {
    /// No request.
    Idle = 0,
    /// A process waits for an answer.
    Asked = 1,
    /// The analysing side is attached; the process may call `exec`.
    Watched = 2,
    /// The analysing side could not attach: the new program will not be recorded.
    Refused = 3,
    /// The process's `exec` failed: the analysing side detaches itself.
    Failed = 4,
}

/// Whether a slot is in use.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotState {
    /// Not in use.
    Free = 0,
    /// A thread is setting it up.
    Claimed = 1,
    /// A thread records through it.
    Live = 2,
}

/// One recording thread: its block, how far it has written, and its numbers. The thread writes it,
/// the analysing side reads it.
#[repr(C, align(128))]
pub struct Slot {
    /// Where the next record goes: an address in the *producer's* memory. If its low 16 bits are
    /// zero, there is no room.
    pub cursor: AtomicU64,
    /// First address above the thread's stack (producer's memory), 0 if unknown.
    pub stack_high: AtomicU64,
    /// Address of the current block in the producer's memory.
    pub block_address: AtomicU64,
    /// When the current block was taken (time-stamp counter).
    pub first_stamp: AtomicU64,
    /// Number of the current block, or [`NO_BLOCK`].
    pub block: AtomicU32,
    /// A [`SlotState`].
    pub state: AtomicU32,
    /// Process number.
    pub process: AtomicU32,
    /// Thread number.
    pub thread: AtomicU32,
    /// The operating system's process id.
    pub pid: AtomicU32,
    /// Blocks published through this slot so far. If the reader has taken as many, the current
    /// block is the next one of the thread.
    pub published: AtomicU32,
    /// Not 0 while the thread may have events that are not in the segment yet: they are lost if it
    /// is killed.
    pub outside: AtomicU32,
}

/// How far another thread had come when a block was published. What that thread had done until then
/// is read before the block.
#[repr(C)]
pub struct Other {
    /// Its slot's [`Slot::published`].
    pub published: AtomicU32,
    /// The block it was writing, or [`NO_BLOCK`] if its progress is not known.
    pub block: AtomicU32,
    /// Bytes used of that block, header included.
    pub used_bytes: AtomicU32,
    /// Not used.
    pub unused: AtomicU32,
}

/// The start of a block; records follow. The fields about its thread and `first_stamp` are filled
/// in when a thread takes the block, `marks` while it writes, the others when it is published.
#[repr(C, align(64))]
pub struct BlockHeader {
    /// Bytes used, header included.
    pub used_bytes: AtomicU32,
    /// Process number.
    pub process: AtomicU32,
    /// Thread number.
    pub thread: AtomicU32,
    /// Next block in the pool's list.
    pub next_free: AtomicU32,
    /// When the block was taken.
    pub first_stamp: AtomicU64,
    /// When it was published.
    pub last_stamp: AtomicU64,
    /// First address above the thread's stack (producer's memory), 0 if unknown.
    pub stack_high: AtomicU64,
    /// How many entries of `others` are filled in.
    pub others_filled: AtomicU32,
    /// How many marks the block has.
    pub marks: AtomicU32,
    /// Not used.
    pub unused: [AtomicU32; 4],
    /// The progress of the threads in the first slots, by slot.
    pub others: [Other; OTHERS],
}

const _: () = assert!(size_of::<BlockHeader>() == BLOCK_HEADER_BYTES);
