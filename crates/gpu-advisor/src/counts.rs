//! [`GlobalCounts`]: sums over requests of global memory, from which Nsight Compute's memory tables
//! are calculated.

use crate::{RequestSums, ratio};

/// Bytes of a sector, the smallest piece that an L1 cache fetches.
pub const SECTOR_BYTES: u64 = 32;
/// Bytes of a cache line: four sectors.
pub const LINE_BYTES: u64 = 128;

/// Sums over requests: executions of memory instructions of global memory by warps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobalCounts {
    /// Requests.
    pub requests: u64,
    /// Active lanes of all requests: accesses of threads.
    pub lanes: u64,
    /// Bytes that the lanes access, repeated ones included.
    pub bytes: u64,
    /// Distinct lines of 128 bytes, summed over requests.
    pub lines: u64,
    /// Distinct sectors of 32 bytes, summed over requests.
    pub sectors: u64,
    /// The fewest sectors that hold the distinct bytes of a request, summed over requests.
    pub ideal_sectors: u64,
}

impl GlobalCounts {
    /// Sectors above the ideal: what Nsight Compute calls *excessive*.
    pub fn excessive_sectors(&self) -> u64 {
        self.sectors.saturating_sub(self.ideal_sectors)
    }

    /// Mean number of sectors of a request; 4 is ideal for loads of 4 bytes. 0 without requests.
    pub fn sectors_per_request(&self) -> f64 {
        ratio(self.sectors, self.requests)
    }

    /// Mean number of lines of a request: the degree of memory divergence. 0 without requests.
    pub fn lines_per_request(&self) -> f64 {
        ratio(self.lines, self.requests)
    }
}

impl RequestSums for GlobalCounts {
    fn merge(&mut self, other: &GlobalCounts) {
        self.requests += other.requests;
        self.lanes += other.lanes;
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.sectors += other.sectors;
        self.ideal_sectors += other.ideal_sectors;
    }
}
