//! A table with our values beside the published ones.

use serde::{Deserialize, Serialize};

/// A table or figure as it came out, beside what is printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedTable {
    /// Titles of the columns that say what a row is of: a program, a size.
    pub keys: Vec<String>,
    /// Titles of the columns with values, with their units.
    pub quantities: Vec<String>,
    /// The rows, in the printed order.
    pub rows: Vec<ComparedRow>,
    /// A sentence for each difference.
    pub notes: Vec<String>,
    /// The lines of its picture. Without any, the picture has bars of the rows.
    pub curves: Vec<Curve>,
    /// What the lines of the picture are drawn over.
    pub axes: Axes,
}

/// A row: as many keys and values as the table has columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedRow {
    /// What the row is of.
    pub keys: Vec<String>,
    /// One for each quantity.
    pub values: Vec<Compared>,
}

/// One value of ours and the published one; empty where there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// What our run gave.
    pub ours: String,
    /// What is printed.
    pub published: String,
}

/// One of the two values of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueSide {
    /// What our run gave.
    Ours,
    /// What is printed.
    Printed,
}

impl ValueSide {
    /// Both, in the order of columns.
    pub const BOTH: [ValueSide; 2] = [ValueSide::Ours, ValueSide::Printed];

    /// What tables and legends call it.
    pub fn name(self) -> &'static str {
        match self {
            ValueSide::Ours => "ours",
            ValueSide::Printed => "printed",
        }
    }
}

/// One line of a picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// The panel of the picture that it is in.
    pub panel: String,
    /// Its name in the legend.
    pub name: String,
    /// Its points, in the order of x.
    pub points: Vec<(f64, f64)>,
}

/// Titles and kinds of the axes of a picture with lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axes {
    /// Title of the horizontal axis.
    pub x: String,
    /// Title of the vertical axis.
    pub y: String,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
}

impl ComparedTable {
    /// A table without rows.
    pub fn new(keys: &[&str], quantities: &[&str]) -> ComparedTable {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        ComparedTable {
            keys: owned(keys),
            quantities: owned(quantities),
            ..ComparedTable::default()
        }
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If it has more or fewer keys or values than the table has columns.
    pub fn push(&mut self, keys: &[&str], values: Vec<Compared>) {
        assert_eq!(keys.len(), self.keys.len(), "keys of {keys:?}");
        assert_eq!(values.len(), self.quantities.len(), "values of {keys:?}");
        self.rows.push(ComparedRow {
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            values,
        });
    }

    /// Appends a sentence on a difference.
    pub fn note(&mut self, sentence: impl Into<String>) {
        self.notes.push(sentence.into());
    }

    /// Whether a column of any quantity has values of one side.
    pub fn has(&self, quantity: usize, side: ValueSide) -> bool {
        let mut values = self.rows.iter().map(|row| &row.values[quantity]);
        values.any(|value| !value.of(side).is_empty())
    }
}

impl Compared {
    /// Our value beside the published one.
    pub fn both(ours: impl ToString, published: impl ToString) -> Compared {
        Compared {
            ours: ours.to_string(),
            published: published.to_string(),
        }
    }

    /// A value of ours of which nothing is printed.
    pub fn ours(value: impl ToString) -> Compared {
        Compared::both(value, "")
    }

    /// A printed value that nothing of ours stands beside.
    pub fn published(value: impl ToString) -> Compared {
        Compared::both("", value)
    }

    /// The value of one side.
    pub fn of(&self, side: ValueSide) -> &str {
        match side {
            ValueSide::Ours => &self.ours,
            ValueSide::Printed => &self.published,
        }
    }
}

/// The number that a cell has, if it is one: signs of percent, factors and groups of digits are
/// left out.
pub fn number(cell: &str) -> Option<f64> {
    let text: String = cell
        .chars()
        .filter(|c| !matches!(c, ',' | '%' | '×' | ' '))
        .collect();
    let text = text.replace('−', "-");
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// A number with groups of three digits, as the documents have them.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
