//! Numbers as people read them.

/// Digits in groups of three.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part in percent, with two digits behind the point.
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
    fn groups_of_three_and_shares() {
        assert_eq!(count(0), "0");
        assert_eq!(count(123_456), "123,456");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(share(1, 8), "12.50 %");
        assert_eq!(share(0, 0), "nothing to record");
    }
}
