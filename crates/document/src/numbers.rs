//! Numbers as all reports write them: counts, percentages, changes, means.

pub use reuselens_units::DASH;
pub use reuselens_units::{grouped, percent, ratio_percent};

/// A count with three significant digits and a unit: `1,234`, `12.3 k`, `1.23 M`, `4.56 G`. Below
/// ten thousand it is exact.
pub fn count(value: u64) -> String {
    if value < 10_000 {
        return grouped(value);
    }
    let units = ["k", "M", "G", "T", "P", "E"];
    let mut unit = 0;
    let mut scaled = value as f64 / 1000.0;
    while scaled >= 999.5 && unit + 1 < units.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    let decimals = if scaled >= 99.95 {
        0
    } else if scaled >= 9.995 {
        1
    } else {
        2
    };
    format!("{scaled:.decimals$} {}", units[unit])
}

/// A value as text, or a dash where there is none.
pub fn or_dash<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| DASH.to_owned(), text)
}

/// A count, or a dash where there is none.
pub fn count_or_dash(value: Option<u64>) -> String {
    or_dash(value, count)
}

/// A change in percent with its sign: `+86 %`, `−56 %`, `±0 %`; `from none` if there was nothing
/// before.
pub fn change(before: u64, after: u64) -> String {
    if before == after {
        return "±0 %".to_owned();
    }
    if before == 0 {
        return "from none".to_owned();
    }
    if after == 0 {
        return "−100 %".to_owned();
    }
    let value = (after as f64 - before as f64) / before as f64 * 100.0;
    let (sign, size) = if value < 0.0 {
        ('−', -value)
    } else {
        ('+', value)
    };
    if size >= 1000.0 {
        format!("×{}", significant(after as f64 / before as f64))
    } else if size < 0.01 {
        format!("{sign}<0.01 %")
    } else if sign == '−' && size > 99.99 {
        "−>99.99 %".to_owned()
    } else {
        format!("{sign}{} %", significant(size))
    }
}

/// A mean or a factor: three significant digits, grouped when large.
pub fn significant(value: f64) -> String {
    if !value.is_finite() {
        DASH.to_owned()
    } else if value >= 10_000.0 {
        count(value.round() as u64)
    } else if value >= 999.5 {
        grouped(value.round() as u64)
    } else if value >= 99.95 {
        format!("{value:.0}")
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// `1 access`, `2 accesses`: a count with its noun.
pub fn noun(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(value), if value == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_keep_three_digits() {
        let cases = [
            (0, "0"),
            (1234, "1,234"),
            (9999, "9,999"),
            (10_000, "10.0 k"),
            (12_345, "12.3 k"),
            (99_999, "100 k"),
            (999_499, "999 k"),
            (999_500, "1.00 M"),
            (1_234_567, "1.23 M"),
            (u64::MAX, "18.4 E"),
        ];
        for (value, text) in cases {
            assert_eq!(count(value), text);
        }
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn changes_have_a_sign() {
        assert_eq!(change(100, 44), "−56.0 %");
        assert_eq!(change(100, 186), "+86.0 %");
        assert_eq!(change(0, 3), "from none");
        assert_eq!(change(3, 0), "−100 %");
        assert_eq!(change(7, 7), "±0 %");
        assert_eq!(change(1, 1_001), "×1,001");
    }
}
