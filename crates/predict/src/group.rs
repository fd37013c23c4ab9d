//! [`predict_groups`]: predicts the accesses and patterns of lines, instructions or paths on
//! another input, each by itself.

mod rare;
mod seen;
mod spread;

use std::collections::BTreeMap;

use reuselens_locality::{FineHistogram, Pattern, PatternBin};
use reuselens_units::Distance;
use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, estimate_distance};
use crate::merging::Merging;
use crate::shape::{Fit, Shape};
use crate::share_model::{ShareSizes, parts_of};
use rare::{RarePart, rare_parts};
use seen::{SeenGroup, seen};

/// A pattern with less than this share of its line's reuses, one in ten thousand, is too small to
/// be reported as beginning to miss. The misses of a line are often its rarest reuses, one for each
/// run of an inner loop; single accesses are not.
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
    /// Whether it is not one path, but the sum of all rarer ones to an instruction.
    pub rest: bool,
}

impl GroupRun {
    /// Its misses per access in a fully associative cache of `items` items. Of a bin around the
    /// size, the part beyond it counts.
    fn miss_ratio(&self, items: u64) -> f64 {
        let beyond = |bin: &PatternBin| {
            let from = |low: u64| (bin.max as f64 - low as f64 + 1.0).max(0.0);
            bin.accesses as f64 * from(items.max(bin.min)) / from(bin.min).max(1.0)
        };
        let reuses = self
            .bins
            .iter()
            .map(beyond)
            .fold(0.0, |sum, more| sum + more);
        (self.cold as f64 + reuses) / self.accesses.max(1) as f64
    }
}

/// The groups of one run, by name.
pub type Groups = BTreeMap<String, GroupRun>;

/// Why nothing can be predicted of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unpredictable {
    /// It is missing in these training runs, counted from 0; the last, or the one before it, is
    /// among them.
    Missing(Vec<usize>),
    /// The runs have different numbers of patterns; 0 where it is missing or has no reuses.
    Patterns(Vec<usize>),
    /// In these training runs, counted from 0, these are the rarer paths to an instruction, which
    /// were counted together, or a path that can be among them.
    Rarer(Vec<usize>),
}

/// Between the instruction and the outcomes in the name of a path's group.
pub(crate) const AFTER: &str = " after ";

/// The name of the group of the rarer paths to an instruction of this name.
pub(crate) fn rarer_paths(instruction: &str) -> String {
    format!("{instruction}{AFTER}rarer paths")
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
    /// Accesses in it: its part of the reuses of its group.
    pub accesses: Estimate,
    /// What it was in the training runs.
    pub seen: Vec<Pattern>,
    /// Bins of the last training run in this pattern: how accesses are distributed in it.
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
    /// The training runs that its patterns are predicted from, counted from the largest; 0 if they
    /// cannot be.
    pub runs: usize,
    /// Accesses: its share of those of the run, also if its patterns cannot be predicted.
    pub accesses: Estimate,
    /// Cold ones among them.
    pub cold: Estimate,
    /// Its patterns, or why there are none.
    pub patterns: Result<Vec<PatternPrediction>, Unpredictable>,
    /// A prediction below 0 was set to 0.
    pub below_zero: bool,
    /// Reuses that are too rare to make patterns ([`Merging::rare`]), from near to far: they grow
    /// and miss all the same, but are not compared. Empty if nothing was left out. From the runs
    /// that have them.
    pub rare: Vec<PatternPrediction>,
    /// The largest training run of one that cannot be predicted; empty of others.
    #[serde(skip)]
    pub(crate) trained_run: GroupRun,
}

/// The run that groups are predicted of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// Its data size.
    pub size: f64,
    /// Its accesses.
    pub accesses: Estimate,
    /// Cold ones among them.
    pub cold: Estimate,
}

impl Asked {
    fn reuses(&self) -> Estimate {
        Estimate {
            value: (self.accesses.value - self.cold.value).max(0.0),
            low: (self.accesses.low - self.cold.high).max(0.0),
            high: (self.accesses.high - self.cold.low).max(0.0),
        }
    }
}

/// Predicts every group that occurs in any of two or more runs of ascending sizes, by name.
///
/// A group can be predicted if it has equally many patterns in all of them, or, of three and more
/// runs, in at least the two largest: each pattern's lowest, highest and mean distance are
/// extrapolated by one of `shapes`. Accesses are shares: of a group in the reuses of the run, which
/// change with the accesses of the runs; in its cold accesses, and of patterns in the reuses of
/// their group, which change with the data size. Of a group that cannot be predicted, only the
/// accesses are, and how many are cold.
///
/// Source: Fang et al. 2006, section 3.3; how accesses are shares, and what is predicted from some
/// of the runs, is ours.
pub fn predict_groups(
    runs: &[(f64, &Groups)],
    shapes: &[Shape],
    merging: Merging,
    asked: &Asked,
) -> Vec<GroupForecast> {
    let mut names: Vec<&String> = runs.iter().flat_map(|(_, groups)| groups.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let counts: Vec<(Estimate, Estimate)> = counts(&names, runs, asked);
    names
        .into_iter()
        .zip(counts)
        .map(|(name, counts)| predict(name, counts, runs, (shapes, merging), asked.size))
        .collect()
}

/// Cold accesses and reuses of the groups of these names.
fn counts(names: &[&String], runs: &[(f64, &Groups)], asked: &Asked) -> Vec<(Estimate, Estimate)> {
    let of = |count: fn(&GroupRun) -> u64| -> Vec<Vec<u64>> {
        let of_name = |name: &&String| {
            let found = runs.iter().map(|(_, groups)| groups.get(*name));
            found.map(|run| run.map_or(0, count)).collect()
        };
        names.iter().map(of_name).collect()
    };
    let sizes: Vec<f64> = runs.iter().map(|run| run.0).collect();
    let accesses = runs.iter().map(|(_, groups)| {
        let accesses = groups.values().map(|run| run.accesses as f64);
        accesses.sum()
    });
    let accesses: Vec<f64> = accesses.collect();
    let mut scale = ShareSizes {
        sizes: &sizes,
        size: asked.size,
        totals: &sizes,
        total: asked.size,
    };
    let cold = parts_of(&asked.cold, scale, &of(|run| run.cold));
    (scale.totals, scale.total) = (&accesses, asked.accesses.value);
    let reuses = parts_of(&asked.reuses(), scale, &of(|run| run.accesses - run.cold));
    cold.into_iter().zip(reuses).collect()
}

/// Predicts the group of a name from its numbers of cold accesses and of reuses.
fn predict(
    name: &str,
    (cold, reuses): (Estimate, Estimate),
    runs: &[(f64, &Groups)],
    (shapes, merging): (&[Shape], Merging),
    size: f64,
) -> GroupForecast {
    let last = runs.last().and_then(|(_, groups)| groups.get(name));
    let mut forecast = GroupForecast {
        name: name.to_owned(),
        trained: last.map_or(0, |run| run.accesses),
        runs: 0,
        accesses: cold.plus(&reuses),
        cold,
        patterns: Ok(Vec::new()),
        below_zero: false,
        rare: Vec::new(),
        trained_run: GroupRun::default(),
    };
    let found = match seen(name, runs, merging) {
        Ok(found) => found,
        Err(why) => {
            forecast.patterns = Err(why);
            forecast.trained_run = last.cloned().unwrap_or_default();
            return forecast;
        }
    };
    forecast.runs = found.len();
    let rare = rare_parts(&found, merging.rule);
    let accesses = of_patterns(&found, &rare, &reuses, size);
    let (common, others) = accesses.split_at(found[0].patterns.len());
    let predicted = common.iter().enumerate().map(|(index, accesses)| {
        let points: Vec<(f64, Pattern)> = found
            .iter()
            .map(|seen| (seen.size, seen.patterns[index]))
            .collect();
        let last = &found[found.len() - 1];
        let here = last.patterns[index];
        let within = last.run.bins.iter();
        let within = within.filter(|bin| bin.min >= here.min && bin.max <= here.max);
        predict_pattern(&points, within.copied().collect(), *accesses, shapes, size)
    });
    let (predicted, below): (Vec<PatternPrediction>, Vec<bool>) = predicted.unzip();
    let rare = rare.into_iter().zip(others);
    let rare = rare.map(|(part, accesses)| part.predict(*accesses, shapes, size));
    let (rare, rare_below): (Vec<PatternPrediction>, Vec<bool>) = rare.unzip();
    forecast.below_zero = below.into_iter().chain(rare_below).any(|below| below);
    forecast.patterns = Ok(predicted);
    forecast.rare = rare;
    forecast
}

/// The accesses of the patterns of a group with `reuses` reuses, and then of its rare parts.
fn of_patterns(
    found: &[SeenGroup],
    rare: &[RarePart],
    reuses: &Estimate,
    size: f64,
) -> Vec<Estimate> {
    let sizes: Vec<f64> = found.iter().map(|seen| seen.size).collect();
    let common = (0..found[0].patterns.len()).map(|index| {
        let of = found.iter().map(|seen| seen.patterns[index].accesses);
        of.collect()
    });
    let mut parts: Vec<Vec<u64>> = common.collect();
    parts.extend(rare.iter().map(RarePart::counts));
    // Rare reuses that are gone in the last run.
    let gone = found.iter().enumerate().map(|(run, seen)| {
        let here: u64 = parts.iter().map(|part| part[run]).sum();
        (seen.run.accesses - seen.run.cold).saturating_sub(here)
    });
    let gone = gone.collect();
    parts.push(gone);
    let scale = ShareSizes {
        sizes: &sizes,
        size,
        totals: &sizes,
        total: size,
    };
    let mut accesses = parts_of(reuses, scale, &parts);
    // The distances of the reuses that are gone are unknown. Their accesses, which exist only at
    // smaller sizes, are given to the other patterns.
    let lost = accesses.pop().map_or(0.0, |gone| gone.value);
    let left: f64 = accesses.iter().map(|part| part.value).sum();
    if lost > 0.0 && left > 0.0 {
        for part in &mut accesses {
            part.value *= 1.0 + lost / left;
            part.high = part.high.max(part.value);
        }
    }
    accesses
}

/// A pattern from what it was in runs of ascending sizes, and whether less than 0 was predicted.
/// `within` is how its accesses are in the last of them.
fn predict_pattern(
    points: &[(f64, Pattern)],
    within: Vec<PatternBin>,
    accesses: Estimate,
    shapes: &[Shape],
    size: f64,
) -> (PatternPrediction, bool) {
    let of = |value: fn(&Pattern) -> f64| -> Vec<(f64, f64)> {
        points.iter().map(|(size, p)| (*size, value(p))).collect()
    };
    let (fit, mean) = estimate_distance(&of(|p| p.mean), shapes, size);
    let (low_fit, min) = estimate_distance(&of(|p| p.min as f64), shapes, size);
    let (_, max) = estimate_distance(&of(|p| p.max as f64), shapes, size);
    let prediction = PatternPrediction {
        fit,
        min,
        max,
        mean,
        accesses,
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

    /// Its misses in a fully associative cache of `items` items; the cold ones, which are the least
    /// it can have, if its distances cannot be predicted.
    pub(crate) fn misses(&self, items: u64) -> u64 {
        let histogram = self.histogram();
        histogram.map_or(self.cold.value.round() as u64, |all| all.misses(items))
    }

    /// For a group that cannot be predicted: its misses in such a cache if it missed as often as in
    /// the largest training run, and at least its cold ones.
    pub(crate) fn misses_as_trained(&self, items: u64) -> Option<u64> {
        self.patterns.as_ref().err()?;
        let misses = self.trained_run.miss_ratio(items) * self.accesses.value;
        Some(misses.max(self.cold.value).round() as u64)
    }

    /// The data size, `from` or larger, at which the mean distance of one of its patterns, rare
    /// ones included, of at least one in ten thousand of its reuses reaches the `items` of a cache:
    /// half of that pattern misses from there on. `from` itself if that is so already; none if no
    /// pattern ever gets there.
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
mod tests;
