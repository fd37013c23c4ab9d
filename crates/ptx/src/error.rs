//! What can be wrong with PTX before anything runs.

/// Where something stands in a PTX file. Both count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// PTX that cannot be read, or that this interpreter does not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {message}")]
pub struct PtxError {
    position: Position,
    message: String,
    unsupported: bool,
}

impl PtxError {
    pub(crate) fn new(position: Position, message: impl Into<String>) -> PtxError {
        PtxError {
            position,
            message: message.into(),
            unsupported: false,
        }
    }

    /// Valid PTX, as far as can be seen, that is outside the subset.
    pub(crate) fn unsupported(position: Position, message: impl Into<String>) -> PtxError {
        PtxError {
            unsupported: true,
            ..PtxError::new(position, message)
        }
    }

    /// Where.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Whether it may be right PTX, but outside the subset that is run here.
    pub fn is_unsupported(&self) -> bool {
        self.unsupported
    }
}
