//! Numbers as people read them: digits in groups of three, percentages, and plurals; bytes as
//! digits.

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

/// Shown in place of a number that does not exist.
pub const DASH: &str = "—";

/// `part` of `total` in percent: `0 %` only if it is none, `100 %` only if it is all, `—` of
/// nothing.
pub fn percent(part: u64, total: u64) -> String {
    if total == 0 {
        return DASH.to_owned();
    }
    if part == 0 || part == total {
        return if part == 0 { "0 %" } else { "100 %" }.to_owned();
    }
    ratio_percent((part as f64 / total as f64).min(1.0 - f64::EPSILON))
}

/// A ratio in percent: `0 %` only if it is none, `100 %` only if it is all.
pub fn ratio_percent(ratio: f64) -> String {
    let value = ratio * 100.0;
    if !value.is_finite() {
        DASH.to_owned()
    } else if value == 0.0 || value == 100.0 {
        format!("{value:.0} %")
    } else if value > 0.0 && value < 0.01 {
        "<0.01 %".to_owned()
    } else if value > 99.99 && value < 100.0 {
        ">99.99 %".to_owned()
    } else if !(9.995..99.95).contains(&value) {
        format!("{value:.2} %")
    } else {
        format!("{value:.1} %")
    }
}

/// Bytes as hexadecimal digits, as build ids are written: `0a1f`.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Names that [`listed`] has before it counts the rest.
const LISTED: usize = 3;

/// Names in a sentence: `a`, `a and b`, `a, b and c`, `a, b, c and 2 more`.
pub fn listed(names: &[&str]) -> String {
    let (shown, last) = match names {
        [] => return String::new(),
        [name] => return (*name).to_owned(),
        [shown @ .., last] if names.len() <= LISTED => (shown, (*last).to_owned()),
        _ => (&names[..LISTED], format!("{} more", names.len() - LISTED)),
    };
    format!("{} and {last}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_has_two_digits_for_each_byte() {
        assert_eq!(hexadecimal(&[0x0a, 0, 0xff]), "0a00ff");
    }

    #[test]
    fn percent_is_0_or_100_only_if_exact() {
        let cases = [
            (0, 5, "0 %"),
            (5, 5, "100 %"),
            (0, 0, "—"),
            (1, 1_000_000, "<0.01 %"),
            (999_999, 1_000_000, ">99.99 %"),
            (9_996, 10_000, "99.96 %"),
            (1, 3, "33.3 %"),
            (1, 30, "3.33 %"),
            (u64::MAX - 1, u64::MAX, ">99.99 %"),
        ];
        for (part, total, text) in cases {
            assert_eq!(percent(part, total), text, "{part} of {total}");
        }
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

    #[test]
    fn names_beyond_the_third_are_counted() {
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b"]), "a and b");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
        assert_eq!(listed(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
    }
}
