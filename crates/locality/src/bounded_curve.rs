//! [`BoundedCurve`]: a miss-ratio curve that an approximate engine estimated, with a bound on the
//! error of each point. It is stored in a profile's method.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One point of an estimated curve. Stored as `[items, miss ratio, half-width]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedPoint {
    /// Size of the cache in items.
    pub items: u64,
    /// Estimate of its miss ratio.
    pub miss_ratio: f64,
    /// The exact miss ratio differs by at most this, with the curve's confidence.
    pub half_width: f64,
}

/// The miss-ratio curve that an approximate engine estimated, with how far it may be off.
///
/// Each point's bound holds with the same confidence, by itself: of a hundred points at 95 %, about
/// five may be farther off than their bound.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoundedCurve {
    /// The probability with which each bound holds.
    pub confidence: f64,
    /// The share of the items that was looked at (at the end, if it changed on the way); of a run
    /// of which bursts were recorded, their share of the accesses.
    pub rate: f64,
    /// Ascending in size; the last is where the curve is flat.
    pub points: Vec<BoundedPoint>,
}

impl BoundedCurve {
    /// The largest half-width of all points; 0 if there are none.
    pub fn largest(&self) -> f64 {
        let widths = self.points.iter().map(|point| point.half_width);
        widths.fold(0.0, f64::max)
    }

    /// The mean half-width over the points, which are even in log2 except for the smallest sizes; 0
    /// if there are none.
    pub fn mean(&self) -> f64 {
        let sum: f64 = self.points.iter().map(|point| point.half_width).sum();
        sum / self.points.len().max(1) as f64
    }

    /// How far the miss ratio of a cache of `items` items may be off: at a size between two points,
    /// the larger of both and what the curve falls from the one to the other, as it may fall
    /// anywhere between them. 0 if there are no points.
    pub fn half_width(&self, items: u64) -> f64 {
        let next = self.points.partition_point(|point| point.items < items);
        let last = self.points.len().saturating_sub(1);
        let above = self.points.get(next.min(last));
        let below = self.points.get(next.saturating_sub(1).min(last));
        match (below, above) {
            (_, Some(point)) if point.items == items => point.half_width,
            (Some(below), Some(above)) => {
                let fall = (below.miss_ratio - above.miss_ratio).max(0.0);
                (fall + below.half_width.max(above.half_width)).min(1.0)
            }
            _ => 0.0,
        }
    }
}

impl Serialize for BoundedPoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.items, self.miss_ratio, self.half_width).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BoundedPoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (items, miss_ratio, half_width) = Deserialize::deserialize(deserializer)?;
        let is_ratio = |number: f64| (0.0..=1.0).contains(&number);
        if !is_ratio(miss_ratio) || !is_ratio(half_width) {
            return Err(D::Error::custom(
                "a miss ratio or its bound is not between 0 and 1",
            ));
        }
        Ok(BoundedPoint {
            items,
            miss_ratio,
            half_width,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> BoundedCurve {
        let point = |(items, miss_ratio, half_width)| BoundedPoint {
            items,
            miss_ratio,
            half_width,
        };
        let points = [(1, 0.9, 0.01), (4, 0.5, 0.1), (16, 0.25, 0.04)];
        BoundedCurve {
            confidence: 0.95,
            rate: 0.01,
            points: points.map(point).to_vec(),
        }
    }

    #[test]
    fn half_width_between_points_includes_the_fall() {
        let curve = curve();
        assert!((curve.mean() - 0.05).abs() < 1e-12);
        assert_eq!(curve.largest(), 0.1);
        let widths = [
            (0, 0.01),
            (1, 0.01),
            (2, 0.5),
            (4, 0.1),
            (9, 0.35),
            (16, 0.04),
            (99, 0.04),
        ];
        for (items, width) in widths {
            let found = curve.half_width(items);
            assert!((found - width).abs() < 1e-12, "{items}: {found}");
        }
        let none = BoundedCurve::default();
        assert_eq!(
            (none.largest(), none.mean(), none.half_width(3)),
            (0.0, 0.0, 0.0)
        );
    }

    #[test]
    fn bounded_curve_round_trips_and_rejects_damage() {
        let text = serde_json::to_string(&curve()).unwrap();
        assert!(text.contains("[4,0.5,0.1]"), "{text}");
        assert_eq!(
            serde_json::from_str::<BoundedCurve>(&text).unwrap(),
            curve()
        );
        for bad in ["[4,1.5,0.1]", "[4,0.5,-0.1]", "[4,0.5]"] {
            let text = text.replace("[4,0.5,0.1]", bad);
            assert!(
                serde_json::from_str::<BoundedCurve>(&text).is_err(),
                "{bad}"
            );
        }
    }
}
