//! Numbers as people read them: digits in groups of three, and plurals; bytes as digits.

/// A count in full, in groups of three: `1,234,567`.
pub fn grouped(value: u64) -> String {
    grouped_wide(value.into())
}

/// [`grouped`] for sums that may be larger.
pub fn grouped_wide(value: u128) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count and what is counted: `1 row`, `2,000 rows`.
pub fn counted(value: u64, one: &str, many: &str) -> String {
    let what = if value == 1 { one } else { many };
    format!("{} {what}", grouped(value))
}

/// Bytes as hexadecimal digits, as build ids are written: `0a1f`.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_has_two_digits_for_each_byte() {
        assert_eq!(hexadecimal(&[0x0a, 0, 0xff]), "0a00ff");
    }

    #[test]
    fn numbers_are_grouped_and_nouns_pluralised() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(123_456), "123,456");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert!(grouped_wide(u128::MAX).starts_with("340,282,366,"));
        assert_eq!(counted(0, "row", "rows"), "0 rows");
        assert_eq!(counted(1, "row", "rows"), "1 row");
        assert_eq!(counted(1000, "row", "rows"), "1,000 rows");
    }
}
