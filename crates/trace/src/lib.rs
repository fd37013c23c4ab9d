//! What an access is, and streams of accesses in blocks of columns.
//!
//! A [`Source`] yields [`Step`]s: blocks of rows of one thread, and between them the few events
//! that are not rows (a process began, a module was mapped, a thread started). Everything to the
//! right of this crate — engines, attribution, reports — sees programs and trace files only as a
//! `Source`. A [`Segmented`] source can also be read in several parts at the same time.
//! [`Selected`], [`WithRemark`] and [`Stoppable`] are sources made of another; a [`Summary`] counts
//! what one delivers.
//!
//! This crate uses `io` for the errors of files, which are reasons of a [`TraceError`], and reads
//! none itself. Files are those of the crates `rltrace` and `formats`.
//!
//! For: producers of traces (the capture crate, readers of files) and their consumers.
//! Not for: analysis. Nothing here measures or judges a trace.

mod basic_block;
mod block;
mod confidence;
mod event;
mod item_batch;
mod repeats;
mod selection;
mod source;
mod stop;
pub mod summary;
mod templates;
mod unsegmented;
mod with_remark;

pub use basic_block::{BasicBlock, BlockEnd};
pub use block::{Block, Columns, Kind, Row};
pub use confidence::Confidence;
pub use event::{
    Event, Module, ModuleId, Note, Process, ProcessEnd, ProcessId, Sampling, Thread, ThreadId,
};
pub use item_batch::{ItemBatch, ItemProjection};
pub use repeats::{Repeat, RepeatExpander, RepeatOf, RepeatTemplate, Repeats};
pub use selection::{Extent, Place, Selected, Selection};
pub use source::{AnySegment, Projection, Segmented, Source, Step, TraceError, TraceSegment};
pub use stop::{Stop, Stoppable};
pub use summary::Summary;
pub use templates::{
    MAX_TEMPLATE_OPERANDS, MAX_TEMPLATE_ROWS, OPERANDS_AT_ONCE, TemplateBlock, TemplateRow,
    Templates,
};
pub use unsegmented::Unsegmented;
pub use with_remark::WithRemark;
