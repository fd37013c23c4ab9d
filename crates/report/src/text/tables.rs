//! The tables of [`summary`](super::summary) with the groups that miss most.

use std::collections::HashMap;
use std::fmt::Write;

use reuselens_document::numbers::{count, percent};
use reuselens_document::terminal::{Paint, TextStyle, heading, wrap};
use reuselens_document::{Table, TableColumn};
use reuselens_profile::{Dimension, Group, Grouping, Profile};

use super::TextOptions;
use crate::caches::{self, Level};
use crate::words;

/// Appends a table for each dimension asked for, of the groups of most misses in the chosen cache.
/// A table whose only row would be what is unknown is replaced by a remark.
pub(crate) fn misses(
    out: &mut String,
    grouping: &Grouping,
    options: &TextOptions,
    chosen: &Level,
    width: usize,
    paint: Paint,
) {
    let profile = grouping.profile();
    let total = profile.histogram.misses(chosen.items);
    let ranking = match chosen.conflicted(profile) {
        Some(_) => "; ranked as fully associative",
        None => "",
    };
    let reason = caches::reason(profile, options.cache, chosen);
    let mut reason = format!("({reason}{ranking})");
    let (known, unknown): (Vec<Dimension>, Vec<Dimension>) =
        options.by.iter().partition(|by| grouping.has_names(**by));
    for by in &known {
        let title = format!("Most misses in {} by {by}", chosen.label());
        heading(out, &title, &reason, width, paint);
        reason.clear();
        let table = TextTable {
            profile,
            grouping,
            chosen,
            total,
            top: options.top,
            width,
            paint,
        };
        table.write(out, *by);
    }
    if unknown.is_empty() {
        return;
    }
    // The misses are in no table then, unless this is a cache of the machine.
    if known.is_empty() && chosen.name.is_none() {
        let line = format!(
            "Misses in {} {reason}: {}, {} of the accesses.",
            chosen.label(),
            count(total),
            percent(total, profile.histogram.accesses())
        );
        let _ = writeln!(out, "\n{}", wrap(&line, width, 0));
    }
    let text = no_table(profile, &unknown);
    let _ = writeln!(
        out,
        "\n{}",
        paint.ink(TextStyle::Soft, &wrap(&text, width, 0))
    );
}

/// Why these dimensions have no table.
fn no_table(profile: &Profile, unknown: &[Dimension]) -> String {
    let names: Vec<String> = unknown.iter().map(|by| format!("{by}s")).collect();
    let why = if profile.method.totals_only {
        "the program was analysed as a whole (--by program), which breaks nothing down; analyse it again without that"
    } else {
        "nothing is known of them here"
    };
    let tip = if unknown.contains(&Dimension::Path) && !profile.method.totals_only {
        ". Paths are followed when a program is analysed: reuselens profile --by path,line -- PROGRAM"
    } else {
        ""
    };
    format!("No table of {}: {why}{tip}.", names.join(", "))
}

/// Beginning of the names of groups that were kept together for want of room: `(other objects)`.
const TOGETHER: &str = "(other ";

struct TextTable<'a> {
    profile: &'a Profile,
    grouping: &'a Grouping<'a>,
    chosen: &'a Level,
    total: u64,
    top: usize,
    width: usize,
    paint: Paint,
}

impl TextTable<'_> {
    fn write(&self, out: &mut String, by: Dimension) {
        let mut groups = self.groups(by);
        if by == Dimension::Element && groups.iter().all(|(group, _)| group.name.starts_with('(')) {
            let text = "No elements are known: name data structures with RecordData, or analyse with --elements.";
            let text = wrap(text, self.width, 2);
            let _ = writeln!(out, "  {}", self.paint.ink(TextStyle::Soft, &text));
        }
        groups.sort_by_cached_key(|(group, _)| std::cmp::Reverse(group.misses(self.chosen.items)));
        let all = groups.len();
        // What was kept together for want of room is no hottest row: it comes after the named ones.
        let (together, mut groups): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|(group, _)| group.name.starts_with(TOGETHER));
        groups.truncate(self.top);
        groups.extend(together);
        groups.retain(|(group, _)| group.misses(self.chosen.items) > 0);
        let mut columns = vec![
            TableColumn::numbers("misses"),
            TableColumn::numbers("share"),
            TableColumn::numbers("of its accesses"),
            TableColumn::words(by.name()),
        ];
        if by == Dimension::Line {
            columns.push(TableColumn::words("data"));
        }
        let threads = self.threads(by);
        if threads.is_some() {
            columns.insert(3, TableColumn::numbers("threads"));
        }
        let cells: Vec<Vec<String>> = groups
            .iter()
            .map(|(group, object)| {
                let mut cells = self.cells(group, object);
                if let Some(threads) = &threads {
                    let here = threads.get(&group.name).copied().unwrap_or(0);
                    cells.insert(3, count(here));
                }
                cells
            })
            .collect();
        Table::new(columns, cells).write_text(out, self.width, self.paint);
        if all > groups.len() {
            let shown: u64 = groups
                .iter()
                .map(|(group, _)| group.misses(self.chosen.items))
                .sum();
            let rest = self.total.saturating_sub(shown);
            if rest == 0 {
                return;
            }
            let more =
                reuselens_document::numbers::noun((all - groups.len()) as u64, "other", "others");
            let line = format!(
                "  {more} with {} misses together ({})",
                count(rest),
                percent(rest, self.total)
            );
            let _ = writeln!(out, "{}", self.paint.ink(TextStyle::Soft, &line));
        }
    }

    /// How many threads accessed each object, if objects are shown and there are several threads.
    fn threads(&self, by: Dimension) -> Option<HashMap<String, u64>> {
        if by != Dimension::Object || self.profile.threads.len() < 2 {
            return None;
        }
        let mut threads = HashMap::new();
        for pair in self.grouping.cross(by, Dimension::Thread) {
            *threads.entry(pair.group.name).or_insert(0) += 1;
        }
        Some(threads)
    }

    /// The groups, each with its main object if they are lines.
    fn groups(&self, by: Dimension) -> Vec<(&Group, &str)> {
        match by {
            Dimension::Line => {
                let cross = self.grouping.lines_and_objects().iter();
                cross.map(|cross| (&cross.group, &*cross.name)).collect()
            }
            _ => {
                let groups = self.grouping.groups(by).iter();
                groups.map(|group| (group, "")).collect()
            }
        }
    }

    fn cells(&self, group: &Group, object: &str) -> Vec<String> {
        let misses = group.misses(self.chosen.items);
        let name = if object.is_empty() {
            words::group(group.by, &group.name).to_owned()
        } else {
            group.name.clone()
        };
        vec![
            count(misses),
            percent(misses.min(self.total), self.total),
            percent(misses, group.accesses),
            name,
            object.to_owned(),
        ]
    }
}
