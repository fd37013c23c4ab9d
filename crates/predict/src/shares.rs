//! Parts of a whole at another size: shares, which are bounded, and not counts, which are not.

use crate::estimate::{Estimate, half_width, slope};
use crate::shape::{Fit, Point, Shape};

/// Predicts the parts of a whole, of which `whole` is known, from their counts in runs: `parts[part][run]`. Shares change with
/// the logarithm of some `scale`, of which the values in the runs and the one asked for are given.
///
/// *A share that falls goes on falling as a power of the scale; what it loses goes to those that rose, in the proportion in which
/// they did.* So shares stay between 0 and 1 and add up to 1 whatever was seen, and what changed hands between
/// the runs changes hands no faster beyond them, for each doubling of the scale: a part that had 2 accesses and then 200 of a million can rise by
/// what others lose, and by no more than its part of that. A count extrapolated by itself, by whatever power, has no such bound.
///
/// Which shares fall is the slope of a straight line through them over the logarithm of the scale. Those slopes add up to 0, as
/// shares do to 1, so what rises takes all that is lost. The power is that of a straight line through logarithms, half an access
/// added to each count, and starts from the last run.
///
/// The interval of a share reaches from that of the last run to as much again on the other side; from three runs on, it is also
/// no narrower than the prediction interval of the straight line.
///
/// Cost: linear in parts and runs. Source: ours. The literature scales the accesses of patterns with those of the run, by which no
/// share changes.
pub(crate) fn parts_of(
    whole: &Estimate,
    scale: (&[f64], f64),
    parts: &[Vec<u64>],
) -> Vec<Estimate> {
    let logs: Vec<f64> = scale.0.iter().map(|at| at.max(1.0).ln()).collect();
    let mut totals = vec![0_u64; logs.len()];
    for part in parts {
        for (total, count) in totals.iter_mut().zip(part) {
            *total = total.saturating_add(*count);
        }
    }
    let size = scale.1.max(1.0);
    let scale = Scale {
        away: size.ln() - logs.last().copied().unwrap_or_default(),
        logs,
        totals,
        size,
    };
    let moves: Vec<Move> = parts.iter().map(|part| scale.moved(part)).collect();
    let lost: f64 = moves.iter().map(|of| of.last - of.kept).sum();
    let rises: f64 = moves.iter().map(|of| of.rise).sum();
    let moves = moves.iter().zip(parts);
    moves
        .map(|(of, part)| {
            let gained = match rises > 0.0 {
                true => lost * of.rise / rises,
                false => of.last - of.kept,
            };
            of_whole(whole, &scale.interval(part, of.last, of.kept + gained))
        })
        .collect()
}

/// What was seen of a whole, and what is asked.
struct Scale {
    logs: Vec<f64>,
    totals: Vec<u64>,
    size: f64,
    /// From the last run to what is asked for, in logarithms.
    away: f64,
}

/// How a share goes on.
struct Move {
    /// In the last run.
    last: f64,
    /// What is left of that.
    kept: f64,
    /// How much it rises for a given change of the scale; 0 if it falls.
    rise: f64,
}

impl Scale {
    fn share(&self, part: &[u64], run: usize) -> f64 {
        match self.totals[run] {
            0 => 0.0,
            total => part[run] as f64 / total as f64,
        }
    }

    fn points(&self, value: impl Fn(usize) -> f64) -> Vec<Point> {
        let runs = self.logs.iter().enumerate();
        runs.map(|(run, log)| (*log, value(run))).collect()
    }

    fn moved(&self, part: &[u64]) -> Move {
        let last = self.share(part, self.logs.len() - 1);
        let rise = slope(&self.points(|run| self.share(part, run))) * self.away;
        if rise >= 0.0 {
            return Move {
                last,
                kept: last,
                rise,
            };
        }
        let log = |run: usize| {
            let (count, total) = (part[run] as f64, self.totals[run] as f64);
            ((count + 0.5) / (total + 1.0)).ln()
        };
        let power = (slope(&self.points(log)) * self.away).min(0.0);
        Move {
            last,
            kept: last * power.exp(),
            rise: 0.0,
        }
    }

    fn interval(&self, part: &[u64], last: f64, value: f64) -> Estimate {
        let value = value.clamp(0.0, 1.0);
        let runs = self.logs.iter().enumerate();
        let points: Vec<Point> = runs
            .map(|(run, log)| (log.exp(), self.share(part, run)))
            .collect();
        let line = Fit::with(Shape::Logarithm, &points);
        let half = half_width(&line, &points, self.size).unwrap_or(0.0);
        let half = half.max((value - last).abs());
        Estimate {
            value,
            low: (value - half).max(0.0),
            high: (value + half).min(1.0),
        }
    }
}

/// A share of a whole.
fn of_whole(whole: &Estimate, share: &Estimate) -> Estimate {
    Estimate {
        value: whole.value * share.value,
        low: whole.low * share.low,
        high: whole.high * share.high,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(value: f64) -> Estimate {
        Estimate {
            value,
            low: value,
            high: value,
        }
    }

    #[test]
    fn what_never_changes_is_an_ever_smaller_share() {
        // A start of 1000 accesses, and work that grows fourfold.
        let parts = [vec![1000, 1000], vec![9000, 39_000]];
        let all = whole(160_000.0);
        let found = parts_of(&all, (&[10_000.0, 40_000.0], 160_000.0), &parts);
        assert!((found[0].value - 1000.0).abs() < 1.0, "{:?}", found[0]);
        assert!((found[1].value - 159_000.0).abs() < 1.0, "{:?}", found[1]);
    }

    #[test]
    fn who_rises_takes_in_proportion() {
        let parts = [vec![80, 60], vec![10, 25], vec![10, 15]];
        let found = parts_of(&whole(1.0), (&[1.0, 2.0], 4.0), &parts);
        let lost = 0.6 - found[0].value;
        assert!((found[0].value - 0.6 * 60.5 / 80.5).abs() < 1e-9);
        assert!((found[1].value - 0.25 - lost * 0.75).abs() < 1e-9);
        assert!((found[2].value - 0.15 - lost * 0.25).abs() < 1e-9);
        // Back from there, each is what it was, but for the half access.
        let back = parts_of(&whole(1.0), (&[1.0, 2.0], 1.0), &parts);
        assert!(
            (back[1].value - 0.10).abs() < 0.01 && (back[0].value - 0.8).abs() < 0.01,
            "{back:?}"
        );
    }

    #[test]
    fn equal_runs_change_nothing() {
        let parts = [vec![1, 3], vec![3, 1]];
        let found = parts_of(&whole(8.0), (&[5.0, 5.0], 50.0), &parts);
        assert_eq!((found[0].value, found[1].value), (6.0, 2.0));
        assert_eq!(parts_of(&whole(8.0), (&[5.0, 6.0], 50.0), &[]), []);
        let none = parts_of(&whole(8.0), (&[5.0, 6.0], 50.0), &[vec![0, 0]]);
        assert_eq!(none[0], Estimate::default());
    }

    proptest! {
        #[test]
        fn parts_are_shares(
            parts in prop::collection::vec(prop::collection::vec(prop_oneof![0..4_u64, 0..1_000_000_u64], 3), 1..20),
            scale in prop::collection::vec(1.0..1e6_f64, 3),
            asked in 1.0..1e9_f64,
        ) {
            let mut scale = scale;
            scale.sort_by(f64::total_cmp);
            let found = parts_of(&whole(1.0), (&scale, asked), &parts);
            let sum: f64 = found.iter().map(|part| part.value).sum();
            let any = parts.iter().any(|part| part[2] > 0);
            prop_assert!((sum - f64::from(u8::from(any))).abs() < 1e-6, "{sum}");
            for part in &found {
                prop_assert!(0.0 <= part.low && part.low <= part.value);
                prop_assert!(part.value <= part.high && part.high <= 1.0);
            }
        }
    }
}
