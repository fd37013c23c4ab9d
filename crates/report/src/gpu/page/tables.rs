//! Sections of the page that are a table.

use std::fmt::Write;

use crate::html::{StackedTable, page};

/// Rows of a table, at most.
pub(super) const ROWS: usize = 200;

/// A row of a table.
pub(super) struct TableRow {
    pub cells: Vec<String>,
    /// A line below the cells, as wide as the table; empty for none.
    pub below: String,
}

impl From<Vec<String>> for TableRow {
    fn from(cells: Vec<String>) -> TableRow {
        TableRow {
            cells,
            below: String::new(),
        }
    }
}

/// Appends a section with a table of at most [`ROWS`] rows. `about` are its id, title and
/// explanation. The columns of `words` are set at the left, those of numbers at the right.
pub(super) fn section<R: Into<TableRow>>(
    out: &mut String,
    about: (&str, &str, &str),
    heads: &[&str],
    mut rows: Vec<R>,
    words: &[usize],
) {
    let left = rows.len().saturating_sub(ROWS);
    rows.truncate(ROWS);
    let left = (left > 0).then(|| format!("{left} more are in the JSON."));
    noted_section(out, about, heads, rows, words, left);
}

/// As [`section`], of any number of rows, with a note on what the table leaves out.
pub(super) fn noted_section<R: Into<TableRow>>(
    out: &mut String,
    (id, title, explain): (&str, &str, &str),
    heads: &[&str],
    rows: Vec<R>,
    words: &[usize],
    left: Option<String>,
) {
    page::picture(out, id, title, explain, |out| {
        write(out, heads, rows, words);
        if let Some(left) = left {
            let _ = write!(out, "<p class=\"more\">{left}</p>");
        }
    });
}

fn write<R: Into<TableRow>>(out: &mut String, heads: &[&str], rows: Vec<R>, words: &[usize]) {
    let columns = heads.iter().enumerate();
    let columns = columns.map(|(at, head)| (words.contains(&at), *head));
    let table = StackedTable::begin(out, columns);
    for row in rows {
        let row: TableRow = row.into();
        table.row(out, row.cells.iter().map(String::as_str), "", &row.below);
    }
    table.end(out);
}
