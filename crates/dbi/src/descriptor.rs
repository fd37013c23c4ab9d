//! What a block of code does to memory: all that is known when it is translated.
//!
//! When the block runs it notes a head, by which the descriptor is found, and those words that only
//! then are known. An address is a noted word plus a displacement; several accesses share a word
//! where their registers stay the same.

use reuselens_wire::{Entry, EntryRow};

pub use reuselens_wire::NO_WORD;

/// What an access does, where it is not one plain access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// One access.
    Plain,
    /// A string instruction: from the noted word to `end`, in elements of the access's size; an
    /// element before if it went backwards.
    Range { end: u16 },
    /// One access to those of `lanes` elements whose bits are set in the word `mask`.
    Masked { mask: u16, lanes: u8 },
    /// The same where the mask is the sign bits of elements noted from the word `mask` on.
    Signed { mask: u16, lanes: u8 },
    /// An access for each lane; see [`Gather`].
    Gather(Gather),
    /// A function is entered; the word and displacement are its stack pointer, `back` where it
    /// returns.
    Enter { back: u64 },
    /// A function is left.
    Exit,
    /// A function of an allocator begins; its three arguments and where it returns are in words
    /// from `words` on.
    Allocator { function: u8, words: u16 },
    /// A function returns the number in the word, at the stack pointer in the word `pointer`. The
    /// block that it has stored is in the word `stored`, where it is a function that does so.
    Result {
        pointer: u16,
        delta: i32,
        stored: Option<u16>,
    },
    /// The program marks that a region begins, or ends; its name is told by two words from `words`
    /// on.
    Region { begins: bool, words: u16 },
    /// A function begins that is to be recorded; the word and displacement are its stack pointer.
    Function,
    /// The thread is about to let others go on; the word is the time-stamp counter.
    Order,
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

impl Access {
    /// Whether it is a row as it stands.
    pub fn is_row(&self) -> bool {
        matches!(self.op, Op::Plain | Op::Exit) && !self.fs
    }

    /// The row of the dictionary that stands for it, if there is one.
    pub fn row(&self) -> Option<EntryRow> {
        let row = EntryRow {
            meta: self.meta,
            displacement: self.displacement,
            word: u64::from(self.word),
        };
        match self.op {
            _ if self.is_row() => Some(row),
            Op::Masked { mask, lanes } if !self.fs => Some(row.masked(mask, lanes)),
            _ => None,
        }
    }

    /// Whether notes with it can be handed on as they are: it is a row, or adds none where they
    /// are.
    pub fn may_be_handed_on(&self) -> bool {
        self.row().is_some() || matches!(self.op, Op::Enter { .. } | Op::Result { .. })
    }
}

/// What is looked up for a note that has more than plain accesses: enough to hand it on at once, if
/// all that it has besides is a call, or a return that nobody waits for.
#[repr(C)]
pub struct Special {
    /// As those of the dictionary have it.
    pub entry: Entry,
    /// The head with which its plain accesses can be handed on, or 0.
    pub head: u32,
    /// Whether a function is called.
    pub enters: bool,
    /// Whether it matters whether a function of the allocator has been called.
    pub results: bool,
    /// The word of the stack pointer of the function that is called.
    pub word: u16,
    /// What is added to it.
    pub displacement: u64,
    /// Where the function returns.
    pub back: u64,
}

impl Special {
    /// The call that a note tells of: where it returns, and the stack pointer of the function.
    ///
    /// # Safety
    /// The note must be one of this descriptor's.
    #[inline(always)]
    pub unsafe fn call(&self, note: *const u64) -> (u64, u64) {
        // SAFETY: by the caller; descriptors name only words that their blocks note.
        let word = unsafe { *note.add(usize::from(self.word)) };
        (self.back, word.wrapping_add(self.displacement))
    }
}

/// A descriptor.
#[derive(Debug)]
pub struct Descriptor {
    /// Address after the block's first instruction.
    pub pc: u64,
    /// Words that a note is long, its head included; an even number.
    pub words: u16,
    /// Whether all accesses are plain, and none uses fs.
    pub plain: bool,
    /// Whether the block only jumps on to where an entry of a table points (a stub for calls into
    /// other libraries): such a block is not yet the function that was called.
    pub stub: bool,
    pub accesses: &'static [Access],
    /// How many of these are accesses to memory, if all are plain.
    pub hits: u16,
    /// Whether a function is left.
    pub exits: bool,
}
