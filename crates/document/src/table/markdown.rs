//! Tables in Markdown (GitHub's).

use std::fmt::Write;

use super::{Holds, Table, TableColumn};
use crate::markdown::{code_in_cell, plain, prose};

impl Table {
    /// Appends the table in Markdown, names first and as code; the signs of other texts mean
    /// nothing. Cost: linear in the cells.
    pub fn write_markdown(&self, out: &mut String) {
        if self.columns.is_empty() {
            return;
        }
        let order = self.order_of_pages();
        let columns = || order.iter().map(|&at| &self.columns[at]);
        let heads: Vec<String> = columns().map(|it| plain(&it.head)).collect();
        let _ = writeln!(out, "| {} |", heads.join(" | "));
        let rule = |column: &TableColumn| {
            if column.is_of_numbers() {
                "---:|"
            } else {
                "---|"
            }
        };
        let rules: String = columns().map(rule).collect();
        let _ = writeln!(out, "|{rules}");
        for row in &self.rows {
            let cells = order.iter().zip(columns());
            let cells = cells.map(|(&at, column)| cell(column, row.cell(at)));
            let _ = writeln!(out, "| {} |", cells.collect::<Vec<_>>().join(" | "));
        }
        if !self.left_out.is_empty() {
            let _ = writeln!(out, "\n{}", prose(&self.left_out));
        }
    }
}

/// A cell without the spaces of terminals: two of them are between a count and its share, which is
/// put in parentheses.
fn cell(column: &TableColumn, text: &str) -> String {
    if column.holds == Holds::Names {
        return code_in_cell(text);
    }
    let trimmed = text.trim();
    match trimmed.split_once("  ") {
        Some((count, share)) => plain(&format!("{count} ({})", share.trim_start())),
        None => plain(trimmed),
    }
}
