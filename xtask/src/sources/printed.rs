//! What a work has printed: its tables and figures, and how ours are made.

use super::ComparedTable;
use super::workshop::Workshop;

/// A published work whose tables and figures are made anew.
#[derive(Debug)]
pub struct Publication {
    /// The first word of the ids of its items.
    pub id: &'static str,
    /// Authors, title and year.
    pub title: &'static str,
    /// What a reader should know of all its items.
    pub remark: &'static str,
    /// Its tables and figures in the printed order, by parts.
    pub parts: &'static [&'static [Printed]],
}

impl Publication {
    /// All tables and figures, in the printed order.
    pub fn items(&self) -> impl Iterator<Item = &'static Printed> {
        self.parts.iter().copied().flatten()
    }
}

/// A printed table or figure, or several figures that show the same of different programs.
#[derive(Debug)]
pub struct Printed {
    /// `WORK.table2`, `WORK.figures24-27`: also the name of its files.
    pub id: &'static str,
    /// The heading as printed, with its number.
    pub heading: &'static str,
    /// How it is made.
    pub making: Making,
}

/// How an item is made.
#[derive(Clone, Copy, Debug)]
pub enum Making {
    /// By running the project's commands.
    Runs {
        /// What is run and measured, in one or two sentences.
        how: &'static str,
        /// Runs them.
        make: fn(&Workshop) -> anyhow::Result<ComparedTable>,
        /// What tests make of it.
        in_tests: InTests,
    },
    /// It cannot be made here, for this reason (a sentence).
    Not(&'static str),
}

/// Whether tests make an item, at [`Size::Small`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InTests {
    /// Yes; it has the rows and columns that it has at the full size.
    SameRows,
    /// Yes; it has this number of rows, and the columns that it has at the full size.
    Rows(usize),
    /// No: it takes too long, or needs what tests do not have.
    LeftOut,
}

/// The size of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Seconds in all: whether everything still runs.
    Small,
    /// The sizes that are compared with what is printed.
    Full,
}

impl Size {
    /// One of two values.
    pub fn pick<T>(self, small: T, full: T) -> T {
        match self {
            Size::Small => small,
            Size::Full => full,
        }
    }
}
