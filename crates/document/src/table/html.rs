//! Tables on pages. On a narrow one each row is a block of its own, in which every cell has the
//! name of its column: nothing is cut.

use std::fmt::Write;

use super::{Table, TableColumn, TableRow};
use crate::html::escape;

impl Table {
    /// Appends the table as HTML, names first. Cost: linear in the cells.
    pub fn write_html(&self, out: &mut String) {
        if self.columns.is_empty() {
            return;
        }
        let order = self.order_of_pages();
        out.push_str("<div class=\"scroll\"><table class=\"stacks\"><thead><tr>");
        for &at in &order {
            let column = &self.columns[at];
            let (class, head) = (class(column), escape(&column.head));
            let _ = write!(out, "<th scope=\"col\" class=\"{class}\">{head}</th>");
        }
        out.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            self.write_html_row(out, &order, row);
        }
        out.push_str("</tbody></table></div>");
        if !self.left_out.is_empty() {
            let left_out = crate::html::with_code(&self.left_out);
            let _ = write!(out, "<p class=\"more\">{left_out}</p>");
        }
    }

    fn write_html_row(&self, out: &mut String, order: &[usize], row: &TableRow) {
        let below = escape(&row.below);
        out.push_str(if below.is_empty() {
            "<tr>"
        } else {
            "<tr class=\"over\">"
        });
        let mut swatch = row.series;
        for &at in order {
            let column = &self.columns[at];
            let (class, head) = (class(column), escape(&column.head));
            let _ = write!(out, "<td class=\"{class}\" data-head=\"{head}\">");
            if let Some(series) = swatch.take() {
                let _ = write!(out, "<i class=\"swatch v{series}\"></i>");
            }
            let _ = write!(out, "{}</td>", escape(row.cell(at)));
        }
        out.push_str("</tr>");
        if !below.is_empty() {
            let columns = order.len();
            let _ = write!(
                out,
                "<tr class=\"below\"><td colspan=\"{columns}\">{below}</td></tr>"
            );
        }
    }
}

/// The class of the style sheet for the cells of a column.
fn class(column: &TableColumn) -> &'static str {
    if column.is_of_numbers() {
        "num"
    } else {
        "words"
    }
}
