//! [`BlockRequests`]: the requests of a block in their order, as the cache model takes them.

use reuselens_warp::WarpKind;

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

/// One request: consecutive lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheStep {
    pub position: u64,
    pub site: u32,
    pub warp: u16,
    pub kind: WarpKind,
    /// Where its lines begin.
    pub begin: u32,
    /// Where they end.
    pub end: u32,
}

/// What the L1 asks of the L2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct L2Request {
    pub position: u64,
    pub site: u32,
    pub kind: WarpKind,
    pub line: CacheRequest,
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
    /// Adds a request: `step` without the places of its lines. Once a request does not fit into
    /// `limit` lines, it and all after it are left out.
    #[inline]
    pub fn push(
        &mut self,
        limit: u32,
        step: CacheStep,
        lines: impl ExactSizeIterator<Item = CacheRequest>,
    ) {
        let (begin, length) = (self.lines.len(), lines.len());
        self.is_cut |= length > (limit as usize).saturating_sub(begin);
        if self.is_cut || length == 0 {
            return;
        }
        self.lines.extend(lines);
        // Both are at most `limit`.
        let (begin, end) = (begin as u32, self.lines.len() as u32);
        self.steps.push(CacheStep { begin, end, ..step });
    }

    pub fn clear(&mut self) {
        self.lines.clear();
        self.steps.clear();
        self.is_cut = false;
    }
}
