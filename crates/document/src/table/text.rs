//! Tables on a terminal.

use std::fmt::Write;

use reuselens_units::shown;

use super::{Table, TableColumn};
use crate::terminal::{Paint, TextStyle, shorten_all};

/// Columns of a terminal between two columns of a table.
const GAP: usize = 2;
/// Columns of a terminal that words keep, however narrow it is.
const LEAST: usize = 12;

impl Table {
    /// Appends the table as text. Where it is wider than `width`, its columns of words are
    /// shortened, the widest first; words that differ stay different. Control characters in cells
    /// are shown as escapes. Cost: linear in the cells, but for those that are cut: these are
    /// sorted.
    pub fn write_text(&self, out: &mut String, width: usize, paint: Paint) {
        let with_room = self.columns.iter().enumerate();
        let with_room = with_room.filter(|(_, column)| !column.on_pages_only);
        let cells = |at: usize| {
            self.rows
                .iter()
                .map(move |row| shown(row.cell(at)).into_owned())
        };
        let mut columns: Vec<TextColumn<'_>> = with_room
            .map(|(at, column)| TextColumn {
                column,
                cells: cells(at).collect(),
                width: 0,
            })
            .collect();
        if columns.is_empty() {
            return;
        }
        fit(&mut columns, width);
        for column in &mut columns {
            if column.column.is_cut() {
                column.cells = shorten_all(&column.cells, column.width.max(2));
            }
        }
        let heads = columns.iter().map(|it| (it, it.column.head.as_str()));
        let heads = paint.ink(TextStyle::Soft, &line(heads));
        let _ = writeln!(out, "{heads}");
        for row in 0..self.rows.len() {
            let cells = columns.iter().map(|it| (it, it.cells[row].as_str()));
            let _ = writeln!(out, "{}", line(cells));
        }
        if !self.left_out.is_empty() {
            let _ = writeln!(out, "  {}", shown(&self.left_out));
        }
    }
}

/// A column in the making.
struct TextColumn<'a> {
    column: &'a TableColumn,
    cells: Vec<String>,
    width: usize,
}

/// Gives columns their widths in a table that has `width` columns of the terminal.
fn fit(columns: &mut [TextColumn<'_>], width: usize) {
    for it in columns.iter_mut() {
        let texts = it.cells.iter().chain([&it.column.head]);
        let lengths = texts.map(|text| text.chars().count());
        it.width = lengths.max().unwrap_or(0);
    }
    let taken: usize = columns.iter().map(|it| it.width + GAP).sum();
    // One letter at a time, from the widest, so that columns that lose any end equally wide.
    for _ in width..taken {
        let words = columns.iter_mut();
        let words = words.filter(|it| it.column.is_cut());
        // The last of equally wide ones, since the first identifies the row.
        match words.max_by_key(|it| it.width) {
            Some(widest) if widest.width > LEAST => widest.width -= 1,
            _ => break,
        }
    }
}

/// A line of a table, from the cell of each column.
fn line<'a>(cells: impl Iterator<Item = (&'a TextColumn<'a>, &'a str)>) -> String {
    let mut line = String::new();
    for (column, cell) in cells {
        let pad = " ".repeat(column.width.saturating_sub(cell.chars().count()));
        let _ = if column.column.is_of_numbers() {
            write!(line, "{:GAP$}{pad}{cell}", "")
        } else {
            write!(line, "{:GAP$}{cell}{pad}", "")
        };
    }
    line.trim_end().to_owned()
}
