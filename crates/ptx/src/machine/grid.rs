//! [`LaunchConfig`]: blocks, threads, shared memory and parameters of a launch, and the check that
//! they fit the kernel and a GPU.

use crate::decode::kernel::Kernel;
use crate::lanes::WARP;

use super::launch::LaunchError;

/// What a kernel is launched with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks, in three directions.
    pub grid: [u32; 3],
    /// Threads of a block, in three directions.
    pub block: [u32; 3],
    /// Bytes of shared memory that the kernel does not declare itself.
    pub shared: u64,
    /// Parameters, laid out as the kernel declares them.
    pub params: Vec<u8>,
}

impl LaunchConfig {
    /// Threads of a block.
    pub fn threads_of_block(&self) -> u32 {
        self.block.iter().product()
    }

    /// Blocks.
    pub fn blocks(&self) -> u32 {
        self.grid.iter().product()
    }

    /// Place of a block in the grid.
    pub fn place(&self, block: u32) -> [u32; 3] {
        split(block, self.grid)
    }

    /// Place of a thread in its block.
    pub fn thread(&self, thread: u32) -> [u32; 3] {
        split(thread, self.block)
    }

    /// Demands what every GPU demands, and what the kernel does.
    pub(super) fn check(&self, kernel: &Kernel) -> Result<(), LaunchError> {
        let refuse = |what: String| Err(LaunchError::Refused(what));
        let [x, y, z] = self.block;
        let threads = u64::from(x) * u64::from(y) * u64::from(z);
        if threads == 0 || threads > 1024 || z > 64 {
            return refuse(format!(
                "a block of {x} x {y} x {z} threads; from 1 to 1024 are possible, and up to 64 in z"
            ));
        }
        let blocks: u128 = self.grid.iter().map(|&size| u128::from(size)).product();
        if blocks == 0 || blocks > u128::from(u32::MAX / 2) {
            return refuse(format!(
                "a grid of {} x {} x {} blocks; from 1 to {} are possible",
                self.grid[0],
                self.grid[1],
                self.grid[2],
                u32::MAX / 2
            ));
        }
        if let Some(required) = kernel.required_threads
            && required != self.block
        {
            return refuse(format!(
                "{} was compiled for blocks of {required:?} threads, not {:?}",
                kernel.name, self.block
            ));
        }
        if let Some(most) = kernel.max_threads
            && threads > most
        {
            return refuse(format!(
                "{} was compiled for up to {most} threads in a block, not {threads}",
                kernel.name
            ));
        }
        const MOST_SHARED: u64 = 227 << 10;
        let shared = kernel.shared_bytes.saturating_add(self.shared);
        if shared > MOST_SHARED {
            return refuse(format!(
                "{shared} bytes of shared memory for a block; the largest GPUs have {MOST_SHARED}"
            ));
        }
        if self.params.len() as u64 != kernel.param_bytes {
            return refuse(format!(
                "{} takes {} bytes of parameters, not {}",
                kernel.name,
                kernel.param_bytes,
                self.params.len()
            ));
        }
        if self.local_bytes(kernel) > MOST_LOCAL {
            return refuse(format!(
                "{} bytes of local memory for each of {threads} threads, in warps of {WARP}; \
                 {MOST_LOCAL} are possible for a block; launch smaller blocks",
                kernel.local_bytes
            ));
        }
        Ok(())
    }

    /// Bytes of local memory that a block takes: warps have it for all their lanes.
    pub(super) fn local_bytes(&self, kernel: &Kernel) -> u64 {
        let lanes = self.threads_of_block().next_multiple_of(WARP as u32);
        kernel.local_bytes.saturating_mul(u64::from(lanes))
    }
}

/// The most bytes of local memory of the blocks that run at one time.
pub(super) const MOST_LOCAL: u64 = 1 << 30;

fn split(number: u32, sizes: [u32; 3]) -> [u32; 3] {
    [
        number % sizes[0],
        number / sizes[0] % sizes[1],
        number / sizes[0] / sizes[1],
    ]
}
