//! Analyses in pieces: by threads, by processes, by machines, all with the same two functions.
//!
//! [`analyze_shard`] counts one [`Piece`] of a trace, independently of all others; [`merge`] puts
//! two neighbouring parts together. Both are exact: [`finish`] makes of all parts the very profile
//! that [`analyze`](crate::analyze) makes of the trace. A [`Part`] can be a file
//! ([`Part::to_bytes`]). [`histogram_parallel`] does the same to items in memory, on threads.
//!
//! How it works: the first access to an item within a piece has a distance that depends on what
//! came before, all others do not. Firsts wait with the cell that they count for, until the part
//! before is there; it is enough to know its items in the order of their last access (Niu et al.,
//! *PARDA: A Fast Parallel Reuse Distance Analysis Algorithm*, IPDPS 2012;
//! [`Shard`](reuselens_distance::Shard)).
//!
//! ```
//! use reuselens::shard::{Piece, TraceIdentity, analyze_shard, finish};
//! use reuselens::{AnalysisOptions, analyze, formats::open};
//!
//! # let folder = std::env::temp_dir().join(format!("reuselens-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! # let path = folder.join("t.txt");
//! # std::fs::write(&path, "a b c a\n".repeat(30_000)).unwrap();
//! let options = AnalysisOptions::default();
//! let parts = (1..=3).map(|number| {
//!     let piece = Piece::new(number, 3).unwrap();
//!     let trace = TraceIdentity::of_file(&path).unwrap();
//!     let mut source = open(&path, None).unwrap();
//!     analyze_shard(&mut *source, trace, vec!["t".into()], &options, piece, &mut |_| {}).unwrap()
//! });
//! let profile = finish(parts.collect()).unwrap();
//! let whole = analyze(&mut *open(&path, None).unwrap(), vec!["t".into()], &options, &mut |_| {});
//! assert_eq!(profile, whole.unwrap());
//! # std::fs::remove_dir_all(&folder).unwrap();
//! ```

mod analyze;
mod error;
mod file;
mod groups;
mod identity;
mod merge;
mod moves;
mod part;
mod segment;

pub use crate::segments::histogram_parallel;
pub use analyze::analyze_shard;
pub use error::PartError;
pub use identity::{Piece, TraceIdentity};
pub use merge::{finish, merge, merge_all};
pub use part::Part;
pub(crate) use segment::{Known, SegmentCounts, Waiting};
