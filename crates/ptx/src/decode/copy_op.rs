//! Asynchronous copies, as the machine runs them.

use super::kernel::Address;

/// A step of asynchronous copies.
#[derive(Clone, Copy, Debug)]
pub enum CopyStep {
    Start(CopyOp),
    /// Makes a group of what was started.
    Commit,
    /// Waits for all groups but the last few; without a number, for everything.
    Wait {
        but: Option<u32>,
    },
    Bulk(BulkCopy),
}

/// A copy of as many bytes as a register says. One with a barrier goes from global to shared
/// memory, one without from shared to global memory.
#[derive(Clone, Copy, Debug)]
pub struct BulkCopy {
    pub to: Address,
    pub from: Address,
    /// A register with the number of bytes.
    pub bytes: u32,
    /// The barrier, in shared memory, that waits for the bytes.
    pub barrier: Option<Address>,
    pub site: u32,
}

/// A copy from global to shared memory.
#[derive(Clone, Copy, Debug)]
pub struct CopyOp {
    pub to: Address,
    pub from: Address,
    /// Bytes that are written.
    pub bytes: u8,
    pub size: CopySize,
    pub site: u32,
}

/// How many of the bytes come from the source; the others are zero.
#[derive(Clone, Copy, Debug)]
pub enum CopySize {
    All,
    Register(u32),
    /// None if a predicate holds.
    Unless(u32),
}
