//! [`Axis`]: where the values of a chart are between its lower and its upper edge.

use super::chart::Line;

/// How heights grow with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Each line of the grid is ten times the one below. Values that are not above 0 have no point.
    Logarithmic,
    /// Equal steps, with 0 on a line of the grid.
    Linear,
}

/// The vertical axis of a chart.
#[derive(Clone, Debug)]
pub struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    /// The values with a line of the grid, from the lowest to the highest.
    pub ticks: Vec<f64>,
}

impl Axis {
    /// An axis with all values of the lines; nothing if there are none.
    pub fn of(scale: Scale, lines: &[Line]) -> Option<Self> {
        let values = lines.iter().flat_map(|line| &line.values);
        let values = values.copied().filter(|value| shows(scale, *value));
        let (least, most) = values.fold(
            (f64::INFINITY, f64::NEG_INFINITY),
            |(least, most), value| (least.min(value), most.max(value)),
        );
        if least > most {
            return None;
        }
        let ticks = match scale {
            Scale::Logarithmic => powers(least, most),
            Scale::Linear => steps(least, most),
        };
        let (low, high) = (*ticks.first()?, *ticks.last()?);
        Some(Self {
            scale,
            low,
            high,
            ticks,
        })
    }

    /// The place of a value: 0 is the lower edge, 1 the upper one. Nothing if it has no point.
    pub fn height(&self, value: f64) -> Option<f64> {
        let place = |value: f64| match self.scale {
            Scale::Logarithmic => value.log10(),
            Scale::Linear => value,
        };
        let (low, high) = (place(self.low), place(self.high));
        shows(self.scale, value).then(|| (place(value) - low) / (high - low))
    }

    /// Whether the axis crosses 0 between its edges.
    pub fn is_zero(&self, tick: f64) -> bool {
        self.scale == Scale::Linear && tick == 0.0 && self.low < 0.0
    }
}

/// Whether a value has a point.
pub fn shows(scale: Scale, value: f64) -> bool {
    value.is_finite() && (scale == Scale::Linear || value > 0.0)
}

/// The powers of ten around two values.
fn powers(least: f64, most: f64) -> Vec<f64> {
    let (low, high) = (least.log10().floor() as i32, most.log10().ceil() as i32);
    let high = high.max(low + 1);
    (low..=high).map(|power| 10_f64.powi(power)).collect()
}

/// Round values around 0 and two values, in about four equal steps.
fn steps(least: f64, most: f64) -> Vec<f64> {
    let (least, most) = (least.min(0.0), most.max(0.0));
    let range = if most > least { most - least } else { 1.0 };
    let rough = range / 4.0;
    let power = 10_f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter();
    let step = round
        .map(|factor| factor * power)
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(10.0 * power);
    let low = (least / step).floor() as i64;
    let high = ((most / step).ceil() as i64).max(low + 1);
    (low..=high).map(|at| at as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale, values: &[f64]) -> Axis {
        Axis::of(scale, &[Line::new("", values.to_vec())]).unwrap()
    }

    #[test]
    fn linear_axis_has_zero_and_all_values() {
        let all = axis(Scale::Linear, &[-30.0, 70.0, f64::NAN]);
        assert_eq!(all.ticks, [-50.0, -25.0, 0.0, 25.0, 50.0, 75.0]);
        assert_eq!(
            (all.height(-50.0), all.height(75.0)),
            (Some(0.0), Some(1.0))
        );
        assert_eq!(all.height(f64::NAN), None);
        assert!(all.is_zero(0.0) && !all.is_zero(25.0));
        assert_eq!(axis(Scale::Linear, &[0.0]).ticks[0], 0.0);
        assert_eq!(
            axis(Scale::Linear, &[80.0, 96.0]).ticks,
            [0.0, 25.0, 50.0, 75.0, 100.0]
        );
    }

    #[test]
    fn logarithmic_axis_has_powers_and_no_point_for_zero() {
        let axis = axis(Scale::Logarithmic, &[0.0, 30.0, 2000.0]);
        assert_eq!(axis.ticks, [10.0, 100.0, 1000.0, 10_000.0]);
        assert_eq!(axis.height(0.0), None);
        assert!((axis.height(100.0).unwrap() - 1.0 / 3.0).abs() < 1e-9);
        let empty = [Line::new("", vec![0.0])];
        assert!(Axis::of(Scale::Logarithmic, &empty).is_none());
    }
}
