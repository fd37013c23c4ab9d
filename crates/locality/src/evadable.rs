//! [`Growth`]: how reuse distances grow from a small to a large input of one program. Reuses whose
//! distance grows are called evadable: no fixed cache holds them for every input.

use crate::Log2Histogram;
use crate::hills::{Hill, hills};
use crate::histogram::{Histogram, ratio};

/// How the reuses of a program lengthen from a small to a large input.
///
/// The reuses (accesses that are not cold) of each input are sorted by distance, and equal
/// fractions are matched: the reuse at the q-th part of the small input with that at the q-th part
/// of the large one. A reuse is *evadable* if the distance matched with it is at least twice as
/// long, which is one log2 bin (distance 0 counts as 1 here). A wider bin of a histogram counts as
/// its lowest distance. Choose inputs that differ at least fourfold in data: distances that grow
/// with its square root then double.
///
/// A growth rate is log(d₂/d₁) / log(s₂/s₁), where s is the size of the input in distinct items: 0
/// for reuses that stay, ½ for the square root, 1 for linear growth.
///
/// Source: Ding & Zhong 2001, section 3.2, which names them evadable and reads the growth off
/// hills.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// Distinct items of the small and of the large input.
    pub items: (u64, u64),
    /// Reuses of the small and of the large input.
    pub reuses: (u64, u64),
    /// The share of the reuses that is evadable; 0 if either input has no reuses.
    pub evadable: f64,
    /// The share of all accesses of the large input that is evadable, cold ones included in all.
    pub evadable_of_accesses: f64,
    /// The mean growth rate of the evadable reuses; `None` if there are none, or if the inputs do
    /// not differ in size.
    pub rate: Option<f64>,
    /// The hills of the small input, and what becomes of each.
    pub hills: Vec<HillGrowth>,
    /// The hills of the large input.
    pub large_hills: Vec<Hill>,
}

/// What becomes of a hill on a larger input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HillGrowth {
    /// The hill of the small input.
    pub hill: Hill,
    /// The distance in its middle: half of its reuses are below.
    pub small: u64,
    /// The distance matched with that on the large input.
    pub large: u64,
    /// Whether at least half of the hill's reuses are evadable.
    pub moves: bool,
    /// The share of the hill's reuses that is evadable.
    pub evadable: f64,
    /// The growth rate of its middle; `None` if the inputs do not differ in size.
    pub rate: Option<f64>,
}

/// Reuses of both inputs that match: a fraction of all, in units of 1 / (reuses of the small ·
/// reuses of the large).
#[derive(Clone, Copy)]
struct Match {
    weight: u128,
    small: u64,
    large: u64,
}

impl Match {
    fn is_evadable(&self) -> bool {
        self.large >= self.small.max(1).saturating_mul(2)
    }

    /// log(d₂/d₁).
    fn growth(&self) -> f64 {
        (self.large.max(1) as f64 / self.small.max(1) as f64).ln()
    }
}

impl Growth {
    /// Compares two inputs of one program. The sizes of the inputs are their cold accesses, which
    /// is the number of distinct items. Cost: linear in the bins of both, and memory likewise.
    pub fn between(small: &impl Histogram, large: &impl Histogram) -> Self {
        let items = (small.cold(), large.cold());
        let matches = matched(small, large);
        let evadable = share(&matches, Match::is_evadable);
        let growth = (items.0 > 0 && items.1 > 0 && items.0 != items.1)
            .then(|| (items.1 as f64 / items.0 as f64).ln());
        let small_hills = hills(&Log2Histogram::of(small));
        let follow = |hill: &Hill| hill_growth(*hill, &matches, growth);
        Growth {
            items,
            reuses: (small.reuses(), large.reuses()),
            evadable,
            evadable_of_accesses: evadable * ratio(large.reuses(), large.accesses()),
            rate: growth.and_then(|growth| mean_growth(&matches).map(|mean| mean / growth)),
            hills: small_hills.iter().filter_map(follow).collect(),
            large_hills: hills(&Log2Histogram::of(large)),
        }
    }
}

/// Walks both histograms along equal fractions of their reuses.
fn matched(small: &impl Histogram, large: &impl Histogram) -> Vec<Match> {
    let (all_small, all_large) = (u128::from(small.reuses()), u128::from(large.reuses()));
    // Each reuse of one input weighs as many units as the other has reuses: both sum to the same.
    let weigh =
        |other: u128| move |(low, _, count): (u64, u64, u64)| (low, u128::from(count) * other);
    let mut smalls = small.bins().map(weigh(all_large));
    let mut larges = large.bins().map(weigh(all_small));
    let mut matches = Vec::new();
    let (mut left, mut right) = (smalls.next(), larges.next());
    while let (Some((small, a)), Some((large, b))) = (left, right) {
        let weight = a.min(b);
        matches.push(Match {
            weight,
            small,
            large,
        });
        left = if a > weight {
            Some((small, a - weight))
        } else {
            smalls.next()
        };
        right = if b > weight {
            Some((large, b - weight))
        } else {
            larges.next()
        };
    }
    matches
}

/// The share of the matches, by weight, for which `holds`.
fn share(matches: &[Match], holds: impl Fn(&Match) -> bool) -> f64 {
    let weight = |matches: &mut dyn Iterator<Item = &Match>| {
        matches.fold(0_u128, |sum, found| sum.saturating_add(found.weight))
    };
    match weight(&mut matches.iter()) {
        0 => 0.0,
        all => weight(&mut matches.iter().filter(|found| holds(found))) as f64 / all as f64,
    }
}

/// The mean of log(d₂/d₁) over the evadable matches.
fn mean_growth(matches: &[Match]) -> Option<f64> {
    let (mut sum, mut all) = (0.0, 0.0);
    for found in matches.iter().filter(|found| found.is_evadable()) {
        sum += found.weight as f64 * found.growth();
        all += found.weight as f64;
    }
    (all > 0.0).then(|| sum / all)
}

fn hill_growth(hill: Hill, matches: &[Match], growth: Option<f64>) -> Option<HillGrowth> {
    let first = matches.partition_point(|found| found.small < hill.low());
    let end = matches.partition_point(|found| found.small <= hill.high());
    let inside = matches.get(first..end)?;
    let evadable = share(inside, Match::is_evadable);
    let middle = middle(inside)?;
    Some(HillGrowth {
        hill,
        small: middle.small,
        large: middle.large,
        moves: evadable >= 0.5,
        evadable,
        rate: growth.map(|growth| middle.growth() / growth),
    })
}

/// The match at half of the weight.
fn middle(matches: &[Match]) -> Option<Match> {
    let all = matches
        .iter()
        .fold(0_u128, |sum, found| sum.saturating_add(found.weight));
    let mut below = 0_u128;
    matches
        .iter()
        .find(|found| {
            below = below.saturating_add(found.weight);
            below >= all.div_ceil(2)
        })
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExactHistogram, FineHistogram};
    use reuselens_units::Distance;

    /// An input of `side`² items: a third of the reuses stay near, a third are a row away, a third
    /// a complete sweep.
    fn sweep(side: u64) -> ExactHistogram {
        let mut histogram = ExactHistogram::new();
        let all = side * side;
        histogram.add(Distance::COLD, all);
        for (distance, share) in [(2, 3), (3, 1), (side, 4), (all, 4)] {
            histogram.add(Distance::new(distance), share * all);
        }
        histogram
    }

    #[test]
    fn growth_rates_of_constant_root_and_linear_reuses() {
        let growth = Growth::between(&sweep(50), &sweep(200));
        assert_eq!(growth.items, (2500, 40_000));
        assert!((growth.evadable - 8.0 / 12.0).abs() < 1e-12);
        assert!((growth.evadable_of_accesses - 8.0 / 13.0).abs() < 1e-12);
        let moves: Vec<_> = growth.hills.iter().map(|hill| hill.moves).collect();
        assert_eq!(moves, [false, true, true]);
        let rates: Vec<_> = growth.hills.iter().filter_map(|hill| hill.rate).collect();
        assert_eq!(rates, [0.0, 0.5, 1.0]);
        assert!((growth.rate.unwrap() - 0.75).abs() < 1e-12);
        assert_eq!(
            (growth.hills[2].small, growth.hills[2].large),
            (2500, 40_000)
        );
        assert_eq!(growth.large_hills.len(), 3);
    }

    #[test]
    fn evadable_misses_agree_for_fine_bins() {
        let fine = |side| {
            let mut fine = FineHistogram::new();
            fine.add_exact(&sweep(side));
            fine
        };
        let (exact, fine) = (
            Growth::between(&sweep(64), &sweep(256)),
            Growth::between(&fine(64), &fine(256)),
        );
        assert_eq!(exact, fine);
    }

    #[test]
    fn an_equal_input_has_no_evadable_reuses() {
        let growth = Growth::between(&sweep(50), &sweep(50));
        assert_eq!((growth.evadable, growth.rate), (0.0, None));
        assert!(
            growth
                .hills
                .iter()
                .all(|hill| !hill.moves && hill.rate.is_none())
        );
    }

    #[test]
    fn doubled_distances_are_evadable() {
        let evadable = |small: u64, large: u64| {
            let single = |distance| {
                let mut histogram = ExactHistogram::new();
                histogram.add(Distance::new(distance), 3);
                histogram
            };
            Growth::between(&single(small), &single(large)).evadable
        };
        assert_eq!(
            (evadable(10, 19), evadable(10, 20), evadable(20, 10)),
            (0.0, 1.0, 0.0)
        );
        assert_eq!((evadable(0, 1), evadable(0, 2)), (0.0, 1.0));
    }

    #[test]
    fn no_reuses_give_no_growth() {
        let none = ExactHistogram::new();
        for (small, large) in [(&none, &sweep(9)), (&sweep(9), &none), (&none, &none)] {
            let growth = Growth::between(small, large);
            assert_eq!(
                (growth.evadable, growth.evadable_of_accesses, growth.rate),
                (0.0, 0.0, None)
            );
            assert!(growth.hills.is_empty());
        }
    }
}
