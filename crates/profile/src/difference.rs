//! [`LocalityChange`]: how locality differs between two profiles of the same work, by cache size
//! and by distance.

use reuselens_locality::{Histogram, Log2Histogram, MissRatioCurve, curve_sizes, ratio};
use thiserror::Error;

use crate::Profile;

/// What changes at one cache size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeChange {
    /// Size of the fully associative LRU cache in items.
    pub items: u64,
    /// Misses before.
    pub before: u64,
    /// Misses after.
    pub after: u64,
    /// Misses per access before.
    pub before_ratio: f64,
    /// Misses per access after.
    pub after_ratio: f64,
    /// By how many misses the two may be off together, each at its confidence: 0 where both are
    /// exact.
    pub unsure: f64,
}

impl SizeChange {
    /// The change in misses relative to before: −0.56 is 56 % fewer, 0.86 is 86 % more. 0 if there
    /// are none before or after; infinite if there are only some after.
    pub fn change(&self) -> f64 {
        if self.before == self.after {
            return 0.0;
        }
        (self.after as f64 - self.before as f64) / self.before as f64
    }

    /// Whether the two differ by more than they may be off.
    pub fn is_sure(&self) -> bool {
        self.before.abs_diff(self.after) as f64 > self.unsure
    }
}

/// A range of cache sizes that all win, or all lose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeRange {
    /// The smallest size that was looked at, in items.
    pub from: u64,
    /// The largest.
    pub to: u64,
    /// The size in the range that changes most.
    pub most: SizeChange,
    /// Whether no larger one was looked at: both curves are flat from there on, so all larger ones
    /// change by as much as the largest.
    pub is_last: bool,
}

/// The cache sizes of a [`SizeRange`], in items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeExtent {
    /// This size and all larger ones.
    From(u64),
    /// This size alone.
    At(u64),
    /// From the first to the second.
    Between(u64, u64),
}

impl SizeRange {
    /// Its cache sizes.
    pub fn extent(&self) -> SizeExtent {
        match (self.is_last, self.from == self.to) {
            (true, _) => SizeExtent::From(self.from),
            (false, true) => SizeExtent::At(self.from),
            (false, false) => SizeExtent::Between(self.from, self.to),
        }
    }
}

/// What changes in one log2 bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinChange {
    /// Lowest distance.
    pub low: u64,
    /// Highest distance.
    pub high: u64,
    /// Accesses before.
    pub before: u64,
    /// Accesses after.
    pub after: u64,
}

/// How the locality of the same work changed: a gain at one cache size can be a loss at another.
///
/// Misses are compared, not miss ratios: a transformation may save accesses that hit, which would
/// raise the ratio without costing anything. Both are given.
///
/// Source: Ding & Zhong 2001, sections 3.3 and 3.4.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalityChange {
    /// Every cache size that was looked at, ascending: [`curve_sizes`] up to where both curves are
    /// flat.
    pub sizes: Vec<SizeChange>,
    /// The log2 bins from 0 to the highest used.
    pub bins: Vec<BinChange>,
    /// Cold accesses before and after.
    pub cold: (u64, u64),
    /// Accesses before and after.
    pub accesses: (u64, u64),
    /// The smallest distance, in items, that one of the two did not measure. Nothing is compared
    /// beyond it, and cold accesses are not first ones alone. `None` if both measured all.
    pub reach: Option<u64>,
}

/// Two profiles that cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DifferenceError {
    /// Their items are of different sizes.
    #[error(
        "the profiles count different items ({before} and {after} bytes each), so their distances do not compare; profile one of them again with --granularity {before}"
    )]
    Sizes {
        /// Bytes of an item before.
        before: u64,
        /// Bytes of an item after.
        after: u64,
    },
    /// The items of one are ids or requested objects, and those of the other lines.
    #[error(
        "the items of one profile are ids or objects of a trace of requests, which have no place in memory, and those of the other are memory of a program, {bytes} bytes each, so their distances do not compare; compare two traces of requests, or two programs"
    )]
    Ids {
        /// Bytes of an item of the other.
        bytes: u64,
    },
}

impl LocalityChange {
    /// The change between two profiles of the same work.
    ///
    /// # Errors
    /// If their granularities differ, or one is of requests by their bytes and the other is not.
    pub fn between(before: &Profile, after: &Profile) -> Result<Self, DifferenceError> {
        Self::comparable(before, after)?;
        let reaches = [before, after].map(|profile| profile.method.max_distance);
        let reach = reaches.into_iter().flatten().min();
        let mut change = Self::up_to(&before.histogram, &after.histogram, reach);
        for size in &mut change.sizes {
            size.unsure = Self::unsure_misses([before, after], size.items);
        }
        Ok(change)
    }

    /// By how many misses profiles may be off together in a cache of `items` items: 0 where all are
    /// exact, or no bound is known.
    pub fn unsure_misses(profiles: [&Profile; 2], items: u64) -> f64 {
        profiles.map(|profile| unsure(profile, items)).iter().sum()
    }

    /// Whether the distances of two profiles compare.
    ///
    /// # Errors
    /// If their granularities differ, or one is of requests by their bytes and the other is not.
    pub fn comparable(before: &Profile, after: &Profile) -> Result<(), DifferenceError> {
        let (old, new) = (before.granularity.bytes(), after.granularity.bytes());
        let are_requests =
            [before, after].map(|profile| profile.method.ids || profile.requested_bytes.is_some());
        // Ids may be lines or pages of the same size; objects of different sizes are not.
        let is_weighed = before.requested_bytes.is_some() || after.requested_bytes.is_some();
        let are_alike = are_requests[0] == are_requests[1];
        if old == new && (are_alike || !is_weighed) {
            return Ok(());
        }
        Err(match are_requests {
            [true, false] => DifferenceError::Ids { bytes: new },
            [false, true] => DifferenceError::Ids { bytes: old },
            _ => DifferenceError::Sizes {
                before: old,
                after: new,
            },
        })
    }

    /// The change between two histograms of the same work that measured all distances.
    pub fn new(before: &impl Histogram, after: &impl Histogram) -> Self {
        Self::up_to(before, after, None)
    }

    fn up_to(before: &impl Histogram, after: &impl Histogram, reach: Option<u64>) -> Self {
        let curves = (MissRatioCurve::new(before), MissRatioCurve::new(after));
        let last = curves.0.flat_from().max(curves.1.flat_from());
        let last = reach.map_or(last, |reach| last.min(reach));
        let mut bins = bin_changes(&Log2Histogram::of(before), &Log2Histogram::of(after));
        bins.retain(|bin| reach.is_none_or(|reach| bin.high < reach));
        LocalityChange {
            sizes: curve_sizes(last)
                .iter()
                .map(|items| size_change(&curves, *items))
                .collect(),
            bins,
            cold: (before.cold(), after.cold()),
            accesses: (curves.0.accesses(), curves.1.accesses()),
            reach,
        }
    }

    /// The ranges of neighbouring sizes with fewer misses after: by more than `noise` of those
    /// before (0 = by any number; 0.01 = by more than 1 %), and by more than the two may be off.
    pub fn wins(&self, noise: f64) -> Vec<SizeRange> {
        self.ranges(|size| size.change() < -noise && size.is_sure())
    }

    /// The ranges of neighbouring sizes with more misses after, likewise.
    pub fn losses(&self, noise: f64) -> Vec<SizeRange> {
        self.ranges(|size| size.change() > noise && size.is_sure())
    }

    fn ranges(&self, belongs: impl Fn(&SizeChange) -> bool) -> Vec<SizeRange> {
        let mut ranges = ranges(&self.sizes, belongs);
        // Beyond the last size nothing is known.
        let is_end = |range: &SizeRange| range.is_last && self.reach == Some(range.to);
        if let Some(last) = ranges.last_mut().filter(|range| is_end(range)) {
            last.is_last = false;
        }
        ranges
    }

    /// The size with the largest relative fall in misses, the smallest of equals; `None` if there
    /// are fewer nowhere.
    pub fn best(&self) -> Option<SizeChange> {
        let falls = self.sizes.iter().filter(|size| size.change() < 0.0);
        falls
            .min_by(|a, b| a.change().total_cmp(&b.change()))
            .copied()
    }

    /// The size with the largest relative rise in misses, the smallest of equals; `None` if there
    /// are more nowhere.
    pub fn worst(&self) -> Option<SizeChange> {
        let rises = self.sizes.iter().filter(|size| size.change() > 0.0);
        rises
            .min_by(|a, b| b.change().total_cmp(&a.change()))
            .copied()
    }
}

fn size_change((before, after): &(MissRatioCurve, MissRatioCurve), items: u64) -> SizeChange {
    let misses = (before.misses(items), after.misses(items));
    SizeChange {
        items,
        before: misses.0,
        after: misses.1,
        before_ratio: ratio(misses.0, before.accesses()),
        after_ratio: ratio(misses.1, after.accesses()),
        unsure: 0.0,
    }
}

/// By how many misses a profile may be off in a cache of `items` items.
pub(crate) fn unsure(profile: &Profile, items: u64) -> f64 {
    let method = &profile.method;
    let widths = method.error_bounds.as_ref();
    let width = widths.map_or(method.error_bound, |curve| Some(curve.half_width(items)));
    let accesses = profile.histogram.accesses() as f64;
    width
        .filter(|_| !method.exact)
        .map_or(0.0, |width| width * accesses)
}

fn bin_changes(before: &Log2Histogram, after: &Log2Histogram) -> Vec<BinChange> {
    let bins = before.top().max(after.top()).map_or(0, |top| top + 1);
    let change = |bin| {
        let (low, high) = Log2Histogram::range(bin);
        BinChange {
            low,
            high,
            before: before.count(bin),
            after: after.count(bin),
        }
    };
    (0..bins).map(change).collect()
}

/// The runs of neighbouring sizes for which `belongs`.
fn ranges(sizes: &[SizeChange], belongs: impl Fn(&SizeChange) -> bool) -> Vec<SizeRange> {
    let runs = sizes.chunk_by(|a, b| belongs(a) == belongs(b));
    let range = |run: &[SizeChange]| {
        let (first, last) = (run.first()?, run.last()?);
        // The first of equals, since `max_by` would give the last.
        let most = run
            .iter()
            .min_by(|a, b| b.change().abs().total_cmp(&a.change().abs()))?;
        belongs(first).then_some(SizeRange {
            from: first.items,
            to: last.items,
            most: *most,
            is_last: sizes.last() == Some(last),
        })
    };
    runs.filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, histogram};
    use reuselens_locality::ExactHistogram;
    use reuselens_units::Granularity;

    #[test]
    fn wins_and_losses_are_ranges_of_sizes() {
        let before = histogram(&[(1, 50), (100, 50), (u64::MAX, 10)]);
        let after = histogram(&[(1, 30), (20, 40), (400, 30), (u64::MAX, 10)]);
        let change = LocalityChange::new(&before, &after);
        let losses = change.losses(0.0);
        assert_eq!(losses.len(), 2, "{losses:?}");
        assert_eq!((losses[0].from, losses[0].to), (2, 19));
        assert_eq!((losses[0].most.before, losses[0].most.after), (60, 80));
        assert_eq!((losses[1].from, losses[1].to), (108, 400));
        assert!(losses.iter().all(|range| !range.is_last));
        let wins = change.wins(0.0);
        assert_eq!((wins.len(), wins[0].from, wins[0].to), (1, 21, 100));
        assert_eq!(wins[0].extent(), SizeExtent::Between(21, 100));
        assert_eq!(
            change.worst().map(|size| (size.items, size.change())),
            Some((108, 3.0))
        );
        let best = change.best().unwrap();
        assert_eq!((best.items, best.before, best.after), (21, 60, 40));
        assert!((best.change() + 1.0 / 3.0).abs() < 1e-12);
        assert!(change.losses(0.5).len() == 1 && change.wins(0.5).is_empty());
    }

    #[test]
    fn fewer_cold_accesses_win_at_all_larger_sizes() {
        let before = histogram(&[(3, 50), (u64::MAX, 10)]);
        let after = histogram(&[(3, 50), (u64::MAX, 8)]);
        let wins = LocalityChange::new(&before, &after).wins(0.1);
        assert!(wins.len() == 1 && wins[0].is_last, "{wins:?}");
        assert_eq!(wins[0].extent(), SizeExtent::From(wins[0].from));
        let one_size = SizeRange {
            to: wins[0].from,
            is_last: false,
            ..wins[0]
        };
        assert_eq!(one_size.extent(), SizeExtent::At(one_size.from));
        assert_eq!((wins[0].most.before, wins[0].most.after), (10, 8));
    }

    #[test]
    fn equal_profiles_have_no_changes() {
        let same = histogram(&[(3, 5), (u64::MAX, 2)]);
        let change = LocalityChange::new(&same, &same);
        assert!(change.wins(0.0).is_empty() && change.losses(0.0).is_empty());
        assert_eq!((change.best(), change.worst()), (None, None));
        let nothing = LocalityChange::new(&ExactHistogram::new(), &ExactHistogram::new());
        assert_eq!(
            (nothing.sizes.len(), nothing.bins.len(), nothing.best()),
            (1, 0, None)
        );
    }

    #[test]
    fn every_bin_is_compared() {
        let change = LocalityChange::new(&histogram(&[(0, 3), (5, 2)]), &histogram(&[(9, 4)]));
        let bins: Vec<_> = change
            .bins
            .iter()
            .map(|bin| (bin.low, bin.before, bin.after))
            .collect();
        assert_eq!(
            bins,
            [(0, 3, 0), (1, 0, 0), (2, 0, 0), (4, 2, 0), (8, 0, 4)]
        );
    }

    #[test]
    fn comparing_different_items_is_refused() {
        let (before, mut after) = (testing::profile(), testing::profile());
        assert!(LocalityChange::between(&before, &after).is_ok());
        after.granularity = Granularity::BYTE;
        let error = LocalityChange::between(&before, &after)
            .unwrap_err()
            .to_string();
        assert!(error.contains("64 and 1 bytes"), "{error}");
        after.method.ids = true;
        for both in [(&before, &after), (&after, &before)] {
            let error = LocalityChange::between(both.0, both.1).unwrap_err();
            assert_eq!(error, DifferenceError::Ids { bytes: 64 });
        }
        // Ids of the same size may be lines; requests that are weighed by their bytes are not.
        after.granularity = before.granularity;
        assert!(LocalityChange::between(&before, &after).is_ok());
        after.method.ids = false;
        after.requested_bytes = Some(after.histogram.clone());
        let error = LocalityChange::between(&before, &after).unwrap_err();
        assert_eq!(error, DifferenceError::Ids { bytes: 64 });
    }

    #[test]
    fn change_stops_at_the_smaller_bound() {
        let (mut before, mut after) = (testing::profile(), testing::profile());
        before.histogram = histogram(&[(3, 50), (40, 10), (u64::MAX, 9)]);
        after.histogram = histogram(&[(3, 40), (20, 10), (u64::MAX, 30)]);
        after.method.max_distance = Some(32);
        let change = LocalityChange::between(&before, &after).unwrap();
        assert_eq!(change.reach, Some(32));
        assert!(change.sizes.iter().all(|size| size.items <= 32));
        assert_eq!(change.bins.last().map(|bin| bin.high), Some(31));
        let losses = change.losses(0.0);
        assert!(losses.iter().all(|range| !range.is_last), "{losses:?}");
        after.method.max_distance = None;
        let change = LocalityChange::between(&before, &after).unwrap();
        assert!(change.losses(0.0).last().unwrap().is_last);
    }

    #[test]
    fn samples_change_by_more_than_they_may_be_off() {
        let (mut before, mut after) = (testing::profile(), testing::profile());
        before.histogram = histogram(&[(3, 50), (40, 50)]);
        after.histogram = histogram(&[(3, 60), (40, 40)]);
        after.method.exact = false;
        after.method.error_bound = Some(0.09);
        let change = LocalityChange::between(&before, &after).unwrap();
        assert_eq!(change.wins(0.01).len(), 1);
        before.method.exact = false;
        before.method.error_bound = Some(0.01);
        let change = LocalityChange::between(&before, &after).unwrap();
        assert_eq!(change.wins(0.01).len(), 0);
    }
}
