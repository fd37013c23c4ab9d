//! [`Record`]: what a measured program writes for one event, sixteen bytes in two words; and the
//! kinds of block records, which may be between the records of a block.
//!
//! ```text
//! word 0: address, or another number (see [`WireKind`])
//! word 1: kind (8 bits) | size (8) | program counter (48)
//! ```
//!
//! An event with more numbers is several records: after its first record come records of kind
//! [`WireKind::Operand`], with a number each.
//!
//! A *block record* stands for all accesses of one execution of a block of code: the words that are
//! known only when the block runs, and a reference to a description of the rest. It is a multiple
//! of sixteen bytes long. There are two kinds, with the reference in the second word:
//!
//! ```text
//! word 0, address of a descriptor in the program (kind 0), word 2 ...     `reuselens cc --llvm`
//! word 0, head (kind 255; see the dictionary), word 2 ...                 rewritten code
//! ```

/// The kind of a record. Numbers below 32 are those of the row kinds of crate `trace` (`Kind`); the
/// others are control events.
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
    /// A further number of the event before it.
    Operand = 14,
    /// A basic block began, packed by [`basic_block_words`]; only if [`crate::WANTS_BASIC_BLOCKS`].
    BasicBlock = 15,
    /// A process began: word 0 = pid; operands: parent's number + 1 or 0; 1 if instrumented, 2 if
    /// rewritten, else 0; length of the executable's path; then the path.
    Process = 64,
    /// A thread started: word 0 = tid; operands: lowest stack address, first address above it,
    /// length of its name, then the name.
    Thread = 65,
    /// The thread ended.
    ThreadEnd = 66,
    /// A module: word 0 = bias; operands: low, high, length of the path, then the path.
    Module = 67,
    /// The thread has a new name; operands: its length, then the name.
    ThreadName = 68,
    /// The accesses of the thread from here on are in a part of a stratum's burst; word 0 =
    /// number of the part's first access.
    Burst = 69,
}

/// Bytes of the longest name of a thread, as the system stores it.
pub const THREAD_NAME_BYTES: usize = 16;

/// In place of a kind: a block record of code compiled with `reuselens cc --llvm`.
pub const COMPILED_BLOCK_RECORD: u8 = 0;
/// In place of a kind: a block record of rewritten code.
pub const REWRITTEN_BLOCK_RECORD: u8 = 0xff;
/// Bytes of the longest block record.
pub const BLOCK_RECORD_BYTES_MOST: usize = 512;

/// Whether this number in place of a record's kind begins a block record.
#[inline]
pub const fn is_block_record(kind: u8) -> bool {
    matches!(kind, COMPILED_BLOCK_RECORD | REWRITTEN_BLOCK_RECORD)
}

/// A record of one event, or of a further number of one.
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

    /// Word 1 without the program counter: kind and size.
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

/// The depth in a [`WireKind::Enter`] whose stack pointer is not within 128 MiB below the top of
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

/// Packs the begin of a basic block: its address or another number that identifies it (`pc`); how
/// it ends (`BlockEnd` of crate `trace`); the address to which its branch goes if taken, or 0; and
/// its length in bytes, at most 65,535.
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
    fn function_entry_packs_and_unpacks() {
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
    fn long_program_counter_leaves_kind_and_size_intact() {
        let record = Record::new(WireKind::Store, 16, u64::MAX, 5);
        assert_eq!(
            (record.kind(), record.size(), record.pc()),
            (2, 16, PC_MASK)
        );
    }
}
