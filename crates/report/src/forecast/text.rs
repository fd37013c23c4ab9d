//! [`forecast`]: a prediction as text for a terminal.

mod checked;

use std::fmt::Write;

use reuselens_document::numbers::{count, ratio_percent};
use reuselens_document::terminal::{Paint, TextStyle, wrap};
use reuselens_document::{Table, TableColumn};
use reuselens_predict::{Estimate, GroupForecast, GroupMisses};

use super::Forecast;
use super::lines::{Others, growth, with_doubt};
use super::tables::{cache_table, sums_table, sums_words, unpredictable_table};
use crate::text::warnings;
use crate::words;

/// The prediction as text for a terminal: misses in the caches of the machine, with intervals, and
/// the lines that they are of; what cannot be predicted; how good it was, if there is something to
/// compare with. Ends with a line break.
pub fn forecast(forecast: &Forecast) -> String {
    let view = ForecastView {
        forecast,
        paint: Paint::new(forecast.color),
        width: forecast.width.max(60),
    };
    let mut out = String::new();
    view.head(&mut out);
    view.caches(&mut out);
    view.groups(&mut out);
    view.sums(&mut out);
    view.unpredictable(&mut out);
    view.check(&mut out);
    out
}

struct ForecastView<'a> {
    forecast: &'a Forecast<'a>,
    paint: Paint,
    width: usize,
}

/// A number with its interval.
pub(super) fn interval(estimate: &Estimate, write: impl Fn(f64) -> String) -> String {
    let ends = [estimate.low, estimate.high].map(&write);
    let value = write(estimate.value);
    if ends[0] == value && ends[1] == value {
        return value;
    }
    format!("{value} ({} – {})", ends[0], ends[1])
}

/// A count that need not be an integer.
pub(super) fn about(value: f64) -> String {
    count(value.round().max(0.0) as u64)
}

impl ForecastView<'_> {
    fn title(&self, out: &mut String, text: &str) {
        let _ = writeln!(out, "\n{}", self.paint.ink(TextStyle::Strong, text));
    }

    fn size(&self, items: f64) -> String {
        self.forecast.size(items)
    }

    fn soft(&self, out: &mut String, text: &str) {
        let text = wrap(text, self.width, 0);
        let _ = writeln!(out, "{}", self.paint.ink(TextStyle::Soft, &text));
    }

    fn head(&self, out: &mut String) {
        let prediction = self.forecast.prediction;
        let last = self.forecast.by_size().last();
        let command = last.map_or(String::new(), |(_, profile, _)| words::command(profile));
        let unit = if prediction.given {
            ", in the unit of --sizes"
        } else {
            ""
        };
        let text = format!("Predicted for data of {}{unit}", self.size(prediction.size));
        let _ = writeln!(out, "{}", self.paint.ink(TextStyle::Strong, &text));
        let runs = self.forecast.by_size();
        let runs: Vec<String> = runs
            .map(|(name, _, size)| format!("{name} ({})", self.size(size)))
            .collect();
        self.soft(
            out,
            &format!("from {}; the largest is {command}", runs.join(", ")),
        );
        if prediction.fixed > 0.0 {
            let fixed = self.size(prediction.fixed);
            let text = format!(
                "{fixed} of each do not grow, and are left out of s: the start of the program, tables, libraries"
            );
            self.soft(out, &text);
        }
        // Warnings come before the numbers that they are about.
        warnings(out, &prediction.warnings, self.width, self.paint);
        let program = &prediction.program;
        let (accesses, cold) = (
            interval(&program.accesses, about),
            interval(&program.cold, about),
        );
        let _ = writeln!(
            out,
            "\n{accesses} accesses to {cold} distinct {}",
            words::items(prediction.granularity)
        );
        let shapes = program.shapes();
        let parts = shapes
            .iter()
            .map(|(shape, groups)| format!("{:.1} % {}", *groups as f64 / 10.0, shape.name()));
        let parts: Vec<String> = parts.collect();
        let _ = writeln!(
            out,
            "Distances grow with the data s as: {}",
            parts.join(", ")
        );
        self.soft(
            out,
            &format!("Intervals: {}.", prediction.intervals.describe()),
        );
    }

    fn caches(&self, out: &mut String) {
        let caches = &self.forecast.prediction.caches;
        if caches.is_empty() {
            return;
        }
        self.title(out, "What will miss in this machine's caches (LRU model)");
        cache_table(self.forecast).write_text(out, self.width, self.paint);
    }

    fn groups(&self, out: &mut String) {
        let prediction = self.forecast.prediction;
        let Some(cache) = prediction.caches.first() else {
            return;
        };
        let lines = self.forecast.lines(self.forecast.top);
        if lines.shown.is_empty() {
            return;
        }
        self.title(
            out,
            &format!("Most misses in {} by {}", cache.name, self.forecast.by),
        );
        let froms: Vec<String> = match self.forecast.observed {
            Some(_) => ["observed", "accesses", "observed"]
                .map(str::to_owned)
                .into(),
            None => {
                let leaves = prediction
                    .caches
                    .iter()
                    .map(|cache| format!("leaves {} at", short(&cache.name)));
                std::iter::once("of its accesses".to_owned())
                    .chain(leaves)
                    .collect()
            }
        };
        let mut columns = vec![TableColumn::numbers("misses")];
        columns.extend(froms.iter().map(TableColumn::numbers));
        columns.extend([
            TableColumn::numbers("patterns"),
            TableColumn::words(self.forecast.by),
        ]);
        let shown = lines.shown.iter();
        let mut cells: Vec<Vec<String>> = shown
            .map(|(group, misses)| match self.forecast.observed {
                Some(_) => self.compared(group, misses),
                None => self.group(group, misses),
            })
            .collect();
        cells.extend(self.others(&lines.others));
        Table::new(columns, cells).write_text(out, self.width, self.paint);
        self.soft(out, match self.forecast.observed {
            Some(_) => "predicted beside observed; the size at which a line leaves each cache is shown without --check",
            None => "leaves … at: the size of the data at which half of one of its patterns (rare ones too, down to 1 in 10,000 reuses) misses; \"already\" on the largest training run, \"beyond any\" machine's memory. Constant distances never leave: where such a line does, it is by what grows among its rare reuses (rare: …)",
        });
        if lines.shown.iter().any(|(group, _)| group.patterns.is_err()) {
            self.soft(out, "?: not predictable; so many if it misses as often as in the largest training run, and more where its data outgrow a cache on the way");
        }
    }

    /// A row of predicted and observed numbers.
    fn compared(&self, group: &GroupForecast, misses: &[GroupMisses]) -> Vec<String> {
        let seen = self.forecast.seen(group);
        let seen_misses = seen.and_then(|seen| seen.misses.first());
        vec![
            misses.first().map_or("0".to_owned(), with_doubt),
            about(seen_misses.copied().unwrap_or(0.0)),
            about(group.accesses.value),
            count(seen.map_or(0, |seen| seen.accesses)),
            growth(group),
            short_name(&group.name),
        ]
    }

    /// The row of the groups without one of their own; `None` if there are none.
    fn others(&self, others: &Others) -> Option<Vec<String>> {
        let first = others.misses.first().copied().unwrap_or(0);
        let mut row = vec![count(first)];
        match self.forecast.observed {
            Some(_) => row.extend([
                about(others.seen.misses.first().copied().unwrap_or(0.0)),
                about(others.accesses),
                count(others.seen.accesses),
            ]),
            None => {
                row.push(ratio_percent(
                    (first as f64 / others.accesses.max(1.0)).min(1.0),
                ));
                row.extend(
                    self.forecast
                        .prediction
                        .caches
                        .iter()
                        .map(|_| String::new()),
                );
            }
        }
        row.extend([String::new(), self.forecast.more(others)]);
        (others.number > 0).then_some(row)
    }

    /// The sums of the groups, beside the prediction of the program.
    fn sums(&self, out: &mut String) {
        let by = self.forecast.by;
        if self.forecast.prediction.groups.is_empty() {
            return;
        }
        self.title(
            out,
            &format!("All {by}s together, beside the whole program"),
        );
        sums_table(self.forecast).write_text(out, self.width, self.paint);
        self.soft(out, &sums_words(self.forecast));
    }

    fn group(&self, group: &GroupForecast, misses: &[GroupMisses]) -> Vec<String> {
        let accesses = group.accesses.value.max(1.0);
        let first = misses.first().map_or(0, GroupMisses::likely);
        let ratio = ratio_percent((first as f64 / accesses).min(1.0));
        let predicted = group.patterns.is_ok();
        let mut row = vec![
            misses.first().map_or("0".to_owned(), with_doubt),
            if predicted {
                ratio
            } else {
                format!("{ratio} ?")
            },
        ];
        let largest = self
            .forecast
            .prediction
            .training
            .last()
            .map_or(0.0, |(_, size)| *size);
        row.extend(misses.iter().map(|misses| match misses.misses_from {
            None if !predicted => "?".to_owned(),
            None => "never".to_owned(),
            Some(size) if size <= largest => "already".to_owned(),
            Some(size) if size.is_infinite() => "beyond any".to_owned(),
            Some(size) => self.size(size),
        }));
        row.push(growth(group));
        row.push(short_name(&group.name));
        row
    }

    fn unpredictable(&self, out: &mut String) {
        let prediction = self.forecast.prediction;
        let table = unpredictable_table(self.forecast);
        if table.rows.is_empty() {
            return;
        }
        let by = self.forecast.by;
        let text = format!(
            "Cannot be predicted: {} of {} {by}s",
            table.rows.len(),
            prediction.groups.len()
        );
        self.title(out, &text);
        let table = table.first(self.forecast.top, |more| format!("{more} others"));
        table.write_text(out, self.width, self.paint);
    }
}

/// `L1d` of `L1d 48 KiB 12-way`.
pub(super) fn short(name: &str) -> &str {
    name.split(' ').next().unwrap_or(name)
}

/// The last two parts of a path.
pub(super) fn short_name(name: &str) -> String {
    let parts: Vec<&str> = name.rsplitn(3, '/').take(2).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}
