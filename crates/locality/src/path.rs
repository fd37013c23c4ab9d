//! [`Path`]: the outcomes of the last conditional branches before an access; [`BlockTrace`], which
//! identifies the blocks that ran meanwhile; and [`PathShares`], what paths of one length show.

use serde::{Deserialize, Serialize};

/// A number for each of the last 32 sections of a trace of basic blocks: each section begins with a
/// block that ends in a conditional branch. Two traces that differ in a section have different
/// numbers there in 255 of 256 cases. The newest section is the lowest byte of the first number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockTrace([u64; 4]);

impl BlockTrace {
    /// A block ran, and its conditional branch begins a new section.
    #[inline]
    pub fn begin(&mut self, block: u64) {
        let [a, b, c, d] = self.0;
        let tag = u64::from(tag(block));
        self.0 = [
            a << 8 | tag,
            b << 8 | a >> 56,
            c << 8 | b >> 56,
            d << 8 | c >> 56,
        ];
    }

    /// A block ran that belongs to the newest section.
    #[inline]
    pub fn go_on(&mut self, block: u64) {
        let newest = (self.0[0] as u8).wrapping_mul(167).wrapping_add(tag(block));
        self.0[0] = self.0[0] & !0xFF | u64::from(newest);
    }

    /// The newest section where two differ, from 0 on; [`Path::LONGEST`] if none does.
    #[inline]
    fn newest_difference(&self, other: &BlockTrace) -> u8 {
        let words = self.0.iter().zip(&other.0);
        let mut differences = (0..).zip(words.map(|(mine, other)| mine ^ other));
        let newest = differences.find(|(_, word)| *word != 0);
        newest.map_or(Path::LONGEST as u8, |(at, word)| {
            8 * at + (word.trailing_zeros() / 8) as u8
        })
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
    /// Outcomes of the last 32 conditional branches that are kept, 1 for taken, the newest in the
    /// lowest bit.
    pub outcomes: u32,
    /// The blocks that were run meanwhile.
    pub trace: BlockTrace,
}

impl Path {
    /// The most outcomes that a path has.
    pub const LONGEST: u32 = 32;

    /// Its newest `length` outcomes.
    #[inline]
    pub fn newest(outcomes: u32, length: u32) -> u32 {
        match length {
            Path::LONGEST.. => outcomes,
            length => outcomes & ((1 << length) - 1),
        }
    }

    /// The newest `length` outcomes as digits, the newest last.
    pub fn digits(outcomes: u32, length: u32) -> String {
        let all = format!("{outcomes:032b}");
        all[all.len() - length.min(Path::LONGEST) as usize..].to_owned()
    }

    /// The newest `length` outcomes as digits, the newest last, of which `known` are known: an
    /// ellipsis is before fewer.
    pub fn ending(outcomes: u32, known: u32, length: u32) -> String {
        let digits = Path::digits(outcomes, length.min(known));
        if known < length {
            format!("…{digits}")
        } else {
            digits
        }
    }
}

/// The traces of blocks with the same history of outcomes: the first one, and the newest section
/// where another differs from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traces {
    first: BlockTrace,
    differ: u8,
    /// Outcomes of the history.
    length: u8,
}

impl Traces {
    /// Of a history of `length` outcomes.
    pub(crate) fn new(first: BlockTrace, length: u32) -> Self {
        Traces {
            first,
            differ: Path::LONGEST as u8,
            length: length.min(Path::LONGEST) as u8,
        }
    }

    /// Outcomes of the history.
    #[inline(always)]
    pub(crate) fn length(&self) -> u32 {
        u32::from(self.length)
    }

    /// Keeps `length` outcomes of the history, or those that it has.
    pub(crate) fn shorten(&mut self, length: u32) {
        self.length = self.length.min(length.min(Path::LONGEST) as u8);
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, trace: &BlockTrace) {
        if self.first != *trace {
            self.differ = self.differ.min(self.first.newest_difference(trace));
        }
    }

    pub(crate) fn merge(&mut self, other: &Traces) {
        self.add(&other.first);
        self.differ = self.differ.min(other.differ);
        self.length = self.length.min(other.length);
    }

    /// Whether several traces have the same history of `length` outcomes.
    pub(crate) fn are_several(&self, length: u32) -> bool {
        u32::from(self.differ) < length.min(self.length())
    }
}

/// How well paths of one length separate the patterns of a program's instructions; see
/// [`PathTable::shares`](crate::PathTable::shares). Counts are of instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathShares {
    /// Outcomes in a path.
    pub length: u32,
    /// Distinct pairs of an instruction and a path to it; rarer paths counted together are one.
    pub paths: u64,
    /// Accesses whose path has `length` outcomes; of the others fewer are known. 0 in profiles of
    /// earlier versions.
    #[serde(default)]
    pub accesses: u64,
    /// Instructions.
    pub instructions: u64,
    /// Those whose distances form several patterns.
    pub multiple: u64,
    /// Of those with several: each path has at most one pattern.
    pub differentiable: u64,
    /// Of those with several, not differentiable: a path with several patterns belongs to several
    /// traces of blocks.
    pub aliased: u64,
    /// The same as it is published: of those with several, not differentiable, those that are
    /// aliased with 16 outcomes, and with fewer than 16 also those that 16 differentiate. 0 in
    /// profiles of earlier versions.
    ///
    /// Source: Fang et al. 2006, section 4.2, tables 1 and 2.
    #[serde(default)]
    pub aliased_published: u64,
    /// Of those with several, not differentiable: they have short and long patterns.
    pub short_and_long: u64,
    /// Of those with several: it is not known whether each path has at most one pattern, since
    /// several are in rarer paths that were counted together. They are in none of the three above.
    #[serde(default)]
    pub unknown: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(blocks: &[(u64, bool)]) -> BlockTrace {
        let mut trace = BlockTrace::default();
        for (block, branch) in blocks {
            if *branch {
                trace.begin(*block)
            } else {
                trace.go_on(*block)
            }
        }
        trace
    }

    #[test]
    fn path_traces_differ_if_their_blocks_differ() {
        let a = trace(&[(1, true), (2, false), (3, true), (4, false)]);
        let b = trace(&[(1, true), (9, false), (3, true), (4, false)]);
        assert_eq!(a.newest_difference(&b), 1);
        let mut traces = Traces::new(a, Path::LONGEST);
        traces.add(&a);
        assert!(!traces.are_several(Path::LONGEST));
        traces.add(&b);
        assert!(!traces.are_several(0) && !traces.are_several(1) && traces.are_several(2));
        let many: Vec<_> = (0..40).map(|block| (block, true)).collect();
        let mut other = many.clone();
        other[40 - 20].0 = 77;
        assert_eq!(trace(&many).newest_difference(&trace(&other)), 19);
        other[40 - 20].0 = 20;
        other[3].0 = 99; // Too long ago.
        assert_eq!(trace(&many), trace(&other));
        assert_eq!(
            u32::from(trace(&many).newest_difference(&trace(&other))),
            Path::LONGEST
        );
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
