//! Numbers as people read them.

pub use reuselens_units::grouped as count;

/// A part in percent, with two digits after the point.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "nothing to record".to_owned();
    }
    format!("{:.2} %", part as f64 * 100.0 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        assert_eq!(share(1, 8), "12.50 %");
        assert_eq!(share(0, 0), "nothing to record");
    }
}
