//! [`SharingMatrix`]: how many distinct items two blocks of a run (or groups of blocks), or two
//! warps of a block, have in common. Pages draw it as a picture.

use reuselens_warp::LANES;

use crate::KernelRun;
use crate::run::DistinctItems;

/// Common items of groups of blocks, or of the warps of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharingMatrix {
    /// Blocks or warps per row; the last row may have fewer.
    pub per_row: usize,
    /// Rows and columns.
    pub rows: usize,
    /// Distinct items that both touch, row by row; on the diagonal those of the row itself.
    pub common: Vec<u64>,
}

impl SharingMatrix {
    /// Between the blocks of a run, in at most `limit` rows.
    pub fn of_blocks(run: &KernelRun, limit: usize) -> SharingMatrix {
        let footprints = run.blocks().iter().map(crate::BlockStream::footprint);
        SharingMatrix::new(footprints, limit)
    }

    /// Between the warps of the `at`-th block of a run.
    pub fn of_warps(run: &KernelRun, at: usize) -> SharingMatrix {
        let warps = (run.block_threads() as usize).div_ceil(LANES);
        let mut footprints: Vec<DistinctItems> = Vec::new();
        footprints.resize_with(warps, DistinctItems::default);
        if let Some(block) = run.blocks().get(at) {
            block.visit(|found| {
                for (&item, &thread) in found.items.iter().zip(found.threads) {
                    if let Some(warp) = footprints.get_mut(usize::from(thread) / LANES) {
                        warp.extend(&[item]);
                    }
                }
            });
        }
        let footprints = footprints.into_iter().map(DistinctItems::finish);
        SharingMatrix::new(footprints, usize::MAX)
    }

    fn new(footprints: impl ExactSizeIterator<Item = Vec<u32>>, limit: usize) -> SharingMatrix {
        let per_row = footprints.len().div_ceil(limit.max(1)).max(1);
        let mut rows: Vec<DistinctItems> = Vec::new();
        for (number, footprint) in footprints.enumerate() {
            if number % per_row == 0 {
                rows.push(DistinctItems::default());
            }
            rows[number / per_row].extend(&footprint);
        }
        let rows: Vec<Vec<u32>> = rows.into_iter().map(DistinctItems::finish).collect();
        let mut common = vec![0; rows.len() * rows.len()];
        // By item: who touches it; then all pairs of those.
        let mut touched: Vec<(u32, u32)> = Vec::new();
        for (row, items) in rows.iter().enumerate() {
            touched.extend(items.iter().map(|&item| (item, row as u32)));
        }
        touched.sort_unstable();
        for same in touched.chunk_by(|a, b| a.0 == b.0) {
            for &(_, a) in same {
                for &(_, b) in same {
                    common[a as usize * rows.len() + b as usize] += 1;
                }
            }
        }
        SharingMatrix {
            per_row,
            rows: rows.len(),
            common,
        }
    }

    /// Adds what rows have in common of another class of items.
    pub fn add(&mut self, other: &SharingMatrix) {
        for (common, more) in self.common.iter_mut().zip(&other.common) {
            *common += more;
        }
    }

    /// Common items of two rows.
    pub fn common(&self, row: usize, column: usize) -> u64 {
        self.common[row * self.rows + column]
    }
}
