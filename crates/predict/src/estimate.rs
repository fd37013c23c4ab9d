//! [`Estimate`]: a predicted quantity with an interval; and the functions that predict one from a
//! few runs: of distances ([`estimate()`]), of counts ([`straight`], [`power`]), of a program's
//! accesses ([`work`]).

use serde::{Deserialize, Serialize};

use crate::shape::{Fit, Point, Shape, is_near};

/// The confidence of intervals from three or more runs.
pub const CONFIDENCE: f64 = 0.9;

/// Two-sided 90 % quantiles of Student's t, by degrees of freedom from 1.
const T_90: [f64; 10] = [
    6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812,
];

/// A predicted quantity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// What is expected.
    pub value: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Estimate {
    /// The sum of two.
    pub(crate) fn plus(&self, other: &Estimate) -> Estimate {
        Estimate {
            value: self.value + other.value,
            low: self.low + other.low,
            high: self.high + other.high,
        }
    }
}

/// How the intervals of a prediction came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intervals {
    /// From two runs, whose error is unknown. The interval of a distance reaches from what the next
    /// slower to what the next faster way of growing would give. It has no confidence. For accesses
    /// see [`work`]; the interval of a part's accesses is the product of that and of the interval
    /// of its share, which is wide and has no confidence either.
    NeighbouringShapes,
    /// From three or more: the 90 % prediction interval of the regression (Student's t), if the
    /// errors are normal and the way of growing is right; and no narrower than that of two runs
    /// would be. Miss ratios: no narrower than what the same way of predicting gets wrong about the
    /// largest run. Accesses of parts: as from two runs, a product.
    Regression,
}

impl Intervals {
    /// The kind of intervals that `runs` runs allow.
    pub fn of(runs: usize) -> Self {
        match runs {
            0..=2 => Intervals::NeighbouringShapes,
            _ => Intervals::Regression,
        }
    }

    /// The confidence that can be stated.
    pub fn confidence(self) -> Option<f64> {
        (self == Intervals::Regression).then_some(CONFIDENCE)
    }

    /// A description for reports.
    pub fn describe(self) -> &'static str {
        match self {
            Intervals::NeighbouringShapes => {
                "of distances, from the next slower to the next faster way of growing; of accesses of parts, their shares as far again as they moved, in those of the program; two runs allow no confidence to be stated"
            }
            Intervals::Regression => {
                "of distances, the 90 % prediction interval of the regression, no narrower than the next slower and faster way of growing, nor, for miss ratios, than what was wrong in predicting the largest run from the others; of accesses of parts, ends of shares in ends of the program's, which are wide and of no confidence"
            }
        }
    }
}

/// A quantity that is at least 0, at another data size, from the runs that it was seen in.
///
/// The fit that was used comes with it; a prediction below 0 is 0.
pub fn estimate(points: &[Point], shapes: &[Shape], size: f64) -> (Fit, Estimate) {
    with_interval(Fit::best(points, shapes), points, shapes, size)
}

/// As [`estimate()`], of a distance: runs that are of other accesses are left out
/// ([`Fit::of_distances`]), but for the interval.
pub fn estimate_distance(points: &[Point], shapes: &[Shape], size: f64) -> (Fit, Estimate) {
    with_interval(Fit::of_distances(points, shapes), points, shapes, size)
}

fn with_interval(fit: Fit, points: &[Point], shapes: &[Shape], size: f64) -> (Fit, Estimate) {
    let value = fit.at(size);
    let at = shapes
        .iter()
        .position(|shape| *shape == fit.shape)
        .unwrap_or(0);
    let neighbours = shapes[at.saturating_sub(1)..(at + 2).min(shapes.len())].iter();
    let others = neighbours.map(|shape| Fit::with(*shape, points).at(size));
    let (mut low, mut high) =
        others.fold((value, value), |(l, h), other| (l.min(other), h.max(other)));
    if let Some(half) = half_width(&fit, points, size) {
        (low, high) = (low.min(value - half), high.max(value + half));
    }
    let estimate = Estimate {
        value: value.max(0.0),
        low: low.max(0.0),
        high: high.max(0.0),
    };
    (fit, estimate)
}

/// Half the width of the prediction interval of the regression, if there are points to spare.
pub(crate) fn half_width(fit: &Fit, points: &[Point], size: f64) -> Option<f64> {
    let parameters = if fit.shape == Shape::Constant { 1 } else { 2 };
    let spare = points
        .len()
        .checked_sub(parameters)
        .filter(|_| points.len() > 2)?;
    let t = T_90.get(spare.checked_sub(1)?).copied().unwrap_or(1.645);
    let count = points.len() as f64;
    let mean = points.iter().map(|p| fit.shape.at(p.0)).sum::<f64>() / count;
    let spread: f64 = points
        .iter()
        .map(|p| (fit.shape.at(p.0) - mean).powi(2))
        .sum();
    let away = (fit.shape.at(size) - mean).powi(2);
    let leverage = if spread > 0.0 { away / spread } else { 0.0 };
    Some(t * (fit.residual / spare as f64 * (1.0 + 1.0 / count + leverage)).sqrt())
}

/// A quantity that grows in a straight line with the size, and is no less than 0. From two runs its
/// interval goes on for a tenth more or less than it grew. Smaller runs that it does not come near
/// to are left out, as in [`work`].
pub fn straight(points: &[Point], size: f64) -> Estimate {
    of_runs_that_agree(points, size, straight_line)
}

fn straight_line(points: &[Point], size: f64) -> Estimate {
    let fit = Fit::with(Shape::Linear, points);
    let last = points.last().copied().unwrap_or_default();
    let value = fit.at(size);
    let half = half_width(&fit, points, size);
    let half = half.unwrap_or_else(|| (value - last.1).abs() / 10.0);
    Estimate {
        value: value.max(0.0),
        low: (value - half).max(0.0),
        high: (value + half).max(0.0),
    }
}

/// The accesses of a program.
///
/// From two runs: if accesses grew by less than the size did, both a straight line and a power go
/// through the runs, and two numbers cannot decide between them. A line means a fixed number of
/// accesses for the start of the program, and a number for each datum; every program has a start,
/// so that no power goes through 0. A power of less than 1 means a fixed number of look-ups in
/// growing data, which fewer programs do. So the line is predicted, and the interval holds the
/// line, the power, and growth with the logarithm of the size, the slowest of all. If accesses grew
/// by more than the size, they are a power of it.
///
/// From three runs or more the best fit is taken: of the line, all slower ways of growing, and, if
/// accesses grew by more than the size, the power. Falling accesses are a power. If none comes near
/// to all runs, the smallest are left out, down to two: the start of the program can be most of a
/// small run, its size included. The interval holds what all runs together would say.
pub fn work(points: &[Point], size: f64) -> Estimate {
    of_runs_that_agree(points, size, work_of_all)
}

/// An estimate by `of` from the largest runs that it comes near to itself, two at least.
fn of_runs_that_agree(points: &[Point], size: f64, of: fn(&[Point], f64) -> Estimate) -> Estimate {
    let agree = |used: &[Point]| {
        let is_near = |point: &Point| is_near(of(used, point.0).value, point.1);
        used.len() <= 2 || used.iter().all(is_near)
    };
    let mut used = points;
    while !agree(used) {
        used = &used[1..];
    }
    let (found, all) = (of(used, size), of(points, size));
    Estimate {
        value: found.value,
        low: found.low.min(all.low),
        high: found.high.max(all.high),
    }
}

fn work_of_all(points: &[Point], size: f64) -> Estimate {
    let power = power(points, size);
    let exponent = slope(&logarithms(points));
    if points.len() < 3 {
        let line = straight_line(points, size);
        let slow = Fit::with(Shape::Logarithm, points).at(size).max(0.0);
        let low = line.low.min(power.low).min(slow);
        let high = line.high.max(power.high).max(slow);
        let value = if exponent > 0.0 && exponent <= 1.0 {
            line.value
        } else {
            power.value
        };
        return Estimate { value, low, high };
    }
    if exponent <= 0.0 {
        return power;
    }
    let (fit, other) = estimate(points, &Shape::ALL, size);
    if exponent > 1.0 && power_misses(points) < fit.residual {
        return power;
    }
    let scale: f64 = points.iter().map(|point| point.1 * point.1).sum();
    if fit.residual > scale * 1e-12 {
        return other;
    }
    // No other way of growing goes through all of them.
    let value = fit.at(size).max(0.0);
    Estimate {
        value,
        low: value,
        high: value,
    }
}

/// The accesses of a program of which `start` are its start, the same in every run: [`work`]
/// predicts the others. A power through the sum would grow too slowly, the more so the larger the
/// start is beside the work of the smaller runs. The interval holds that of the sum too, since the
/// start is only known from lines that have equally many accesses in every run.
pub fn started_work(points: &[Point], start: f64, size: f64) -> Estimate {
    let all = work(points, size);
    let rest: Vec<Point> = points
        .iter()
        .map(|point| (point.0, point.1 - start))
        .collect();
    if start <= 0.0 || rest.iter().any(|point| point.1 <= 0.0) {
        return all;
    }
    let rest = work(&rest, size);
    Estimate {
        value: rest.value + start,
        low: (rest.low + start).min(all.low),
        high: (rest.high + start).max(all.high),
    }
}

/// The sum of the squares of the differences between points and the power through them.
fn power_misses(points: &[Point]) -> f64 {
    let miss = |point: &Point| power(points, point.0).value - point.1;
    points.iter().map(|point| miss(point).powi(2)).sum()
}

/// The logarithms of sizes and counts; what is 0 counts as 1.
fn logarithms(points: &[Point]) -> Vec<Point> {
    let log = |p: &Point| (p.0.max(1.0).ln(), p.1.max(1.0).ln());
    points.iter().map(log).collect()
}

/// The slope of the straight line nearest to some points; 0 if they are all at one place.
pub(crate) fn slope(points: &[Point]) -> f64 {
    let mean = points.iter().map(|p| p.0).sum::<f64>() / points.len().max(1) as f64;
    let square: f64 = points.iter().map(|p| (p.0 - mean).powi(2)).sum();
    let product: f64 = points.iter().map(|p| (p.0 - mean) * p.1).sum();
    if square > 0.0 { product / square } else { 0.0 }
}

/// A count that grows as a power of the size: a · s^k, by least squares of the logarithms. What is
/// 0 in a run counts as 1 there; 0 in all of them stays 0. The interval is that of the exponent,
/// wider and narrower by what the runs deviate, or by a tenth of it from two runs.
pub fn power(points: &[Point], size: f64) -> Estimate {
    if points.iter().all(|p| p.1 <= 0.0) {
        return Estimate::default();
    }
    let logs = logarithms(points);
    let count = logs.len() as f64;
    let (x, y) = logs
        .iter()
        .fold((0.0, 0.0), |(x, y), p| (x + p.0 / count, y + p.1 / count));
    let square: f64 = logs.iter().map(|p| (p.0 - x).powi(2)).sum();
    let exponent = slope(&logs);
    let away = size.max(1.0).ln() - x;
    let residual: f64 = logs
        .iter()
        .map(|p| (y + exponent * (p.0 - x) - p.1).powi(2))
        .sum();
    let half = match logs.len() {
        0..=2 => exponent.abs() / 10.0 * (size.max(1.0).ln() - logs[logs.len() - 1].0).abs(),
        runs => {
            let t = T_90.get(runs - 3).copied().unwrap_or(1.645);
            let leverage = if square > 0.0 {
                away * away / square
            } else {
                0.0
            };
            t * (residual / (count - 2.0) * (1.0 + 1.0 / count + leverage)).sqrt()
        }
    };
    let middle = y + exponent * away;
    Estimate {
        value: middle.exp(),
        low: (middle - half).exp(),
        high: (middle + half).exp(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_the_neighbours_of_two_runs() {
        let points = [(1000.0, 1000.0), (4000.0, 2000.0)];
        let (fit, estimate) = estimate(&points, &Shape::PUBLISHED, 64_000.0);
        assert_eq!(fit.shape, Shape::SquareRoot);
        assert!((estimate.value - 8000.0).abs() < 1e-6);
        let other = |shape| Fit::with(shape, &points).at(64_000.0);
        assert_eq!(estimate.low, other(Shape::CubeRoot));
        assert_eq!(estimate.high, other(Shape::TwoThirds));
        assert_eq!(Intervals::of(2).confidence(), None);
    }

    #[test]
    fn three_runs_that_deviate_have_wide_intervals() {
        let exact = [(100.0, 100.0), (200.0, 200.0), (400.0, 400.0)];
        let rough = [(100.0, 100.0), (200.0, 260.0), (400.0, 400.0)];
        let width = |points: &[Point]| {
            let (_, e) = estimate(points, &[Shape::Linear], 3200.0);
            assert!(e.low <= e.value && e.value <= e.high);
            e.high - e.low
        };
        assert!(width(&exact) < 1e-6);
        // s = 2.7·10³ · x: t = 6.314, σ² = 2057, leverage (2967)²/46,667 ≈ 189.
        assert!(
            (6000.0..9000.0).contains(&width(&rough)),
            "{}",
            width(&rough)
        );
        assert_eq!(Intervals::of(3).confidence(), Some(0.9));
    }

    #[test]
    fn the_regression_interval_is_that_of_the_textbook() {
        // y = 1, 3, 2 at x = 1, 2, 3: slope 0.5, residual 1.5, s² = 1.5; at x = 4:
        // half width 6.314 · sqrt(1.5 · (1 + 1/3 + 4/2)) = 14.118.
        let points = [(1.0, 1.0), (2.0, 3.0), (3.0, 2.0)];
        let fit = Fit::with(Shape::Linear, &points);
        assert!((fit.factor - 0.5).abs() < 1e-12 && (fit.residual - 1.5).abs() < 1e-12);
        let half = half_width(&fit, &points, 4.0).unwrap();
        assert!((half - 14.118).abs() < 1e-3, "{half}");
        assert_eq!(half_width(&fit, &points[..2], 4.0), None);
    }

    #[test]
    fn predictions_below_zero_are_zero() {
        let falling = [(100.0, 1000.0), (200.0, 500.0), (300.0, 10.0)];
        let (_, estimate) = estimate(&falling, &[Shape::Linear], 3000.0);
        assert_eq!((estimate.value, estimate.low), (0.0, 0.0));
        assert!(estimate.high >= 0.0);
    }

    #[test]
    fn three_runs_determine_the_growth_of_work() {
        // Look-ups in a sorted table: a start, and log s.
        let truth = |size: f64| 2e5 + 4e5 * size.ln();
        let points = [8e3, 32e3, 128e3].map(|size| (size, truth(size)));
        let found = work(&points, 1e6);
        assert!((found.value / truth(1e6) - 1.0).abs() < 1e-6, "{found:?}");
        assert!(found.low <= found.value && found.value <= found.high);
        // A straight line is one still, and so is a power of more than 1.
        let points = [8e3, 32e3, 128e3].map(|size| (size, 1e6 + 3.0 * size));
        assert!((work(&points, 1e6).value - 4e6).abs() < 1.0);
        let points = [8e3, 32e3, 128e3].map(|size: f64| (size, size.powf(1.5)));
        assert!((work(&points, 1e6).value / 1e9 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn two_runs_give_a_wide_interval() {
        let truth = |size: f64| 2e5 + 4e5 * size.ln();
        let points = [8e3, 32e3].map(|size| (size, truth(size)));
        let found = work(&points, 1e6);
        let line = straight(&points, 1e6).value;
        assert!((found.value - line).abs() < 1.0);
        assert!(
            found.low < truth(1e6) + 1.0 && line <= found.high,
            "{found:?}"
        );
    }

    #[test]
    fn work_is_predicted_by_a_line_or_a_power() {
        // 1000 at the start, and 3 for each datum; what of the sizes does not grow makes no
        // difference.
        let line = |size: f64| 1000.0 + 3.0 * size;
        for fixed in [0.0, 90.0] {
            let points = [100.0, 400.0].map(|size| (size - fixed, line(size)));
            let found = work(&points, 8000.0 - fixed);
            assert!((found.value - line(8000.0)).abs() < 1e-6);
        }
        let points = [(100.0, 1e6), (400.0, 64e6)];
        assert!((work(&points, 8000.0).value - 512e9).abs() < 1.0);
        let falling = [(100.0, 500.0), (400.0, 400.0)];
        assert!(work(&falling, 1e6).value > 0.0);
        assert_eq!(work(&[(1.0, 0.0), (2.0, 0.0)], 4.0), Estimate::default());
    }

    #[test]
    fn startup_work_is_not_part_of_a_power() {
        let truth = |size: f64| 150_000.0 + size.powf(1.5);
        let points = [2000.0, 8000.0].map(|size| (size, truth(size)));
        let (found, all) = (
            started_work(&points, 150_000.0, 64_000.0),
            work(&points, 64_000.0),
        );
        assert!((found.value / truth(64_000.0) - 1.0).abs() < 1e-9);
        assert!(
            all.value < truth(64_000.0) * 0.8 && found.low <= all.low,
            "{all:?}"
        );
        assert!(found.high >= found.value);
        // A straight line is what it was, and so is a start that is all there is.
        let line = [(100.0, 1300.0), (400.0, 2200.0)];
        let found = started_work(&line, 1000.0, 8000.0);
        assert!((found.value - 25_000.0).abs() < 1e-6);
        assert_eq!(started_work(&line, 1300.0, 8000.0), work(&line, 8000.0));
    }

    #[test]
    fn counts_grow_as_powers() {
        let cubes = [(10.0, 1000.0), (20.0, 8000.0)];
        let estimate = power(&cubes, 100.0);
        assert!((estimate.value - 1e6).abs() < 1e-3);
        assert!(estimate.low < 1e6 && estimate.high > 1e6);
        assert_eq!(
            power(&[(10.0, 0.0), (20.0, 0.0)], 100.0),
            Estimate::default()
        );
        let three = power(&[(10.0, 100.0), (20.0, 200.0), (40.0, 400.0)], 80.0);
        assert!((three.value - 800.0).abs() < 1e-6 && three.high - three.low < 1e-6);
    }
}
