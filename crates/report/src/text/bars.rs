//! The histogram of [`summary`](super::summary), as bars of characters.

use std::fmt::Write;

use reuselens_document::numbers::percent;
use reuselens_document::terminal::{Paint, TextStyle, wrap};
use reuselens_locality::Log2Histogram;
use reuselens_profile::Profile;

use crate::caches::{self, Level};
use crate::words;

/// Columns of the label of a bar, at least: numbers of ids take more than sizes in bytes.
const LABEL: usize = 19;

/// A bar of `share` (0 to 1) of `width` columns, in eighths of a column; at least one eighth for a
/// share above 0.
fn bar(share: f64, width: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    let mut out = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        out.push(['▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8 - 1]);
    }
    out
}

/// Appends the histogram over log2 bins, with a line where each cache ends.
pub(crate) fn histogram(
    out: &mut String,
    profile: &Profile,
    levels: &[Level],
    width: usize,
    paint: Paint,
) {
    let log2 = profile.histogram.log2();
    let accesses = log2.accesses();
    let most = log2
        .iter()
        .map(|(_, _, count)| count)
        .max()
        .unwrap_or(0)
        .max(log2.cold());
    let cold = words::cold(profile);
    let bins = bins(&log2, profile);
    let column = column(&bins, &cold);
    let room = width.saturating_sub(column + 12).clamp(10, 60);
    let first = levels.first().map_or(u64::MAX, |level| level.items);
    let title = paint.ink(TextStyle::Strong, words::histogram(profile));
    let _ = writeln!(out, "\n{title}");
    let mut pending: Vec<&Level> = levels.iter().rev().collect();
    let line = |out: &mut String, label: &str, count: u64, ink: TextStyle| {
        let bar = bar(count as f64 / most.max(1) as f64, room);
        let pad = " ".repeat(room - bar.chars().count());
        let _ = writeln!(
            out,
            "{label:>column$} {}{pad} {:>8}",
            paint.ink(ink, &bar),
            percent(count, accesses)
        );
    };
    for (low, label, count) in bins {
        // A cache that ends inside a bin is marked below it.
        while let Some(level) = pending.last().filter(|level| level.items <= low) {
            mark(out, level, column, room, paint);
            pending.pop();
        }
        if count == 0 {
            continue;
        }
        let ink = if low >= first {
            TextStyle::Miss
        } else {
            TextStyle::Hit
        };
        line(out, &label, count, ink);
    }
    while let Some(level) = pending.pop() {
        mark(out, level, column, room, paint);
    }
    line(out, &cold, profile.first_touches(), TextStyle::Cold);
    if let Some(lost) = profile.invalidations() {
        line(out, words::INVALIDATED, lost, TextStyle::Cold);
    }
    order_guess(out, profile, width, paint);
}

/// Appends up to which distance the order between threads is a guess, where it matters.
fn order_guess(out: &mut String, profile: &Profile, width: usize, paint: Paint) {
    if let Some(guess) = words::order_guess(profile) {
        let _ = writeln!(
            out,
            "{}",
            paint.ink(TextStyle::Soft, &wrap(&guess, width, 0))
        );
    }
}

/// The bins up to the largest distance: where each begins, what it is called, and its accesses.
fn bins(log2: &Log2Histogram, profile: &Profile) -> Vec<(u64, String, u64)> {
    (0..=log2.top().unwrap_or(0))
        .map(|bin| (Log2Histogram::range(bin), log2.count(bin)))
        .map(|((low, high), count)| (low, label(low, high, profile), count))
        .collect()
}

/// Columns of the labels of the bars that are shown, so that all bars begin in one column.
fn column(bins: &[(u64, String, u64)], cold: &str) -> usize {
    let shown = bins.iter().filter(|(_, _, count)| *count > 0);
    let labels = shown.map(|(_, label, _)| label.as_str()).chain([cold]);
    let longest = labels.map(|label| label.chars().count()).max();
    longest.unwrap_or(0).max(LABEL)
}

/// `4 KiB – 8 KiB`: the cache sizes between which an access of this bin begins to hit.
fn label(low: u64, high: u64, profile: &Profile) -> String {
    if high == 0 {
        return "nothing else".to_owned();
    }
    let granularity = profile.granularity;
    format!(
        "{} – {}",
        caches::size(low, granularity),
        caches::size(high.saturating_add(1), granularity)
    )
}

fn mark(out: &mut String, level: &Level, column: usize, room: usize, paint: Paint) {
    let words = format!("{} ends here ({})", level.short(), level.size);
    let rule = "─".repeat((room + 9).saturating_sub(words.chars().count() + 1));
    let _ = writeln!(
        out,
        "{} {}",
        " ".repeat(column),
        paint.ink(TextStyle::Soft, &format!("{rule} {words}"))
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_end_in_eighths_of_a_character() {
        assert_eq!(bar(1.0, 3), "███");
        assert_eq!(bar(0.5, 3), "█▌");
        assert_eq!(bar(1e-9, 3), "▏");
        assert_eq!(bar(0.0, 3), "");
    }
}
