//! [`LogScale`]: a logarithmic axis, with places for values and labels for ticks.

use reuselens_units::Bytes;

use super::{Unit, unit};

/// Ticks at most: of things about a dozen, of bytes as many as their longer labels leave room for.
const TICKS: (i32, i32) = (12, 9);

/// From one power of the base of a unit to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LogScale {
    unit: Unit,
    low: i32,
    high: i32,
}

impl LogScale {
    /// The shortest axis between powers of the unit's base (ten, or two for bytes) that holds all
    /// of these, as far as they are above zero.
    pub(super) fn around(unit: Unit, values: impl Iterator<Item = f64>) -> Self {
        let logs = values
            .filter(|value| is_shown(*value))
            .map(|value| log(unit, value));
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for log in logs {
            low = low.min(log);
            high = high.max(log);
        }
        let (low, high) = if low <= high {
            // For a number that would be a power of the base without rounding.
            ((low + 1e-9).floor() as i32, (high - 1e-9).ceil() as i32)
        } else {
            (0, 1)
        };
        let high = high.max(low + 1);
        LogScale { unit, low, high }
    }

    /// The place of a value on an axis from one place to another.
    pub(super) fn place(self, value: f64, from: f64, to: f64) -> f64 {
        let share = (log(self.unit, value) - f64::from(self.low)) / f64::from(self.high - self.low);
        from + share.clamp(0.0, 1.0) * (to - from)
    }

    /// Whether a value is on the axis.
    pub(super) fn holds(self, value: f64) -> bool {
        (f64::from(self.low)..=f64::from(self.high)).contains(&log(self.unit, value))
    }

    /// Powers of the base with their labels, evenly spaced and not more than there is room for.
    pub(super) fn ticks(self) -> Vec<(f64, String)> {
        let most = match self.unit {
            Unit::Bytes => TICKS.1,
            Unit::Things | Unit::Nanoseconds | Unit::Share => TICKS.0,
        };
        let step = ((self.high - self.low) / most + 1) as usize;
        let powers = (self.low..=self.high).step_by(step);
        match self.unit {
            Unit::Bytes => powers
                .map(|power| (2_f64.powi(power), bytes_label(power)))
                .collect(),
            Unit::Nanoseconds | Unit::Share => powers
                .map(|power| 10_f64.powi(power))
                .map(|value| (value, unit::label(self.unit, value)))
                .collect(),
            // Two ticks alone would leave an axis empty.
            Unit::Things if self.high == self.low + 1 => [1, 2, 5, 10]
                .map(|digit| {
                    (
                        f64::from(digit) * 10_f64.powi(self.low),
                        label(digit, self.low),
                    )
                })
                .into(),
            Unit::Things => powers
                .map(|power| (10_f64.powi(power), label(1, power)))
                .collect(),
        }
    }
}

/// The logarithm to the base of a unit.
fn log(unit: Unit, value: f64) -> f64 {
    match unit {
        Unit::Bytes => value.log2(),
        Unit::Things | Unit::Nanoseconds | Unit::Share => value.log10(),
    }
}

/// Whether a number has a place on the axis.
pub(super) fn is_shown(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// A digit times a power of ten, or ten times: `0.01`, `1`, `200`, `10 k`, `5 M`.
fn label(digit: u32, power: i32) -> String {
    const UNITS: [&str; 7] = ["", " k", " M", " G", " T", " P", " E"];
    if digit == 10 {
        return label(1, power + 1);
    }
    if power < 0 {
        let decimals = power.unsigned_abs() as usize;
        return format!("{:.decimals$}", f64::from(digit) * 10_f64.powi(power));
    }
    match UNITS.get(power as usize / 3) {
        Some(unit) => format!("{}{unit}", digit * 10_u32.pow(power as u32 % 3)),
        None => format!("{digit}e{power}"),
    }
}

/// `64 B`, `32 KiB`, `8 MiB`.
fn bytes_label(power: i32) -> String {
    match u32::try_from(power)
        .ok()
        .and_then(|power| 1_u64.checked_shl(power))
    {
        Some(bytes) => Bytes(bytes).to_string(),
        None => format!("2^{power} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_things(values: &[f64]) -> LogScale {
        LogScale::around(Unit::Things, values.iter().copied())
    }

    #[test]
    fn axes_end_at_powers_of_ten() {
        let things = |low, high| LogScale {
            unit: Unit::Things,
            low,
            high,
        };
        let scale = of_things(&[0.02, 3.0, 1000.0, 0.0, f64::NAN]);
        assert_eq!(scale, things(-2, 3));
        assert_eq!(
            (scale.place(0.01, 0.0, 10.0), scale.place(1e3, 0.0, 10.0)),
            (0.0, 10.0)
        );
        assert_eq!(scale.place(1e9, 0.0, 10.0), 10.0);
        assert_eq!(of_things(&[5.0]), things(0, 1));
        assert_eq!(of_things(&[100.0]), things(2, 3));
        assert_eq!(of_things(&[]), things(0, 1));
        let labels: Vec<String> = scale.ticks().into_iter().map(|tick| tick.1).collect();
        assert_eq!(labels, ["0.01", "0.1", "1", "10", "100", "1 k"]);
        assert_eq!(label(1, 30), "1e30");
        let decade: Vec<String> = of_things(&[15.0, 90.0])
            .ticks()
            .into_iter()
            .map(|tick| tick.1)
            .collect();
        assert_eq!(decade, ["10", "20", "50", "100"]);
    }

    #[test]
    fn axes_of_bytes_end_at_powers_of_two() {
        let bytes = |values: &[f64]| LogScale::around(Unit::Bytes, values.iter().copied());
        let scale = bytes(&[64.0, 3_000_000.0]);
        assert_eq!((scale.low, scale.high), (6, 22));
        assert_eq!(scale.place(64.0, 0.0, 16.0), 0.0);
        assert_eq!(scale.place(32768.0, 0.0, 16.0), 9.0);
        let labels: Vec<String> = scale.ticks().into_iter().map(|tick| tick.1).collect();
        let expected = [
            "64 B", "256 B", "1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB",
        ];
        assert_eq!(labels, expected);
        let wide = bytes(&[1.0, 1e30]).ticks();
        assert!(wide.len() <= 10 && wide.iter().all(|tick| tick.0 >= 1.0));
    }
}
