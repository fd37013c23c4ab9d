//! [`InstrumentError`]: PTX that cannot get hooks at all.

use reuselens_ptx::PtxError;

/// Why no hooks can be put into a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstrumentError {
    /// The text is no PTX.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// There is no `.version` in the text.
    #[error(
        "this is no PTX, which begins with `.version`; give what a compiler makes of CUDA C++ by `-ptx` (nvcc) or `-S --cuda-device-only` (clang)"
    )]
    NotPtx,
    /// A body or a statement without an end.
    #[error("line {line}: this {what} has no end; give the complete PTX")]
    NoEnd {
        /// Its line, from 1.
        line: u32,
        /// What has no end.
        what: &'static str,
    },
    /// A `.version` that has no `activemask`.
    #[error(
        "PTX of version {found} has no `activemask`, which hooks need; make PTX of version 6.2 or later (CUDA 9.2)"
    )]
    Version {
        /// What the file says.
        found: String,
    },
    /// Addresses of 32 bits.
    #[error("hooks need addresses of 64 bits; make the PTX with `.address_size 64` (nvcc -m64)")]
    AddressSize,
    /// A target that is too old.
    #[error(
        "hooks need atomic operations of `.target sm_32` or later, and this PTX is for {found}; compile it for a later target"
    )]
    Target {
        /// What the file says.
        found: String,
    },
}
