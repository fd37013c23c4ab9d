//! Where everything lies in the segment.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::control::Control;
use crate::dictionary::DICTIONARY_BYTES;
use crate::gate::Stage;
use crate::{BlockPool, Queue};

/// First eight bytes of a segment.
pub const MAGIC: u64 = u64::from_le_bytes(*b"rlsgmnt1");
/// Changes with every change of the layout.
pub const VERSION: u32 = 10;
/// Environment variable that tells a measured program where its segment is: a path to open.
pub const ENVIRONMENT: &str = "REUSELENS_SEGMENT";

/// In [`Header::wants`]: basic blocks are recorded too.
pub const WANTS_BASIC_BLOCKS: u32 = 1;

/// Bytes of a block; a power of two, and blocks are aligned to it, so that "the low bits of the
/// cursor are zero" is the only bounds check that an access needs.
pub const BLOCK_BYTES: usize = 1 << 16;
/// Bytes of a block's header; records follow.
pub const BLOCK_HEADER_BYTES: usize = 64 + OTHERS * size_of::<Other>();
/// Slots whose progress a block notes; threads beyond are ordered by whole blocks only.
pub const OTHERS: usize = 32;
/// Bytes of a record.
pub const RECORD_BYTES: usize = 16;
/// Threads that can record at one time, over all processes.
pub const SLOTS: usize = 1024;
/// Blocks in the pool: two per slot (where control is asked for, one for what waits to be sorted),
/// one per queue cell, and some in hand. Untouched blocks cost no memory.
pub const BLOCKS: usize = 2 * SLOTS + crate::QUEUE_CELLS + 64;
/// No block.
pub const NO_BLOCK: u32 = u32::MAX;

/// Bytes reserved for the header.
pub const HEADER_BYTES: usize = 8192;
/// Offset of the first slot's [`Stage`].
pub const STAGES_OFFSET: usize = HEADER_BYTES + SLOTS * size_of::<Slot>();
const STAGES_END: usize = STAGES_OFFSET + SLOTS * size_of::<Stage>();
/// Offset of the first block.
pub const BLOCKS_OFFSET: usize = STAGES_END.div_ceil(BLOCK_BYTES) * BLOCK_BYTES;
/// Offset of the dictionary of notes.
pub const DICTIONARY_OFFSET: usize = BLOCKS_OFFSET + BLOCKS * BLOCK_BYTES;
/// Marks that a block has at most: a thread that synchronises more often hands its block over
/// early.
pub const MARKS_MOST: usize = 512;
/// Offset of the marks of the first block. They are beside the blocks, so that threads that never
/// synchronise lose no room for records.
pub const MARKS_OFFSET: usize = DICTIONARY_OFFSET + DICTIONARY_BYTES;
/// Bytes of the whole segment.
pub const SEGMENT_BYTES: usize = MARKS_OFFSET + BLOCKS * size_of::<Marks>();

/// A moment at which a thread synchronised with others: just before it let others go on, or just
/// after it waited. All records before `used_bytes` in its block were done before `stamp`, and all
/// others after.
#[repr(C)]
pub struct Mark {
    /// The time-stamp counter at that moment.
    pub stamp: AtomicU64,
    /// Bytes used of the block at that moment, header included.
    pub used_bytes: AtomicU32,
    /// Nothing.
    pub unused: AtomicU32,
}

/// The marks of a block in the order of its thread, of which the first [`BlockHeader::marks`] are
/// used.
pub type Marks = [Mark; MARKS_MOST];

impl BlockHeader {
    /// Adds a mark to this block, whose marks are `marks`; only its thread may. False if there is
    /// no room.
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

/// The start of the segment. All fields are shared between processes, hence atomic.
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// Process id of the analysing side; a sleeping producer looks whether it still lives.
    pub consumer_pid: AtomicU32,
    /// Filters of system calls under which the analysing side runs; programs that have more may not
    /// do what it does.
    pub filters: AtomicU32,
    /// Not 0 once the analysing side takes no more blocks: producers stop recording.
    pub consumer_gone: AtomicU32,
    /// Next number of a process.
    pub next_process: AtomicU32,
    /// Next number of a thread.
    pub next_thread: AtomicU32,
    /// One more than the highest slot that was ever used.
    pub slots_used: AtomicU32,
    /// Threads that found no slot: their accesses are not recorded.
    pub unrecorded_threads: AtomicU32,
    /// Events that could not be recorded (no slot, nested signal handlers).
    pub lost_events: AtomicU64,
    /// Threads that were detached, and went on unseen, because their code cannot be rewritten.
    pub detached: AtomicU32,
    /// Threads that were detached because their program installed a filter of system calls
    /// (`seccomp`).
    pub detached_for_filter: AtomicU32,
    /// Not 0 if capture's memory counts for a limit of the program's address space: its own ends
    /// earlier.
    pub short_of_space: AtomicU32,
    /// Not 0 once code was rewritten that lies in memory shared with others, who can change it
    /// unseen.
    pub shared_code: AtomicU32,
    /// What is to be recorded beyond accesses, calls and allocations: a sum of `WANTS_…`. Set
    /// before the program starts.
    pub wants: AtomicU32,
    /// How much of the dictionary is taken, in units of [`crate::ENTRY_UNIT`] bytes.
    pub dictionary_used: AtomicU32,
    /// Where a rewritten process says that another program is about to take its place.
    pub exec: Exec,
    /// What is to be recorded.
    pub control: Control,
    /// Full blocks, in the order of completion.
    pub queue: Queue,
    /// Empty blocks.
    pub pool: BlockPool,
}

const _: () = assert!(size_of::<Header>() <= HEADER_BYTES);

/// A process that is rewritten asks the analysing side to be there when it calls `exec`.
#[repr(C)]
pub struct Exec {
    /// The process that asks, or 0. Processes wait until it is 0.
    pub pid: AtomicU32,
    /// Its thread that does. Once the new program runs, that has the number of the process.
    pub tid: AtomicU32,
    /// An [`ExecState`]; a futex.
    pub state: AtomicU32,
}

/// How far that has come.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecState {
    /// Nobody asks.
    Idle = 0,
    /// A process asks, and waits for an answer.
    Asked = 1,
    /// It is watched, and may go on.
    Watched = 2,
    /// It is not watched: the new program will go unseen.
    Refused = 3,
    /// The call failed: nothing is to be watched any more.
    Failed = 4,
}

/// What a slot is used for.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotState {
    /// Nobody's.
    Free = 0,
    /// Being set up.
    Claimed = 1,
    /// A thread records through it.
    Live = 2,
}

/// What the recording thread and the analysing side both know about one thread.
#[repr(C, align(128))]
pub struct Slot {
    /// Where the next record goes: an address in the *producer's* memory. Its low 16 bits are zero
    /// when there is no room.
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
    /// Blocks that were handed over through this slot so far. If the reader has taken as many, the
    /// current block is next in the thread's order.
    pub published: AtomicU32,
    /// Not 0 while the thread has events that are not in the segment yet: they are lost if it is
    /// killed.
    pub outside: AtomicU32,
}

/// How far another thread had come when a block was published: all of that was done before, and is
/// read before it.
#[repr(C)]
pub struct Other {
    /// Its slot's [`Slot::published`].
    pub published: AtomicU32,
    /// The block it was writing, or [`NO_BLOCK`] if nothing is noted.
    pub block: AtomicU32,
    /// Bytes used of that block, header included.
    pub used_bytes: AtomicU32,
    /// Nothing.
    pub unused: AtomicU32,
}

/// The start of a block. Whose it is, is filled in when it is taken; the rest when it is published.
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
    /// How many entries of `others` are noted.
    pub others_noted: AtomicU32,
    /// How many marks the block has.
    pub marks: AtomicU32,
    /// Nothing.
    pub unused: [AtomicU32; 4],
    /// The progress of the threads in the first slots, by slot.
    pub others: [Other; OTHERS],
}

const _: () = assert!(size_of::<BlockHeader>() == BLOCK_HEADER_BYTES);
