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
    Mixed,
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

    /// A column of words with numbers among them, which are never cut.
    pub fn mixed(head: impl Into<String>) -> Self {
        TableColumn::of(head.into(), Holds::Mixed)
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
    /// Its colour, as the number of a class of the style sheet (`.v0` to `.v5`); for pages.
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

impl<const N: usize> From<[String; N]> for TableRow {
    fn from(cells: [String; N]) -> Self {
        Vec::from(cells).into()
    }
}

impl TableRow {
    fn cell(&self, index: usize) -> &str {
        self.cells.get(index).map_or("", String::as_str)
    }
}

/// Columns and rows. Without columns it is no table, and is written as nothing.
///
/// Two spaces in a cell of numbers or words are between a count and its share, so that shares are
/// below each other on a terminal; Markdown puts the share in parentheses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The columns, in the order of a terminal: where names are long, they come last.
    pub columns: Vec<TableColumn>,
    /// The rows, the one that matters most first.
    pub rows: Vec<TableRow>,
    /// The number of rows that belong to the table and are not in it: too small to be shown, or cut
    /// by [`first`](Self::first), which counts them here.
    pub hidden: usize,
    /// What is not in the table: `12 others`; code is between backticks. Empty for nothing.
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
            hidden: 0,
            left_out: String::new(),
        }
    }

    /// The same table with its first rows, `most` of them. `left_out` has the words for the number
    /// of rows that are [hidden](Self::hidden) then; it is not asked for none.
    pub fn first(mut self, most: usize, left_out: impl FnOnce(usize) -> String) -> Self {
        self.hidden += self.rows.len().saturating_sub(most);
        self.rows.truncate(most);
        if self.hidden > 0 {
            self.left_out = left_out(self.hidden);
        }
        self
    }

    /// The places of the columns in the order of pages and Markdown. On a narrow page a row becomes
    /// a block, which has to begin with its name: columns of names come first, and before those of
    /// numbers the columns of words that are after all of them.
    fn order_of_pages(&self) -> Vec<usize> {
        let is_number = |at: &usize| self.columns[*at].is_of_numbers();
        let places: Vec<usize> = (0..self.columns.len()).collect();
        let (numbers, words): (Vec<usize>, Vec<usize>) =
            places.iter().partition(|at| is_number(at));
        let are_last = numbers.last() < words.first();
        let mut order = if are_last && !numbers.is_empty() {
            [words, numbers].concat()
        } else {
            places
        };
        // The sort is stable: columns without names keep their order.
        order.sort_by_key(|at| self.columns[*at].holds != Holds::Names);
        order
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
        table.hidden = 4;
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
        let head = "<tr><th scope=\"col\" class=\"words\">line</th><th scope=\"col\" class=\"words\">type</th>\
                    <th scope=\"col\" class=\"num\">misses</th></tr>";
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
        let columns = vec![TableColumn::words("why"), TableColumn::names("line")];
        let table = Table::new(columns, [Vec::new()]);
        assert_eq!(table.order_of_pages(), [1, 0]);
    }

    #[test]
    fn rows_that_are_cut_twice_are_counted_once_each() {
        let rows = (0..9).map(|at| vec![at.to_string()]);
        let table = Table::new(TableColumn::all(&["n"], &[]), rows);
        let more = |more| format!("{more} others");
        let table = table.first(5, more).first(2, more);
        assert_eq!((table.rows.len(), &table.left_out[..]), (2, "7 others"));
    }

    #[test]
    fn numbers_among_words_are_never_cut() {
        let columns = vec![TableColumn::words("kernel"), TableColumn::mixed("mix")];
        let name = "a_name_of_forty_letters_that_is_too_long";
        let row = vec![name.to_owned(), "fma 51.2 %, add 12 %".to_owned()];
        let mut text = String::new();
        let table = Table::new(columns, [row]);
        table.write_text(&mut text, 40, crate::terminal::Paint::new(false));
        assert!(text.contains("fma 51.2 %, add 12 %"), "{text}");
        assert!(text.contains('…') && !text.contains(name), "{text}");
    }

    #[test]
    fn pages_have_remarks_and_colours_of_rows() {
        let row = TableRow {
            cells: vec!["a".to_owned()],
            series: Some(2),
            below: "read by <f>".to_owned(),
        };
        let mut html = String::new();
        Table::new(TableColumn::all(&["n"], &[0]), [row]).write_html(&mut html);
        assert!(html.contains("<i class=\"swatch v2\"></i>a"), "{html}");
        assert!(
            html.contains("<td colspan=\"1\">read by &lt;f&gt;</td>"),
            "{html}"
        );
    }
}
