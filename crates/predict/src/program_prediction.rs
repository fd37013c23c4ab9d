//! [`predict_program`]: predicts all accesses of a program on another input, without a breakdown,
//! from the histograms of two or more runs.

use std::sync::LazyLock;

use reuselens_locality::{ExactHistogram, MissRatioCurve};
use reuselens_units::Distance;
use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, estimate_distance, started_work, straight};
use crate::shape::{Fit, Point, Shape};

/// Groups of equally many accesses that a program is cut into.
pub const GROUPS: usize = 1000;

/// The numbers of a run from which others are predicted.
#[derive(Clone, Copy, Debug)]
pub struct ProgramRun<'a> {
    /// Its data size, over which distances grow.
    pub size: f64,
    /// Its data size without all data that do not grow: over which accesses grow.
    pub grown: f64,
    /// Those of its distances that are of accesses that do not grow: its start.
    pub start: &'a ExactHistogram,
    /// Its distances.
    pub histogram: &'a ExactHistogram,
}

/// The data size of a run: its largest finite distance; none without reuses.
///
/// Source: Ding & Zhong 2003.
pub fn data_size(histogram: &ExactHistogram) -> Option<u64> {
    histogram.max()
}

/// A thousandth of the reuses, from near to far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupPrediction {
    /// How its mean distance grows.
    pub fit: Fit,
    /// Its mean distance, in items.
    pub distance: Estimate,
}

/// All accesses of a program at a data size that has not been run.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramPrediction {
    /// The data size, in items.
    pub size: f64,
    /// Accesses: those of the start as they were, and the others as they grow.
    pub accesses: Estimate,
    /// Cold ones among them: in a straight line.
    pub cold: Estimate,
    /// The groups, from near to far in the training runs.
    pub groups: Vec<GroupPrediction>,
    /// Groups for which less than 0 was predicted; they were set to 0.
    pub below_zero: usize,
    /// The expected distances.
    pub histogram: ExactHistogram,
    /// Those of the lower ends of all intervals, and of the upper ends.
    pub bounds: (ExactHistogram, ExactHistogram),
    /// The largest run as the others predict it, from three runs on.
    pub rehearsal: Option<Rehearsal>,
}

/// A prediction of the largest training run from all others, beside that run. It shows errors that
/// no regression of single distances does, as when the program does something else on large inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Rehearsal {
    predicted: ExactHistogram,
    observed: ExactHistogram,
    /// The size asked for, in sizes of that run.
    times: f64,
    /// How much farther it is from that run than that run was from the next smaller, in powers; 1
    /// at least.
    farther: f64,
}

impl Rehearsal {
    /// Predicts the last of three or more runs.
    fn new(runs: &[ProgramRun], shapes: &[Shape], size: f64) -> Option<Self> {
        let (last, others) = runs.split_last().filter(|(_, others)| others.len() >= 2)?;
        let before = others[others.len() - 1].size;
        let step = (last.size / before).ln();
        let farther = ((size / last.size).ln() / step).max(1.0);
        Some(Rehearsal {
            predicted: predict_program(others, shapes, (last.size, last.grown))?.histogram,
            observed: last.histogram.clone(),
            times: (size / last.size).max(1.0),
            farther: if farther.is_finite() { farther } else { 1.0 },
        })
    }

    /// The error to expect of the miss ratio at a cache of `items` items: the error of the
    /// rehearsal, times how much farther away the size asked for is. The error of the rehearsal is
    /// the largest one of any cache between this one (which corresponds to it if distances stay)
    /// and one that is smaller by as much as the data were (which corresponds to it if distances
    /// grow with the data).
    fn error(&self, items: u64) -> f64 {
        let curves = [&self.predicted, &self.observed].map(MissRatioCurve::new);
        let steps = (self.times.log2() * 4.0).ceil() as u32;
        let sizes = (0..=steps).map(|step| (items as f64 / (f64::from(step) / 4.0).exp2()) as u64);
        let errors = sizes.map(|items| (curves[0].at(items) - curves[1].at(items)).abs());
        errors.fold(0.0, f64::max) * self.farther
    }
}

/// The mean distance of each of `groups` groups of equally many reuses, from near to far. Accesses
/// on a border belong to both sides by parts. None without reuses.
///
/// Source: Ding & Zhong 2003.
pub fn group_means(histogram: &ExactHistogram, groups: usize) -> Option<Vec<f64>> {
    let reuses = histogram.accesses() - histogram.cold();
    if reuses == 0 || groups == 0 {
        return None;
    }
    let each = reuses as f64 / groups as f64;
    let mut means = Vec::with_capacity(groups);
    // How much of the current group is filled, and the sum of its distances.
    let (mut filled, mut sum) = (0.0, 0.0);
    for (distance, count) in histogram.iter() {
        let mut left = count as f64;
        while left > 0.0 && means.len() < groups {
            let part = left.min(each - filled);
            (filled, sum, left) = (filled + part, sum + part * distance as f64, left - part);
            if each - filled <= each * 1e-9 {
                means.push(sum / filled);
                (filled, sum) = (0.0, 0.0);
            }
        }
    }
    let last = histogram.max().unwrap_or(0) as f64;
    while means.len() < groups {
        means.push(if filled > 0.0 { sum / filled } else { last });
        (filled, sum) = (0.0, 0.0);
    }
    Some(means)
}

/// Predicts all accesses of a program at data size `size`, of which `grown` grows, from two or more
/// runs of ascending sizes; `None` if one has no reuses.
///
/// The 1000 groups of the runs are matched by rank, and the mean distance of each is extrapolated
/// by one of `shapes`. The start, which is a larger part of a smaller run, would move all ranks, so
/// it is taken out before, and stays as it is in the largest run.
///
/// Source: Ding & Zhong 2003; how accesses and cold accesses grow, and the start, is ours.
pub fn predict_program(
    runs: &[ProgramRun],
    shapes: &[Shape],
    (size, grown): (f64, f64),
) -> Option<ProgramPrediction> {
    let runs = &started(runs)[..];
    let means: Option<Vec<Vec<f64>>> = runs
        .iter()
        .map(|run| group_means(&without(run.histogram, run.start), GROUPS))
        .collect();
    let means = means?;
    let start = runs.last()?.start;
    let mut below_zero = 0;
    let groups: Vec<GroupPrediction> = (0..GROUPS)
        .map(|group| {
            let points: Vec<_> = runs
                .iter()
                .zip(&means)
                .map(|(run, m)| (run.size, m[group]))
                .collect();
            let (fit, distance) = estimate_distance(&points, shapes, size);
            below_zero += usize::from(fit.at(size) < 0.0);
            GroupPrediction { fit, distance }
        })
        .collect();
    let points = |count: fn(&ExactHistogram) -> u64| -> Vec<Point> {
        let runs = runs.iter();
        runs.map(|run| (run.grown, count(run.histogram) as f64))
            .collect()
    };
    let starts = runs.iter().map(|run| run.start.accesses());
    let started = starts.min().unwrap_or(0) as f64;
    let accesses = started_work(&points(ExactHistogram::accesses), started, grown);
    // The size is the largest distance, which is all items but one in nearly every program: a
    // straight line.
    let cold = straight(&points(ExactHistogram::cold), grown);
    let make = |end: fn(&Estimate) -> f64, accesses: f64| {
        let distances = groups.iter().map(|group| end(&group.distance));
        histogram(accesses, end(&cold), start, distances)
    };
    Some(ProgramPrediction {
        size,
        accesses,
        cold,
        below_zero,
        histogram: make(|e| e.value, accesses.value),
        // The more accesses, the smaller the share of the first ones.
        bounds: (
            make(|e| e.low, accesses.high),
            make(|e| e.high, accesses.low),
        ),
        groups,
        rehearsal: Rehearsal::new(runs, shapes, size),
    })
}

/// No start.
static NONE: LazyLock<ExactHistogram> = LazyLock::new(ExactHistogram::new);

/// The runs, without their starts if one is nothing else.
fn started<'a>(runs: &[ProgramRun<'a>]) -> Vec<ProgramRun<'a>> {
    let reuses = |histogram: &ExactHistogram| histogram.accesses() - histogram.cold();
    let has_more = |run: &ProgramRun| reuses(run.histogram) > reuses(run.start);
    let have_more = runs.iter().all(has_more);
    let started = |run: &ProgramRun<'a>| ProgramRun {
        start: if have_more { run.start } else { &NONE },
        ..*run
    };
    runs.iter().map(started).collect()
}

/// Distances and how many have them, without those of a start, which is some of them.
pub fn without(histogram: &ExactHistogram, start: &ExactHistogram) -> ExactHistogram {
    let mut left = ExactHistogram::new();
    let cold = histogram.cold().saturating_sub(start.cold());
    left.add(Distance::COLD, cold);
    let mut taken = start.iter().peekable();
    for (distance, count) in histogram.iter() {
        while taken.peek().is_some_and(|(at, _)| *at < distance) {
            taken.next();
        }
        let here = taken.peek().filter(|(at, _)| *at == distance);
        let here = here.map_or(0, |(_, count)| *count);
        left.add(Distance::new(distance), count.saturating_sub(here));
    }
    left
}

/// Accesses at the distances of a start, and of groups of equally many.
fn histogram(
    accesses: f64,
    cold: f64,
    start: &ExactHistogram,
    distances: impl ExactSizeIterator<Item = f64>,
) -> ExactHistogram {
    let mut histogram = ExactHistogram::new();
    for (distance, count) in start.iter() {
        histogram.add(Distance::new(distance), count);
    }
    let started = (start.accesses() - start.cold()) as f64;
    let cold = cold.min(accesses).round();
    histogram.add(Distance::COLD, cold as u64);
    let reuses = (accesses.round() - cold - started).max(0.0);
    let groups = distances.len() as f64;
    // Rounded as a running sum, so that none is lost.
    let mut counted = 0.0;
    for (index, distance) in distances.enumerate() {
        let until = (reuses * (index + 1) as f64 / groups).round();
        let items = distance.round().clamp(0.0, (1_u64 << 50) as f64) as u64;
        histogram.add(Distance::new(items), (until - counted) as u64);
        counted = until;
    }
    histogram
}

impl ProgramPrediction {
    /// The predicted miss ratio of a fully associative LRU cache of `items` items. Its interval is
    /// that of all distances and of the cold accesses, and no narrower than one group on either
    /// side. From three runs on it is also no narrower than the error of the same prediction of the
    /// largest of them.
    pub fn miss_ratio(&self, items: u64) -> Estimate {
        let at = |histogram: &ExactHistogram| MissRatioCurve::new(histogram).at(items);
        let (value, group) = (at(&self.histogram), 1.0 / GROUPS as f64);
        let error = self
            .rehearsal
            .as_ref()
            .map_or(0.0, |rehearsal| rehearsal.error(items));
        let error = error.max(group);
        Estimate {
            value,
            low: at(&self.bounds.0).min(value - error).max(0.0),
            high: at(&self.bounds.1).max(value + error).min(1.0),
        }
    }

    /// How the groups grow: shapes and numbers of groups, the slowest first.
    pub fn shapes(&self) -> Vec<(Shape, usize)> {
        let of = |shape: &Shape| {
            self.groups
                .iter()
                .filter(|group| group.fit.shape == *shape)
                .count()
        };
        let counted = Shape::ALL.into_iter().map(|shape| (shape, of(&shape)));
        counted.filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_locality::{Log2Histogram, error};

    fn of(pairs: &[(u64, u64)], cold: u64) -> ExactHistogram {
        let mut histogram = ExactHistogram::new();
        histogram.add(Distance::COLD, cold);
        for (distance, count) in pairs {
            histogram.add(Distance::new(*distance), *count);
        }
        histogram
    }

    #[test]
    fn group_means_are_of_equal_numbers_of_accesses() {
        let histogram = of(&[(1, 3), (5, 1), (9, 4)], 100);
        assert_eq!(group_means(&histogram, 2), Some(vec![2.0, 9.0]));
        assert_eq!(
            group_means(&histogram, 8),
            Some(vec![1.0, 1.0, 1.0, 5.0, 9.0, 9.0, 9.0, 9.0])
        );
        // Eight thirds each: 1 1 and 2/3 of 1; 1/3 of 1, 5, 4/3 of 9; 9.
        let three = group_means(&histogram, 3).unwrap();
        assert!(
            (three[1] - (1.0 / 3.0 + 5.0 + 12.0) / (8.0 / 3.0)).abs() < 1e-9,
            "{three:?}"
        );
        assert_eq!(group_means(&of(&[], 5), 10), None);
        assert_eq!(group_means(&of(&[(7, 1)], 0), 1000).unwrap().len(), 1000);
    }

    /// A program of three hills: constant, the side of a square, and its area.
    fn hills(side: u64) -> ExactHistogram {
        let area = side * side;
        of(
            &[
                (3, area * 5),
                (side * 2, area * 3),
                (area * 3 - 1, area * 2),
            ],
            area * 3,
        )
    }

    #[test]
    fn a_program_that_changes_has_wide_intervals() {
        let side = |side: u64| hills(side);
        // From the third run on, what was near is as far as the data.
        let changed = |side: u64| {
            let area = side * side;
            of(
                &[(3, area), (side * 2, area * 3), (area * 3 - 1, area * 6)],
                area * 3,
            )
        };
        let all = [side(50), side(100), changed(200)];
        let runs = all.each_ref().map(|histogram| ProgramRun {
            size: data_size(histogram).unwrap() as f64,
            grown: data_size(histogram).unwrap() as f64,
            start: &NONE,
            histogram,
        });
        let found = predict_program(
            &runs,
            &Shape::ALL,
            (3.0 * 800.0 * 800.0, 3.0 * 800.0 * 800.0),
        )
        .unwrap();
        let ratio = found.miss_ratio(100_000);
        assert!(ratio.high - ratio.low > 0.2, "{ratio:?}");
        let alike = [side(50), side(100), side(200)];
        let runs = alike.each_ref().map(|histogram| ProgramRun {
            size: data_size(histogram).unwrap() as f64,
            grown: data_size(histogram).unwrap() as f64,
            start: &NONE,
            histogram,
        });
        let found = predict_program(
            &runs,
            &Shape::ALL,
            (3.0 * 800.0 * 800.0, 3.0 * 800.0 * 800.0),
        )
        .unwrap();
        let ratio = found.miss_ratio(100_000);
        assert!(ratio.high - ratio.low < 0.02, "{ratio:?}");
    }

    #[test]
    fn moving_peaks_are_predicted_at_their_distances() {
        let (small, large) = (hills(50), hills(100));
        let size = |h: &ExactHistogram| data_size(h).unwrap() as f64;
        let runs = [&small, &large].map(|histogram| ProgramRun {
            size: size(histogram),
            grown: size(histogram),
            start: &NONE,
            histogram,
        });
        let truth = hills(400);
        let found = predict_program(&runs, &Shape::ALL, (size(&truth), size(&truth))).unwrap();
        let logs = [&truth, &found.histogram].map(Log2Histogram::of);
        assert!(error::accuracy(&logs[0], &logs[1]) > 0.999);
        let accesses = truth.accesses() as f64;
        assert!((found.accesses.value - accesses).abs() < accesses * 1e-3);
        assert_eq!(
            found.histogram.accesses(),
            found.accesses.value.round() as u64
        );
        assert_eq!(found.below_zero, 0);
        for items in [2, 400, 900, 100_000, 600_000] {
            let ratio = found.miss_ratio(items);
            assert!(
                (ratio.value - truth.miss_ratio(items)).abs() < 2e-3,
                "{items}"
            );
            assert!(ratio.low <= ratio.value && ratio.value <= ratio.high);
        }
        let shapes: Vec<Shape> = found.shapes().iter().map(|(shape, _)| *shape).collect();
        assert_eq!(shapes, [Shape::Constant, Shape::SquareRoot, Shape::Linear]);
    }
}
