//! One record: sixteen bytes, two words.
//!
//! ```text
//! word 0: address, or the number that the kind calls for
//! word 1: kind (8 bits) | size (8) | program counter (48)
//! ```
//!
//! Programs built with `reuselens cc --llvm` write *notes* between them, of one or more times
//! sixteen bytes:
//!
//! ```text
//! word 0, address of a descriptor in the program (kind 0), word 1, word 2 ...
//! ```
//!
//! So does rewritten code; its notes have a head in place of that address (kind 255; see the
//! dictionary).

/// What a record says. Numbers below 32 are those of the trace crate's row kinds; the others are
/// control events that become events of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WireKind {
    /// Bytes read.
    Load = 1,
    /// Bytes written.
    Store = 2,
    /// Bytes read and written at once.
    Atomic = 3,
    /// A range read; an operand follows.
    RangeLoad = 4,
    /// A range written; an operand follows.
    RangeStore = 5,
    /// Function entered, packed by [`enter_words`].
    Enter = 6,
    /// Function left; word 0 = stack pointer.
    Exit = 7,
    /// Heap block; an operand follows.
    Alloc = 8,
    /// End of a heap block; an operand follows.
    Free = 9,
    /// `RecordAccess`; an operand follows.
    Named = 10,
    /// `RecordStatement`.
    Statement = 11,
    /// `RecordData`; operands follow.
    Data = 12,
    /// `RecordPartialData`; an operand follows.
    PartialData = 13,
    /// A further number.
    Operand = 14,
    /// A basic block began, packed by [`basic_block_words`]; only if [`crate::WANTS_BASIC_BLOCKS`].
    BasicBlock = 15,
    /// A process began: word 0 = pid; operands: parent's number + 1 or 0, 1 if instrumented or 2 if
    /// rewritten, length of the executable's path, then the path.
    Process = 64,
    /// A thread started: word 0 = tid; operands: lowest stack address, first address above it,
    /// length of its name, then the name.
    Thread = 65,
    /// The thread ended.
    ThreadEnd = 66,
    /// A module: word 0 = bias; operands: low, high, length of the path, then the path.
    Module = 67,
    /// The thread's name is another one now; operands: its length, then the name.
    ThreadName = 68,
}

/// Bytes of the longest name of a thread, as the system keeps it.
pub const THREAD_NAME_BYTES: usize = 16;

/// The number of the kind of a note; see the head of this module.
pub const NOTE: u8 = 0;
/// The number of the kind of a note of rewritten code.
pub const CODED: u8 = 0xff;
/// Bytes of the longest note.
pub const NOTE_BYTES_MOST: usize = 512;

/// A record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Record {
    /// Address or number.
    pub word0: u64,
    /// Kind, size and program counter.
    pub word1: u64,
}

const PC_BITS: u32 = 48;
const PC_MASK: u64 = (1 << PC_BITS) - 1;

impl Record {
    /// Packs a record.
    #[inline(always)]
    pub const fn new(kind: WireKind, size: u8, pc: u64, word0: u64) -> Self {
        Record {
            word0,
            word1: Self::meta(kind, size) | (pc & PC_MASK),
        }
    }

    /// Kind and size where word 1 has them.
    #[inline(always)]
    pub const fn meta(kind: WireKind, size: u8) -> u64 {
        (kind as u64) << 56 | (size as u64) << PC_BITS
    }

    /// The number of the kind.
    #[inline(always)]
    pub const fn kind(self) -> u8 {
        (self.word1 >> 56) as u8
    }

    /// The size in bytes.
    #[inline(always)]
    pub const fn size(self) -> u8 {
        (self.word1 >> PC_BITS) as u8
    }

    /// The program counter.
    #[inline(always)]
    pub const fn pc(self) -> u64 {
        self.word1 & PC_MASK
    }
}

/// The depth of an [`WireKind::Enter`] whose stack pointer is not within 128 MiB below the top of
/// its thread's stack (another stack, or a deep one).
pub const ENTER_DEPTH_UNKNOWN: u64 = (1 << 24) - 1;

/// Packs a function entry into one record: the call's return address and the depth of the stack
/// (bytes below its top, in units of 8, 24 bits) share the two words with the program counter.
pub const fn enter_words(pc: u64, return_address: u64, depth: u64) -> Record {
    let depth = if depth < ENTER_DEPTH_UNKNOWN {
        depth
    } else {
        ENTER_DEPTH_UNKNOWN
    };
    Record {
        word0: (return_address & PC_MASK) | (depth & 0xffff) << PC_BITS,
        word1: Record::meta(WireKind::Enter, (depth >> 16) as u8) | (pc & PC_MASK),
    }
}

/// The return address and the depth of a packed function entry.
pub const fn unpack_enter(record: Record) -> (u64, u64) {
    let depth = (record.word0 >> PC_BITS) | (record.size() as u64) << 16;
    (record.word0 & PC_MASK, depth)
}

/// Packs the beginning of a basic block: where it begins (or any number that stands for it), how it
/// ends (see the trace crate's `BlockEnd`), the block that its branch goes to if it is taken, or 0,
/// and its bytes.
pub const fn basic_block_words(pc: u64, end: u8, taken: u64, bytes: u64) -> Record {
    let bytes = if bytes < 0xffff { bytes } else { 0xffff };
    Record {
        word0: (taken & PC_MASK) | bytes << PC_BITS,
        word1: Record::meta(WireKind::BasicBlock, end) | (pc & PC_MASK),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_packs_and_unpacks() {
        for depth in [
            0,
            1,
            0xffff,
            0x1_0000,
            0xab_cdef,
            ENTER_DEPTH_UNKNOWN,
            u64::MAX,
        ] {
            let record = enter_words(0x7fff_1234_5678, 0x5555_dead_beef, depth);
            assert_eq!(record.kind(), WireKind::Enter as u8);
            assert_eq!(record.pc(), 0x7fff_1234_5678);
            assert_eq!(
                unpack_enter(record),
                (0x5555_dead_beef, depth.min(ENTER_DEPTH_UNKNOWN))
            );
        }
    }

    #[test]
    fn fields_do_not_touch_each_other() {
        let record = Record::new(WireKind::Store, 16, u64::MAX, 5);
        assert_eq!(
            (record.kind(), record.size(), record.pc()),
            (2, 16, PC_MASK)
        );
    }
}
