//! How sure a format is that some bytes are its own.

/// How sure a format is that some bytes are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// They are not.
    No,
    /// They could be: taken if no other format is certain.
    Maybe,
    /// They are.
    Certain,
}
