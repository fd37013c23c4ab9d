//! [`Occupancy`]: how many warps of a launch a multiprocessor can hold at the same time, and what
//! limits them; with the [`LaunchConfiguration`] that it follows from.
//!
//! Source: *CUDA C++ Best Practices Guide*, "Occupancy", and `cuda_occupancy.h` of the CUDA
//! toolkit, from which the rounding of shared memory is. The registers of a thread, which can make
//! the blocks fewer, are not known here: PTX has no number of them. So all figures are upper
//! bounds.

use reuselens_warp::{BlockUse, Extent, Launch};

use crate::GpuModel;

/// How a kernel was launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchConfiguration {
    /// Blocks.
    pub grid: Extent,
    /// Threads of a block.
    pub block: Extent,
    /// What a block uses; `None` if it is not known.
    pub used: Option<BlockUse>,
}

impl LaunchConfiguration {
    /// That of a launch.
    pub fn of(launch: &Launch) -> LaunchConfiguration {
        LaunchConfiguration {
            grid: launch.grid,
            block: launch.block,
            used: launch.used,
        }
    }

    /// How many of its warps a multiprocessor of this GPU can hold. Shared memory that is not known
    /// counts as none.
    pub fn occupancy(&self, model: &GpuModel) -> Occupancy {
        let warps = self.block.count().div_ceil(reuselens_warp::LANES as u64);
        let shared = self.used.map_or(0, BlockUse::shared);
        Occupancy::new(model, self.grid.count(), warps, shared)
    }
}

/// Launches of one kernel with the same configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfiguredLaunches {
    /// How they were launched.
    pub configuration: LaunchConfiguration,
    /// How many of them ended well.
    pub launches: u64,
    /// How many of their warps a multiprocessor of the modelled GPU can hold.
    pub occupancy: Occupancy,
}

/// What keeps a multiprocessor from holding more blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OccupancyLimit {
    /// The most warps that it holds.
    Warps,
    /// The most blocks that it holds.
    Blocks,
    /// Its shared memory.
    SharedMemory,
}

impl OccupancyLimit {
    /// Its name in reports and files.
    pub const fn name(self) -> &'static str {
        match self {
            OccupancyLimit::Warps => "warps",
            OccupancyLimit::Blocks => "blocks",
            OccupancyLimit::SharedMemory => "shared memory",
        }
    }
}

/// How many warps of a launch a multiprocessor can hold at the same time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occupancy {
    /// Blocks that it holds; 0 if a block does not fit.
    pub blocks: u32,
    /// Warps of those blocks.
    pub warps: u32,
    /// The most warps that it holds of any kernel.
    pub most_warps: u32,
    /// How often all multiprocessors are filled until all blocks have run; the last time maybe not
    /// to the full. 0 if a block does not fit.
    pub waves: f64,
    /// The most blocks by each limit, in the order of [`OccupancyLimit`].
    most_blocks: [u64; 3],
}

impl Occupancy {
    /// Of a launch of `grid` blocks, each with these warps and bytes of shared memory.
    fn new(model: &GpuModel, grid: u64, warps_per_block: u64, shared_bytes: u64) -> Occupancy {
        let warps_per_block = warps_per_block.max(1);
        let most_blocks = [
            u64::from(model.warps_per_sm) / warps_per_block,
            model.blocks_per_sm.into(),
            model.blocks_by_shared(shared_bytes),
        ];
        let blocks = most_blocks.into_iter().min().unwrap_or(0);
        let resident = blocks * u64::from(model.sms);
        Occupancy {
            blocks: blocks as u32,
            warps: (blocks * warps_per_block) as u32,
            most_warps: model.warps_per_sm,
            waves: match resident {
                0 => 0.0,
                resident => grid as f64 / resident as f64,
            },
            most_blocks,
        }
    }

    /// Warps that it holds, of the most it can: the *theoretical occupancy* without registers, from
    /// 0 to 1.
    pub fn share(&self) -> f64 {
        f64::from(self.warps) / f64::from(self.most_warps.max(1))
    }

    /// What limits the blocks: several where one more block is too many for each of them.
    pub fn limits(&self) -> impl Iterator<Item = OccupancyLimit> {
        let all = [
            OccupancyLimit::Warps,
            OccupancyLimit::Blocks,
            OccupancyLimit::SharedMemory,
        ];
        let blocks = u64::from(self.blocks);
        let limits = all.into_iter().zip(self.most_blocks);
        limits
            .filter(move |&(_, most)| most == blocks)
            .map(|(limit, _)| limit)
    }
}

/// Different configurations of a kernel that are kept; launches with others are counted together.
const MOST_CONFIGURATIONS: usize = 64;

/// The configurations that a kernel was launched with, in the order of their first launches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Configurations {
    known: Vec<(LaunchConfiguration, u64)>,
    /// Launches with a configuration that is not kept.
    others: u64,
}

impl Configurations {
    /// Counts a launch; one that was stopped counts for none, but its configuration is kept.
    pub fn add(&mut self, configuration: LaunchConfiguration, has_ended: bool) {
        let launches = u64::from(has_ended);
        let at = self.known.iter().position(|it| it.0 == configuration);
        match at {
            Some(at) => self.known[at].1 += launches,
            None if self.known.len() < MOST_CONFIGURATIONS => {
                self.known.push((configuration, launches));
            }
            None => self.others += launches,
        }
    }

    /// All that are kept, and the number of launches with others.
    pub fn report(self, model: &GpuModel) -> (Vec<ConfiguredLaunches>, u64) {
        let known = self.known.into_iter();
        let known = known.map(|(configuration, launches)| ConfiguredLaunches {
            configuration,
            launches,
            occupancy: configuration.occupancy(model),
        });
        (known.collect(), self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occupancy(model: &GpuModel, threads: u32, shared: u64) -> Occupancy {
        let configuration = LaunchConfiguration {
            grid: Extent::line(1000),
            block: Extent::line(threads),
            used: Some(BlockUse {
                static_shared: shared,
                ..BlockUse::default()
            }),
        };
        configuration.occupancy(model)
    }

    /// By hand: an H100 holds 64 warps, 32 blocks and 228 KiB of shared memory, of which each block
    /// takes 1 KiB more than it asks for, rounded up to 128 bytes.
    #[test]
    fn blocks_are_limited_by_warps_blocks_or_shared_memory() {
        use OccupancyLimit::{Blocks, SharedMemory, Warps};
        let hopper = GpuModel::HOPPER;
        let cases: [(u32, u64, u32, u32, &[OccupancyLimit]); 8] = [
            (1024, 0, 2, 64, &[Warps]),
            (768, 0, 2, 48, &[Warps]),
            (64, 0, 32, 64, &[Warps, Blocks]),
            (32, 0, 32, 32, &[Blocks]),
            (256, 48 << 10, 4, 32, &[SharedMemory]),
            // 4 * (56 + 1) KiB are all of it; one byte more takes 128.
            (128, 56 << 10, 4, 16, &[SharedMemory]),
            (128, (56 << 10) + 1, 3, 12, &[SharedMemory]),
            (32, 227 << 10, 1, 1, &[SharedMemory]),
        ];
        for (threads, shared, blocks, warps, limits) in cases {
            let found = occupancy(&hopper, threads, shared);
            assert_eq!(
                (found.blocks, found.warps),
                (blocks, warps),
                "{threads} {shared}"
            );
            assert_eq!(
                found.limits().collect::<Vec<_>>(),
                limits,
                "{threads} {shared}"
            );
            assert_eq!(found.share(), f64::from(warps) / 64.0);
        }
        // 132 SMs with 2 blocks each.
        assert_eq!(occupancy(&hopper, 1024, 0).waves, 1000.0 / 264.0);
    }

    #[test]
    fn block_that_does_not_fit_has_no_occupancy() {
        let (most, more) = (227 << 10, (227 << 10) + 1);
        assert_eq!(occupancy(&GpuModel::HOPPER, 32, most).blocks, 1);
        let none = occupancy(&GpuModel::HOPPER, 32, more);
        assert_eq!((none.blocks, none.warps, none.waves), (0, 0, 0.0));
        assert_eq!(
            none.limits().collect::<Vec<_>>(),
            [OccupancyLimit::SharedMemory]
        );
        // An SM of a P100 has 64 KiB, of which a block gets 48 at most.
        assert_eq!(occupancy(&GpuModel::PASCAL, 32, 48 << 10).blocks, 1);
        assert_eq!(occupancy(&GpuModel::PASCAL, 32, 49 << 10).blocks, 0);
    }

    #[test]
    fn configurations_beyond_those_kept_are_counted() {
        let mut configurations = Configurations::default();
        for blocks in (1..=100).chain(1..=3) {
            let configuration = LaunchConfiguration {
                grid: Extent::line(blocks),
                block: Extent::line(32),
                used: None,
            };
            configurations.add(configuration, blocks != 2);
        }
        let (known, others) = configurations.report(&GpuModel::HOPPER);
        assert_eq!((known.len(), others), (64, 36));
        let launches: Vec<u64> = known.iter().take(4).map(|it| it.launches).collect();
        assert_eq!(launches, [2, 0, 2, 1]);
    }
}
