//! [`GpuError`]: why answers on a device could not be kept.

use reuselens_cuda::CudaFault;

/// Why answers on a device could not be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// The device refused something, or a kernel was stopped.
    #[error("the device cannot {task}: {}", .fault.message)]
    Device {
        /// What it was asked for.
        task: &'static str,
        /// What it said.
        fault: CudaFault,
    },
    /// A kernel was not launched with the parameters that it declares.
    #[error("the kernel {kernel} takes {takes} bytes of parameters, and {given} were given")]
    Parameters {
        /// Its name.
        kernel: &'static str,
        /// What its code declares.
        takes: u64,
        /// What this crate gives.
        given: u64,
    },
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
