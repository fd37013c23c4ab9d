//! [`Table`]: columns and rows as a value, and as text, HTML and Markdown.

mod html;
mod markdown;
mod text;

/// What the cells of a column are, from which follows how they are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    /// Names and sentences: set at the left. Those too long for a terminal are cut in the middle.
    Words,
    /// Names that a program or a file has: as words; code in Markdown.
    Names,
    /// Numbers among words: set at the left, and never cut, since another number would come out.
    Figures,
    /// Numbers: set at the right, and never cut.
    Numbers,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    head: String,
    holds: Holds,
    on_pages_only: bool,
}

impl TableColumn {
    /// A column of names or sentences.
    pub fn words(head: impl Into<String>) -> Self {
        TableColumn::of(head.into(), Holds::Words)
    }

    /// A column of names that a program or a file has.
    pub fn names(head: impl Into<String>) -> Self {
        TableColumn::of(head.into(), Holds::Names)
    }

    /// A column of numbers among words, which are never cut.
    pub fn figures(head: impl Into<String>) -> Self {
        TableColumn::of(head.into(), Holds::Figures)
    }

    /// A column of numbers.
    pub fn numbers(head: impl Into<String>) -> Self {
        TableColumn::of(head.into(), Holds::Numbers)
    }

    fn of(head: String, holds: Holds) -> Self {
        TableColumn {
            head,
            holds,
            on_pages_only: false,
        }
    }

    /// The same column, for which a terminal has no room.
    pub fn on_pages_only(self) -> Self {
        TableColumn {
            on_pages_only: true,
            ..self
        }
    }

    /// Columns with these heads. Those whose places are among `words` hold words, the others
    /// numbers.
    pub fn all(heads: &[impl AsRef<str>], words: &[usize]) -> Vec<Self> {
        let column = |(at, head): (usize, &_)| {
            let head: &str = AsRef::as_ref(head);
            if words.contains(&at) {
                TableColumn::words(head)
            } else {
                TableColumn::numbers(head)
            }
        };
        heads.iter().enumerate().map(column).collect()
    }

    /// Whether cells that are too long for a terminal are cut in the middle.
    fn is_cut(&self) -> bool {
        matches!(self.holds, Holds::Words | Holds::Names)
    }

    fn is_of_numbers(&self) -> bool {
        self.holds == Holds::Numbers
    }
}

/// A row of a table. Made [from](From) its cells, if it has nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableRow {
    /// A text for each column; those that are missing are empty.
    pub cells: Vec<String>,
    /// Its colour in a picture beside the table, as the number of the series; for pages.
    pub series: Option<usize>,
    /// A remark below the cells, as wide as the table; for pages. Empty for none.
    pub below: String,
}

impl From<Vec<String>> for TableRow {
    fn from(cells: Vec<String>) -> Self {
        TableRow {
            cells,
            ..TableRow::default()
        }
    }
}

impl TableRow {
    fn cell(&self, index: usize) -> &str {
        self.cells.get(index).map_or("", String::as_str)
    }
}

/// Columns and rows. Without columns it is no table, and is written as nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The columns, in the order of a terminal: where names are long, they come last.
    pub columns: Vec<TableColumn>,
    /// The rows, the one that matters most first.
    pub rows: Vec<TableRow>,
    /// The number of rows that are too small to be shown in any format.
    pub small: usize,
    /// What is not in the table: `12 others`. Empty for nothing.
    pub left_out: String,
}

impl Table {
    /// A table that leaves nothing out.
    pub fn new<R: Into<TableRow>>(
        columns: impl Into<Vec<TableColumn>>,
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        Table {
            columns: columns.into(),
            rows: rows.into_iter().map(R::into).collect(),
            small: 0,
            left_out: String::new(),
        }
    }

    /// The same table with its first rows, `most` of them. `left_out` has the words for the number
    /// of rows that are not shown, [small](Self::small) ones too; it is not asked for none.
    pub fn first(mut self, most: usize, left_out: impl FnOnce(usize) -> String) -> Self {
        let more = self.rows.len().saturating_sub(most) + self.small;
        self.rows.truncate(most);
        if more > 0 {
            self.left_out = left_out(more);
        }
        self
    }

    /// The places of the columns in the order of pages and Markdown. On a narrow page a row becomes
    /// a block, which has to begin with its name: columns of words after all those of numbers come
    /// first.
    fn order_of_pages(&self) -> Vec<usize> {
        let places = 0..self.columns.len();
        let numbers = self.columns.iter().take_while(|it| it.is_of_numbers());
        let numbers = numbers.count();
        let names = &self.columns[numbers..];
        if names.iter().any(TableColumn::is_of_numbers) {
            return places.collect();
        }
        places.clone().skip(numbers).chain(0..numbers).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let columns = vec![
            TableColumn::numbers("misses"),
            TableColumn::names("line"),
            TableColumn::words("type").on_pages_only(),
        ];
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [
            row(["1,200", "a|b.c:3", "long"]),
            row(["7", "<x>, \"y\"", ""]),
            row(["1", "z", ""]),
        ];
        let mut table = Table::new(columns, rows);
        table.small = 4;
        table.first(2, |more| format!("{more} others"))
    }

    #[test]
    fn one_table_is_text_html_and_markdown() {
        let table = table();
        let mut text = String::new();
        table.write_text(&mut text, 80, crate::terminal::Paint::new(false));
        assert_eq!(
            text,
            "  misses  line\n   1,200  a|b.c:3\n       7  <x>, \"y\"\n  5 others\n"
        );
        let mut html = String::new();
        table.write_html(&mut html);
        // Names first, and the column for which a terminal has no room.
        let head = "<tr><th class=\"words\">line</th><th class=\"words\">type</th>\
                    <th class=\"num\">misses</th></tr>";
        assert!(html.contains(head), "{html}");
        assert!(html.contains("&lt;x&gt;, &quot;y&quot;"), "{html}");
        assert!(html.ends_with("<p class=\"more\">5 others</p>"), "{html}");
        let mut markdown = String::new();
        table.write_markdown(&mut markdown);
        assert_eq!(
            markdown,
            "| line | type | misses |\n|---|---|---:|\n| `a\\|b.c:3` | long | 1,200 |\n\
             | `<x>, \"y\"` |  | 7 |\n\n5 others\n"
        );
    }

    #[test]
    fn columns_of_pages_keep_their_order_where_numbers_are_among_words() {
        let columns = TableColumn::all(&["rank", "object", "size", "in"], &[1, 3]);
        let table = Table::new(columns, [Vec::new()]);
        assert_eq!(table.order_of_pages(), [0, 1, 2, 3]);
        let table = Table::new(TableColumn::all(&["a", "b"], &[]), [Vec::new()]);
        assert_eq!(table.order_of_pages(), [0, 1]);
    }
}
