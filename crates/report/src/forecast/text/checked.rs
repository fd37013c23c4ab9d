//! The part of [`forecast`](super::forecast) about a run that the prediction is compared with.

use std::fmt::Write;

use reuselens_document::numbers::{count, ratio_percent};
use reuselens_predict::{Check, are_near};

use super::{ForecastView, about, interval, short_name};
use crate::caches;
use crate::forecast::tables::ranking_words;

impl ForecastView<'_> {
    pub(super) fn check(&self, out: &mut String) {
        let Some((name, seen, check)) = self.forecast.observed else {
            return;
        };
        self.title(
            out,
            &format!(
                "Compared with {name} ({})",
                caches::size(
                    check.size.round() as u64,
                    self.forecast.prediction.granularity
                )
            ),
        );
        let groups = &check.groups;
        let _ = writeln!(
            out,
            "  accesses: {} predicted, {} observed",
            interval(&self.forecast.prediction.program.accesses, about),
            count(seen.histogram.accesses())
        );
        let _ = writeln!(
            out,
            "  whole program: accuracy {} (1 − ½·Σ|a − b| over log2 bins)\n  miss-ratio curve: mean absolute error {}\n  \
             by {}: {} of accesses covered, {} of those correct in every bin (the published measure, strict), {} with mean distances within a tenth\n  {}\n  intervals: {} of {} miss ratios and {} of {} mean \
             distances lie in theirs",
            ratio_percent(check.accuracy),
            ratio_percent(check.curve_error),
            self.forecast.by,
            ratio_percent(groups.coverage()),
            ratio_percent(groups.accuracy()),
            ratio_percent(groups.nearness()),
            ranking_words(self.forecast, check),
            check.intervals.1,
            check.intervals.0,
            groups.intervals.1,
            groups.intervals.0,
        );
        self.wrong(out, check);
        let never: u64 = check.never_seen.iter().map(|(_, accesses)| accesses).sum();
        if never > 0 {
            let accesses = check.groups.accesses.max(never) as f64;
            let _ = writeln!(
                out,
                "  {} {}s that no training run took ({} of accesses)",
                check.never_seen.len(),
                self.forecast.by,
                ratio_percent(never as f64 / accesses)
            );
        }
    }

    /// Which groups were wrong, and how.
    fn wrong(&self, out: &mut String, check: &Check) {
        let all = check.groups.accesses.max(1) as f64;
        for wrong in check.wrong.iter().take(self.forecast.top.min(3)) {
            let how = match wrong.first() {
                None => format!(
                    "{} patterns, and {} predicted",
                    wrong.observed.len(),
                    wrong.predicted.len()
                ),
                Some(at) => {
                    let [seen, expected] = [wrong.observed[at], wrong.predicted[at]]
                        .map(|one| format!("{} to {}", count(one.min), count(one.max)));
                    format!("a pattern at {seen}, predicted at {expected}")
                }
            };
            let share = ratio_percent(wrong.accesses as f64 / all);
            let name = short_name(&wrong.name);
            let near = if are_near(&wrong.predicted, &wrong.observed) {
                "; all mean distances are within a tenth"
            } else {
                ""
            };
            let _ = writeln!(out, "  wrong: {name} ({share} of accesses), {how}{near}");
        }
    }
}
