//! The patterns of lines, instructions and paths on another input.

use std::collections::BTreeMap;

use reuselens_locality::{FineHistogram, Pattern, PatternBin, PatternRule, patterns};
use reuselens_units::Distance;
use serde::{Deserialize, Serialize};

use crate::check::are_right;
use crate::estimate::{Estimate, estimate, power};
use crate::shape::{Fit, Shape};

/// Reuses of a pattern below this share of its line's are too few to say that it begins to miss.
const NOTICEABLE: f64 = 0.01;

/// What a line, an instruction or a path did in one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupRun {
    /// Accesses.
    pub accesses: u64,
    /// Cold ones among them.
    pub cold: u64,
    /// Its distances, in ascending bins.
    pub bins: Vec<PatternBin>,
}

/// The groups of one run, by name.
pub type Groups = BTreeMap<String, GroupRun>;

/// Why nothing can be predicted of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unpredictable {
    /// It is missing in these training runs, counted from 0.
    Missing(Vec<usize>),
    /// The runs have different numbers of patterns.
    Patterns(Vec<usize>),
}

/// A pattern on another input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PatternPrediction {
    /// How its mean distance grows.
    pub fit: Fit,
    /// Its lowest distance.
    pub min: Estimate,
    /// Its highest.
    pub max: Estimate,
    /// Its mean.
    pub mean: Estimate,
    /// Accesses in it: as a power of the size, which for a fixed share of the run is to scale with its accesses.
    pub accesses: Estimate,
    /// Bins of the last training run in this pattern: how accesses lie within it.
    #[serde(skip)]
    within: Vec<PatternBin>,
}

/// What could be predicted of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupForecast {
    /// Its name.
    pub name: String,
    /// Accesses; 0 if it is not predictable.
    pub accesses: Estimate,
    /// Cold ones among them.
    pub cold: Estimate,
    /// Its patterns, or why there are none.
    pub patterns: Result<Vec<PatternPrediction>, Unpredictable>,
    /// A prediction below 0 was set to 0.
    pub below_zero: bool,
}

/// Predicts every group that occurs in any of two or more runs of ascending sizes, by name.
///
/// Predictable is a group with equally many patterns in all of them: each pattern's lowest, highest and mean distance
/// are extrapolated by one of `shapes`.
///
/// Source: Fang et al. 2006, section 3.3.
pub fn predict_groups(
    runs: &[(f64, &Groups)],
    shapes: &[Shape],
    rule: PatternRule,
    size: f64,
) -> Vec<GroupForecast> {
    let mut names: Vec<&String> = runs.iter().flat_map(|(_, groups)| groups.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .map(|name| predict(name, runs, shapes, rule, size))
        .collect()
}

fn predict(
    name: &str,
    runs: &[(f64, &Groups)],
    shapes: &[Shape],
    rule: PatternRule,
    size: f64,
) -> GroupForecast {
    let mut forecast = GroupForecast {
        name: name.to_owned(),
        accesses: Estimate::default(),
        cold: Estimate::default(),
        patterns: Ok(Vec::new()),
        below_zero: false,
    };
    let found: Vec<Option<&GroupRun>> = runs.iter().map(|(_, groups)| groups.get(name)).collect();
    let missing: Vec<usize> = (0..runs.len())
        .filter(|run| found[*run].is_none())
        .collect();
    if !missing.is_empty() {
        forecast.patterns = Err(Unpredictable::Missing(missing));
        return forecast;
    }
    let found: Vec<(f64, &GroupRun)> = runs
        .iter()
        .map(|run| run.0)
        .zip(found.into_iter().flatten())
        .collect();
    let merged: Vec<Vec<Pattern>> = found
        .iter()
        .map(|(_, run)| patterns(&run.bins, rule))
        .collect();
    let counts: Vec<usize> = merged.iter().map(Vec::len).collect();
    if counts.iter().any(|count| *count != counts[0]) {
        forecast.patterns = Err(Unpredictable::Patterns(counts));
        return forecast;
    }
    let power_of = |count: &dyn Fn(&GroupRun) -> u64| {
        power(
            &found
                .iter()
                .map(|(size, run)| (*size, count(run) as f64))
                .collect::<Vec<_>>(),
            size,
        )
    };
    forecast.cold = power_of(&|run| run.cold);
    forecast.accesses = power_of(&|run| run.accesses);
    let last = found
        .last()
        .map(|(_, run)| run.bins.as_slice())
        .unwrap_or_default();
    let mut below = false;
    let all = (0..counts[0]).map(|index| {
        let of = |value: fn(&Pattern) -> f64| -> Vec<(f64, f64)> {
            found
                .iter()
                .zip(&merged)
                .map(|((size, _), patterns)| (*size, value(&patterns[index])))
                .collect()
        };
        let (fit, mean) = estimate(&of(|p| p.mean), shapes, size);
        let (low_fit, min) = estimate(&of(|p| p.min as f64), shapes, size);
        let (_, max) = estimate(&of(|p| p.max as f64), shapes, size);
        below |= fit.at(size) < 0.0 || low_fit.at(size) < 0.0;
        let here = merged[merged.len() - 1][index];
        let within = last
            .iter()
            .filter(|bin| bin.min >= here.min && bin.max <= here.max);
        PatternPrediction {
            fit,
            min,
            max,
            mean,
            accesses: power(&of(|p| p.accesses as f64), size),
            within: within.copied().collect(),
        }
    });
    forecast.patterns = Ok(all.collect());
    forecast.below_zero = below;
    forecast
}

impl PatternPrediction {
    /// The expected pattern, in whole distances.
    pub fn pattern(&self) -> Pattern {
        let min = self.min.value.round();
        let max = self.max.value.round().max(min);
        Pattern {
            min: min as u64,
            max: max as u64,
            mean: self.mean.value.clamp(min, max),
            accesses: self.accesses.value.round() as u64,
        }
    }

    /// Adds its accesses, which lie in it as they do in the last training run.
    fn add_to(&self, histogram: &mut FineHistogram) {
        let Pattern {
            min, max, accesses, ..
        } = self.pattern();
        let (Some(first), Some(last)) = (self.within.first(), self.within.last()) else {
            return;
        };
        let scale = match last.max - first.min {
            0 => 0.0,
            width => (max - min) as f64 / width as f64,
        };
        let place = |at: f64| min as f64 + (at - first.min as f64) * scale;
        let all: u64 = self.within.iter().map(|bin| bin.accesses).sum();
        let (mut seen, mut counted) = (0_u64, 0_u64);
        for bin in &self.within {
            seen += bin.accesses;
            let until = (accesses as f64 * seen as f64 / all.max(1) as f64).round() as u64;
            spread(
                histogram,
                place(bin.min as f64),
                place(bin.max as f64),
                until - counted,
            );
            counted = until;
        }
    }
}

/// Adds accesses, spread evenly from `low` to `high`.
fn spread(histogram: &mut FineHistogram, low: f64, high: f64, accesses: u64) {
    const PARTS: u64 = 16;
    let parts = if high - low < 1.0 { 1 } else { PARTS };
    for part in 0..parts {
        let at = low + (high - low) * (part as f64 + 0.5) / parts as f64;
        let share = accesses * (part + 1) / parts - accesses * part / parts;
        histogram.add(Distance::new(at.round().max(0.0) as u64), share);
    }
}

impl GroupForecast {
    /// The expected distances; none if they cannot be predicted.
    pub fn histogram(&self) -> Option<FineHistogram> {
        let patterns = self.patterns.as_ref().ok()?;
        let mut histogram = FineHistogram::new();
        histogram.add(Distance::COLD, self.cold.value.round() as u64);
        for pattern in patterns {
            pattern.add_to(&mut histogram);
        }
        Some(histogram)
    }

    /// The data size, `from` or larger, at which the mean distance of one of its patterns of at least a hundredth of
    /// its reuses reaches the `items` of a cache: half of that pattern misses from there on. `from` itself if that is
    /// so already; none if no pattern ever gets there.
    pub fn misses_from(&self, items: u64, from: f64) -> Option<f64> {
        let patterns = self.patterns.as_ref().ok()?;
        let all: f64 = patterns.iter().map(|pattern| pattern.accesses.value).sum();
        let noticeable = patterns
            .iter()
            .filter(|pattern| pattern.accesses.value >= NOTICEABLE * all);
        let sizes = noticeable.filter_map(|pattern| pattern.fit.reaches(items as f64, from));
        sizes.reduce(f64::min).map(|size| size.max(from))
    }
}

/// How good a prediction of groups was. Counts are of accesses of the observed run.
///
/// Source: Fang et al. 2006, section 3.3 (there of dynamic paths).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupCheck {
    /// Accesses of groups with reuses.
    pub accesses: u64,
    /// Of those that could be predicted.
    pub covered: u64,
    /// Of those whose patterns were all right.
    pub correct: u64,
    /// Means of observed patterns, and those of them that lie in their interval.
    pub intervals: (u64, u64),
}

impl GroupCheck {
    /// Covered accesses of all.
    pub fn coverage(&self) -> f64 {
        ratio(self.covered, self.accesses)
    }

    /// Correct accesses of the covered ones.
    pub fn accuracy(&self) -> f64 {
        ratio(self.correct, self.covered)
    }

    /// Compares forecasts with what was observed.
    pub fn of(forecasts: &[GroupForecast], observed: &Groups, rule: PatternRule) -> Self {
        let by_name: BTreeMap<&str, &GroupForecast> = forecasts
            .iter()
            .map(|forecast| (forecast.name.as_str(), forecast))
            .collect();
        let mut check = GroupCheck::default();
        for (name, run) in observed {
            let seen = patterns(&run.bins, rule);
            if seen.is_empty() {
                continue; // Nothing was used twice.
            }
            check.accesses += run.accesses;
            let forecast = by_name
                .get(name.as_str())
                .and_then(|forecast| forecast.patterns.as_ref().ok());
            let Some(forecast) = forecast else {
                continue;
            };
            check.covered += run.accesses;
            let expected: Vec<Pattern> = forecast.iter().map(PatternPrediction::pattern).collect();
            check.correct += if are_right(&expected, &seen) {
                run.accesses
            } else {
                0
            };
            if forecast.len() == seen.len() {
                for (forecast, seen) in forecast.iter().zip(&seen) {
                    check.intervals.0 += 1;
                    // Half an item is rounding.
                    let held = seen.mean >= forecast.mean.low - 0.5
                        && seen.mean <= forecast.mean.high + 0.5;
                    check.intervals.1 += u64::from(held);
                }
            }
        }
        check
    }
}

fn ratio(part: u64, all: u64) -> f64 {
    if all == 0 {
        0.0
    } else {
        part as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line with a pattern around each of some distances.
    fn run(hills: &[(u64, u64)], cold: u64) -> GroupRun {
        let mut fine = FineHistogram::new();
        for (distance, count) in hills {
            fine.add(Distance::new(*distance), *count);
        }
        GroupRun {
            accesses: fine.accesses() + cold,
            cold,
            bins: PatternBin::of_fine(&fine),
        }
    }

    fn groups(list: &[(&str, GroupRun)]) -> Groups {
        list.iter()
            .map(|(name, run)| ((*name).to_owned(), run.clone()))
            .collect()
    }

    #[test]
    fn patterns_move_and_say_when_they_miss() {
        let small = groups(&[("a", run(&[(2, 900), (1000, 100)], 50))]);
        let large = groups(&[("a", run(&[(2, 3600), (4000, 400)], 200))]);
        let found = predict_groups(
            &[(1000.0, &small), (4000.0, &large)],
            &Shape::ALL,
            PatternRule::default(),
            16_000.0,
        );
        assert_eq!(found.len(), 1);
        let patterns = found[0].patterns.as_ref().unwrap();
        assert_eq!(
            (patterns[0].fit.shape, patterns[1].fit.shape),
            (Shape::Constant, Shape::Linear)
        );
        let far = patterns[1].pattern();
        assert!(
            (15_000..17_000).contains(&far.min) && (far.mean - 16_000.0).abs() < 300.0,
            "{far:?}"
        );
        assert_eq!(far.accesses, 1600);
        let histogram = found[0].histogram().unwrap();
        assert_eq!(
            (histogram.cold(), histogram.accesses()),
            (800, 800 + 1600 + 14_400)
        );
        assert_eq!(histogram.misses(768), 800 + 1600);
        assert_eq!(histogram.misses(32_768), 800);
        let begins = found[0].misses_from(32_000, 4000.0).unwrap();
        assert!((begins - 32_000.0).abs() < 1000.0, "{begins}");
        assert_eq!(found[0].misses_from(3000, 4000.0), Some(4000.0));
        let truth = groups(&[("a", run(&[(2, 14_400), (16_000, 1600)], 800))]);
        let check = GroupCheck::of(&found, &truth, PatternRule::default());
        assert_eq!((check.coverage(), check.accuracy()), (1.0, 1.0));
        assert_eq!(check.intervals, (2, 2));
        let other = groups(&[
            ("a", run(&[(2, 14_400), (60_000, 1600)], 800)),
            ("b", run(&[(1, 9)], 0)),
        ]);
        let check = GroupCheck::of(&found, &other, PatternRule::default());
        assert_eq!(
            (check.covered, check.correct, check.accesses),
            (16_800, 0, 16_809)
        );
    }

    #[test]
    fn what_cannot_be_predicted_says_why() {
        let small = groups(&[("gone", run(&[(2, 9)], 1)), ("splits", run(&[(2, 9)], 1))]);
        let large = groups(&[
            ("new", run(&[(2, 9)], 1)),
            ("splits", run(&[(2, 9), (900, 3)], 1)),
        ]);
        let found = predict_groups(
            &[(10.0, &small), (40.0, &large)],
            &Shape::ALL,
            PatternRule::default(),
            90.0,
        );
        let why: Vec<_> = found
            .iter()
            .map(|f| (f.name.as_str(), f.patterns.clone().unwrap_err()))
            .collect();
        let expected = [
            ("gone", Unpredictable::Missing(vec![1])),
            ("new", Unpredictable::Missing(vec![0])),
            ("splits", Unpredictable::Patterns(vec![1, 2])),
        ];
        assert_eq!(why, expected);
        assert!(
            found
                .iter()
                .all(|f| f.histogram().is_none() && f.misses_from(1, 1.0).is_none())
        );
    }

    #[test]
    fn only_cold_accesses_are_a_group_too() {
        let runs = [
            groups(&[("init", run(&[], 100))]),
            groups(&[("init", run(&[], 400))]),
        ];
        let found = predict_groups(
            &[(100.0, &runs[0]), (400.0, &runs[1])],
            &Shape::ALL,
            PatternRule::default(),
            1600.0,
        );
        let histogram = found[0].histogram().unwrap();
        assert_eq!((histogram.cold(), histogram.accesses()), (1600, 1600));
    }
}
