//! The answer of a format's `detect` function; crate `formats` takes the most confident format.

/// How sure a format is that some bytes are in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// They are not.
    No,
    /// They could be: taken if no other format is certain.
    Maybe,
    /// They are.
    Certain,
}
