//! What a warp instruction of a GPU kernel is; streams of them in batches of columns, and their
//! files.
//!
//! A [`WarpSource`] yields [`WarpStep`]s: a kernel was launched ([`Launch`]), then batches of its
//! memory instructions, one [`WarpAccess`] for each warp that issued one. Who makes them (an
//! interpreter, a tracer) hands them to a [`WarpSink`]: a [`WarpStream`] in memory, or a file
//! ([`file::Writer`]). Both are [`Collector`]s too: who runs on several threads collects [`Piece`]s
//! there, and hands those over in order.
//!
//! The order is that of execution within a warp. Between warps and blocks any order will do:
//! analyses go by `block`, `warp` and `position`, so that blocks may be run on several threads.
//!
//! For: those who make such streams (the crate `ptx`, tracers) and those who analyse them (`simt`).
//! Not for: traces of programs, which are the crate `trace`; this one shares errors with it.

pub mod accelsim;
mod access;
mod batch;
pub mod file;
mod launch;
mod memory;
mod source;

pub use access::{LANES, Space, WarpAccess, WarpKind};
pub use batch::{WarpBatch, WarpRow};
pub use launch::{Extent, Launch, Site};
pub use memory::{Recorded, WarpStream};
pub use source::{Collector, Piece, WarpSink, WarpSource, WarpStep, open_warps};
