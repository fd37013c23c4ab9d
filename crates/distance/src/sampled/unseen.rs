//! [`Unseen`]: how much a curve may be off because of items that are not in the sample.

use super::bins::low;

/// What never happened in n trials has, with 95 % confidence, a probability below this by n (the
/// rule of three).
pub(super) const NEVER_SEEN: f64 = 3.0;

/// How far a sample of the items may be off because it holds none of some items, however often they
/// are accessed. Differences between its parts do not show that.
pub(super) struct Unseen {
    /// The share of accesses that is missing from the sample, or too much.
    missing: f64,
    /// The most items that may be unseen, with the confidence of the estimate.
    items: f64,
    accesses: f64,
}

impl Unseen {
    /// For a sample of the items at this rate, of `accesses` accesses. All accesses miss in a cache
    /// of no items, so the estimate of that, `none`, gives the share that is missing.
    pub(super) fn new(none: f64, rate: f64, accesses: u64) -> Self {
        Unseen {
            missing: (1.0 - none).abs(),
            items: NEVER_SEEN / rate,
            accesses: accesses as f64,
        }
    }

    /// The share of misses that may be unseen at a size: no more than is missing, and no more than
    /// the unseen items can have. Each may miss once, and again after as many other accesses as the
    /// cache has items.
    pub(super) fn at(&self, bin: usize) -> f64 {
        let again = (self.accesses - 1.0) / (low(bin) as f64 + 1.0);
        let misses = 1.0 + again.max(0.0).floor();
        self.missing
            .min(self.items * misses / self.accesses.max(1.0))
    }
}
