//! [`text_table`]: a table for a terminal.

/// A table for a terminal: the heads, and rows of at most as many cells. The first column begins at
/// the left, the others end at the right; each is as wide as its widest cell, two spaces after the
/// column before. The last line has no line break.
pub fn text_table(heads: &[&str], rows: &[Vec<String>]) -> String {
    let width = |cell: &str| cell.chars().count();
    let widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(at, head)| {
            let cells = rows.iter().filter_map(|row| row.get(at));
            let widest = cells.map(|cell| width(cell)).max();
            widest.unwrap_or(0).max(width(head))
        })
        .collect();
    let line = |cells: Vec<&str>| {
        let mut line = String::new();
        for (at, (cell, &width)) in cells.into_iter().zip(&widths).enumerate() {
            line += &match at {
                0 => format!("{cell:<width$}"),
                _ => format!("  {cell:>width$}"),
            };
        }
        line.trim_end().to_owned()
    };
    let rows = rows
        .iter()
        .map(|row| line(row.iter().map(String::as_str).collect()));
    let lines: Vec<String> = std::iter::once(line(heads.to_vec())).chain(rows).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["a", "1 µs", "12,345"]), row(["longer", "–", ""])];
        assert_eq!(
            text_table(&["", "p50", "n"], &rows),
            "         p50       n\na       1 µs  12,345\nlonger     –"
        );
        assert_eq!(text_table(&["", "p50"], &[]), "  p50");
    }
}
