//! [`parts_of`]: predicts the parts of a total at another size as shares of it. Shares stay between
//! 0 and 1 and sum to 1, which extrapolated counts do not.

use crate::estimate::{Estimate, half_width};
use crate::shape::{Fit, Point, Shape};

/// How far a share may be from what is predicted, as a part of it, for each step as far as from one
/// run to the next.
const FLOOR: f64 = 0.1;

/// Differences of shares, or of logarithms, below this are rounding.
const ROUNDING: f64 = 1e-12;

/// Where the runs are, and what is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShareSizes<'a> {
    /// Data sizes of the runs, ascending.
    pub sizes: &'a [f64],
    /// The data size asked for.
    pub size: f64,
    /// The total in each run.
    pub totals: &'a [f64],
    /// The total that is expected.
    pub total: f64,
}

/// Predicts the parts of a total from their counts in runs: `parts[part][run]`.
///
/// A share that fell goes on falling as a power of the total; what it loses goes to the shares that
/// rose, in the proportion in which they did. So shares stay between 0 and 1 and sum to 1 whatever
/// the runs were, and shares move no faster beyond the runs than between them: a part that had 2
/// accesses and then 200 of a million can rise by what others lose, and by no more than its part of
/// that. A count that is extrapolated by itself, by whatever power, has no such bound.
///
/// Beyond the runs, the nearest two decide how shares move. At the size of a run they are that
/// run's, and between two they are interpolated, linearly over the logarithm of the data size. A
/// part whose share falls while its count stays or rises goes on as the total does. If the count
/// itself falls, it does so no faster than it did over the data size, since the total may have
/// hardly changed between the runs. A share that half an access in each run would make equal counts
/// as not moved.
///
/// The interval of a share reaches from that of the nearest run to as much again on the other side.
/// From three runs on, it is also no narrower than the prediction interval of the straight line
/// over the logarithm of the data size. And it is no narrower than a tenth of the share for each
/// step as far as from one of the runs to the next.
///
/// Cost: linear in parts and runs. Source: ours. The literature scales the accesses of patterns
/// with those of the run, by which no share changes.
pub(crate) fn parts_of(total: &Estimate, scale: ShareSizes, parts: &[Vec<u64>]) -> Vec<Estimate> {
    let mut totals = vec![0_u64; scale.sizes.len()];
    for part in parts {
        for (total, count) in totals.iter_mut().zip(part) {
            *total = total.saturating_add(*count);
        }
    }
    let steps = ShareSteps::new(&scale, totals);
    let moves: Vec<Move> = parts.iter().map(|part| steps.moved(part)).collect();
    let lost: f64 = moves.iter().map(|of| of.near - of.kept).sum();
    let rises: f64 = moves.iter().map(|of| of.rise).sum();
    let moves = moves.iter().zip(parts);
    moves
        .map(|(of, part)| {
            let gained = if rises > 0.0 {
                lost * of.rise / rises
            } else {
                of.near - of.kept
            };
            let share = of.kept + gained;
            of_total(total, &steps.interval(part, of.near, share, scale.size))
        })
        .collect()
}

/// Two runs, and how far it is from the nearer of them to the size asked for.
struct ShareSteps {
    /// Data sizes.
    sizes: Vec<f64>,
    /// The sums of all parts, by run.
    totals: Vec<u64>,
    /// The run to start from.
    near: usize,
    /// The other run.
    far: usize,
    /// From `near` on, in steps as far as from `far` to `near`, over the data size; negative
    /// between the two.
    by_size: f64,
    /// The same over the total.
    by_total: f64,
}

/// How a share moves.
struct Move {
    /// In the run to start from.
    near: f64,
    /// What is left of that.
    kept: f64,
    /// How much it rose from the one run to the other; 0 if it fell.
    rise: f64,
}

impl ShareSteps {
    fn new(scale: &ShareSizes, totals: Vec<u64>) -> Self {
        let log = |at: f64| at.max(1.0).ln();
        let last = scale.sizes.len().saturating_sub(1);
        // The first run that is no smaller than what is asked for.
        let above = scale.sizes.iter().position(|size| *size >= scale.size);
        let (near, far) = match above {
            None => (last, last.saturating_sub(1)),
            Some(0) => (0, last.min(1)),
            Some(run) => (run, run - 1),
        };
        let steps = |at: &[f64], asked: f64| {
            let ends = [near, far].map(|run| at.get(run).map_or(0.0, |at| log(*at)));
            let step = ends[0] - ends[1];
            (step.abs() > ROUNDING).then(|| (log(asked) - ends[0]) / step)
        };
        let by_size = steps(scale.sizes, scale.size).unwrap_or(0.0);
        // A total that did not change, or changes direction, gives no distance.
        let by_total = steps(scale.totals, scale.total).filter(|steps| *steps > 0.0);
        ShareSteps {
            sizes: scale.sizes.to_vec(),
            totals,
            near,
            far,
            by_size,
            by_total: by_total.unwrap_or(by_size),
        }
    }

    fn share(&self, part: &[u64], run: usize) -> f64 {
        match self.totals.get(run) {
            None | Some(0) => 0.0,
            Some(total) => part[run] as f64 / *total as f64,
        }
    }

    fn moved(&self, part: &[u64]) -> Move {
        let (near, far) = (self.share(part, self.near), self.share(part, self.far));
        let rise = near - far;
        if self.by_size <= 0.0 {
            // Between runs, or at one.
            let kept = near + rise * self.by_size;
            let rise = 0.0;
            return Move {
                near: kept,
                kept,
                rise,
            };
        }
        let rounding = [self.near, self.far].map(|run| 0.5 / self.totals[run].max(1) as f64);
        let stays = rise >= -ROUNDING.max(rounding[0] + rounding[1]);
        let kept = if stays || near <= 0.0 {
            near
        } else {
            near * self.fall(part).exp()
        };
        let rise = if rise > ROUNDING { rise } else { 0.0 };
        Move { near, kept, rise }
    }

    /// The logarithm of what is left of a share that fell and is not 0.
    fn fall(&self, part: &[u64]) -> f64 {
        let log = |count: u64| (count.max(1) as f64).ln();
        let count = log(part[self.near]) - log(part[self.far]);
        let total = log(self.totals[self.near]) - log(self.totals[self.far]);
        let slower = self.by_size.min(self.by_total);
        // The total at the size asked for is known, that of a part is not.
        let by_total = if total > 0.0 { self.by_total } else { slower };
        let fall = if count < 0.0 {
            count * slower - total * by_total
        } else {
            (count - total) * by_total
        };
        fall.min(0.0)
    }

    fn interval(&self, part: &[u64], near: f64, value: f64, size: f64) -> Estimate {
        let value = value.clamp(0.0, 1.0);
        let runs = self.sizes.iter().enumerate();
        let points: Vec<Point> = runs
            .map(|(run, size)| (*size, self.share(part, run)))
            .collect();
        let line = Fit::with(Shape::Logarithm, &points);
        let half = half_width(&line, &points, size).unwrap_or(0.0);
        let steps = if self.by_size < 0.0 {
            self.by_size.abs().min(1.0 + self.by_size)
        } else {
            self.by_size
        };
        let floor = value * (FLOOR * steps).min(1.0);
        let half = half.max((value - near).abs()).max(floor);
        Estimate {
            value,
            low: (value - half).max(0.0),
            high: (value + half).min(1.0),
        }
    }
}

/// A share of a total.
fn of_total(total: &Estimate, share: &Estimate) -> Estimate {
    Estimate {
        value: total.value * share.value,
        low: total.low * share.low,
        high: total.high * share.high,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn total(value: f64) -> Estimate {
        Estimate {
            value,
            low: value,
            high: value,
        }
    }

    /// Sizes at which the total is the data size.
    fn by<'a>(sizes: &'a [f64], size: f64) -> ShareSizes<'a> {
        ShareSizes {
            sizes,
            size,
            totals: sizes,
            total: size,
        }
    }

    #[test]
    fn constant_part_has_a_shrinking_share() {
        // A start of 1000 accesses, and work that grows fourfold.
        let parts = [vec![1000, 1000], vec![9000, 39_000]];
        let all = total(160_000.0);
        let found = parts_of(&all, by(&[10_000.0, 40_000.0], 160_000.0), &parts);
        assert!((found[0].value - 1000.0).abs() < 1.0, "{:?}", found[0]);
        assert!((found[1].value - 159_000.0).abs() < 1.0, "{:?}", found[1]);
    }

    #[test]
    fn rising_parts_share_in_proportion() {
        let parts = [vec![80, 60], vec![10, 25], vec![10, 15]];
        let found = parts_of(&total(1.0), by(&[1.0, 2.0], 4.0), &parts);
        let lost = 0.6 - found[0].value;
        assert!((found[0].value - 0.6 * 60.0 / 80.0).abs() < 1e-9);
        assert!((found[1].value - 0.25 - lost * 0.75).abs() < 1e-9);
        assert!((found[2].value - 0.15 - lost * 0.25).abs() < 1e-9);
        // At the size of a run, each is what it was.
        let back = parts_of(&total(1.0), by(&[1.0, 2.0], 1.0), &parts);
        assert!(
            (back[1].value - 0.10).abs() < 1e-9 && (back[0].value - 0.8).abs() < 1e-9,
            "{back:?}"
        );
    }

    #[test]
    fn equal_runs_predict_the_same_shares() {
        let parts = [vec![1, 3], vec![3, 1]];
        let found = parts_of(&total(8.0), by(&[5.0, 5.0], 50.0), &parts);
        assert_eq!((found[0].value, found[1].value), (6.0, 2.0));
        assert_eq!(parts_of(&total(8.0), by(&[5.0, 6.0], 50.0), &[]), []);
        let none = parts_of(&total(8.0), by(&[5.0, 6.0], 50.0), &[vec![0, 0]]);
        assert_eq!(none[0], Estimate::default());
    }

    #[test]
    fn rounding_does_not_count_as_a_fall() {
        let parts = [vec![1, 10, 16], vec![5, 50, 80], vec![6, 60, 96]];
        let found = parts_of(&total(1.0), by(&[12.0, 120.0, 192.0], 3072.0), &parts);
        for (found, share) in found.iter().zip([1.0 / 12.0, 5.0 / 12.0, 0.5]) {
            assert!((found.value - share).abs() < 1e-12, "{found:?}");
        }
    }

    #[test]
    fn rounding_by_half_an_access_does_not_move_shares() {
        let found = |parts: &[Vec<u64>]| parts_of(&total(1.0), by(&[1.0, 2.0], 16.0), parts);
        assert_eq!(found(&[vec![1, 3], vec![249, 751]])[0].value, 3.0 / 754.0);
        // Three accesses of 40 that stay while the rest doubles are none.
        let fell = found(&[vec![3, 3], vec![37, 77]])[0].value;
        assert!((fell - 3.0 / 80.0 / 8.0).abs() < 1e-9, "{fell}");
    }

    #[test]
    fn shares_fall_no_faster_if_the_total_hardly_changed() {
        let parts = [vec![500_000, 200_002], vec![500_000, 800_008]];
        let scale = |total| ShareSizes {
            sizes: &[1e4, 4e4],
            size: 64e4,
            totals: &[1_000_000.0, 1_000_010.0],
            total,
        };
        // Twice as far over the data size, and 21 times over the accesses: 0.2 · 0.4².
        let found = parts_of(&total(1.0), scale(1_000_210.0), &parts);
        assert!((found[0].value - 0.032).abs() < 1e-4, "{found:?}");
        // A start that stays is an ever smaller part all the same.
        let parts = [vec![1_000_000, 1_000_000], vec![30_000, 120_000]];
        let scale = ShareSizes {
            totals: &[1_030_000.0, 1_120_000.0],
            ..scale(4_000_000.0)
        };
        let found = parts_of(&total(4e6), scale, &parts);
        assert!((found[0].value - 1e6).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn part_that_rose_and_fell_keeps_falling() {
        let parts = [vec![10, 50, 40], vec![90, 50, 60]];
        let found = parts_of(&total(1.0), by(&[1.0, 2.0, 4.0], 8.0), &parts);
        assert!((found[0].value - 0.32).abs() < 1e-9, "{found:?}");
        // Between two runs it is between theirs.
        let found = parts_of(&total(1.0), by(&[1.0, 2.0, 4.0], 2.0_f64.sqrt()), &parts);
        assert!((found[0].value - 0.3).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn constant_shares_still_have_an_interval() {
        let parts = [vec![100, 400], vec![100, 400]];
        let found = parts_of(&total(1.0), by(&[1.0, 4.0], 16.0), &parts)[0];
        assert!(
            (found.low - 0.45).abs() < 1e-9 && (found.high - 0.55).abs() < 1e-9,
            "{found:?}"
        );
    }

    proptest! {
        #[test]
        fn parts_sum_to_the_total(
            parts in prop::collection::vec(prop::collection::vec(prop_oneof![0..4_u64, 0..1_000_000_u64], 3), 1..20),
            scale in prop::collection::vec(1.0..1e6_f64, 3),
            asked in 1.0..1e9_f64,
        ) {
            let mut scale = scale;
            scale.sort_by(f64::total_cmp);
            let found = parts_of(&total(1.0), by(&scale, asked), &parts);
            let sum: f64 = found.iter().map(|part| part.value).sum();
            let any = |run: usize| parts.iter().any(|part| part[run] > 0);
            prop_assume!(any(0) && any(1) && any(2));
            prop_assert!((sum - 1.0).abs() < 1e-6, "{sum}");
            for part in &found {
                prop_assert!(0.0 <= part.low && part.low <= part.value);
                prop_assert!(part.value <= part.high && part.high <= 1.0);
            }
            // As far again as the last step, no share falls by more than it did.
            let ratio = |part: &Vec<u64>, run: usize| {
                part[run] as f64 / parts.iter().map(|part| part[run] as f64).sum::<f64>()
            };
            let again = scale[2] * scale[2] / scale[1];
            let found = parts_of(&total(1.0), by(&scale, again), &parts);
            for (part, found) in parts.iter().zip(&found) {
                let (before, last) = (ratio(part, 1), ratio(part, 2));
                let least = if last < before { last * last / before } else { last };
                prop_assert!(found.value >= least * (1.0 - 1e-6), "{part:?} {found:?}");
            }
            // At the size of a run, they are that run's.
            for run in 0..3 {
                let there = parts_of(&total(1.0), by(&scale, scale[run]), &parts);
                for (part, found) in parts.iter().zip(&there) {
                    prop_assert!((found.value - ratio(part, run)).abs() < 1e-9);
                }
            }
        }

        #[test]
        fn parts_with_constant_shares_keep_them(
            parts in prop::collection::vec(0..1000_u64, 1..20),
            times in 2..1000_u64,
            asked in 1.0..1e9_f64,
        ) {
            prop_assume!(parts.iter().any(|part| *part > 0));
            let sum = parts.iter().sum::<u64>() as f64;
            let runs: Vec<Vec<u64>> = parts.iter().map(|part| vec![*part, part * 7, part * times]).collect();
            let found = parts_of(&total(1.0), by(&[100.0, 130.0, 1000.0], asked), &runs);
            for (part, found) in parts.iter().zip(&found) {
                prop_assert!((found.value - *part as f64 / sum).abs() < 1e-9);
            }
        }
    }
}
