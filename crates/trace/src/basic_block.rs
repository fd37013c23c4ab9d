//! Basic blocks: how a row of [`Kind::BasicBlock`] is packed.
//!
//! A thread's rows of that kind, in order, are the path that it took. The outcome of a conditional
//! branch has no row of its own: the branch was taken if the thread's next basic block is the one
//! that it leads to.
//!
//! Capture packs blocks with [`BasicBlock::row`]; analyses by path unpack them with
//! [`BasicBlock::of`]. *Invariant:* each undoes the other.

use crate::{Kind, Row};

/// How a basic block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BlockEnd {
    /// It goes on with the next block in memory, or nothing is known.
    Falls = 0,
    /// With a conditional branch: to [`BasicBlock::taken`] or to the next block in memory.
    Conditional = 1,
    /// With a jump.
    Jump = 2,
    /// With a jump to one of many places: a switch, a call through a table.
    Indirect = 3,
    /// With a call.
    Call = 4,
    /// With a return.
    Return = 5,
}

/// A basic block that began to run: instructions that run one after the other. As far as the
/// recorder knows it is entered at the first only; a jump into the middle makes another block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BasicBlock {
    /// Address of its first instruction, or another number that identifies it in the process.
    pub start: u64,
    /// How it ends.
    pub end: BlockEnd,
    /// `start` of the block that follows if its branch is taken; 0 if that is not known before it
    /// runs. For a call at the end of a block of unknown bytes, `start` of the block that it
    /// returns to.
    pub taken: u64,
    /// Bytes of code; 0 if unknown, 65,535 also for more.
    pub bytes: u16,
    /// Known without running: its branch, taken, goes back to the head of a loop.
    pub taken_loops: bool,
    /// Known without running: what follows if its branch is not taken is the head of a loop that it
    /// is in.
    pub falls_loops: bool,
}

const ADDRESS_BITS: u32 = 48;
const TAKEN_LOOPS: u8 = 8;
const FALLS_LOOPS: u8 = 16;

impl BasicBlock {
    /// Unpacks a row. `None` for rows of other kinds, and for ends that are not known here.
    #[inline]
    pub const fn of(row: &Row) -> Option<BasicBlock> {
        if row.kind as u8 != Kind::BasicBlock as u8 {
            return None;
        }
        let end = match row.size & 7 {
            0 => BlockEnd::Falls,
            1 => BlockEnd::Conditional,
            2 => BlockEnd::Jump,
            3 => BlockEnd::Indirect,
            4 => BlockEnd::Call,
            5 => BlockEnd::Return,
            _ => return None,
        };
        Some(BasicBlock {
            start: row.pc,
            end,
            taken: row.addr & ((1 << ADDRESS_BITS) - 1),
            bytes: (row.addr >> ADDRESS_BITS) as u16,
            taken_loops: row.size & TAKEN_LOOPS != 0,
            falls_loops: row.size & FALLS_LOOPS != 0,
        })
    }

    /// The row of this block.
    pub const fn row(&self) -> Row {
        let loops = TAKEN_LOOPS * self.taken_loops as u8 + FALLS_LOOPS * self.falls_loops as u8;
        Row {
            kind: Kind::BasicBlock,
            size: self.end as u8 | loops,
            pc: self.start,
            addr: self.taken | (self.bytes as u64) << ADDRESS_BITS,
        }
    }

    /// The address after its last instruction, if `start` is an address and its bytes are known.
    pub const fn behind(&self) -> u64 {
        self.start + self.bytes as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacked_rows_pack_to_themselves() {
        for end in 0..8 {
            for flags in 0..4 {
                let row = Row {
                    kind: Kind::BasicBlock,
                    size: end | flags << 3,
                    pc: 0x7fff_1234_5678,
                    addr: 0x5555_0000_1000 | 77 << 48,
                };
                match BasicBlock::of(&row) {
                    Some(block) => assert_eq!(block.row(), row),
                    None => assert!(end > 5),
                }
            }
        }
    }

    #[test]
    fn an_access_is_no_block() {
        let row = Row {
            kind: Kind::Load,
            size: 1,
            pc: 1,
            addr: 1,
        };
        assert_eq!(BasicBlock::of(&row), None);
    }
}
