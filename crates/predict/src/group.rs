//! The patterns of lines, instructions and paths on another input.

mod rare;
mod seen;
mod spread;

use std::collections::BTreeMap;

use reuselens_locality::{FineHistogram, Pattern, PatternBin};
use reuselens_units::Distance;
use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, estimate, power};
use crate::merging::Merging;
use crate::shape::{Fit, Shape};
use rare::predict_rare;
use seen::{Seen, seen};

/// Reuses of a pattern below this share of its line's are too few to say that it begins to miss: one in ten thousand.
/// The misses of a line are often its rarest reuses, one in as many as an inner loop has turns; single accesses
/// are not.
const NOTICEABLE: f64 = 1e-4;

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
    /// What it was in the training runs.
    pub seen: Vec<Pattern>,
    /// Bins of the last training run in this pattern: how accesses lie within it.
    #[serde(skip)]
    within: Vec<PatternBin>,
}

/// What could be predicted of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupForecast {
    /// Its name.
    pub name: String,
    /// Its accesses in the largest training run.
    pub trained: u64,
    /// Accesses; 0 if it is not predictable.
    pub accesses: Estimate,
    /// Cold ones among them.
    pub cold: Estimate,
    /// Its patterns, or why there are none.
    pub patterns: Result<Vec<PatternPrediction>, Unpredictable>,
    /// A prediction below 0 was set to 0.
    pub below_zero: bool,
    /// What is too rare to tell patterns by ([`Merging::rare`]), from near to far: it grows and misses all the same,
    /// but is not compared. Empty if nothing was left out. Seen only in the runs that have it.
    pub rare: Vec<PatternPrediction>,
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
    merging: Merging,
    size: f64,
) -> Vec<GroupForecast> {
    let mut names: Vec<&String> = runs.iter().flat_map(|(_, groups)| groups.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .map(|name| predict(name, runs, shapes, merging, size))
        .collect()
}

fn predict(
    name: &str,
    runs: &[(f64, &Groups)],
    shapes: &[Shape],
    merging: Merging,
    size: f64,
) -> GroupForecast {
    let last = runs.last().and_then(|(_, groups)| groups.get(name));
    let mut forecast = GroupForecast {
        name: name.to_owned(),
        trained: last.map_or(0, |run| run.accesses),
        accesses: Estimate::default(),
        cold: Estimate::default(),
        patterns: Ok(Vec::new()),
        below_zero: false,
        rare: Vec::new(),
    };
    let found = match seen(name, runs, merging) {
        Ok(found) => found,
        Err(why) => {
            forecast.patterns = Err(why);
            return forecast;
        }
    };
    let power_of = |count: fn(&GroupRun) -> u64| {
        let points: Vec<_> = found
            .iter()
            .map(|seen| (seen.size, count(seen.run) as f64))
            .collect();
        power(&points, size)
    };
    forecast.cold = power_of(|run| run.cold);
    forecast.accesses = power_of(|run| run.accesses);
    let predicted = (0..found[0].patterns.len()).map(|index| {
        let points: Vec<(f64, Pattern)> = found
            .iter()
            .map(|seen| (seen.size, seen.patterns[index]))
            .collect();
        let last = &found[found.len() - 1];
        let here = last.patterns[index];
        let within = last.run.bins.iter();
        let within = within.filter(|bin| bin.min >= here.min && bin.max <= here.max);
        predict_pattern(&points, within.copied().collect(), shapes, size)
    });
    let (predicted, below): (Vec<PatternPrediction>, Vec<bool>) = predicted.unzip();
    let (rare, rare_below) = predict_rare(
        &found,
        merging.rule,
        shapes,
        (size, forecast.accesses.value),
    );
    forecast.below_zero = below.into_iter().chain(rare_below).any(|below| below);
    forecast.patterns = Ok(predicted);
    forecast.rare = rare;
    forecast
}

/// A pattern from what it was in runs of ascending sizes, and whether less than 0 was predicted. `within` is how its
/// accesses lie in the last of them.
fn predict_pattern(
    points: &[(f64, Pattern)],
    within: Vec<PatternBin>,
    shapes: &[Shape],
    size: f64,
) -> (PatternPrediction, bool) {
    let of = |value: fn(&Pattern) -> f64| -> Vec<(f64, f64)> {
        points.iter().map(|(size, p)| (*size, value(p))).collect()
    };
    let (fit, mean) = estimate(&of(|p| p.mean), shapes, size);
    let (low_fit, min) = estimate(&of(|p| p.min as f64), shapes, size);
    let (_, max) = estimate(&of(|p| p.max as f64), shapes, size);
    let prediction = PatternPrediction {
        fit,
        min,
        max,
        mean,
        accesses: power(&of(|p| p.accesses as f64), size),
        seen: points.iter().map(|point| point.1).collect(),
        within,
    };
    (prediction, fit.at(size) < 0.0 || low_fit.at(size) < 0.0)
}

impl GroupForecast {
    /// The expected distances; none if they cannot be predicted.
    pub fn histogram(&self) -> Option<FineHistogram> {
        let patterns = self.patterns.as_ref().ok()?;
        let mut histogram = FineHistogram::new();
        histogram.add(Distance::COLD, self.cold.value.round() as u64);
        for pattern in patterns.iter().chain(&self.rare) {
            pattern.add_to(&mut histogram);
        }
        Some(histogram)
    }

    /// The data size, `from` or larger, at which the mean distance of one of its patterns, rare ones included, of at
    /// least one in ten thousand of its reuses reaches the `items` of a cache: half of that pattern misses from there
    /// on. `from` itself if that is so already; none if no pattern ever gets there.
    pub fn misses_from(&self, items: u64, from: f64) -> Option<f64> {
        let patterns = self.patterns.as_ref().ok()?;
        let patterns = || patterns.iter().chain(&self.rare);
        let all: f64 = patterns().map(|pattern| pattern.accesses.value).sum();
        let noticeable = patterns().filter(|pattern| pattern.accesses.value >= NOTICEABLE * all);
        let sizes = noticeable.filter_map(|pattern| pattern.fit.reaches(items as f64, from));
        sizes.reduce(f64::min).map(|size| size.max(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GroupCheck;
    use reuselens_locality::PatternRule;

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
            PatternRule::default().into(),
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
        let check = GroupCheck::of(&found, &truth, PatternRule::default().into());
        assert_eq!((check.coverage(), check.accuracy()), (1.0, 1.0));
        assert_eq!(check.intervals, (2, 2));
        let other = groups(&[
            ("a", run(&[(2, 14_400), (60_000, 1600)], 800)),
            ("b", run(&[(1, 9)], 0)),
        ]);
        let check = GroupCheck::of(&found, &other, PatternRule::default().into());
        assert_eq!(
            (check.covered, check.correct, check.accesses),
            (16_800, 0, 16_809)
        );
    }

    #[test]
    fn the_rare_far_reuses_grow_too() {
        // One in 200 is far in the small run and one in 400 in the large one, as many as there are items.
        let small = groups(&[("a", run(&[(2, 199_000), (1000, 1000)], 50))]);
        let large = groups(&[("a", run(&[(2, 1_592_000), (4000, 4000)], 200))]);
        let runs = [(1000.0, &small), (4000.0, &large)];
        let of = |rare: f64| {
            let merging = Merging {
                rare,
                ..Merging::default()
            };
            predict_groups(&runs, &Shape::ALL, merging, 64_000.0).remove(0)
        };
        let found = of(0.01);
        assert_eq!(found.patterns.as_ref().map(Vec::len), Ok(1), "to compare");
        assert_eq!(found.rare.len(), 1);
        assert_eq!(found.rare[0].fit.shape, Shape::Linear);
        let histogram = found.histogram().unwrap();
        // 64,000 far reuses at 64,000 items, and the cold accesses.
        assert_eq!(histogram.misses(32_768), 64_000 + 3200);
        assert_eq!(histogram.misses(80_000), 3200);
        let begins = found.misses_from(32_768, 4000.0).unwrap();
        assert!((begins - 32_768.0).abs() < 1000.0, "{begins}");
        // The same as with nothing left out.
        let whole = of(0.0);
        assert!(whole.rare.is_empty());
        assert_eq!(whole.histogram(), Some(histogram));
        assert_eq!(whole.misses_from(32_768, 4000.0), Some(begins));
    }

    #[test]
    fn rare_reuses_whose_patterns_differ_grow_as_one() {
        let small = groups(&[("a", run(&[(2, 199_000), (1000, 1000)], 50))]);
        let large = groups(&[("a", run(&[(2, 1_592_000), (3600, 2000), (9000, 2000)], 200))]);
        let found = predict_groups(
            &[(1000.0, &small), (4000.0, &large)],
            &Shape::ALL,
            Merging::default(),
            64_000.0,
        );
        assert_eq!(found[0].rare.len(), 1);
        assert_eq!(found[0].rare[0].seen[1].accesses, 4000);
        let histogram = found[0].histogram().unwrap();
        assert_eq!(histogram.misses(32_768), 64_000 + 3200);
    }

    #[test]
    fn rare_reuses_of_one_run_alone_stay_where_they_were() {
        let small = groups(&[("a", run(&[(2, 199_000)], 50))]);
        let large = groups(&[("a", run(&[(2, 796_000), (4000, 4000)], 200))]);
        let found = predict_groups(
            &[(1000.0, &small), (4000.0, &large)],
            &Shape::ALL,
            Merging::default(),
            16_000.0,
        );
        assert_eq!(found[0].rare[0].fit.shape, Shape::Constant);
        let histogram = found[0].histogram().unwrap();
        let far = histogram.misses(3000) - histogram.cold();
        // As large a share as before.
        assert!((far as f64 / histogram.accesses() as f64 - 0.005).abs() < 1e-4);
        assert_eq!(histogram.misses(5000), histogram.cold());
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
            PatternRule::default().into(),
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
            PatternRule::default().into(),
            1600.0,
        );
        let histogram = found[0].histogram().unwrap();
        assert_eq!((histogram.cold(), histogram.accesses()), (1600, 1600));
    }
}
