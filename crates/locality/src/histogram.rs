//! [`Histogram`]: what the models of this crate need of a histogram of distances. All histograms of
//! the crate implement it.

/// Counts of accesses by reuse distance, in bins that do not overlap.
///
/// The models of this crate ([`MissRatioCurve`](crate::MissRatioCurve),
/// [`SetAssociative`](crate::SetAssociative), [`Growth`](crate::Growth)) take any histogram; how
/// good they are depends on how narrow its bins are.
pub trait Histogram {
    /// The bins that hold accesses, ascending: lowest distance, highest distance, accesses.
    fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_;

    /// The number of cold accesses (infinite distance).
    fn cold(&self) -> u64;

    /// The number of accesses with a finite distance. Saturates.
    fn reuses(&self) -> u64 {
        total(self.bins().map(|(_, _, count)| count))
    }

    /// The number of accesses. Saturates.
    fn accesses(&self) -> u64 {
        self.reuses().saturating_add(self.cold())
    }
}

/// The sum of counts. Beyond 64 bits, as in a damaged profile, it saturates, so that it is the same
/// in every order.
pub fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// The misses that a bin gives in a fully associative LRU cache of `items` items: all of its
/// accesses, none, or, if the size cuts the bin, a share in proportion, rounded down.
pub(crate) fn misses_of_bin((low, high, count): (u64, u64, u64), items: u64) -> u64 {
    if low >= items {
        return count;
    }
    if high < items {
        return 0;
    }
    let share = u128::from(high - items) + 1;
    let width = u128::from(high - low) + 1;
    // Less than `count`, since the share is less than the width.
    (u128::from(count) * share / width) as u64
}

/// `part / total` as a ratio; 0 of nothing is 0.
pub fn ratio(part: u64, total: u64) -> f64 {
    if total == 0 {
        0.0
    } else {
        part as f64 / total as f64
    }
}
