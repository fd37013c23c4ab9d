//! [`BlockRequests`]: the requests of a block in their order, as the cache model takes them.

use reuselens_warp::WarpKind;

/// What a request asks of one line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheRequest {
    /// Number of the line: address / 128.
    pub line: u64,
    /// A bit for each sector. The L1 leaves those that the L2 is asked for.
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
    /// Where its lines end.
    pub end: u32,
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
        self.lines.extend(lines);
        self.steps.push(CacheStep {
            position,
            site,
            warp: warp as u16,
            kind,
            end: self.lines.len() as u32,
        });
    }

    pub fn clear(&mut self) {
        self.lines.clear();
        self.steps.clear();
    }
}
