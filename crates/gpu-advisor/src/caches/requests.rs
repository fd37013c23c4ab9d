//! [`BlockRequests`]: the requests of a block in their order, as the cache model takes them.

use reuselens_warp::WarpKind;

use crate::order::Positioned;

/// What a request asks of one line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheRequest {
    /// Number of the line: address / 128.
    pub line: u64,
    /// A bit for each sector.
    pub sectors: u8,
    /// Number of the data object.
    pub object: u32,
}

/// One request: the lines that follow those of the request before it. As small as can be, since
/// those of all blocks of a wave are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheStep {
    /// See [`position_of`](crate::order::position_of).
    pub position: u64,
    /// At most [`LAST_SITE`](crate::tally::LAST_SITE).
    pub site: u16,
    pub warp: u16,
    pub kind: WarpKind,
    /// How many lines it has.
    pub lines: u8,
}

impl Positioned for CacheStep {
    #[inline(always)]
    fn position(&self) -> u64 {
        self.position
    }
}

/// What the L1 asks of the L2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct L2Request {
    /// See [`position_of`](crate::order::position_of).
    pub position: u64,
    pub site: u16,
    pub kind: WarpKind,
    pub line: CacheRequest,
}

impl Positioned for L2Request {
    #[inline(always)]
    fn position(&self) -> u64 {
        self.position
    }
}

/// The first requests of a block, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockRequests {
    pub lines: Vec<CacheRequest>,
    pub steps: Vec<CacheStep>,
    /// Whether there were more.
    pub is_cut: bool,
}

impl BlockRequests {
    /// Adds a request. Once one does not fit into `limit` lines, it and all after it are left out.
    #[inline(always)]
    pub fn push(
        &mut self,
        limit: u32,
        step: CacheStep,
        lines: impl ExactSizeIterator<Item = CacheRequest>,
    ) {
        let room = (limit as usize).saturating_sub(self.lines.len());
        self.is_cut |= lines.len() > room;
        if self.is_cut || lines.len() == 0 {
            return;
        }
        self.lines.extend(lines);
        self.steps.push(step);
    }

    /// Makes room for so many requests and lines of these.
    pub fn reserve(&mut self, requests: usize, lines: usize, limit: u32) {
        self.steps.reserve(requests);
        self.lines.reserve(lines.min(limit as usize));
    }

    pub fn clear(&mut self) {
        self.lines.clear();
        self.steps.clear();
        self.is_cut = false;
    }
}
