//! Paths: the recent outcomes of conditional branches before an access.

use serde::{Deserialize, Serialize};

/// The most outcomes that a path has.
pub const LONGEST: u32 = 32;

/// A number for each of the last 32 stretches of a trace of basic blocks: each stretch begins with a block that
/// ends in a conditional branch. Two traces that differ in a stretch have different numbers there in 255 of 256
/// cases. The newest stretch is the lowest byte of the first number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockTrace([u128; 2]);

impl BlockTrace {
    /// A block ran, and its conditional branch begins a new stretch.
    #[inline]
    pub fn begin(&mut self, block: u64) {
        self.0[1] = self.0[1] << 8 | self.0[0] >> 120;
        self.0[0] = self.0[0] << 8 | u128::from(tag(block));
    }

    /// A block ran that belongs to the newest stretch.
    #[inline]
    pub fn go_on(&mut self, block: u64) {
        let newest = (self.0[0] as u8).wrapping_mul(167).wrapping_add(tag(block));
        self.0[0] = (self.0[0] >> 8) << 8 | u128::from(newest);
    }

    /// Where two differ.
    #[inline]
    fn differences(&self, other: &BlockTrace) -> BlockTrace {
        BlockTrace([self.0[0] ^ other.0[0], self.0[1] ^ other.0[1]])
    }

    fn with(&self, other: &BlockTrace) -> BlockTrace {
        BlockTrace([self.0[0] | other.0[0], self.0[1] | other.0[1]])
    }

    /// Whether the newest `stretches` of these differences hold one.
    fn within(&self, stretches: u32) -> bool {
        let low = stretches.min(16);
        let bits = |count: u32| match count {
            16 => u128::MAX,
            count => (1 << (8 * count)) - 1,
        };
        self.0[0] & bits(low) != 0 || self.0[1] & bits(stretches.min(32) - low) != 0
    }
}

/// One byte of the number of a block.
#[inline]
fn tag(block: u64) -> u8 {
    (block.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

/// The path to an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Outcomes of the last 32 conditional branches that are kept, 1 for taken, the newest in the lowest bit.
    pub outcomes: u32,
    /// The blocks that were run meanwhile.
    pub trace: BlockTrace,
}

impl Path {
    /// Its newest `length` outcomes.
    #[inline]
    pub fn newest(outcomes: u32, length: u32) -> u32 {
        match length {
            LONGEST.. => outcomes,
            length => outcomes & ((1 << length) - 1),
        }
    }
}

/// The traces of blocks that one history stands for: the first one, and where others differ from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traces {
    first: BlockTrace,
    differ: BlockTrace,
}

impl Traces {
    pub(crate) fn new(first: BlockTrace) -> Self {
        Traces {
            first,
            differ: BlockTrace::default(),
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, trace: &BlockTrace) {
        self.differ = self.differ.with(&self.first.differences(trace));
    }

    pub(crate) fn merge(&mut self, other: &Traces) {
        self.add(&other.first);
        self.differ = self.differ.with(&other.differ);
    }

    /// Whether a history of this many outcomes stands for several traces.
    pub(crate) fn are_several(&self, length: u32) -> bool {
        self.differ.within(length)
    }
}

/// What paths of one length say about the instructions of a program; see
/// [`PathTable::shares`](crate::PathTable::shares). Counts are of instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathShares {
    /// Outcomes in a path.
    pub length: u32,
    /// Distinct pairs of an instruction and a path to it.
    pub paths: u64,
    /// Instructions.
    pub instructions: u64,
    /// Those whose distances form several patterns.
    pub multiple: u64,
    /// Of those with several: each path has at most one pattern.
    pub differentiable: u64,
    /// Of those with several, not differentiable: a path with several patterns stands for several traces of blocks.
    pub aliased: u64,
    /// Of those with several, not differentiable: they have short and long patterns.
    pub short_and_long: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(blocks: &[(u64, bool)]) -> BlockTrace {
        let mut trace = BlockTrace::default();
        for (block, branch) in blocks {
            match branch {
                true => trace.begin(*block),
                false => trace.go_on(*block),
            }
        }
        trace
    }

    #[test]
    fn traces_differ_where_blocks_do() {
        let a = trace(&[(1, true), (2, false), (3, true), (4, false)]);
        let b = trace(&[(1, true), (9, false), (3, true), (4, false)]);
        let differences = a.differences(&b);
        assert!(!differences.within(0) && !differences.within(1) && differences.within(2));
        let many: Vec<_> = (0..40).map(|block| (block, true)).collect();
        let mut other = many.clone();
        other[40 - 20].0 = 77;
        let differences = trace(&many).differences(&trace(&other));
        assert!(!differences.within(19) && differences.within(20) && differences.within(32));
        other[40 - 20].0 = 20;
        other[3].0 = 99; // Too long ago.
        assert_eq!(trace(&many), trace(&other));
    }

    #[test]
    fn a_path_ends_with_its_newest_outcomes() {
        let outcomes = 0b1011_0110;
        assert_eq!(
            [0, 1, 4, 32, 40].map(|length| Path::newest(outcomes, length)),
            [0, 0, 0b0110, outcomes, outcomes]
        );
    }
}
