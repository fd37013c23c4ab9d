//! Sections of the page that are a table. On a wide page a table has its columns; on a narrow one
//! each row is a block of its own, in which every number has its name: nothing is cut.

use std::fmt::Write;

use crate::html::{escape, page};

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
    let class = |at: usize| match words.contains(&at) {
        true => "words",
        false => "num",
    };
    out.push_str("<div class=\"scroll\"><table class=\"stacks\"><thead><tr>");
    for (at, head) in heads.iter().enumerate() {
        let _ = write!(out, "<th class=\"{}\">{}</th>", class(at), escape(head));
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        let row: TableRow = row.into();
        out.push_str(match row.below.is_empty() {
            true => "<tr>",
            false => "<tr class=\"over\">",
        });
        for (at, (cell, head)) in row.cells.iter().zip(heads).enumerate() {
            let (class, head, cell) = (class(at), escape(head), escape(cell));
            let _ = write!(
                out,
                "<td class=\"{class}\" data-head=\"{head}\">{cell}</td>"
            );
        }
        out.push_str("</tr>");
        if !row.below.is_empty() {
            let (columns, below) = (heads.len(), escape(&row.below));
            let _ = write!(
                out,
                "<tr class=\"below\"><td colspan=\"{columns}\">{below}</td></tr>"
            );
        }
    }
    out.push_str("</tbody></table></div>");
}
