//! [`Dimension`]: what accesses can be grouped by, and the names that `--by` takes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Cell;

/// What to group accesses by: the names that `--by` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dimension {
    /// All accesses in one group.
    Program,
    /// The thread that accessed.
    Thread,
    /// The function whose source the access is in: the innermost, if it was inlined.
    Function,
    /// The source line.
    Line,
    /// The data object that was accessed.
    Object,
    /// The element of a data object that was accessed, if accesses are broken down by element.
    Element,
    /// The calls that led to the access.
    Context,
    /// The instruction that accessed.
    Instruction,
    /// The way to the instruction that accessed: recent outcomes of branches, where they were
    /// followed.
    Path,
}

/// A name that `--by` does not take.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{fact}; use one of program, thread, function, line, object, element, context, instruction, path, for instance --by line"
)]
pub struct DimensionError {
    fact: String,
}

impl Dimension {
    /// The name of the group of what the profile's table has no name for.
    pub(crate) fn unknown_name(self) -> String {
        match self {
            Dimension::Element => "(no element)".to_owned(),
            _ => format!("(unknown {self})"),
        }
    }

    /// Whether `name` is a real name, and not that of the group of what is unknown.
    pub(crate) fn is_known(self, name: &str) -> bool {
        let unknown = match self {
            Dimension::Function => "(unknown function)",
            Dimension::Line => "(unknown line)",
            Dimension::Object => "unknown",
            Dimension::Context => "(root)",
            Dimension::Instruction => "(unknown instruction)",
            Dimension::Path => "(unknown path)",
            Dimension::Program | Dimension::Thread | Dimension::Element => return true,
        };
        // Builds the second name only where the first characters agree.
        name != unknown && !(name.starts_with("(unknown") && name == self.unknown_name())
    }

    /// All of them, from coarse to fine.
    pub const ALL: [Dimension; 9] = [
        Dimension::Program,
        Dimension::Thread,
        Dimension::Function,
        Dimension::Line,
        Dimension::Object,
        Dimension::Element,
        Dimension::Context,
        Dimension::Instruction,
        Dimension::Path,
    ];

    /// The name that `--by` takes.
    pub const fn name(self) -> &'static str {
        match self {
            Dimension::Program => "program",
            Dimension::Thread => "thread",
            Dimension::Function => "function",
            Dimension::Line => "line",
            Dimension::Object => "object",
            Dimension::Element => "element",
            Dimension::Context => "context",
            Dimension::Instruction => "instruction",
            Dimension::Path => "path",
        }
    }

    /// The cell's index into the table that this dimension names.
    pub(crate) fn index(self, cell: &Cell) -> usize {
        let index = match self {
            Dimension::Program => 0,
            Dimension::Thread => cell.thread,
            Dimension::Function | Dimension::Line | Dimension::Instruction | Dimension::Path => {
                cell.site
            }
            // Cells hold all elements of their object, so none has a name of this dimension.
            Dimension::Object | Dimension::Element => cell.object,
            Dimension::Context => cell.context,
        };
        index as usize
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Dimension {
    type Err = DimensionError;

    fn from_str(text: &str) -> Result<Self, DimensionError> {
        if let Some(dimension) = Dimension::ALL
            .into_iter()
            .find(|dimension| dimension.name() == text)
        {
            return Ok(dimension);
        }
        let fact = format!("'{text}' is nothing to group by");
        Err(DimensionError { fact })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimension_names_round_trip() {
        for dimension in Dimension::ALL {
            assert_eq!(dimension.to_string().parse(), Ok(dimension));
        }
        let wrong = "way".parse::<Dimension>().unwrap_err().to_string();
        assert!(
            wrong.starts_with("'way' is nothing to group by; use one of program"),
            "{wrong}"
        );
        assert!("Line".parse::<Dimension>().is_err());
    }
}
