//! [`HpRdaTimes`]: the time that each step of HP-RDA took.

use std::ops::AddAssign;
use std::time::{Duration, Instant};

/// The time of each step of [`HpRda`](crate::HpRda), summed over the workers: with one thread as a
/// clock on the wall has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HpRdaTimes {
    /// Dropping immediate repeats.
    pub preprocess: Duration,
    /// Local analysis of the chunks.
    pub local: Duration,
    /// Merging the chunks of each block.
    pub thread_merge: Duration,
    /// Merging the blocks.
    pub block_merge: Duration,
    /// Adjusting, which is done by whoever has the histogram, and set by them.
    pub adjust: Duration,
}

impl HpRdaTimes {
    /// The steps by their names, in order.
    pub fn steps(&self) -> [(&'static str, Duration); 5] {
        [
            ("preprocess", self.preprocess),
            ("local", self.local),
            ("thread merge", self.thread_merge),
            ("block merge", self.block_merge),
            ("adjust", self.adjust),
        ]
    }

    /// All steps together.
    pub fn total(&self) -> Duration {
        self.steps().iter().map(|(_, time)| time).sum()
    }
}

impl AddAssign for HpRdaTimes {
    fn add_assign(&mut self, other: Self) {
        self.preprocess += other.preprocess;
        self.local += other.local;
        self.thread_merge += other.thread_merge;
        self.block_merge += other.block_merge;
        self.adjust += other.adjust;
    }
}

/// How long something takes.
pub(super) fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}
