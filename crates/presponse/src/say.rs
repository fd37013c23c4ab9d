//! Prints text of commands. Control characters in it are shown as escapes, since names of files and
//! lines of clients come from anywhere; line breaks stay. [`bytes`] and [`stdout`] are for bytes as
//! they are.

use reuselens_document::Table;
use reuselens_document::terminal::Paint;
pub use reuselens_io::console::{bytes, stdout};
pub use reuselens_io::{say, tell};

/// A table as wide as it is, without colours. It begins at the left edge, as all that commands
/// print; the last line has no line break.
pub fn text_table(table: &Table) -> String {
    let mut text = String::new();
    table.write_text(&mut text, usize::MAX, Paint::new(false));
    let indented = text.lines();
    let lines = indented.map(|line| line.strip_prefix("  ").unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use reuselens_document::TableColumn;

    use super::*;

    #[test]
    fn tables_begin_at_the_left_edge() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let columns = TableColumn::all(&["", "p50", "n"], &[0]);
        let rows = [row(["a", "1 µs", "12,345"]), row(["longer", "–", ""])];
        assert_eq!(
            text_table(&Table::new(columns, rows)),
            "         p50       n\na       1 µs  12,345\nlonger     –"
        );
    }
}
