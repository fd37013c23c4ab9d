//! Scalar video instructions, as the machine runs them.

use crate::ops::Comparison;

/// A scalar video instruction: a function of parts of two registers, and what is made of it and of
/// a third one. Numbers are those of registers.
#[derive(Clone, Copy, Debug)]
pub struct VideoOp {
    pub function: VideoFunction,
    pub result: u32,
    pub a: VideoSource,
    pub b: VideoSource,
    pub c: u32,
    /// Whether the result is signed.
    pub is_signed: bool,
    /// Clamped to the range of the result, or of the part that it goes to.
    pub saturates: bool,
    pub last: VideoLast,
}

/// A source, or a part of it.
#[derive(Clone, Copy, Debug)]
pub struct VideoSource {
    pub slot: u32,
    pub part: VideoPart,
    pub is_signed: bool,
}

/// Bits of a register: from which on, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoPart {
    pub first: u32,
    pub bits: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VideoFunction {
    Add,
    Subtract,
    /// The absolute value of the difference.
    Difference,
    Min,
    Max,
    ShiftLeft {
        wraps: bool,
    },
    ShiftRight {
        wraps: bool,
    },
    /// `a × b + c`, and one more, shifted to the right.
    MultiplyAdd {
        one_more: bool,
        shift: u32,
    },
    /// 1 if it holds, else 0.
    Compare(Comparison),
}

/// What is done with a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VideoLast {
    Nothing,
    /// It is added to the third source, or the smaller or larger of both is taken.
    Add,
    Min,
    Max,
    /// It replaces a part of the third source.
    Merge(VideoPart),
}
