//! Sections of the page that are a table.

use reuselens_document::html::page;
use reuselens_document::{Table, TableColumn, TableRow};

/// Rows of a table, at most.
pub(super) const ROWS: usize = 200;

/// Appends a section with a table of at most [`ROWS`] rows. `about` are its id, title and
/// explanation, which is HTML. The columns of `words` hold words, the others numbers.
pub(super) fn section<R: Into<TableRow>>(
    out: &mut String,
    about: (&str, &str, &str),
    heads: &[&str],
    rows: Vec<R>,
    words: &[usize],
) {
    let table = Table::new(TableColumn::all(heads, words), rows);
    let table = table.first(ROWS, |more| format!("{more} more are in the JSON."));
    table_section(out, about, &table);
}

/// As [`section`], with a table as it is.
pub(super) fn table_section(
    out: &mut String,
    (id, title, explain): (&str, &str, &str),
    table: &Table,
) {
    page::card(out, id, title, explain, |out| table.write_html(out));
}
