//! Reuse-distance analysis of real programs: the library behind the `reuselens` command.
//!
//! ```text
//! a program ── capture ──┐
//! a trace file ──────────┴─▶ Source ─▶ attribute ─▶ engine ─▶ Profile ─▶ report
//! ```
//!
//! [`analyze`] takes any [`Source`](reuselens_trace::Source) to a
//! [`Profile`](reuselens_profile::Profile) in one pass, in memory that grows with the distinct
//! items and not with the length of the trace; [`analyze_segmented`] reads a file in parts, on
//! several threads. [`shard`] does the same in pieces that run apart.
//! [`record`] writes a source to a trace file instead.
//!
//! For: programs that want what the command line does, as one call. Not for: printing or drawing;
//! see the report crate.
//!
//! ```
//! use reuselens::{AnalysisOptions, analyze};
//! use reuselens_io::Input;
//!
//! let input = Input::new("a b c a".as_bytes(), "letters");
//! let mut source = reuselens_formats::read(input, Some("text")).unwrap();
//! let options = AnalysisOptions::default();
//! let profile = analyze(&mut *source, vec!["letters".into()], &options, &mut |_| {}).unwrap();
//! assert_eq!(profile.histogram.iter().collect::<Vec<_>>(), [(2, 1)]);
//! assert_eq!(profile.histogram.cold(), 3);
//! ```

mod analysis;
mod attribution;
mod available;
pub mod bench;
mod budget;
mod carried_reuses;
mod cause_warnings;
mod counts;
mod data_filter;
pub mod engines;
mod error;
mod line_statements;
mod machine;
mod options;
mod path_warnings;
mod recording;
mod reordering;
mod row_cells;
mod segments;
pub mod shard;
mod stopping;
mod tallied;
mod weighed;

pub use analysis::{Progress, analyze, analyze_segmented, check};
pub use available::available_memory;
pub use error::Error;
pub use machine::this_machine;
pub use options::{AnalysisOptions, DeviceChoice, EngineChunks, MOST_PATHS};
pub use recording::{Recorded, RecordingError, RecordingOptions, record, record_program};
pub use reordering::{Reordered, reorder};
pub use tallied::TalliedHistogram;

pub use reuselens_attribute as attribute;
pub use reuselens_baselines as baselines;
pub use reuselens_capture as capture;
pub use reuselens_distance as distance;
pub use reuselens_distance_gpu as distance_gpu;
pub use reuselens_formats as formats;
pub use reuselens_hugepages as hugepages;
pub use reuselens_io as io;
pub use reuselens_locality as locality;
pub use reuselens_profile as profile;
pub use reuselens_rltrace as rltrace;
pub use reuselens_trace as trace;
pub use reuselens_units as units;
