//! [`Fit`]: how a quantity grows with the data size, as one of a few [`Shape`]s, fitted to runs.

use serde::{Deserialize, Serialize};

/// A way to grow with the data size s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Not at all.
    Constant,
    /// ln s.
    Logarithm,
    /// s^(1/3).
    CubeRoot,
    /// s^(1/2).
    SquareRoot,
    /// s^(2/3).
    TwoThirds,
    /// s.
    Linear,
}

impl Shape {
    /// All, the slowest first.
    pub const ALL: [Shape; 6] = [
        Shape::Constant,
        Shape::Logarithm,
        Shape::CubeRoot,
        Shape::SquareRoot,
        Shape::TwoThirds,
        Shape::Linear,
    ];

    /// Those of the literature (Ding & Zhong 2003): without the logarithm.
    pub const PUBLISHED: [Shape; 5] = [
        Shape::Constant,
        Shape::CubeRoot,
        Shape::SquareRoot,
        Shape::TwoThirds,
        Shape::Linear,
    ];

    /// f(s), for s of at least 1.
    pub fn at(self, size: f64) -> f64 {
        let size = size.max(1.0);
        match self {
            Shape::Constant => 1.0,
            Shape::Logarithm => size.ln(),
            Shape::CubeRoot => size.cbrt(),
            Shape::SquareRoot => size.sqrt(),
            Shape::TwoThirds => size.cbrt() * size.cbrt(),
            Shape::Linear => size,
        }
    }

    /// The size at which f(s) is this; none for a constant.
    pub fn inverse(self, value: f64) -> Option<f64> {
        match self {
            Shape::Constant => None,
            Shape::Logarithm => Some(value.exp()),
            Shape::CubeRoot => Some(value.powi(3)),
            Shape::SquareRoot => Some(value.powi(2)),
            Shape::TwoThirds => Some(value.powf(1.5)),
            Shape::Linear => Some(value),
        }
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Constant => "constant",
            Shape::Logarithm => "log s",
            Shape::CubeRoot => "s^1/3",
            Shape::SquareRoot => "s^1/2",
            Shape::TwoThirds => "s^2/3",
            Shape::Linear => "s",
        }
    }
}

/// A quantity that was seen at one data size.
pub type Point = (f64, f64);

/// A way of growing goes through a value if it comes near to it by this share, or by one. A wrong
/// one often comes as near as a tenth.
const NEAR: f64 = 0.01;

/// A way of growing that misses a value by more than this share, and by more than one, is not that
/// of the value: less than half of the difference between one way and the next where the data grow
/// fourfold.
const FAR: f64 = 0.1;

/// Whether a value of a fit is near to what was seen.
pub(crate) fn is_near(fitted: f64, seen: f64) -> bool {
    is_within(NEAR, fitted, seen)
}

fn is_within(share: f64, fitted: f64, seen: f64) -> bool {
    (fitted - seen).abs() <= share * fitted.abs().max(seen) + 1.0
}

/// d(s) = c + e · f(s).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// f.
    pub shape: Shape,
    /// c.
    pub constant: f64,
    /// e; 0 for a constant.
    pub factor: f64,
    /// Sum of the squares of the residuals.
    pub residual: f64,
}

impl Fit {
    /// d(s).
    pub fn at(&self, size: f64) -> f64 {
        self.constant + self.factor * self.shape.at(size)
    }

    /// The size above `from` at which d(s) reaches `value`: `from` itself if it is reached there,
    /// none if it never is.
    pub fn reaches(&self, value: f64, from: f64) -> Option<f64> {
        if self.at(from) >= value {
            return Some(from);
        }
        if self.factor <= 0.0 {
            return None;
        }
        self.shape.inverse((value - self.constant) / self.factor)
    }

    /// Least squares with a given shape: through two points, or the mean of a constant.
    pub fn with(shape: Shape, points: &[Point]) -> Fit {
        let count = points.len().max(1) as f64;
        let mean_of = |value: &dyn Fn(&Point) -> f64| points.iter().map(value).sum::<f64>() / count;
        let (mean_f, mean_d) = (mean_of(&|p| shape.at(p.0)), mean_of(&|p| p.1));
        let square = mean_of(&|p| (shape.at(p.0) - mean_f).powi(2));
        let product = mean_of(&|p| (shape.at(p.0) - mean_f) * (p.1 - mean_d));
        let factor = if shape == Shape::Constant || square == 0.0 {
            0.0
        } else {
            product / square
        };
        let mut fit = Fit {
            shape,
            constant: mean_d - factor * mean_f,
            factor,
            residual: 0.0,
        };
        fit.residual = points.iter().map(|p| (fit.at(p.0) - p.1).powi(2)).sum();
        fit
    }

    /// The best of several shapes, which are given from slow to fast.
    ///
    /// Of two points: the one for which f(s₂)/f(s₁) is nearest to d₂/d₁. Of more: least squares,
    /// and the smallest residual. Of equally good ones, the slowest. Points are at different sizes,
    /// ascending.
    ///
    /// Source: Ding & Zhong 2003, section 2.3; Fang et al. 2006, section 3.3. More than two points
    /// is ours.
    pub fn best(points: &[Point], shapes: &[Shape]) -> Fit {
        let badness = |shape: Shape| match points {
            [(s1, d1), (s2, d2)] => {
                let grown = if d1 == d2 { 1.0 } else { d2 / d1 };
                let asked = shape.at(*s2) / shape.at(*s1);
                // From 0 at the smaller size, only the fastest shape is possible.
                if grown.is_finite() {
                    (asked - grown).abs()
                } else {
                    -asked
                }
            }
            _ => Fit::with(shape, points).residual,
        };
        let mut best = (Shape::Constant, f64::INFINITY);
        // What is compared are ratios of two points, and squares of more.
        let scale: f64 = match points.len() {
            2 => 1.0,
            _ => points.iter().map(|p| p.1 * p.1).sum(),
        };
        for shape in shapes {
            let bad = badness(*shape);
            // A difference of rounding does not justify a faster shape.
            if bad < best.1 - scale.max(1.0) * 1e-12 {
                best = (*shape, bad);
            }
        }
        Fit::with(best.0, points)
    }

    /// The best for a distance, of which the smaller runs may say nothing.
    ///
    /// Distances of runs are matched by rank, or as the patterns of a line. Where a small run has
    /// its data in a pattern that the larger ones do not have, the matched distance is of other
    /// accesses. No way of growing goes through all runs then, and least squares would take one
    /// that is right for none. So the smallest runs are left out until one way comes near to all
    /// that are left, down to the two largest. A small run has few accesses of a rank and short
    /// distances, which are near to several ways: least squares would choose by their rounding. So
    /// the way of the two largest is taken unless it is far from one that is left. The residual is
    /// that of all points.
    pub fn of_distances(points: &[Point], shapes: &[Shape]) -> Fit {
        let largest = Fit::best(&points[points.len().saturating_sub(2)..], shapes);
        let comes_near = |fit: &Fit, used: &[Point], share: f64| {
            let is_near = |point: &Point| is_within(share, fit.at(point.0), point.1);
            used.iter().all(is_near)
        };
        let mut ways = (0..points.len().saturating_sub(2)).flat_map(|left_out| {
            let used = &points[left_out..];
            let ways = [(largest, FAR), (Fit::best(used, shapes), NEAR)].into_iter();
            ways.filter(move |(fit, share)| comes_near(fit, used, *share))
        });
        let fit = ways.next().map_or(largest, |way| way.0);
        let miss = |point: &Point| (fit.at(point.0) - point.1).powi(2);
        let residual = points.iter().map(miss).sum();
        Fit { residual, ..fit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_points_choose_by_ratio() {
        let grown =
            |ratio: f64| Fit::best(&[(1000.0, 100.0), (8000.0, 100.0 * ratio)], &Shape::ALL).shape;
        assert_eq!(grown(1.0), Shape::Constant);
        assert_eq!(grown(0.2), Shape::Constant);
        assert_eq!(grown(1.3), Shape::Logarithm);
        assert_eq!(grown(2.0), Shape::CubeRoot);
        assert_eq!(grown(2.8), Shape::SquareRoot);
        assert_eq!(grown(4.1), Shape::TwoThirds);
        assert_eq!(grown(7.0), Shape::Linear);
        assert_eq!(grown(90.0), Shape::Linear);
    }

    #[test]
    fn two_large_points_choose_by_ratio_too() {
        let points = [(1e6, 1e9), (4e6, 4e9)];
        assert_eq!(Fit::best(&points, &Shape::ALL).shape, Shape::Linear);
    }

    #[test]
    fn ties_choose_the_slower_shape() {
        // f(64)/f(1): 1, 4 (cube root), 8, 16, 64; d₂/d₁ = 6 is between 4 and 8.
        let fit = Fit::best(&[(1.0, 10.0), (64.0, 60.0)], &Shape::PUBLISHED);
        assert_eq!(fit.shape, Shape::CubeRoot);
    }

    #[test]
    fn growth_from_zero_is_linear() {
        assert_eq!(
            Fit::best(&[(10.0, 0.0), (20.0, 5.0)], &Shape::ALL).shape,
            Shape::Linear
        );
        assert_eq!(
            Fit::best(&[(10.0, 0.0), (20.0, 0.0)], &Shape::ALL).shape,
            Shape::Constant
        );
        assert_eq!(
            Fit::best(&[(10.0, 5.0), (20.0, 0.0)], &Shape::ALL).shape,
            Shape::Constant
        );
    }

    #[test]
    fn three_points_recover_every_shape() {
        for shape in Shape::ALL {
            let truth = |size: f64| 7.0 + 3.0 * shape.at(size);
            let points = [100.0, 450.0, 3000.0].map(|size| (size, truth(size)));
            for points in [&points[..2], &points] {
                let fit = Fit::with(shape, points);
                let wrong = (fit.at(90_000.0) - truth(90_000.0)).abs() / truth(90_000.0);
                assert!(wrong < 1e-9, "{shape:?} {wrong}");
            }
            assert_eq!(Fit::best(&points, &Shape::ALL).shape, shape);
        }
    }

    #[test]
    fn a_smallest_run_of_another_pattern_is_left_out() {
        // The larger two are on a straight line, or stay; the smallest is of other accesses.
        for (smallest, shape) in [(7.0, Shape::Linear), (900.0, Shape::Linear)] {
            let points = [(100.0, smallest), (400.0, 400.0), (1000.0, 1000.0)];
            let fit = Fit::of_distances(&points, &Shape::ALL);
            assert_eq!(fit.shape, shape, "{smallest}");
            assert!((fit.at(8000.0) - 8000.0).abs() < 1.0, "{smallest}: {fit:?}");
            assert!(fit.residual > 1000.0, "the interval does not know: {fit:?}");
        }
        let points = [(100.0, 3.0), (400.0, 50.0), (1000.0, 50.0)];
        assert_eq!(Fit::of_distances(&points, &Shape::ALL).at(8000.0), 50.0);
        // One that agrees decides.
        let line = [(100.0, 150.0), (400.0, 450.0), (1000.0, 1050.0)];
        let fit = Fit::of_distances(&line, &Shape::ALL);
        assert!((fit.at(8000.0) - 8050.0).abs() < 1e-6, "{fit:?}");
    }

    #[test]
    fn sizes_where_a_value_is_reached() {
        for shape in Shape::ALL {
            let fit = Fit {
                shape,
                constant: 5.0,
                factor: 2.0,
                residual: 0.0,
            };
            assert_eq!(fit.reaches(1.0, 100.0), Some(100.0));
            let far = fit.reaches(50.0, 2.0);
            assert_eq!(far.is_none(), shape == Shape::Constant);
            assert!(
                far.is_none_or(|size| (fit.at(size) - 50.0).abs() < 1e-6),
                "{shape:?}"
            );
        }
        let falling = Fit {
            shape: Shape::Linear,
            constant: 5.0,
            factor: -1.0,
            residual: 0.0,
        };
        assert_eq!(falling.reaches(50.0, 2.0), None);
    }
}
