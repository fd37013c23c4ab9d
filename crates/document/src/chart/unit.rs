//! How ticks of each [`Unit`] are written.

use reuselens_units::{Bytes, grouped};

use super::Unit;

/// A round number of a unit: `0.5`, `12,000`, `25 %`, `-1 µs`, `32 KiB`.
pub(super) fn label(unit: Unit, value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    let size = value.abs();
    match unit {
        Unit::Things if size >= 10.0 => format!("{sign}{}", grouped(size.round() as u64)),
        Unit::Things => format!("{sign}{}", decimals(size)),
        Unit::Share => format!("{sign}{} %", decimals(100.0 * size)),
        Unit::Nanoseconds => format!("{sign}{}", time(size)),
        Unit::Bytes => format!("{sign}{}", Bytes(size.round() as u64)),
    }
}

/// A number with three decimals at most.
fn decimals(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A time in the largest unit of which it has one at least.
fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        _ if nanoseconds >= 1e9 => (nanoseconds / 1e9, "s"),
        _ if nanoseconds >= 1e6 => (nanoseconds / 1e6, "ms"),
        _ if nanoseconds >= 1e3 => (nanoseconds / 1e3, "µs"),
        _ => (nanoseconds, "ns"),
    };
    format!("{} {unit}", decimals(value))
}
