//! Calls of the driver: how a kernel is launched ([`PreparedLaunch`]), and how a call fails
//! ([`Failure`]).

/// What a function of the driver returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The function.
    pub call: &'static str,
    /// The number.
    pub code: u32,
}

/// How a kernel is launched.
#[derive(Debug)]
pub struct PreparedLaunch<'a> {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of shared memory that the launch adds.
    pub shared_bytes: u32,
    /// The parameters, as many bytes as the kernel declares.
    pub params: &'a mut [u8],
    /// Offset and bytes of each parameter, if all blocks run at the same time.
    pub cooperative_params: Option<&'a [(u64, u64)]>,
}
