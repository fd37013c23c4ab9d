//! [`GpuDistanceError`]: why a device gave no distances.

use reuselens_cuda::GpuFault;
use reuselens_units::Bytes;

/// Why a device gave no distances.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuDistanceError {
    /// The device refused something, or a kernel was stopped.
    #[error("{0}, so there are no distances; run it again, or take --engine counting")]
    Gpu(#[from] GpuFault),
    /// The device has too little memory for a chunk.
    #[error(
        "{references} references at a time take {needed} of the device's memory, and {free} are free{}",
        advice(*.most)
    )]
    TooLittleMemory {
        /// References of a chunk.
        references: u64,
        /// Bytes that they take.
        needed: Bytes,
        /// Bytes that the device has.
        free: Bytes,
        /// The most references that fit; none if a tile of the kernels does not.
        most: u64,
    },
    /// References of a chunk are numbered by 32 bits.
    #[error(
        "chunks of {references} references are asked for, whose numbers do not fit 32 bits with those of their successors; ask for {most} at most"
    )]
    TooLong {
        /// References of a chunk that was asked for.
        references: u64,
        /// The most of them.
        most: u64,
    },
}

/// What to do where a chunk does not fit.
fn advice(most: u64) -> String {
    match most {
        0 => ", too little for the smallest chunk; free some of it (the interpreter has a fourth of the memory limit), or take --engine counting"
            .to_owned(),
        most => format!("; ask for chunks of {most} at most, or take --engine counting"),
    }
}
