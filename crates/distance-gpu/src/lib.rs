//! Reuse distances by CUDA kernels, on whatever implements [`Device`](reuselens_cuda::Device).
//!
//! | engine | distances | how |
//! |---|---|---|
//! | [`GpuExact`] | exact | previous references by a radix sort, then dominance counting |
//! | [`HpRdaGpu`] | approximate | chunks by threads, then merged: as published, to compare with |
//!
//! A stream is analysed by the chunk, which is as much as a device takes at once, so distances come
//! late: they are returned when a chunk is full, and the rest at the end. [`GpuExact`] gives the
//! same distances as every exact engine, whatever the chunks are; [`HpRdaGpu`] those of
//! [`HpRda`](reuselens_baselines::HpRda) on the processor.
//!
//! The kernels are CUDA C++ in `kernels/distance`. Their PTX is in this crate, so that nobody needs
//! a compiler of CUDA; `cargo xtask kernels` makes it anew.
//!
//! What a device refuses is a [`GpuDistanceError`]. An engine that had one returns it from then on,
//! and counts nothing more.
//!
//! ```
//! use reuselens_distance_gpu::{ExactSettings, GpuExact, interpreter};
//! use reuselens_units::Distance;
//!
//! let device = interpreter(1 << 26, 1);
//! let mut engine = GpuExact::new(device, ExactSettings { chunk: Some(4) })?;
//! engine.feed(&[7, 8, 8, 7, 9, 8]);
//! let (cold, near) = (Distance::COLD, Distance::new(0));
//! assert_eq!(engine.analyse()?, [cold, cold, near, Distance::new(1)]);
//! assert_eq!(engine.finish()?.distances, [cold, Distance::new(2)]);
//! # Ok::<(), reuselens_distance_gpu::GpuDistanceError>(())
//! ```
//!
//! For: distances of long streams where there is a GPU, and comparison with the literature. Not
//! for: timing on the interpreter, which is no GPU.

mod chunk;
mod dominance;
mod error;
mod exact;
mod hp_rda;
mod kernels;
mod radix;
mod table;
mod times;

pub use error::GpuDistanceError;
pub use exact::{ExactFinished, ExactSettings, GpuExact};
pub use hp_rda::{HpRdaGpu, HpRdaGpuFinished};
pub use kernels::KernelCode;
pub use times::{ExactTimes, HpRdaGpuTimes};

use reuselens_cuda::Interpreter;
use reuselens_ptx::{Ignore, Options};

/// The device that runs kernels on the processor, and does not look at what they do.
pub type PlainInterpreter = Interpreter<Ignore>;

/// A device that runs kernels on up to `threads` threads of the processor, with up to `memory`
/// bytes.
pub fn interpreter(memory: u64, threads: usize) -> PlainInterpreter {
    let options = Options {
        threads,
        ..Options::default()
    };
    Interpreter::new(memory, options, Ignore)
}
