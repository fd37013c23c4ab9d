//! [`LinearScale`]: an axis of equal steps, with places for values and labels for ticks.

use super::Unit;
use super::unit::label;

/// Steps that an axis has, about.
const STEPS: f64 = 4.0;

/// From one value to another, with a tick at each multiple of a round step; 0 is among them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinearScale {
    unit: Unit,
    step: f64,
    ends: (f64, f64),
}

impl LinearScale {
    /// The shortest axis of round steps that holds 0 and all of these, as far as they are finite.
    pub(super) fn around(unit: Unit, values: impl Iterator<Item = f64>) -> Self {
        let values = values.filter(|value| value.is_finite());
        let (least, most) = values.fold((0.0, 0.0), |(least, most): (f64, f64), value| {
            (least.min(value), most.max(value))
        });
        let range = if most > least { most - least } else { 1.0 };
        let rough = range / STEPS;
        let power = 10_f64.powf(rough.log10().floor());
        let round = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * power);
        // A number that is a step without rounding takes no larger one.
        let step = round.into_iter().find(|step| *step >= rough * 0.999);
        let step = step.unwrap_or(10.0 * power);
        let low = (least / step).floor();
        let high = (most / step).ceil().max(low + 1.0);
        LinearScale {
            unit,
            step,
            ends: (low * step, high * step),
        }
    }

    /// The same axis, which ends at the largest of these values: what is shown over time has
    /// nothing after it. Without a value above the low end it stays as it is.
    pub(super) fn up_to(self, values: impl Iterator<Item = f64>) -> Self {
        let most = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let (low, high) = self.ends;
        let high = if most > low { most } else { high };
        LinearScale {
            ends: (low, high),
            ..self
        }
    }

    /// The place of a value on an axis from one place to another.
    pub(super) fn place(self, value: f64, from: f64, to: f64) -> f64 {
        let (low, high) = self.ends;
        from + ((value - low) / (high - low)).clamp(0.0, 1.0) * (to - from)
    }

    /// Whether a value is on the axis.
    pub(super) fn holds(self, value: f64) -> bool {
        let (low, high) = self.ends;
        (low..=high).contains(&value)
    }

    /// The multiples of the step with their labels.
    pub(super) fn ticks(self) -> Vec<(f64, String)> {
        let (low, high) = self.ends;
        let first = (low / self.step).round() as i64;
        let ticks = (first..).map(|at| at as f64 * self.step);
        // Multiples of a step such as 0.1 are not exact: the last may be a little beyond the end.
        let ticks = ticks.take_while(|tick| *tick <= high * (1.0 + 1e-9) + self.step * 1e-9);
        ticks
            .map(|value| (value, label(self.unit, value)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(unit: Unit, values: &[f64]) -> Vec<String> {
        let scale = LinearScale::around(unit, values.iter().copied());
        scale.ticks().into_iter().map(|tick| tick.1).collect()
    }

    #[test]
    fn axes_have_zero_and_all_values() {
        let values = [-30.0, 70.0, f64::NAN];
        assert_eq!(
            ticks(Unit::Things, &values),
            ["-50", "-25", "0", "25", "50", "75"]
        );
        let scale = LinearScale::around(Unit::Things, values.into_iter());
        assert_eq!(scale.place(-50.0, 0.0, 10.0), 0.0);
        assert_eq!(scale.place(75.0, 0.0, 10.0), 10.0);
        assert!(scale.holds(0.0) && !scale.holds(80.0));
        let fitting = scale.up_to(values.into_iter());
        assert_eq!(fitting.place(70.0, 0.0, 12.0), 12.0);
        assert_eq!(fitting.ticks().len(), 5);
        assert_eq!(ticks(Unit::Things, &[0.0])[0], "0");
        assert_eq!(ticks(Unit::Things, &[])[0], "0");
    }

    #[test]
    fn labels_have_the_unit_of_the_axis() {
        assert_eq!(
            ticks(Unit::Share, &[0.8, 0.96]),
            ["0 %", "25 %", "50 %", "75 %", "100 %"]
        );
        assert_eq!(
            ticks(Unit::Nanoseconds, &[-900.0, 2_000.0]),
            ["-1 µs", "0 ns", "1 µs", "2 µs"]
        );
    }
}
