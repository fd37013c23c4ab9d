//! Blocks of translated code: where each came from, and what the program's registers are within.

use alloc::boxed::Box;
use core::num::NonZeroU32;

use super::thread::Thread;

/// Where the program's values of registers are while a part of a block runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spilled {
    /// In the registers.
    None,
    /// These two are spilled, and the third word says that the note is not yet complete.
    Two(u8, u8),
    /// These two are spilled; the note is complete.
    Branch(u8, u8),
}

/// A stretch of a block's code that stands for one instruction.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Where it begins, in bytes from the block's head.
    pub offset: u16,
    /// The instruction, in bytes from the block's address in the program.
    pub pc: u16,
    pub spilled: Spilled,
}

/// A translated block.
#[derive(Debug)]
pub struct Block {
    /// Address in the program.
    pub pc: u64,
    /// First address behind it in the program.
    pub end: u64,
    /// Where its code begins.
    pub head: u64,
    /// First address behind its code.
    pub tail: u64,
    /// Checksum of its bytes in the program.
    pub sum: u64,
    /// Head of its notes, if it notes anything.
    pub descriptor: Option<NonZeroU32>,
    /// Whether other threads can go on because of one of its instructions, and it does not note
    /// when that runs.
    pub unordered: bool,
    /// Whether its code may still be entered.
    pub alive: bool,
    pub parts: Box<[Part]>,
}

/// A place in a block.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// Address of the instruction in the program.
    pub pc: u64,
    /// Number of the instruction in the block.
    pub instruction: u16,
    pub spilled: Spilled,
    /// Whether the instruction is about to begin: nothing of what stands for it has run.
    pub begins: bool,
    /// Head of the block's notes, if it notes anything.
    pub descriptor: Option<NonZeroU32>,
}

impl Block {
    /// What the code at an address of the cache stands for.
    pub fn position(&self, code: u64) -> Option<Position> {
        let offset = code.checked_sub(self.head)?;
        let after = self
            .parts
            .partition_point(|part| u64::from(part.offset) <= offset);
        let mut index = after.checked_sub(1)?;
        let last = self.parts.len() - 1;
        let at = |index: usize| u64::from(self.parts[index].offset) == offset;
        // The last part follows the last instruction's body, which may be empty.
        if index == last && index > 0 && at(index) && at(index - 1) {
            index -= 1;
        }
        let part = self.parts[index];
        // Nothing is spilled yet at the head.
        let spilled = if offset == 0 {
            Spilled::None
        } else {
            part.spilled
        };
        Some(Position {
            pc: self.pc + u64::from(part.pc),
            instruction: index as u16,
            spilled,
            begins: at(index) && index < last,
            descriptor: self.descriptor,
        })
    }
}

impl Position {
    /// The registers as the program has them, from those of the processor.
    pub fn restore(&self, thread: &Thread, registers: &mut [u64; 16]) {
        if let Spilled::Two(a, b) | Spilled::Branch(a, b) = self.spilled {
            registers[usize::from(a)] = thread.spill[0];
            registers[usize::from(b)] = thread.spill[1];
        }
    }
}

/// A checksum of code.
pub fn sum(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x100_0000_01b3;
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(PRIME)
    })
}
