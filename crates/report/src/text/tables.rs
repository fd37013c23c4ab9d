//! Tables as text ([`rows`]), and the tables of [`summary`](super::summary) with the groups that
//! miss most.

use std::collections::HashMap;
use std::fmt::Write;

use reuselens_profile::{Dimension, Group, Grouping, Profile};
use reuselens_units::shown;

use super::TextOptions;
use super::paint::{Paint, TextStyle, heading, shorten_all, wrap};
use crate::caches::{self, Level};
use crate::numbers::{count, percent};
use crate::words;

/// A column of a table.
pub(crate) struct TextColumn {
    head: String,
    left: bool,
    /// It is never cut.
    is_whole: bool,
}

impl TextColumn {
    /// A column of words.
    pub(crate) fn left(head: &str) -> Self {
        TextColumn {
            head: head.to_owned(),
            left: true,
            is_whole: false,
        }
    }

    /// A column of numbers.
    pub(crate) fn right(head: &str) -> Self {
        TextColumn {
            head: head.to_owned(),
            left: false,
            is_whole: true,
        }
    }

    /// The same column, which is never cut: numbers among words would become others.
    pub(crate) fn whole(self) -> Self {
        TextColumn {
            is_whole: true,
            ..self
        }
    }
}

/// Columns between two columns of a table.
const GAP: usize = 2;
/// Columns that words of a table keep, however narrow the terminal is.
const LEAST: usize = 12;

/// Appends a table. Where it is wider than `width`, its columns of words are shortened, the widest
/// first; words that differ stay different. Control characters in cells are shown as escapes.
pub(crate) fn rows(
    out: &mut String,
    columns: &[TextColumn],
    cells: &[Vec<String>],
    width: usize,
    paint: Paint,
) {
    let safe = |row: &Vec<String>| row.iter().map(|cell| shown(cell).into_owned()).collect();
    let cells: Vec<Vec<String>> = cells.iter().map(safe).collect();
    let widths = widths(columns, &cells, width);
    let mut cells = cells;
    for (index, column) in columns.iter().enumerate() {
        if column.is_whole {
            continue;
        }
        let texts: Vec<String> = cells.iter().map(|row| cell(row, index)).collect();
        let short = shorten_all(&texts, widths[index].max(2));
        for (row, short) in cells.iter_mut().zip(short) {
            if let Some(cell) = row.get_mut(index) {
                *cell = short;
            }
        }
    }
    let line = |row: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        for (index, column) in columns.iter().enumerate() {
            let cell = row(index);
            let pad = " ".repeat(widths[index].saturating_sub(cell.chars().count()));
            let _ = if column.left {
                write!(text, "  {cell}{pad}")
            } else {
                write!(text, "  {pad}{cell}")
            };
        }
        text.trim_end().to_owned()
    };
    let _ = writeln!(
        out,
        "{}",
        paint.ink(TextStyle::Soft, &line(&|index| columns[index].head.clone()))
    );
    for cells in cells {
        let _ = writeln!(out, "{}", line(&|index| cell(&cells, index)));
    }
}

fn cell(row: &[String], index: usize) -> String {
    row.get(index).cloned().unwrap_or_default()
}

/// The widths of the columns of a table that has `width` columns of the terminal.
fn widths(columns: &[TextColumn], cells: &[Vec<String>], width: usize) -> Vec<usize> {
    let natural = |(index, column): (usize, &TextColumn)| {
        let cells = cells.iter().filter_map(|row| row.get(index));
        let lengths = cells.chain([&column.head]).map(|text| text.chars().count());
        lengths.max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = columns.iter().enumerate().map(natural).collect();
    let taken = widths.iter().map(|width| width + GAP).sum::<usize>();
    for _ in width..taken.max(width) {
        let words = (0..columns.len()).filter(|index| !columns[*index].is_whole);
        // The last of equally wide ones, since the first identifies the row.
        match words.max_by_key(|index| widths[*index]) {
            Some(widest) if widths[widest] > LEAST => widths[widest] -= 1,
            _ => break,
        }
    }
    widths
}

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
        "the program was analysed as a whole (--by program), which tells nothing apart; analyse it again without that"
    } else {
        "nothing is known of them here"
    };
    let tip = match unknown.contains(&Dimension::Path) && !profile.method.totals_only {
        true => {
            ". Paths are followed when a program is analysed: reuselens profile --by path,line -- PROGRAM"
        }
        false => "",
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
            let text = "No elements are told apart: name data structures with RecordData, or analyse with --elements.";
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
            TextColumn::right("misses"),
            TextColumn::right("share"),
            TextColumn::right("of its accesses"),
            TextColumn::left(by.name()),
        ];
        if by == Dimension::Line {
            columns.push(TextColumn::left("data"));
        }
        let threads = self.threads(by);
        if threads.is_some() {
            columns.insert(3, TextColumn::right("threads"));
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
        rows(out, &columns, &cells, self.width, self.paint);
        if all > groups.len() {
            let shown: u64 = groups
                .iter()
                .map(|(group, _)| group.misses(self.chosen.items))
                .sum();
            let rest = self.total.saturating_sub(shown);
            if rest == 0 {
                return;
            }
            let more = crate::numbers::noun((all - groups.len()) as u64, "other", "others");
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
