//! Memory transactions: distinct sectors for each warp and memory instruction.

use reuselens_trace::warp::LANES;

use crate::{Grain, Run, SimtError};

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

impl Transactions {
    /// Counts them. Elements are taken to lie within a sector, as aligned ones of up to 32 bytes do.
    ///
    /// # Errors
    /// [`SimtError::Unfit`] if the run's items are larger than sectors.
    pub fn of(run: &Run) -> Result<Transactions, SimtError> {
        if matches!(run.grain(), Grain::Lines(lines) if lines.bytes() > SECTOR) {
            return Err(SimtError::Unfit(format!(
                "transactions are counted in sectors of {SECTOR} bytes: load the stream by elements or sectors"
            )));
        }
        let mut counted = Transactions::default();
        let mut sectors = Vec::new();
        for block in run.blocks() {
            for at in 0..block.len() {
                let touches = block.threads(at).iter().zip(block.items(at));
                let touches: Vec<(usize, u64)> = touches
                    .map(|(&thread, &item)| {
                        (usize::from(thread) / LANES, run.address(item) / SECTOR)
                    })
                    .collect();
                for warp in touches.chunk_by(|a, b| a.0 == b.0) {
                    sectors.clear();
                    sectors.extend(warp.iter().map(|(_, sector)| *sector));
                    sectors.sort_unstable();
                    sectors.dedup();
                    counted.sectors += sectors.len() as u64;
                    counted.requests += 1;
                }
            }
        }
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
