//! Why there is no profile.

use thiserror::Error;

/// Why an analysis could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The trace cannot be read at all, or not be written.
    #[error(transparent)]
    Trace(#[from] reuselens_trace::TraceError),
    /// The program cannot be run.
    #[error(transparent)]
    Capture(#[from] reuselens_capture::CaptureError),
    /// There is no such engine.
    #[error(transparent)]
    Engine(#[from] reuselens_distance::EngineError),
    /// A piece of a trace cannot be analysed, or parts not be put together.
    #[error(transparent)]
    Part(#[from] crate::shard::PartError),
}
