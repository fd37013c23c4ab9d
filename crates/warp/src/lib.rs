//! Records of memory instructions of GPU warps, streams of them, and files of streams.
//!
//! A [`WarpSource`] delivers [`WarpStep`]s: the launch of a kernel ([`Launch`]), then batches of
//! its memory instructions, with one [`WarpAccess`] for each warp that issued one. Producers (an
//! interpreter, a tracer) send them to a [`WarpSink`]: a [`WarpStream`] in memory, or a file
//! ([`file::WarpWriter`]). Both are [`Collector`]s, too: a producer with several threads collects
//! [`RecordPiece`]s on each thread, and sends these in order.
//!
//! Within a warp, records are in the order of execution. Warps and blocks may be in any order, so
//! that blocks can be run on several threads: analyses use `block`, `warp`, `phase` and
//! `position`.
//!
//! For: producers of such streams (the crate `ptx`, tracers) and analyses of them (`simt`). Not
//! for: traces of programs, which are in the crate `trace`; this one shares errors with it.

pub mod accelsim;
mod access;
mod batch;
pub mod file;
mod instruction_class;
mod launch;
mod memory;
mod source;

pub use access::{LANES, Space, WarpAccess, WarpKind};
pub use batch::{WarpBatch, WarpRow};
pub use instruction_class::InstructionClass;
pub use launch::{BlockUse, DeviceCall, Extent, KernelSite, Launch, SharedArray};
pub use memory::{Recorded, WarpStream};
pub use source::{Collector, RecordPiece, WarpSink, WarpSource, WarpStep, open_warps};
