//! Memory divergence: how many lines and sectors the requests of a warp access.
//!
//! A request is one memory instruction of global memory, executed once by one warp. Lanes that are
//! not active have no part in it.
//!
//! Source: Shen 2021, section 3.3; the sectors and their ideal number are those of Nsight Compute's
//! source counters.

use reuselens_warp::WarpKind;

use crate::request::Footprint;
use crate::{ByKind, GlobalCounts, RequestSums, ratio};

/// The most lines or sectors that have a bin of their own. Accesses of up to 16 bytes, aligned, as
/// those of CUDA, have no more.
pub const MAX_DEGREE: usize = 32;

/// How many requests accessed each number of lines and of sectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DegreeHistograms {
    /// Requests by distinct lines of 128 bytes. Index 0 is empty; the last bin has more, too.
    pub lines: [u64; MAX_DEGREE + 1],
    /// Requests by distinct sectors of 32 bytes. Index 0 is empty; the last bin has more, too.
    pub sectors: [u64; MAX_DEGREE + 1],
    /// Lines of all requests.
    pub line_sum: u64,
    /// Sectors of all requests.
    pub sector_sum: u64,
}

impl Default for DegreeHistograms {
    fn default() -> DegreeHistograms {
        DegreeHistograms {
            lines: [0; MAX_DEGREE + 1],
            sectors: [0; MAX_DEGREE + 1],
            line_sum: 0,
            sector_sum: 0,
        }
    }
}

impl DegreeHistograms {
    /// Number of requests.
    pub fn requests(&self) -> u64 {
        self.lines.iter().sum()
    }

    /// Mean number of lines of a request: the degree of memory divergence on lines of 128 bytes.
    pub fn line_degree(&self) -> f64 {
        ratio(self.line_sum, self.requests())
    }

    /// Mean number of sectors of a request: the degree on lines of 32 bytes.
    pub fn sector_degree(&self) -> f64 {
        ratio(self.sector_sum, self.requests())
    }

    /// Counts a request, but for its sums.
    #[inline(always)]
    fn add(&mut self, footprint: &Footprint) {
        let (lines, sectors) = (footprint.lines(), footprint.sectors);
        self.lines[(lines as usize).min(MAX_DEGREE)] += 1;
        self.sectors[(sectors as usize).min(MAX_DEGREE)] += 1;
    }
}

impl RequestSums for DegreeHistograms {
    fn merge(&mut self, other: &DegreeHistograms) {
        add_all(&mut self.lines, &other.lines);
        add_all(&mut self.sectors, &other.sectors);
        self.line_sum += other.line_sum;
        self.sector_sum += other.sector_sum;
    }
}

fn add_all(counts: &mut [u64], more: &[u64]) {
    for (count, more) in counts.iter_mut().zip(more) {
        *count += more;
    }
}

impl ByKind<DegreeHistograms> {
    /// Counts a request in the histograms of its kind.
    #[inline(always)]
    pub(crate) fn add(&mut self, kind: WarpKind, footprint: &Footprint) {
        self.of(kind).add(footprint);
    }

    /// Adds the lines and sectors of requests to the sums of their kind.
    pub(crate) fn add_sums(&mut self, kind: WarpKind, counts: &GlobalCounts) {
        let histograms = self.of(kind);
        histograms.line_sum += counts.lines;
        histograms.sector_sum += counts.sectors;
    }
}
