//! What an access is, streams of accesses in blocks of columns, and the files they are stored in.
//!
//! A [`Source`] yields [`Step`]s: blocks of rows of one thread, and between them the few events that
//! are not rows (a process began, a module was mapped, a thread started). Everything to the right
//! of this crate — engines, attribution, reports — sees programs and trace files only as a `Source`.
//!
//! For: producers (the capture crate, readers of foreign formats) and consumers of traces.
//! Not for: analysis. Nothing here counts, measures or judges a trace.

mod block;
mod event;
mod source;

pub use block::{Block, Kind, Row};
pub use event::{
    Event, Module, ModuleId, Note, Process, ProcessEnd, ProcessId, Thread, ThreadId,
};
pub use source::{Source, Step, TraceError};
