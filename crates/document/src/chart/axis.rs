//! [`Axis`]: where values are between the ends of an axis, whatever its scale.

use super::linear_scale::LinearScale;
use super::log_scale::LogScale;
use super::{AxisScale, ChartAxis};

/// An axis that holds given values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Axis {
    Logarithmic(LogScale),
    Linear(LinearScale),
}

impl Axis {
    /// An axis with all of these values, as far as they [have a place](ChartAxis::shows).
    pub(super) fn around(axis: &ChartAxis, values: impl Iterator<Item = f64>) -> Self {
        match axis.scale {
            AxisScale::Logarithmic => Axis::Logarithmic(LogScale::around(axis.unit, values)),
            AxisScale::Linear => Axis::Linear(LinearScale::around(axis.unit, values)),
        }
    }

    /// The same axis, drawn horizontally: a linear one ends with the largest of these values.
    pub(super) fn across(self, values: impl Iterator<Item = f64>) -> Self {
        match self {
            Axis::Logarithmic(_) => self,
            Axis::Linear(scale) => Axis::Linear(scale.up_to(values)),
        }
    }

    /// Whether a value is between the ends.
    pub(super) fn holds(self, value: f64) -> bool {
        match self {
            Axis::Logarithmic(scale) => scale.holds(value),
            Axis::Linear(scale) => scale.holds(value),
        }
    }

    /// The place of a value on an axis from one place to another.
    pub(super) fn place(self, value: f64, from: f64, to: f64) -> f64 {
        match self {
            Axis::Logarithmic(scale) => scale.place(value, from, to),
            Axis::Linear(scale) => scale.place(value, from, to),
        }
    }

    /// Round values with their labels, evenly spaced and not more than there is room for.
    pub(super) fn ticks(self) -> Vec<(f64, String)> {
        match self {
            Axis::Logarithmic(scale) => scale.ticks(),
            Axis::Linear(scale) => scale.ticks(),
        }
    }
}
