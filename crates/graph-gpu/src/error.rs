//! [`GpuError`]: why answers on a device could not be kept.

use reuselens_cuda::GpuFault;

/// Why answers on a device could not be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// The device refused something, or a kernel was stopped.
    #[error(transparent)]
    Gpu(#[from] GpuFault),
    /// Lists of neighbours are longer than a 32-bit number can say.
    #[error("the lists of neighbours would have {ids} ids, and 4,294,967,295 are the most")]
    TooLarge {
        /// The ids of all lists.
        ids: u64,
    },
    /// The graph or the changes are not those of the batch after the last one.
    #[error(
        "the graph has {found} edges where {expected} are expected: each batch must be given, once \
         and in order, with the graph after it"
    )]
    OutOfStep {
        /// The edges after the batch, as the graph says.
        found: u64,
        /// The edges after the batch, as the changes say.
        expected: u64,
    },
}
