//! [`CachedBlock`]: what is known of a translated block in the code cache: which code of the
//! program it stands for, and, for each place in it, where the values of the program's registers
//! are. The list of all blocks is in `codes`.
//!
//! [`CachedBlock::position`] maps an address in the cache to an instruction of the program.
//! Handlers of faults use it to show the program its own registers and program counter.

use alloc::boxed::Box;
use core::num::NonZeroU32;

use super::thread::Thread;

/// Where the values of the program's registers are while a part of a block runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spilled {
    /// All are in the registers.
    None,
    /// These two are spilled; the block record is not complete yet.
    Two(u8, u8),
    /// These two are spilled; the block record is complete.
    Branch(u8, u8),
}

/// The code in a block that stands for one instruction.
#[derive(Clone, Copy, Debug)]
pub struct CodePart {
    /// Where it begins, in bytes from the block's head.
    pub offset: u16,
    /// Where the instruction is in the program, in bytes from the block's address there.
    pub pc: u16,
    pub spilled: Spilled,
    /// The flags that are saved in the thread's state while this code runs, because the processor's
    /// own have been overwritten ([`Position::flags`]).
    pub stale: u8,
}

/// The bit of the flag OF in [`CodePart::stale`] and its saved value. The other flags have their
/// places in the lowest byte of the processor's flags, where this bit means nothing.
pub const OVERFLOW: u8 = 1 << 1;

/// A translated block.
#[derive(Debug)]
pub struct CachedBlock {
    /// Address in the program.
    pub pc: u64,
    /// First address after it in the program.
    pub end: u64,
    /// Where its code in the cache begins.
    pub head: u64,
    /// First address after its code in the cache.
    pub tail: u64,
    /// Checksum of its bytes in the program ([`sum`]).
    pub sum: u64,
    /// Head of its block records, if it writes any.
    pub descriptor: Option<NonZeroU32>,
    /// Whether it has an atomic instruction and does not record the time at which that runs.
    pub unordered: bool,
    /// Whether a handler of faults may find other flags than the program's, or miss a jump.
    pub blurs_faults: bool,
    /// Whether its code may still be entered: false once the program's code has changed or gone.
    pub alive: bool,
    /// In the order of the code; the last part is the block's branch.
    pub parts: Box<[CodePart]>,
}

/// A place in a block.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// Address of the instruction in the program.
    pub pc: u64,
    /// Number of the instruction in the block.
    pub instruction: u16,
    pub spilled: Spilled,
    /// The flags that are saved; see [`CodePart::stale`].
    pub stale: u8,
    /// Whether the instruction is about to begin: none of the code that stands for it has run.
    pub begins: bool,
    /// Head of the block's records, if it writes any.
    pub descriptor: Option<NonZeroU32>,
}

impl CachedBlock {
    /// The place in the block of an address in the cache; `None` if that is before the block's
    /// head. The caller checks that it is below `tail`.
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
            stale: part.stale,
            begins: at(index) && index < last,
            descriptor: self.descriptor,
        })
    }
}

impl Position {
    /// Replaces spilled registers among the processor's `registers` by the program's values.
    pub fn restore(&self, thread: &Thread, registers: &mut [u64; 16]) {
        if let Spilled::Two(a, b) | Spilled::Branch(a, b) = self.spilled {
            registers[usize::from(a)] = thread.spill[0];
            registers[usize::from(b)] = thread.spill[1];
        }
    }
}

impl Position {
    /// The program's flags, of the processor's `flags` and those that the block has `saved`, as
    /// `lahf` and `seto al` leave them in ax.
    pub fn flags(&self, saved: u16, flags: u64) -> u64 {
        const PROCESSOR_OVERFLOW: u64 = 1 << 11;
        let [overflow, low] = saved.to_le_bytes();
        let stale = u64::from(self.stale & !OVERFLOW);
        let flags = flags & !stale | u64::from(low) & stale;
        if self.stale & OVERFLOW == 0 {
            flags
        } else if overflow & 1 == 0 {
            flags & !PROCESSOR_OVERFLOW
        } else {
            flags | PROCESSOR_OVERFLOW
        }
    }
}

/// A checksum of code (FNV-1a), by which changes are found.
pub fn sum(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x100_0000_01b3;
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(PRIME)
    })
}
