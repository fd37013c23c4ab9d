//! What an access is, streams of accesses in blocks of columns, and the files they are stored in.
//!
//! A [`Source`] yields [`Step`]s: blocks of rows of one thread, and between them the few events
//! that are not rows (a process began, a module was mapped, a thread started). Everything to the
//! right of this crate — engines, attribution, reports — sees programs and trace files only as a
//! `Source`.
//!
//! [`open`] finds the format of a file and reads it; [`formats::native::Writer`] writes the native
//! file; [`convert()`] copies any source into another form; [`AtomicFile`] is the file that every
//! output of the project is written through.
//!
//! [`warp`] is the same for kernels of GPUs: one record for each memory instruction of a warp.
//!
//! For: producers (the capture crate, readers of foreign formats) and consumers of traces.
//! Not for: analysis. Nothing here counts, measures or judges a trace.

mod basic_block;
mod block;
mod convert;
mod event;
mod folds;
pub mod formats;
mod noted;
mod selection;
mod shaped;
mod source;
mod stage;
mod stop;
mod summary;
mod survey;
mod touches;
pub mod warp;

pub use basic_block::{BasicBlock, BlockEnd};
pub use block::{Block, Columns, Kind, Row};
pub use convert::{Converted, Target, convert};
pub use event::{Event, Module, ModuleId, Note, Process, ProcessEnd, ProcessId, Thread, ThreadId};
pub use folds::{Again, Folds, Pattern, Repeated, Unfolder};
pub use formats::{AnySource, FORMATS, FormatInfo, open, open_part, read};
pub use noted::Noted;
pub use selection::{Extent, Place, Selected, Selection};
pub use shaped::{SHAPE_ROWS_MOST, SHAPE_WORDS_MOST, ShapeRow, ShapedBlock, Shapes, WORDS_AT_ONCE};
pub use source::{AnyStretch, Source, Step, Stretch, TraceError};
pub use stop::{Stop, Stoppable};
pub use summary::Summary;
pub use survey::{Survey, survey};
pub use touches::{Touches, Wish};
