//! [`predict`]: everything about an input that has not been run: the program, its groups, the
//! misses in caches, and warnings. [`program_prediction`](crate::program_prediction) and `group`
//! are its parts.

mod checking;
mod levels;

use std::collections::BTreeMap;

use reuselens_locality::{ExactHistogram, FineHistogram, Pattern};
use reuselens_profile::{CacheSize, Profile, Warning};
use reuselens_units::{Distance, Granularity};
use serde::Serialize;

use crate::check::{GroupCheck, GroupSeen, WrongGroup};
use crate::estimate::{Estimate, Intervals};
use crate::fixed::fixed_accesses;
use crate::group::{Asked, GroupForecast, Groups, Unpredictable, predict_groups};
use crate::merging::Merging;
use crate::program::{By, ProgramError, groups, have_paths, same_program};
use crate::program_prediction::{ProgramPrediction, ProgramRun, predict_program};
use crate::ranking_accuracy::RankingAccuracy;
use crate::shape::Shape;
use crate::size_scale::{self, SizeScale, grown, profiles_of};
use crate::totals::GroupSums;
use crate::warnings::{small_runs, warnings};
use levels::{CacheLevel, levels};

/// Data this many times as large as the largest that was run are far away.
pub const FAR: f64 = 16.0;

/// Sizes beyond this many items are beyond any: 64 PiB in lines of 64 bytes, more than processors
/// can address.
pub const MOST_ITEMS: f64 = (1_u64 << 50) as f64;

/// How to predict.
#[derive(Clone, Debug)]
pub struct PredictOptions {
    /// Ways of growing to choose from, the slowest first.
    pub shapes: Vec<Shape>,
    /// How distances become patterns.
    pub merging: Merging,
    /// Lines or instructions.
    pub by: By,
    /// Sizes of the training runs, where they are not their largest distances; empty or one for
    /// each.
    pub sizes: Vec<f64>,
    /// Leave data that do not grow out of the sizes.
    pub fixed: bool,
    /// Match programs and builds that differ, by lines.
    pub loose: bool,
    /// A size that is this many times the largest training size gets a warning.
    pub far: f64,
    /// A cache beside those of the machine.
    pub cache: Option<CacheSize>,
}

impl Default for PredictOptions {
    fn default() -> Self {
        PredictOptions {
            shapes: Shape::ALL.to_vec(),
            merging: Merging::default(),
            fixed: true,
            by: By::Line,
            sizes: Vec::new(),
            loose: false,
            far: FAR,
            cache: None,
        }
    }
}

/// A cache, and what is expected there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheForecast {
    /// `L1d`.
    pub name: String,
    /// Its items.
    pub items: u64,
    /// Misses per access if it is fully associative.
    pub miss_ratio: Estimate,
    /// With its sets and ways, where they are known.
    pub with_sets: Option<f64>,
}

/// Misses of a group in each of the caches, in their order. Of one that cannot be predicted, its
/// cold accesses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupMisses {
    /// Fully associative.
    pub misses: u64,
    /// With its sets and ways, where they are known.
    pub with_sets: Option<f64>,
    /// The data size from which on a pattern of the group misses: the size asked from if it does
    /// there already, infinite (in JSON null) beyond [`MOST_ITEMS`].
    pub misses_from: Option<f64>,
    /// Of a group that cannot be predicted: its misses if it missed as often as in the largest
    /// training run.
    #[serde(skip)]
    pub as_trained: Option<u64>,
}

impl GroupMisses {
    /// The most likely number, fully associative.
    pub fn likely(&self) -> u64 {
        self.as_trained.unwrap_or(self.misses)
    }
}

/// A prediction.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Bytes per item.
    pub granularity: Granularity,
    /// Training runs, by size: index as given, data size.
    pub training: Vec<(usize, f64)>,
    /// The data size asked for.
    pub size: f64,
    /// Whether sizes are as the caller gave them, in a unit of its own ([`PredictOptions::sizes`]),
    /// and not in items.
    pub given: bool,
    /// The part of that, and of the sizes of the training runs, that does not grow. What is more is
    /// the s of the fits.
    pub fixed: f64,
    /// Whether distances of groups are known exactly: all training runs have paths.
    pub exact: bool,
    /// How distances became patterns.
    pub merging: Merging,
    /// How intervals came about.
    pub intervals: Intervals,
    /// The program, all accesses together.
    pub program: ProgramPrediction,
    /// Caches of the machine of the last training run, then [`PredictOptions::cache`].
    pub caches: Vec<CacheForecast>,
    /// The sums of the groups.
    pub sums: GroupSums,
    /// Groups, most misses in the first cache first ([`GroupMisses::likely`]), then by accesses and
    /// name.
    pub groups: Vec<(GroupForecast, Vec<GroupMisses>)>,
    /// What a reader must know before relying on it.
    pub warnings: Vec<Warning>,
}

/// How good a prediction was.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Data size of the observed run.
    pub size: f64,
    /// 1 − ½·Σ|a − b| over log2 bins and the cold accesses.
    pub accuracy: f64,
    /// Mean absolute error of the miss ratio, over cache sizes evenly spaced in log2.
    pub curve_error: f64,
    /// Per cache: observed miss ratio, fully associative, and with sets.
    pub caches: Vec<(f64, Option<f64>)>,
    /// Lines or instructions.
    pub groups: GroupCheck,
    /// Whether accesses and misses were predicted of the right ones.
    #[serde(rename = "placing")]
    pub ranking: RankingAccuracy,
    /// Groups that were predicted wrongly, those with most accesses first.
    pub wrong: Vec<WrongGroup>,
    /// What was observed of the groups that could be predicted.
    #[serde(skip)]
    pub observed: BTreeMap<String, Vec<Pattern>>,
    /// Accesses and misses that were observed of the groups that were trained.
    #[serde(skip)]
    pub seen: BTreeMap<String, GroupSeen>,
    /// Groups of the observed run that are in no training run.
    pub never_seen: Vec<(String, u64)>,
    /// Caches, and those of them whose observed miss ratio is in its interval.
    pub intervals: (u64, u64),
}

/// Predicts a run of data size `size` from two or more.
///
/// # Errors
/// If the runs do not belong together, are of equal size, or have no reuses.
pub fn predict(
    runs: &[&Profile],
    size: f64,
    options: &PredictOptions,
) -> Result<Prediction, ProgramError> {
    same_program(runs, options.loose)?;
    have_paths(runs, options.by)?;
    let SizeScale {
        training,
        fixed,
        found,
        left_out,
    } = SizeScale::new(runs, size, options)?;
    let too_much = fixed < found;
    let grown = |size: f64| grown(size, fixed);
    // What of each training run does not grow.
    let starts = fixed_accesses(&profiles_of(runs, &training));
    let program_runs = program_runs(runs, (&training, &starts), (fixed, found));
    let program = predict_program(
        &program_runs,
        &options.shapes,
        (grown(size), size_scale::grown(size, found)),
    )
    .ok_or(ProgramError::NoReuses { run: 1 })?;
    let exact = runs.iter().all(|run| run.paths.is_some());
    let scale = PredictionSizes {
        training: &training,
        size,
        fixed,
        counts: (program.accesses, program.cold),
    };
    let forecasts = forecasts(runs, &scale, options, exact);
    let (last, largest) = training[training.len() - 1];
    let granularity = runs[last].granularity;
    let levels = levels(runs[last], options.cache);
    let caches = levels.iter().map(|level| level.forecast(&program));
    let caches: Vec<CacheForecast> = caches.collect();
    let groups = ranked(forecasts, &levels, (grown(largest), fixed));
    let too_much = too_much.then_some(found);
    let mut warnings = warnings(runs, (&scale, too_much), &program, &groups, options);
    let sums = GroupSums::of(&groups, program.accesses.value, &caches, training.len());
    warnings.extend(small_runs(&left_out));
    warnings.extend(sums.warning(program.accesses.value, &caches));
    warnings.extend(sums.unpredictable(options.by));
    Ok(Prediction {
        granularity,
        size,
        given: !options.sizes.is_empty(),
        fixed,
        exact,
        merging: options.merging,
        intervals: Intervals::of(training.len()),
        training,
        sums,
        program,
        caches,
        groups,
        warnings,
    })
}

/// The runs for the prediction of the program. Data that do not grow are left out of the sizes:
/// `fixed` of them for distances, all that was `found` for accesses.
fn program_runs<'a>(
    runs: &[&'a Profile],
    (training, starts): (&[(usize, f64)], &'a [ExactHistogram]),
    (fixed, found): (f64, f64),
) -> Vec<ProgramRun<'a>> {
    let run = |((run, size), start): (&(usize, f64), &'a ExactHistogram)| ProgramRun {
        start,
        size: grown(*size, fixed),
        grown: grown(*size, found),
        histogram: &runs[*run].histogram,
    };
    training.iter().zip(starts).map(run).collect()
}

/// The sizes of a prediction.
pub(crate) struct PredictionSizes<'a> {
    /// Training runs, ascending: index as given, size.
    pub training: &'a [(usize, f64)],
    /// The size asked for.
    pub size: f64,
    /// The part of each that does not grow.
    pub fixed: f64,
    /// Accesses of the run asked for, and cold ones.
    pub counts: (Estimate, Estimate),
}

/// Predicts the groups, from exact bins or from those that all profiles have.
fn forecasts(
    runs: &[&Profile],
    scale: &PredictionSizes,
    options: &PredictOptions,
    exact: bool,
) -> Vec<GroupForecast> {
    let training = scale.training.iter();
    let of_runs: Vec<(f64, Groups)> = training
        .map(|(run, size)| {
            let groups = groups(runs[*run], options.by, exact);
            (grown(*size, scale.fixed), groups)
        })
        .collect();
    let by_size: Vec<(f64, &Groups)> = of_runs.iter().map(|run| (run.0, &run.1)).collect();
    let (accesses, cold) = scale.counts;
    let asked = Asked {
        size: grown(scale.size, scale.fixed),
        accesses,
        cold,
    };
    predict_groups(&by_size, &options.shapes, options.merging, &asked)
}

/// Groups and their misses, most misses first.
fn ranked(
    forecasts: Vec<GroupForecast>,
    levels: &[CacheLevel],
    from: (f64, f64),
) -> Vec<(GroupForecast, Vec<GroupMisses>)> {
    let forecasts = forecasts.into_iter();
    let mut groups: Vec<_> = forecasts
        .map(|forecast| {
            let misses = group_misses(&forecast, levels, from);
            (forecast, misses)
        })
        .collect();
    groups.sort_by(|a, b| rank(b).cmp(&rank(a)).then_with(|| a.0.name.cmp(&b.0.name)));
    groups
}

/// The order of groups: those with larger numbers come first.
fn rank((forecast, misses): &(GroupForecast, Vec<GroupMisses>)) -> (u64, u64) {
    let first = misses.first().map_or(0, GroupMisses::likely);
    (first, forecast.accesses.value as u64)
}

fn group_misses(
    forecast: &GroupForecast,
    levels: &[CacheLevel],
    (from, fixed): (f64, f64),
) -> Vec<GroupMisses> {
    let histogram = forecast.histogram().unwrap_or_else(|| {
        // Its cold accesses miss at least.
        let mut cold = FineHistogram::new();
        cold.add(Distance::COLD, forecast.cold.value.round() as u64);
        cold
    });
    let misses = |level: &CacheLevel| GroupMisses {
        misses: histogram.misses(level.items),
        as_trained: forecast.misses_as_trained(level.items),
        with_sets: level.sets.as_ref().map(|model| model.misses(&histogram)),
        misses_from: forecast.misses_from(level.items, from).map(|size| {
            if size < MOST_ITEMS {
                size + fixed
            } else {
                f64::INFINITY
            }
        }),
    };
    levels.iter().map(misses).collect()
}

impl Prediction {
    /// Groups of which nothing can be predicted, and why.
    pub fn unpredictable(&self) -> impl Iterator<Item = (&str, &Unpredictable)> {
        let why = |(forecast, _): &'_ (GroupForecast, Vec<GroupMisses>)| forecast.patterns.is_err();
        let failed = self.groups.iter().filter(move |group| why(group));
        failed.filter_map(|(forecast, _)| {
            Some((forecast.name.as_str(), forecast.patterns.as_ref().err()?))
        })
    }
}
