//! [`Growth`]: how reuse distances grow from a small to a large input of one program. Reuses whose
//! distance grows are called evadable: no fixed cache holds them for every input.

use crate::Log2Histogram;
use crate::hills::{Hill, hills};
use crate::histogram::{Histogram, ratio};

/// How the reuses of a program lengthen from a small to a large input.
///
/// The reuses (accesses that are not cold) of each input are sorted by distance, and equal
/// fractions are matched: the reuse at the q-th part of the small input with that at the q-th part
/// of the large one. A growth rate is log(d₂/d₁) / log(s₂/s₁), where s is the size of the input in
/// distinct items: 0 for reuses that stay, ½ for the square root, 1 for linear growth. A wider bin
/// of a histogram counts as its lowest distance, and distance 0 as 1.
///
/// A reuse is *evadable* if its growth rate is at least [`Growth::LEAST_RATE`], so that what counts
/// as growth does not depend on how far apart the two inputs are. The distance must also grow by
/// more than the histograms resolve: by more than one item, and by at least an eighth. Inputs whose
/// data differ by less than [`Growth::LEAST_GROWTH`] give no answer: a row of a grid would differ
/// by no more than the bins do.
///
/// Source: Ding & Zhong 2001, section 3.2, which names them evadable and reads the growth off
/// hills.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// Distinct items of the small and of the large input.
    pub items: (u64, u64),
    /// Reuses of the small and of the large input.
    pub reuses: (u64, u64),
    /// The share of the reuses that is evadable; 0 if either input has no reuses, or if the inputs
    /// differ too little in size.
    pub evadable: f64,
    /// The share of all accesses of the large input that is evadable, cold ones included in all.
    pub evadable_of_accesses: f64,
    /// The mean growth rate of the evadable reuses; `None` if there are none, or if the inputs
    /// differ too little in size.
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
    /// The growth rate of its middle; `None` if the inputs differ too little in size.
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
    /// Whether the distance grows by at least the factor `least`, and by more than bins resolve.
    fn grows(&self, least: f64) -> bool {
        let (small, large) = (self.small.max(1), self.large.max(1));
        let ratio = large as f64 / small as f64;
        large > small + 1 && ratio >= RESOLVED && ratio >= least
    }

    /// log(d₂/d₁).
    fn growth(&self) -> f64 {
        (self.large.max(1) as f64 / self.small.max(1) as f64).ln()
    }
}

/// The least factor between two distances that is surely no effect of bins, which are up to a
/// sixteenth wide: two bins.
const RESOLVED: f64 = 1.125;

impl Growth {
    /// The lowest growth rate of an evadable reuse: below the third root, by which a row of a
    /// three-dimensional grid grows, and above a logarithm.
    pub const LEAST_RATE: f64 = 0.25;

    /// The least factor between the sizes of two inputs for which growth can be measured.
    pub const LEAST_GROWTH: f64 = 1.25;

    /// Compares two inputs of one program. The sizes of the inputs are their cold accesses, which
    /// is the number of distinct items. Cost: linear in the bins of both, and memory likewise.
    pub fn between(small: &impl Histogram, large: &impl Histogram) -> Self {
        let items = (small.cold(), large.cold());
        let matches = matched(small, large);
        let ratio_of_data = items.1 as f64 / items.0.max(1) as f64;
        let growth =
            (items.0 > 0 && ratio_of_data >= Self::LEAST_GROWTH).then(|| ratio_of_data.ln());
        let evadable = growth.map_or(0.0, |growth| evadable(&matches, growth));
        let small_hills = hills(&Log2Histogram::of(small));
        let follow = |hill: &Hill| hill_growth(*hill, &matches, growth);
        Growth {
            items,
            reuses: (small.reuses(), large.reuses()),
            evadable,
            evadable_of_accesses: evadable * ratio(large.reuses(), large.accesses()),
            rate: growth.and_then(|growth| mean_growth(&matches, growth)),
            hills: small_hills.iter().filter_map(follow).collect(),
            large_hills: hills(&Log2Histogram::of(large)),
        }
    }

    /// Whether the inputs differ enough in size to say what grows.
    pub fn is_known(&self) -> bool {
        self.items.0 > 0 && self.items.1 as f64 >= self.items.0 as f64 * Self::LEAST_GROWTH
    }
}

/// The factor by which evadable distances grow at least, for the logarithm of the growth of the
/// data.
fn least(growth: f64) -> f64 {
    (Growth::LEAST_RATE * growth).exp()
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

/// The share of the matches, by weight, that is evadable if the data grow by e to the `growth`.
fn evadable(matches: &[Match], growth: f64) -> f64 {
    let least = least(growth);
    let weight = |matches: &mut dyn Iterator<Item = &Match>| {
        matches.fold(0_u128, |sum, found| sum.saturating_add(found.weight))
    };
    match weight(&mut matches.iter()) {
        0 => 0.0,
        all => weight(&mut matches.iter().filter(|found| found.grows(least))) as f64 / all as f64,
    }
}

/// The mean growth rate of the evadable matches.
fn mean_growth(matches: &[Match], growth: f64) -> Option<f64> {
    let least = least(growth);
    let (mut sum, mut all) = (0.0, 0.0);
    for found in matches.iter().filter(|found| found.grows(least)) {
        sum += found.weight as f64 * found.growth();
        all += found.weight as f64;
    }
    (all > 0.0).then(|| sum / all / growth)
}

fn hill_growth(hill: Hill, matches: &[Match], growth: Option<f64>) -> Option<HillGrowth> {
    let first = matches.partition_point(|found| found.small < hill.low());
    let end = matches.partition_point(|found| found.small <= hill.high());
    let inside = matches.get(first..end)?;
    let evadable = growth.map_or(0.0, |growth| evadable(inside, growth));
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

    /// The share that is evadable of reuses at `small` and `large` on inputs whose data differ by
    /// `data`.
    fn evadable_of(small: u64, large: u64, data: f64) -> f64 {
        let single = |distance, items: f64| {
            let mut histogram = ExactHistogram::new();
            histogram.add(Distance::new(distance), 3);
            histogram.add(Distance::COLD, items as u64);
            histogram
        };
        Growth::between(&single(small, 1000.0), &single(large, 1000.0 * data)).evadable
    }

    #[test]
    fn growth_is_measured_against_that_of_the_data() {
        // The same growth rate is the same answer, however far apart the inputs are.
        for data in [1.3, 1.5, 2.0, 3.99, 4.0, 16.0, 300.0, 1e6] {
            for (rate, moves) in [(0.0, 0.0), (0.1, 0.0), (0.2, 0.0), (0.5, 1.0), (1.0, 1.0)] {
                let large = 1e4 * f64::powf(data, rate);
                assert_eq!(
                    evadable_of(10_000, large as u64, data),
                    moves,
                    "data ×{data}, distance as data^{rate}"
                );
            }
        }
        // A row of a three-dimensional grid, twice as long.
        assert_eq!(evadable_of(32, 64, 8.0), 1.0);
        assert_eq!(evadable_of(20, 10, 4.0), 0.0);
    }

    #[test]
    fn growth_below_the_resolution_of_bins_is_none() {
        // One item more is what fractions of the reuses that shift make of a distance that stays.
        for (small, large, moves) in [(0, 1, 0.0), (0, 2, 0.0), (0, 3, 1.0), (2, 3, 0.0)] {
            assert_eq!(evadable_of(small, large, 2.0), moves, "{small} to {large}");
        }
        assert_eq!(evadable_of(1000, 1100, 1.3), 0.0);
    }

    #[test]
    fn inputs_of_about_equal_size_have_no_evadable_reuses() {
        assert_eq!(evadable_of(10, 1000, 1.2), 0.0);
        let growth = Growth::between(&sweep(50), &sweep(51));
        assert!(!growth.is_known() && growth.rate.is_none());
        assert!(Growth::between(&sweep(50), &sweep(60)).is_known());
    }

    /// Rows of 2·side + 3 items, each swept again and again, on inputs that differ by less than
    /// four in data: a factor of two at the distances never separated these.
    #[test]
    fn rows_of_a_grid_move_at_every_pair_of_sides() {
        let rows = |side: u64| {
            let mut histogram = ExactHistogram::new();
            histogram.add(Distance::COLD, 4 * side * side);
            histogram.add(Distance::new(1), 40 * side * side);
            histogram.add(Distance::new(2 * side + 2), 60 * side * side);
            let mut fine = FineHistogram::new();
            fine.add_exact(&histogram);
            fine
        };
        for (small, large) in [(64, 128), (64, 90), (50, 75), (64, 256), (100, 1000)] {
            let growth = Growth::between(&rows(small), &rows(large));
            let moves: Vec<_> = growth.hills.iter().map(|hill| hill.moves).collect();
            assert_eq!(moves, [false, true], "{small} to {large}");
            assert!((growth.evadable - 0.6).abs() < 1e-12, "{small} to {large}");
            assert!(
                (growth.rate.unwrap() - 0.5).abs() < 0.1,
                "{small} to {large}"
            );
        }
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
