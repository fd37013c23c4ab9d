//! [`WarpHistory`]: the requests of a warp that wait until the order of their block is known.

use reuselens_warp::WarpKind;

use crate::order::Positioned;
use crate::reuse::{KeptPart, Tracker};

/// The requests of a warp that wait for their turn.
#[derive(Debug, Default)]
pub(crate) struct WarpHistory {
    pub requests: Vec<KeptRequest>,
    pub parts: Vec<KeptPart>,
    /// If the block is cut.
    pub tracker: Option<Tracker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptRequest {
    /// See [`position_of`](crate::order::position_of).
    pub position: u64,
    pub site: u32,
    pub kind: WarpKind,
    /// Where its parts begin.
    pub begin: u32,
    /// Where they end.
    pub end: u32,
}

impl WarpHistory {
    pub fn clear(&mut self) {
        self.requests.clear();
        self.parts.clear();
    }
}

impl KeptRequest {
    /// Where its parts are in its warp's.
    #[inline(always)]
    pub fn parts(&self) -> std::ops::Range<usize> {
        self.begin as usize..self.end as usize
    }
}

impl Positioned for KeptRequest {
    #[inline(always)]
    fn position(&self) -> u64 {
        self.position
    }
}
