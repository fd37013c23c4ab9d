//! [`Transactions`]: the memory transactions of a run, which are the distinct sectors of each
//! warp's memory instructions. They are what a thread mapping is to lower.

use reuselens_warp::LANES;

use crate::{Grain, KernelRun, SimtError};

/// Bytes that the memory delivers at once.
pub const SECTOR: u64 = 32;

/// What the warps of a run ask of the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transactions {
    /// Distinct sectors, summed over all memory instructions of all warps.
    pub sectors: u64,
    /// Memory instructions of warps.
    pub requests: u64,
}

/// Whether data moves with the threads when these are re-mapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataLayout {
    /// Arrays that threads index by their own number are permuted with the threads, as the
    /// literature does: at sites where no two threads touch the same element, what a warp touches
    /// is in one place. Other data stays.
    #[default]
    Moved,
    /// All data stays where it is.
    Kept,
}

impl Transactions {
    /// Counts them. Each element is taken to be within one sector, as an aligned one of up to 32
    /// bytes is.
    ///
    /// # Errors
    /// [`SimtError::Unfit`] if the run's items are not elements.
    pub fn of(run: &KernelRun, layout: DataLayout) -> Result<Transactions, SimtError> {
        Transactions::of_warps(run, layout, LANES)
    }

    /// As [`of`](Transactions::of), of a machine whose warps have `lanes` threads, not 32. What
    /// warps of 32 did at once in a wider one counts as done at once.
    ///
    /// # Errors
    /// As `of`; also for warps of no threads.
    pub fn of_warps(
        run: &KernelRun,
        layout: DataLayout,
        lanes: usize,
    ) -> Result<Transactions, SimtError> {
        if lanes == 0 {
            return Err(SimtError::Unfit(
                "warps have one thread at least".to_owned(),
            ));
        }
        if run.grain() != Grain::Element {
            return Err(SimtError::Unfit(
                "transactions are counted of elements: load the stream with the granularity `element`".to_owned(),
            ));
        }
        let own = match layout {
            DataLayout::Moved => own_sites(run),
            DataLayout::Kept => Vec::new(),
        };
        let mut counted = Transactions::default();
        let (mut touches, mut sectors) = (Vec::new(), Vec::new());
        for block in run.blocks() {
            block.visit(|found| {
                let moves = own.get(found.site as usize).copied().unwrap_or(false);
                let warps = found.threads.iter().map(|&it| usize::from(it) / lanes);
                touches.clear();
                touches.extend(warps.zip(found.items.iter().copied()));
                for warp in touches.chunk_by(|a: &(usize, u32), b| a.0 == b.0) {
                    counted.requests += 1;
                    let items = warp.iter().map(|touch| touch.1);
                    if moves {
                        let bytes: u64 = items.map(|item| u64::from(run.items.size(item))).sum();
                        counted.sectors += bytes.div_ceil(SECTOR);
                        continue;
                    }
                    sectors.clear();
                    sectors.extend(items.map(|item| run.address(item) / SECTOR));
                    sectors.sort_unstable();
                    sectors.dedup();
                    counted.sectors += sectors.len() as u64;
                }
            });
        }
        run.check()?;
        Ok(counted)
    }

    /// Sectors of one request, on average; 0 without requests.
    pub fn average(self) -> f64 {
        if self.requests == 0 {
            return 0.0;
        }
        self.sectors as f64 / self.requests as f64
    }
}

/// The sites at which no two threads touch the same item, by their numbers.
pub(crate) fn own_sites(run: &KernelRun) -> Vec<bool> {
    let mut touched: Vec<(u32, u32, u64)> = Vec::new();
    for block in run.blocks() {
        block.visit(|found| {
            for (&thread, &item) in found.threads.iter().zip(found.items) {
                let thread = u64::from(block.number) << 32 | u64::from(thread);
                touched.push((found.site, item, thread));
            }
        });
    }
    touched.sort_unstable();
    let sites = touched.last().map_or(0, |last| last.0 as usize + 1);
    let mut own = vec![true; sites];
    for pair in touched.windows(2) {
        let ((site, item, thread), (site_2, item_2, thread_2)) = (pair[0], pair[1]);
        if (site, item) == (site_2, item_2) && thread != thread_2 {
            own[site as usize] = false;
        }
    }
    own
}
