//! [`DeviceChoice`]: devices whose kernels keep answers.

use reuselens_cuda_driver::{DriverDevice, DriverError};

/// The most memory of the interpreter, in bytes. It takes what the graph needs.
pub const DEVICE_MEMORY: u64 = 8 << 30;

/// What keeps answers, instead of rules of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DeviceChoice {
    /// The first GPU, by its CUDA driver
    Cuda,
    /// The first GPU, or the rules of the processor where there is none
    Auto,
    /// The processor, which interprets the kernels: exact, but no GPU's speed
    Interpreter,
}

/// The first GPU that CUDA shows this process.
///
/// # Errors
/// If there is none, or its driver does not work.
pub fn first_gpu() -> Result<DriverDevice, DriverError> {
    DriverDevice::open(0)
}
