//! Formats numbers for remarks: counts with thousands separators, shares in percent.

pub use reuselens_units::grouped as count;

/// A part of a total in percent, with two digits after the point; a text if the total is 0.
pub fn share(part: u64, total: u64) -> String {
    if total == 0 {
        return "nothing to record".to_owned();
    }
    format!("{:.2} %", part as f64 * 100.0 / total as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_has_two_digits_and_no_division_by_zero() {
        assert_eq!(share(1, 8), "12.50 %");
        assert_eq!(share(0, 0), "nothing to record");
    }
}
