//! Sections of the page that are a table.

use reuselens_document::Table;
use reuselens_document::html::page;

/// Rows of a table, at most.
pub(super) const ROWS: usize = 200;

/// A section of the page.
pub(super) struct About<'a> {
    /// What links to it name.
    pub id: &'a str,
    pub title: &'a str,
    /// How to read it, as HTML.
    pub explain: &'a str,
}

/// As [`section`], or nothing if the table has no rows.
pub(super) fn section_if_any(out: &mut String, about: &About<'_>, table: Table) {
    if !table.rows.is_empty() {
        section(out, about, table);
    }
}

/// Appends a section with the first [`ROWS`] rows of a table.
pub(super) fn section(out: &mut String, about: &About<'_>, table: Table) {
    let table = table.first(ROWS, |more| format!("{more} more are in the JSON."));
    section_as_it_is(out, about, &table);
}

/// As [`section`], with a table as it is.
pub(super) fn section_as_it_is(out: &mut String, about: &About<'_>, table: &Table) {
    page::card(out, about.id, about.title, about.explain, |out| {
        table.write_html(out);
    });
}
