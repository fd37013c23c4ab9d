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

/// The requests of a block, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockRequests {
    pub lines: Vec<CacheRequest>,
    pub steps: Vec<CacheStep>,
}

impl BlockRequests {
    #[inline]
    pub fn push(
        &mut self,
        position: u64,
        warp: u32,
        site: u32,
        kind: WarpKind,
        lines: impl Iterator<Item = CacheRequest>,
    ) {
        let begin = self.lines.len() as u32;
        self.lines.extend(lines);
        self.steps.push(CacheStep {
            position,
            site,
            warp: warp as u16,
            kind,
            begin,
            end: self.lines.len() as u32,
        });
    }

    pub fn clear(&mut self) {
        self.lines.clear();
        self.steps.clear();
    }
}
