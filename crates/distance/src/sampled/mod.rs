//! Sampling: most of a miss-ratio curve for a hundredth of the work, with a bound on its error.

mod bins;
mod bursts;
mod estimate;
mod filter;
mod moments;
mod sampler;
mod samples;
mod spatial;

pub use estimate::{BoundedPoint, Estimate};
pub(crate) use filter::Filter;
pub use sampler::{SampleOptions, Sampler};
pub use samples::{SamplePart, SampleSource, Samples};
