//! Words that the evidence of several rules shares.

/// A share in percent, with three significant digits; `—` of nothing.
pub(crate) fn per_cent(part: u64, all: u64) -> String {
    match all {
        0 => "—".to_owned(),
        all => share_words(part as f64 / all as f64),
    }
}

/// A share from 0 to 1 in percent, with three significant digits.
pub(crate) fn share_words(share: f64) -> String {
    match 100.0 * share {
        share if share >= 99.95 => format!("{share:.0} %"),
        share if share >= 10.0 => format!("{share:.1} %"),
        share => format!("{share:.2} %"),
    }
}
