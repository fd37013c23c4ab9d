//! The shared-memory layout between a measured program and the analysing process.
//!
//! One segment (a memfd) holds a [`Header`] with a bounded queue of full blocks, a table of
//! [`Slot`]s (one per recording thread) and a pool of blocks. A thread writes [`Record`]s straight
//! into its block and keeps its cursor in its slot, *inside the segment*: whatever ends a program —
//! `exit`, `_exit`, a signal that cannot be caught — every record written so far can still be read.
//!
//! ```text
//! thread ── records ──▶ block ── full ──▶ queue ──▶ analysing process ── empty ──▶ pool ──▶ thread
//! ```
//!
//! Code that is rewritten writes notes in place of records; the segment's dictionary says what they
//! mean.
//!
//! Back pressure: the queue has [`QUEUE_CELLS`] cells; a thread that finds it full sleeps until the
//! other side has taken a block. Nothing is dropped and nothing grows.
//!
//! For: the run time (producer) and the capture crate (consumer). Not for: anyone else; the layout
//! changes with [`VERSION`], and both sides come from one build.
#![no_std]

mod alive;
mod bootstrap;
mod control;
mod dictionary;
mod gate;
mod layout;
mod mapped;
mod pool;
mod producer;
mod queue;
mod record;
mod restriction;
mod space;

pub use alive::is_alive;
pub use bootstrap::{ARENA, Bootstrap, IMAGE, IMAGE_ROOM, IMAGE_STACK_BYTES, Registers};
pub use control::{
    Control, FUNCTIONS, Function, MARK_ASK, MARK_BEGIN, MARK_END, REGION_BYTES, Recording,
};
pub use dictionary::{
    DICTIONARY_BYTES, ENTRY_ROWS_MOST, ENTRY_UNIT, Entry, EntryRow, NO_WORD, SPECIAL,
    SPECIALS_MOST, entry_bytes, head_word, note_head, special_head, take_entry, unpack_head,
};
pub use gate::{Gate, Place, Range, Stage, is_gated};
pub use layout::{
    BLOCK_BYTES, BLOCK_HEADER_BYTES, BLOCKS, BLOCKS_OFFSET, BlockHeader, DICTIONARY_OFFSET,
    ENVIRONMENT, Exec, ExecState, HEADER_BYTES, Header, MAGIC, MARKS_MOST, MARKS_OFFSET, Mark,
    Marks, NO_BLOCK, OTHERS, Other, RECORD_BYTES, SEGMENT_BYTES, SLOTS, STAGES_OFFSET, Slot,
    SlotState, VERSION, WANTS_BASIC_BLOCKS,
};
pub use mapped::MappedSegment;
pub use pool::BlockPool;
pub use producer::{SlotOwner, SystemCalls};
pub use queue::{Full, PublishedBlock, QUEUE_CELLS, Queue, Tail};
pub use record::{
    CODED, ENTER_DEPTH_UNKNOWN, NOTE, NOTE_BYTES_MOST, Record, THREAD_NAME_BYTES, WireKind,
    basic_block_words, enter_words, unpack_enter,
};
pub use restriction::{Restriction, filters, restriction};
pub use space::{UNLIMITED, outer_limits};
