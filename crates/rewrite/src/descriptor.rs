//! What a block of code does to memory: all that is known when it is translated.
//!
//! When the block runs it notes the number of its descriptor and those words that only then are
//! known. An address is a noted word plus a displacement; several accesses share a word where their
//! registers stay the same.

use alloc::boxed::Box;

/// No word: the address is the displacement alone.
pub const NO_WORD: u16 = 0;

/// What an access does, where it is not one plain access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// One access.
    Plain,
    /// A string instruction: from the noted word to `end`, in elements of the access's size; an element
    /// before if it went backwards.
    Range { end: u16 },
    /// One access to those of `lanes` elements whose bits are set in the word `mask`.
    Masked { mask: u16, lanes: u8 },
    /// The same where the mask is the sign bits of elements noted from the word `mask` on.
    Signed { mask: u16, lanes: u8 },
    /// An access for each lane; see [`Gather`].
    Gather(Gather),
    /// A function is entered; the word and displacement are its stack pointer, `back` where it returns.
    Enter { back: u64 },
    /// A function is left.
    Exit,
    /// A function of an allocator begins; its arguments are in words from `words` on.
    Allocator { function: u8, words: u16 },
    /// A function returns the number in the word, at the stack pointer in the word `pointer`.
    Result { pointer: u16, delta: i32 },
    /// The program marks that a region begins, or ends; its name is told by two words from `words` on.
    Region { begins: bool, words: u16 },
    /// A function begins that is to be recorded; the word and displacement are its stack pointer.
    Function,
    /// State of the processor is saved or restored: its size depends on the word `mask`.
    State { mask: u16 },
}

/// A gather or scatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gather {
    /// First of the noted words that hold the indices.
    pub indices: u16,
    /// Word that holds the mask, or the first of those that hold its elements.
    pub mask: u16,
    /// Number of lanes.
    pub lanes: u8,
    /// Whether indices are 64 bits wide.
    pub wide: bool,
    /// What they are multiplied with.
    pub scale: u8,
    /// Whether the mask is the sign bits of elements.
    pub signed: bool,
}

/// An access.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The second word of its record: kind, size, program counter.
    pub meta: u64,
    /// What is added to the word.
    pub displacement: u64,
    /// The word, or [`NO_WORD`].
    pub word: u16,
    /// Whether the base of fs is added.
    pub fs: bool,
    /// Number of the instruction in its block.
    pub instruction: u16,
    pub op: Op,
}

/// A plain access, as compact as can be: most records are made from these.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Quick {
    pub meta: u64,
    pub displacement: u64,
    /// The word; [`NO_WORD`] is the note's head, which is 0 by then.
    pub word: u64,
}

/// Quick accesses are made into records so many at a time: nearly every block has as many or fewer, so
/// that the processor foresees the loop's end.
pub const GROUP: usize = 4;

/// Where a descriptor is found by its number: its address, and if all its accesses are plain, those, filled up
/// to whole groups with ones that nobody reads.
#[repr(C)]
pub struct Entry {
    pub descriptor: *const Descriptor,
    /// How many quick accesses follow; 0 if not all are plain.
    pub count: u32,
    pub words: u32,
}

/// A descriptor.
#[derive(Debug)]
pub struct Descriptor {
    /// Address after the block's first instruction.
    pub pc: u64,
    /// Bytes of the program's code that the block stands for.
    pub bytes: u64,
    /// Words that a note is long, its head included.
    pub words: u16,
    /// Whether all accesses are plain, and none uses fs.
    pub plain: bool,
    /// Whether the block only jumps on to where an entry of a table points (a stub for calls into other
    /// libraries): such a block is not yet the function that was called.
    pub stub: bool,
    pub accesses: Box<[Access]>,
    /// How many of these are accesses to memory, if all are plain.
    pub hits: u16,
    /// Whether a function is left.
    pub exits: bool,
}
