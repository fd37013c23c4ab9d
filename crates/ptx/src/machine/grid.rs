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
    /// All blocks run at the same time, and may wait for each other (`cudaLaunchCooperativeKernel`,
    /// `grid.sync()`). They run on one thread, in turns.
    pub cooperative: bool,
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
    /// `local` is the bytes of local memory of each thread.
    pub(super) fn check(&self, kernel: &Kernel, local: u64) -> Result<(), LaunchError> {
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
        self.check_block(kernel, threads)?;
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
        if self.cooperative {
            self.check_resident(kernel, threads, blocks, local)?;
        }
        if self.local_bytes(local) > MOST_LOCAL {
            return refuse(format!(
                "{local} bytes of local memory for each of {threads} threads, in warps of {WARP}; \
                 {MOST_LOCAL} are possible for a block; launch smaller blocks"
            ));
        }
        Ok(())
    }

    /// Demands blocks of the size that the kernel was compiled for.
    fn check_block(&self, kernel: &Kernel, threads: u64) -> Result<(), LaunchError> {
        let what = match (kernel.required_threads, kernel.max_threads) {
            (Some(required), _) if required != self.block => format!(
                "{} was compiled for blocks of {required:?} threads, not {:?}",
                kernel.name, self.block
            ),
            (_, Some(most)) if threads > most => format!(
                "{} was compiled for up to {most} threads in a block, not {threads}",
                kernel.name
            ),
            _ => return Ok(()),
        };
        Err(LaunchError::Refused(what))
    }

    /// Demands that all blocks can run at the same time.
    fn check_resident(
        &self,
        kernel: &Kernel,
        threads: u64,
        blocks: u128,
        local: u64,
    ) -> Result<(), LaunchError> {
        let all = blocks * u128::from(threads.next_multiple_of(WARP as u64));
        if all > u128::from(MOST_RESIDENT) {
            return Err(LaunchError::Refused(format!(
                "a cooperative launch of {blocks} blocks of {threads} threads: all of them have to \
                 run at the same time, and the largest GPUs have room for {MOST_RESIDENT} threads"
            )));
        }
        let registers = 4 * u128::from(kernel.narrow) + 8 * u128::from(kernel.wide);
        let own = registers + u128::from(local);
        let shared = u128::from(kernel.shared_bytes.saturating_add(self.shared));
        let bytes = all * own + blocks * shared;
        if bytes > u128::from(MOST_RESIDENT_BYTES) {
            return Err(LaunchError::Refused(format!(
                "a cooperative launch of {blocks} blocks that takes {bytes} bytes of registers, \
                 local and shared memory, since all blocks run at the same time; \
                 {MOST_RESIDENT_BYTES} are possible; launch fewer blocks"
            )));
        }
        Ok(())
    }

    /// Bytes of local memory that a block takes: warps have it for all their lanes.
    pub(super) fn local_bytes(&self, local: u64) -> u64 {
        let lanes = self.threads_of_block().next_multiple_of(WARP as u32);
        local.saturating_mul(u64::from(lanes))
    }
}

/// Threads that run at the same time on 132 multiprocessors with 2048 each.
const MOST_RESIDENT: u64 = 132 * 2048;

/// Registers, local and shared memory of all blocks of a cooperative launch, in bytes.
pub(super) const MOST_RESIDENT_BYTES: u64 = 4 << 30;

/// The most bytes of local memory of the blocks that run at one time.
pub(super) const MOST_LOCAL: u64 = 1 << 30;

fn split(number: u32, sizes: [u32; 3]) -> [u32; 3] {
    [
        number % sizes[0],
        number / sizes[0] % sizes[1],
        number / sizes[0] / sizes[1],
    ]
}
