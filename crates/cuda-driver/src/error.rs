//! [`DriverError`]: why there is no device.

/// Why there is no device of a driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// The library cannot be opened.
    #[error(
        "there is no CUDA driver: {why}; install the driver of NVIDIA for the GPU, and look with \
         nvidia-smi whether it works"
    )]
    NoLibrary {
        /// What the loader says.
        why: String,
    },
    /// The driver does not start.
    #[error(
        "the CUDA driver does not start: {call} returns {code}; look with nvidia-smi whether the \
         driver works, and restart the machine after an update of the driver"
    )]
    Start {
        /// The function that failed.
        call: &'static str,
        /// What it returned, with its name.
        code: String,
    },
    /// The driver is too old.
    #[error(
        "the driver is one for CUDA {}.{}, and CUDA {}.{} is the oldest that works; update the \
         driver of NVIDIA",
        .version / 1000, .version % 1000 / 10, .oldest / 1000, .oldest % 1000 / 10
    )]
    Old {
        /// CUDA's number of the version: 11040 is 11.4.
        version: i32,
        /// The same of the oldest version that works.
        oldest: i32,
    },
    /// The library lacks a function.
    #[error("the CUDA driver has no function {function}; update the driver of NVIDIA")]
    Missing {
        /// Its name.
        function: &'static str,
    },
    /// There is no such GPU.
    #[error(
        "there is no GPU number {number}: the driver has {count}; nvidia-smi -L lists the GPUs, and \
         CUDA_VISIBLE_DEVICES may hide some"
    )]
    NoDevice {
        /// What was asked for, from 0.
        number: u32,
        /// GPUs that the driver has.
        count: i32,
    },
}
