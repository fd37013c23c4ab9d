//! [`ObjectGrowth`]: how a data object of the largest run becomes that of a larger one.

use reuselens_locality::{ExactHistogram, FineHistogram};
use reuselens_units::Distance;

use crate::estimate::estimate;
use crate::predicted_profile::ObjectEstimate;
use crate::program_prediction::{GROUPS, group_means};
use crate::shape::{Point, Shape};

/// Adds the bins of a histogram, each at the distance in its middle.
pub(crate) fn add_middles(histogram: &mut ExactHistogram, fine: &FineHistogram) {
    histogram.add(Distance::COLD, fine.cold());
    for (low, high, count) in fine.iter() {
        histogram.add(Distance::new(low.midpoint(high)), count);
    }
}

/// An object in one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectRun {
    /// Its bytes.
    pub bytes: u64,
    /// Its blocks.
    pub blocks: u64,
    /// Bytes of its longest block, or of all that are live at one time if it has no chunks.
    pub longest: u64,
    /// Its distances.
    histogram: ExactHistogram,
}

impl ObjectRun {
    /// Adds accesses.
    pub fn add(&mut self, fine: &FineHistogram) {
        add_middles(&mut self.histogram, fine);
    }

    /// Its accesses.
    pub fn accesses(&self) -> u64 {
        self.histogram.accesses()
    }

    /// Its first accesses to items.
    pub fn cold(&self) -> u64 {
        self.histogram.cold()
    }

    fn reuses(&self) -> f64 {
        (self.accesses() - self.cold()) as f64
    }
}

/// Predicted counts of an object beside its [`ObjectEstimate`].
pub(crate) struct GrownCounts {
    /// Bytes of its longest block.
    pub longest: f64,
    /// Blocks.
    pub blocks: f64,
    /// First accesses to items.
    pub cold: f64,
}

/// How many times as large an object is as in the largest run, and where its distances are.
#[derive(Clone, Debug)]
pub(crate) struct ObjectGrowth {
    /// What was predicted.
    pub estimate: ObjectEstimate,
    /// Its bytes, in those of the largest run.
    pub bytes_times: f64,
    /// Its blocks.
    pub blocks_times: f64,
    /// Its longest block.
    pub longest_times: f64,
    /// Its cold accesses.
    pub cold_times: f64,
    /// Its other accesses.
    pub reuse_times: f64,
    /// For groups of equally many reuses from near to far: the mean distance in the largest run,
    /// and the predicted one. Empty if a run has no reuses: distances then stay.
    groups: Vec<(f64, f64)>,
}

impl ObjectGrowth {
    /// The growth from runs of ascending sizes to `size`.
    ///
    /// The groups of the runs are matched by rank, and the mean distance of each is extrapolated by
    /// one of the shapes, as [`predict_program`](crate::predict_program) does for a program.
    pub fn new(
        runs: &[(f64, &ObjectRun)],
        (size, shapes): (f64, &[Shape]),
        estimate: ObjectEstimate,
        counts: GrownCounts,
    ) -> ObjectGrowth {
        let last = runs[runs.len() - 1].1;
        let times = |now: f64, before: f64| if before > 0.0 { now / before } else { 1.0 };
        ObjectGrowth {
            bytes_times: times(estimate.bytes.value, last.bytes as f64),
            blocks_times: times(counts.blocks, last.blocks as f64),
            longest_times: times(counts.longest, last.longest as f64),
            cold_times: times(counts.cold, last.cold() as f64),
            reuse_times: times(estimate.accesses.value - counts.cold, last.reuses()),
            groups: groups(runs, shapes, size),
            estimate,
        }
    }

    /// Calls `take` with the distances to which accesses at distances `low..=high` go, and the
    /// share of them that goes to each.
    pub fn distances(&self, (low, high): (u64, u64), mut take: impl FnMut(f64, f64)) {
        let (low, high) = (low as f64, high as f64);
        let first = self.groups.partition_point(|group| group.0 < low);
        let after = self.groups.partition_point(|group| group.0 <= high);
        if first < after {
            let share = 1.0 / (after - first) as f64;
            let inside = &self.groups[first..after];
            return inside.iter().for_each(|group| take(group.1, share));
        }
        // Between two groups, or beyond all: as the nearer of them in proportion.
        let middle = low.midpoint(high);
        let near = [first.checked_sub(1), Some(first)];
        let near = near
            .into_iter()
            .flatten()
            .filter_map(|at| self.groups.get(at));
        let nearest = near.min_by(|a, b| (a.0 - middle).abs().total_cmp(&(b.0 - middle).abs()));
        let times = nearest.map_or(1.0, |&(from, to)| (to + 1.0) / (from + 1.0));
        take((middle + 1.0) * times - 1.0, 1.0);
    }
}

/// The mean distances of the groups in the largest run and in the one that is predicted, ascending
/// in the former.
fn groups(runs: &[(f64, &ObjectRun)], shapes: &[Shape], size: f64) -> Vec<(f64, f64)> {
    let means = runs
        .iter()
        .map(|(_, run)| group_means(&run.histogram, GROUPS));
    let Some(means) = means.collect::<Option<Vec<Vec<f64>>>>() else {
        return Vec::new();
    };
    let predicted = |group: usize| {
        let points: Vec<Point> = runs
            .iter()
            .zip(&means)
            .map(|((size, _), means)| (*size, means[group]))
            .collect();
        (
            points[points.len() - 1].1,
            estimate(&points, shapes, size).1.value,
        )
    };
    (0..GROUPS).map(predicted).collect()
}
