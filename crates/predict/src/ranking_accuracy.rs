//! [`RankingAccuracy`]: whether accesses and misses were predicted of the groups that they happened
//! to.

use std::collections::BTreeMap;

use reuselens_locality::PatternBin;
use serde::{Deserialize, Serialize};

use crate::check::GroupSeen;
use crate::group::{GroupForecast, GroupRun, Groups};

/// How much of what happened was predicted of the group that it happened to: 1 − ½·Σ|a − b| over
/// all groups, where a and b are the predicted and the observed share of the group in the sum over
/// all. It is the accuracy of histograms with groups instead of bins, and independent of whether
/// patterns are at the right distances.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankingAccuracy {
    /// Of accesses.
    pub accesses: f64,
    /// Groups that were observed and predicted, and those of them whose accesses are in their
    /// interval.
    pub intervals: (u64, u64),
    /// Of misses, by cache. Groups that cannot be predicted count with their cold accesses.
    pub misses: Vec<f64>,
    /// The misses predicted of all groups ÷ those observed, by cache; none if none were observed.
    pub sums: Vec<Option<f64>>,
    /// The share of the accesses, of groups that were observed and predicted, in those whose
    /// accesses are in their interval.
    pub held: f64,
    /// The width of a group's interval relative to its prediction; the median over those accesses.
    pub width: f64,
}

impl RankingAccuracy {
    /// Compares forecasts, each with its misses in fully associative caches of `items` items, with
    /// what was observed.
    pub(crate) fn of(
        forecasts: &[(&GroupForecast, Vec<u64>)],
        observed: &Groups,
        items: &[u64],
    ) -> Self {
        let accesses = forecasts
            .iter()
            .map(|(group, _)| (group.name.as_str(), group.accesses.value));
        let seen = observed
            .iter()
            .map(|(name, run)| (name.as_str(), run.accesses as f64));
        let mut ranking = RankingAccuracy {
            accesses: common(accesses, seen).0,
            ..RankingAccuracy::default()
        };
        let (mut inside, mut widths) = (0.0, Vec::new());
        for (forecast, _) in forecasts {
            if let Some(run) = observed.get(&forecast.name) {
                let (seen, expected) = (run.accesses as f64, &forecast.accesses);
                ranking.intervals.0 += 1;
                // Half an access is rounding.
                let held = expected.low - 0.5 <= seen && seen <= expected.high + 0.5;
                ranking.intervals.1 += u64::from(held);
                inside += seen * f64::from(u8::from(held));
                let width = (expected.high - expected.low) / expected.value.max(1.0);
                widths.push((width, seen));
            }
        }
        let all: f64 = widths.iter().map(|width| width.1).sum();
        ranking.held = if all > 0.0 { inside / all } else { 0.0 };
        ranking.width = middle(widths, all);
        for (at, items) in items.iter().enumerate() {
            let expected = forecasts.iter().map(|(group, misses)| {
                let misses = misses.get(at).copied().unwrap_or(0);
                (group.name.as_str(), misses as f64)
            });
            let seen = observed
                .iter()
                .map(|(name, run)| (name.as_str(), misses(run, *items)));
            let (right, sums) = common(expected, seen);
            ranking.misses.push(right);
            ranking.sums.push(sums);
        }
        ranking
    }
}

/// The first number of the pair at which half of the weights, which are the second, is reached; 0
/// if there are none.
fn middle(mut weighed: Vec<(f64, f64)>, all: f64) -> f64 {
    weighed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut sum = 0.0;
    let found = weighed.iter().find(|(_, weight)| {
        sum += weight;
        sum * 2.0 >= all
    });
    found.map_or(0.0, |found| found.0)
}

/// What two distributions have in common, and the sum of the first ÷ that of the second, if that is
/// not 0.
fn common<'a>(
    predicted: impl Iterator<Item = (&'a str, f64)>,
    observed: impl Iterator<Item = (&'a str, f64)>,
) -> (f64, Option<f64>) {
    let mut both: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    predicted.for_each(|(name, value)| both.entry(name).or_default().0 += value);
    observed.for_each(|(name, value)| both.entry(name).or_default().1 += value);
    let sum = |of: fn(&(f64, f64)) -> f64| both.values().map(of).fold(0.0, |a, b| a + b);
    let (a, b) = (sum(|both| both.0), sum(|both| both.1));
    if a <= 0.0 || b <= 0.0 {
        let equal = f64::from(u8::from(a <= 0.0 && b <= 0.0));
        return (equal, (b > 0.0).then_some(0.0));
    }
    let least = both.values().map(|both| (both.0 / a).min(both.1 / b));
    (least.fold(0.0, |a, b| a + b), Some(a / b))
}

/// What was observed of a group, in caches of these numbers of items.
pub(crate) fn seen(run: &GroupRun, items: &[u64]) -> GroupSeen {
    GroupSeen {
        accesses: run.accesses,
        misses: items.iter().map(|items| misses(run, *items)).collect(),
    }
}

/// Misses of a group in a cache of `items` items. The accesses of a bin around the size count as
/// if they were spread evenly.
fn misses(run: &GroupRun, items: u64) -> f64 {
    let far = |bin: &PatternBin| {
        let all = bin.accesses as f64;
        match () {
            () if bin.min >= items => all,
            () if bin.max < items => 0.0,
            () => all * (bin.max - items + 1) as f64 / (bin.max - bin.min + 1) as f64,
        }
    };
    run.bins.iter().map(far).fold(run.cold as f64, |a, b| a + b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_locality::{Histogram, PatternBins};
    use reuselens_units::Distance;

    #[test]
    fn overlap_counts_common_lines() {
        let a = [("x", 3.0), ("y", 1.0)];
        let b = [("y", 4.0), ("z", 4.0)];
        let of = |a: &[(&'static str, f64)], b: &[(&'static str, f64)]| {
            common(a.iter().copied(), b.iter().copied())
        };
        assert_eq!(of(&a, &b), (0.25, Some(0.5)));
        assert_eq!(of(&a, &a), (1.0, Some(1.0)));
        assert_eq!(of(&a, &[]), (0.0, None));
        assert_eq!(of(&[], &a), (0.0, Some(0.0)));
        assert_eq!(of(&[], &[("x", 0.0)]), (1.0, None));
        assert_eq!(middle(vec![(9.0, 1.0), (2.0, 5.0), (1.0, 2.0)], 8.0), 2.0);
    }

    #[test]
    fn misses_of_a_bin_that_is_cut() {
        let mut bins = PatternBins::new();
        bins.add(Distance::new(3), 5);
        for items in 2000..2048 {
            bins.add(Distance::new(items), 10);
        }
        let run = GroupRun {
            rest: false,
            accesses: bins.accesses() + 2,
            cold: 2,
            bins: bins.iter().collect(),
        };
        assert_eq!(misses(&run, 4), 482.0);
        assert_eq!(misses(&run, 3), 487.0);
        assert_eq!(misses(&run, 5000), 2.0);
        assert_eq!(misses(&run, 2024), 242.0);
    }
}
