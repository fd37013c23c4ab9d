//! [`CauseTable`]: a table about causes, in whatever format it is shown; and what such tables name.

use reuselens_locality::{Causes, Dimension, MissScope, Profile, ScopeKind, ShortPaths};

use crate::html::{escape, table};
use crate::text::{Paint, TextColumn, heading, rows};

/// A table about causes.
pub(super) struct CauseTable {
    /// What it shows, as a heading.
    pub title: &'static str,
    /// How to read it.
    pub explain: &'static str,
    /// The heads of its columns, those of numbers first.
    pub numbers: &'static [&'static str],
    /// The heads of its columns of words.
    pub words: &'static [&'static str],
    /// The cells, the row that matters most first.
    pub rows: Vec<Vec<String>>,
}

/// Rows of a table in a summary.
const TEXT_ROWS: usize = 5;
/// Rows of a table on a page.
const PAGE_ROWS: usize = 100;

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
        if self.rows.len() > shown {
            out.push_str(&format!("  {} others\n", self.rows.len() - shown));
        }
    }

    /// Appends the table with its heading to a section of a page; nothing without rows.
    pub fn write_page(&self, out: &mut String) {
        if self.rows.is_empty() {
            return;
        }
        out.push_str(&format!(
            "<h3>{}</h3><p class=\"explain\">{}</p>",
            escape(self.title),
            escape(self.explain)
        ));
        // Words come first on a page, where a narrow screen shows the left part of a table.
        let words_first = |row: &[String]| {
            let (numbers, words) = row.split_at(self.numbers.len().min(row.len()));
            words.iter().chain(numbers).cloned().collect::<Vec<_>>()
        };
        let heads = self.words.iter().chain(self.numbers);
        let heads = heads.map(|head| (*head).to_owned()).collect();
        let shown = self.rows.iter().take(PAGE_ROWS);
        let shown = shown.map(|row| words_first(row)).collect();
        let words: Vec<usize> = (0..self.words.len()).collect();
        table(out, &(heads, shown), &words);
        if self.rows.len() > PAGE_ROWS {
            let more = self.rows.len() - PAGE_ROWS;
            out.push_str(&format!(
                "<p class=\"more\">{more} more are in the JSON (<code>--json</code>).</p>"
            ));
        }
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

    /// The field of an object's elements at an offset; nothing if the type is not known.
    pub fn field(&self, object: u32, offset: Option<u32>) -> Option<&'a str> {
        let (offset, causes) = (u64::from(offset?), self.causes);
        let mut elements = causes.elements.iter();
        let elements = elements.find(|it| it.object == object)?;
        let layout = causes.layouts.get(elements.layout? as usize)?;
        let mut fields = layout.fields.iter();
        let field = fields.find(|it| it.offset <= offset && offset - it.offset < it.bytes)?;
        Some(&field.name)
    }

    /// A loop or function: `the loop at matmul.c:35`.
    pub fn scope(&self, scope: &MissScope) -> String {
        let frame = &scope.frame;
        let place = match frame.line {
            0 => format!("{}+{:#x}", scope.place.module, scope.place.offset),
            line => format!("{}:{line}", self.paths.shorten(&frame.file)),
        };
        match (scope.kind, frame.function.as_str()) {
            (ScopeKind::Thread, _) => "the thread".to_owned(),
            (ScopeKind::Loop, _) => format!("the loop at {place}"),
            (ScopeKind::Function, "") => format!("the function at {place}"),
            (ScopeKind::Function, name) => format!("the function {name}"),
        }
    }
}
