//! The shared memory through which a measured program sends its accesses to the analysing process:
//! its layout, and what both sides do to it.
//!
//! One segment (a memfd) holds a [`Header`] with a bounded queue of full blocks, a table of
//! [`Slot`]s (one per recording thread) and a pool of blocks. A thread writes [`Record`]s straight
//! into its block and keeps its cursor in its slot, *inside the segment*. So whatever ends a
//! program (`exit`, `_exit`, a signal that cannot be caught), every record written before can still
//! be read.
//!
//! ```text
//! thread ── records ──▶ block ── full ──▶ queue ──▶ analysing process ── empty ──▶ pool ──▶ thread
//! ```
//!
//! Rewritten code, and code compiled with the LLVM pass, writes *block records* between the
//! records: one for a block of code instead of one record for each of its accesses (see `record.rs`
//! and `dictionary.rs`).
//!
//! The queue has [`QUEUE_CELLS`] cells. A thread that finds it full sleeps until the analysing side
//! has taken a block, so no record is dropped and no buffer grows.
//!
//! A [`TextureDescriptor`] is of another memory, that of a simulated GPU: a CUDA program writes it
//! there, and the interpreter reads it.
//!
//! For: `runtime` and `dbi` (producers, inside the measured program) and `capture` (consumer); of
//! textures `cuda` and `ptx`. Not for: anyone else; the layout changes with [`VERSION`], and both
//! sides come from one build.
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
mod strata;
mod texture_descriptor;

pub use alive::is_alive;
pub use bootstrap::{
    ARENA, Bootstrap, CACHE, HEAP, IMAGE, IMAGE_ROOM, IMAGE_STACK_BYTES, RESERVED_BYTES, Registers,
    START_BYTES,
};
pub use control::{
    Claim, Control, FUNCTIONS, Function, MARK_ASK, MARK_BEGIN, MARK_END, REGION_BYTES, Recording,
};
pub use dictionary::{
    DICTIONARY_BYTES, DictionaryEntry, ENTRY_ROWS_MOST, ENTRY_UNIT, EntryRow, NO_WORD, SPECIAL,
    SPECIALS_MOST, block_record_head, entry_bytes, head_word, special_head, take_entry,
    unpack_head,
};
pub use gate::{ControlStage, Gate, Phase, Range, RecordingScope, is_gated};
pub use layout::{
    BLOCK_BYTES, BLOCK_HEADER_BYTES, BLOCKS, BLOCKS_OFFSET, BlockHeader, DICTIONARY_OFFSET,
    ENVIRONMENT, Exec, ExecState, HEADER_BYTES, Header, MAGIC, MARKS_MOST, MARKS_OFFSET, Marks,
    NO_BLOCK, OTHERS, Other, RECORD_BYTES, SEGMENT_BYTES, SLOTS, STAGES_OFFSET, Slot, SlotState,
    SyncMark, VERSION, WANTS_BASIC_BLOCKS,
};
pub use mapped::MappedSegment;
pub use pool::BlockPool;
pub use producer::{SlotOwner, SystemCalls};
pub use queue::{Full, PublishedBlock, QUEUE_CELLS, Queue, Tail};
pub use record::{
    BLOCK_RECORD_BYTES_MOST, COMPILED_BLOCK_RECORD, ENTER_DEPTH_UNKNOWN, REWRITTEN_BLOCK_RECORD,
    Record, THREAD_NAME_BYTES, WireKind, basic_block_words, enter_words, is_block_record,
    unpack_enter,
};
pub use restriction::{Restriction, filters, restriction};
pub use space::{Limits, UNLIMITED, outer_limits};
pub use strata::{BurstPlace, Stratum};
pub use texture_descriptor::{AddressMode, ChannelKind, TextureDescriptor};
