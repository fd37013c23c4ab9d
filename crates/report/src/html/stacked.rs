//! [`StackedTable`]: a table that has columns on a wide page. On a narrow one, each row is a block
//! of its own, in which every cell has the name of its column: nothing is cut.

use std::fmt::Write;

use super::escape;

/// A table in the making.
pub(crate) struct StackedTable<'a> {
    /// The columns: a class, `words` or `num`, and the head.
    columns: Vec<(&'static str, &'a str)>,
}

impl<'a> StackedTable<'a> {
    /// Appends the begin of a table with these columns, each of which has words or numbers.
    pub fn begin(out: &mut String, columns: impl IntoIterator<Item = (bool, &'a str)>) -> Self {
        let class = |has_words| if has_words { "words" } else { "num" };
        let columns = columns.into_iter();
        let columns: Vec<_> = columns.map(|(words, head)| (class(words), head)).collect();
        out.push_str("<div class=\"scroll\"><table class=\"stacks\"><thead><tr>");
        for (class, head) in &columns {
            let _ = write!(out, "<th class=\"{class}\">{}</th>", escape(head));
        }
        out.push_str("</tr></thead><tbody>");
        StackedTable { columns }
    }

    /// Appends a row with these texts. `mark` is HTML before the first one, and `below` a text as
    /// wide as the table; both may be empty.
    pub fn row<'c>(
        &self,
        out: &mut String,
        cells: impl IntoIterator<Item = &'c str>,
        mark: &str,
        below: &str,
    ) {
        out.push_str(match below.is_empty() {
            true => "<tr>",
            false => "<tr class=\"over\">",
        });
        let mut mark = mark;
        for (cell, (class, head)) in cells.into_iter().zip(&self.columns) {
            let (head, cell) = (escape(head), escape(cell));
            let mark = std::mem::take(&mut mark);
            let _ = write!(
                out,
                "<td class=\"{class}\" data-head=\"{head}\">{mark}{cell}</td>"
            );
        }
        out.push_str("</tr>");
        if !below.is_empty() {
            let (columns, below) = (self.columns.len(), escape(below));
            let _ = write!(
                out,
                "<tr class=\"below\"><td colspan=\"{columns}\">{below}</td></tr>"
            );
        }
    }

    /// Appends the end.
    pub fn end(self, out: &mut String) {
        out.push_str("</tbody></table></div>");
    }
}
