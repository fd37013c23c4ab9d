//! A logarithmic axis.

/// From one power of ten to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    low: i32,
    high: i32,
}

impl Scale {
    /// The shortest axis between powers of ten that holds all of these, as far as they are above zero.
    pub(super) fn around(values: impl Iterator<Item = f64>) -> Self {
        let logs = values.filter(|value| is_shown(*value)).map(f64::log10);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for log in logs {
            low = low.min(log);
            high = high.max(log);
        }
        if low > high {
            return Scale { low: 0, high: 1 };
        }
        // Of a number that is a power of ten but for rounding.
        let low = (low + 1e-9).floor() as i32;
        let high = ((high - 1e-9).ceil() as i32).max(low + 1);
        Scale { low, high }
    }

    /// Where a value lies between two places.
    pub(super) fn place(self, value: f64, from: f64, to: f64) -> f64 {
        let share = (value.log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        from + share.clamp(0.0, 1.0) * (to - from)
    }

    /// Whether a value lies on the axis.
    pub(super) fn holds(self, value: f64) -> bool {
        let log = value.log10();
        (f64::from(self.low)..=f64::from(self.high)).contains(&log)
    }

    /// The powers of ten, at most about a dozen, with their labels.
    pub(super) fn ticks(self) -> Vec<(f64, String)> {
        let step = ((self.high - self.low) / 12 + 1) as usize;
        (self.low..=self.high)
            .step_by(step)
            .map(|power| (10_f64.powi(power), label(power)))
            .collect()
    }
}

/// Whether a number has a place on the axis.
pub(super) fn is_shown(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// `0.01`, `1`, `100`, `10 k`, `1 M`.
fn label(power: i32) -> String {
    const UNITS: [&str; 7] = ["", " k", " M", " G", " T", " P", " E"];
    if power < 0 {
        return format!("{:.*}", power.unsigned_abs() as usize, 10_f64.powi(power));
    }
    match UNITS.get(power as usize / 3) {
        Some(unit) => format!("{}{unit}", 10_u32.pow(power as u32 % 3)),
        None => format!("1e{power}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_powers_of_ten() {
        let scale = Scale::around([0.02, 3.0, 1000.0, 0.0, f64::NAN].into_iter());
        assert_eq!(scale, Scale { low: -2, high: 3 });
        assert_eq!(
            (scale.place(0.01, 0.0, 10.0), scale.place(1e3, 0.0, 10.0)),
            (0.0, 10.0)
        );
        assert_eq!(scale.place(1e9, 0.0, 10.0), 10.0);
        assert_eq!(Scale::around([5.0].into_iter()), Scale { low: 0, high: 1 });
        assert_eq!(
            Scale::around([100.0].into_iter()),
            Scale { low: 2, high: 3 }
        );
        assert_eq!(Scale::around([].into_iter()), Scale { low: 0, high: 1 });
        let labels: Vec<String> = scale.ticks().into_iter().map(|tick| tick.1).collect();
        assert_eq!(labels, ["0.01", "0.1", "1", "10", "100", "1 k"]);
        assert_eq!(label(30), "1e30");
    }
}
