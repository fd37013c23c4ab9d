//! Words that the evidence of several rules shares.

use reuselens_locality::Frame;

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

/// A place in the source for people: `matmul.c:35`; the function without a line, or nothing.
pub(crate) fn line_name(frame: &Frame) -> Option<String> {
    let file = frame.file.rsplit('/').next().unwrap_or_default();
    match (file, frame.line) {
        ("", _) | (_, 0) => (!frame.function.is_empty()).then(|| frame.function.clone()),
        (file, line) => Some(format!("{file}:{line}")),
    }
}

/// A sum of counts. Beyond 64 bits, as those of a damaged profile can be, it saturates.
pub(crate) fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}
