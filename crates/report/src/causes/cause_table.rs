//! [`CauseTable`]: a table about causes, which a summary and a page show; and [`CauseNames`], the
//! names of what its rows refer to by number.

use std::fmt::Write;

use reuselens_locality::total;
use reuselens_profile::{Causes, Dimension, MissScope, Profile, SharedEnd, ShortPaths};

use crate::html::{StackedTable, escape, with_code};
use crate::numbers::noun;
use crate::text::{Paint, TextColumn, heading, rows};

/// A table about causes.
pub(super) struct CauseTable {
    /// What it shows, as a heading.
    pub title: &'static str,
    /// How to read it.
    pub explain: &'static str,
    /// The heads of its columns of numbers, which come first.
    pub numbers: &'static [&'static str],
    /// The heads of its columns of words.
    pub words: &'static [&'static str],
    /// The cells of each row, the row that matters most first.
    pub rows: Vec<Vec<String>>,
    /// The number of rows that are too small to be shown.
    pub small: usize,
}

/// A row is shown if it has at least one in this many of what all rows count: the dynamic loader
/// alone has a hundred rows of a few misses.
const LEAST_SHARE: u64 = 1000;

/// Splits rows, which are in falling order of `count`, into those to show and the number of those
/// that are too small.
pub(super) fn noticeable<R>(mut rows: Vec<R>, count: impl Fn(&R) -> u64) -> (Vec<R>, usize) {
    let all = total(rows.iter().map(&count));
    let is_shown = |row: &R| count(row).saturating_mul(LEAST_SHARE) >= all;
    let shown = rows.iter().take_while(|row| is_shown(row)).count();
    let small = rows.split_off(shown).len();
    (rows, small)
}

/// Rows of a table in a summary.
const TEXT_ROWS: usize = 5;
/// Rows of a table on a page.
const PAGE_ROWS: usize = 100;

/// Appends to a table of a summary how many rows it leaves out, if any.
pub(super) fn write_others(out: &mut String, others: usize) {
    if others > 0 {
        let _ = writeln!(out, "  {others} others");
    }
}

/// Appends to a table of a page how many more rows the JSON has, if any.
pub(super) fn write_more(out: &mut String, more: usize) {
    if more > 0 {
        let more = noun(more as u64, "more row is", "more rows are");
        let _ = write!(
            out,
            "<p class=\"more\">{more} in the JSON (<code>--json</code>).</p>"
        );
    }
}

impl CauseTable {
    /// Appends the first rows as text; nothing without rows.
    pub fn write_text(&self, out: &mut String, width: usize, paint: Paint) {
        if self.rows.is_empty() {
            return;
        }
        heading(out, self.title, "", width, paint);
        let numbers = self.numbers.iter().map(|head| TextColumn::right(head));
        let words = self.words.iter().map(|head| TextColumn::left(head));
        let columns: Vec<TextColumn> = numbers.chain(words).collect();
        let shown = self.rows.len().min(TEXT_ROWS);
        rows(out, &columns, &self.rows[..shown], width, paint);
        write_others(out, self.rows.len() - shown + self.small);
    }

    /// Appends the table with its heading as a card of a page; nothing without rows.
    pub fn write_page(&self, out: &mut String) {
        if self.rows.is_empty() {
            return;
        }
        let _ = write!(
            out,
            "<div class=\"card below\"><h3 class=\"first\">{}</h3><p class=\"explain\">{}</p>",
            escape(self.title),
            with_code(self.explain)
        );
        self.write_rows(out, |_| None);
        write_more(out, self.rows.len().saturating_sub(PAGE_ROWS) + self.small);
        out.push_str("</div>");
    }

    /// Appends the table alone. Columns of words come first, so that the blocks that rows become on
    /// a narrow page begin with them. `series` is the colour of a row, if it has one.
    pub fn write_rows(&self, out: &mut String, series: impl Fn(usize) -> Option<usize>) {
        let words = self.words.iter().map(|head| (true, *head));
        let numbers = self.numbers.iter().map(|head| (false, *head));
        let table = StackedTable::begin(out, words.chain(numbers));
        for (at, row) in self.rows.iter().take(PAGE_ROWS).enumerate() {
            let (numbers, words) = row.split_at(self.numbers.len().min(row.len()));
            let swatch = match series(at) {
                Some(series) => format!("<i class=\"swatch v{series}\"></i>"),
                None => String::new(),
            };
            let cells = words.iter().chain(numbers).map(String::as_str);
            table.row(out, cells, &swatch, "");
        }
        table.end(out);
    }
}

/// The names of what causes refer to by number.
pub(super) struct CauseNames<'a> {
    profile: &'a Profile,
    causes: &'a Causes,
    lines: Vec<String>,
    paths: ShortPaths<'a>,
}

impl<'a> CauseNames<'a> {
    /// The names of a profile; `None` if it has no causes. Cost: linear in its sites.
    pub fn of(profile: &'a Profile) -> Option<Self> {
        Some(CauseNames {
            profile,
            causes: profile.causes.as_ref()?,
            lines: profile.entry_names(Dimension::Line),
            paths: ShortPaths::new(profile),
        })
    }

    /// The profile.
    pub fn profile(&self) -> &'a Profile {
        self.profile
    }

    /// Its causes.
    pub fn causes(&self) -> &'a Causes {
        self.causes
    }

    /// The line of a site.
    pub fn line(&self, site: u32) -> &str {
        let name = self.lines.get(site as usize);
        name.map_or("(unknown line)", String::as_str)
    }

    /// An object.
    pub fn object(&self, object: u32) -> &'a str {
        let object = self.profile.objects.get(object as usize);
        match object.map_or("", |object| &object.name) {
            "" => "(unknown object)",
            name => name,
        }
    }

    /// The field that one side of a pair accesses; nothing if it is not known.
    pub fn field(&self, end: &SharedEnd) -> Option<&'a str> {
        let (_, field) = self.causes.field(end.object, end.offset?)?;
        Some(&field.name)
    }

    /// The words of a loop or function: `the loop at matmul.c:35`.
    pub fn scope(&self, scope: &MissScope) -> String {
        scope.words(&self.paths)
    }
}
