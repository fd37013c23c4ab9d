//! How fast the engines are, and how far the approximate ones are off, measured so that anyone can
//! measure it again.
//!
//! Every contender runs the whole stream by itself, from empty and with the caches to itself, over
//! items that lie in memory; an engine counts its distances into a histogram as an analysis does.
//! Contenders take turns (A B C, A B C, …), the median of its runs counts, in processor time, and
//! the histograms of all exact engines must be equal. Rates are about the machine, so what is to be
//! compared are ratios: to Olken's tree, the baseline of the literature, and to the *bound*, the
//! look-up of last accesses alone, without counts and histogram, which no engine with such a table
//! can beat.
//!
//! ```
//! use reuselens::bench::{Contender, Race};
//!
//! let items: Vec<u64> = (0..5000).map(|step| step * step % 371).collect();
//! let contenders = Contender::exact();
//! let heat = Race::new(3).run("squares", &items, &contenders, &mut |_| {}).unwrap();
//! assert_eq!(heat.timings.len(), contenders.len());
//! assert!(heat.timings.iter().all(|timing| timing.runs == 3));
//! ```

mod chunked;
mod clock;
mod contender;
mod long;
mod markdown;
mod race;
mod streams;

use reuselens_units::Bytes;
use serde::Serialize;
use thiserror::Error;

pub use chunked::ChunkedEngine;
pub use contender::Contender;
pub use long::{LONG_ITEMS, Long, long};
pub use race::{ApproximationError, Heat, Race, Timing};
pub use streams::{items, items_of, room, scaling, yardstick_items};

/// Why something was not measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BenchError {
    /// Two exact engines differ: one of them is wrong.
    #[error(
        "{one} and {other} count different distances on {stream}: one of them is wrong; please report this with the stream"
    )]
    Disagree {
        /// An engine.
        one: String,
        /// Another.
        other: String,
        /// The stream.
        stream: String,
    },
    /// The items would not fit.
    #[error(
        "{references} references to {distinct} items take about {needed} to measure, more than three quarters of the memory that is free ({free}); take fewer, for instance --references 1000000"
    )]
    Memory {
        /// References asked for.
        references: u64,
        /// Distinct items at most.
        distinct: u64,
        /// Bytes of items and engines.
        needed: Bytes,
        /// Bytes that may be taken.
        free: Bytes,
    },
    /// No such engine.
    #[error(transparent)]
    Engine(#[from] crate::engines::EngineError),
    /// An engine for a GPU without one.
    #[error("{0}; --device interpreter runs kernels on the processor, which is slow")]
    NoGpu(#[from] reuselens_cuda_driver::DriverError),
    /// A device refuses something.
    #[error(transparent)]
    Device(#[from] reuselens_distance_gpu::GpuDistanceError),
}

/// Heats that differ in one number.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// What the number is: `distinct items` or `references`.
    pub over: &'static str,
    /// What all of them share.
    pub stream: String,
    /// By that number, ascending.
    pub heats: Vec<Heat>,
}

/// Everything that was measured. As JSON it has the fields of this type.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// `reuselens-bench/1`. Fields may be added; none is renamed.
    pub schema: &'static str,
    /// Version of reuselens.
    pub version: &'static str,
    /// The processor.
    pub processor: String,
    /// Vector instructions of those engines that have hot loops for several: `avx512`, `avx2` or
    /// `portable`.
    pub simd: &'static str,
    /// Threads of every contender.
    pub threads: u32,
    /// Runs of each contender, unless one took too long to repeat.
    pub repetitions: u32,
    /// One heat per stream.
    pub streams: Vec<Heat>,
    /// What changes with the number of items, and with the length.
    pub series: Vec<Series>,
    /// The long run, if there was one.
    pub long: Option<Long>,
}

impl Report {
    /// Of nothing yet.
    pub fn new(race: &Race) -> Self {
        Report {
            schema: "reuselens-bench/1",
            version: env!("CARGO_PKG_VERSION"),
            processor: crate::this_machine().processor,
            simd: race.simd.name(),
            threads: 1,
            repetitions: race.repetitions,
            streams: Vec::new(),
            series: Vec::new(),
            long: None,
        }
    }

    /// All of it as JSON, ended by a line break.
    pub fn json(&self) -> String {
        // There is no map, and no number that JSON has not: ratios are of times above zero.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
