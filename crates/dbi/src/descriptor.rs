//! [`Descriptor`]: what a block of code does to memory, as far as that is known when the block is
//! translated.
//!
//! When the block runs it writes a block record: a head, by which the descriptor is found, and the
//! words that are known only then. An access's address is a word of the block record plus a
//! displacement; several accesses share a word where their registers do not change in between.
//! The translator (`x86_64/translate.rs`) makes descriptors, `codes` keeps them, and `expand` reads
//! block records by them.

use reuselens_wire::{DictionaryEntry, EntryRow};

pub use reuselens_wire::NO_WORD;

/// What an access does. Many are no accesses to memory, but other events that a block records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// One access.
    Plain,
    /// A string instruction: a range from the address in the access's word to the address in word
    /// `end`, in elements of the access's size. If `end` is lower, the instruction went backwards,
    /// and the range begins one element after `end`.
    Range { end: u16 },
    /// One access, from the first to the last of `lanes` elements whose bits are set in word
    /// `mask`.
    Masked { mask: u16, lanes: u8 },
    /// The same with the mask in the sign bits of elements, which begin at word `mask`.
    Signed { mask: u16, lanes: u8 },
    /// An access for each lane; see [`Gather`].
    Gather(Gather),
    /// A function is called; word and displacement are its stack pointer, `back` is the return
    /// address.
    Enter { back: u64 },
    /// A function is left.
    Exit,
    /// A function of an allocator begins; its three arguments and its return address are four words
    /// that begin at `words`.
    Allocator { function: u8, words: u16 },
    /// A function returns the number in the access's word. Its stack pointer is word `pointer` plus
    /// `delta`. If it is a function that stores its block, the block is in word `stored`.
    Result {
        pointer: u16,
        delta: i32,
        stored: Option<u16>,
    },
    /// A region begins or ends; the address and the length of its name are two words that begin at
    /// `words`.
    Region { begins: bool, words: u16 },
    /// A function that is to be recorded begins; word and displacement are its stack pointer.
    Function,
    /// The thread is about to let others go on; the word is the time-stamp counter.
    Order,
    /// State of the processor is saved or restored; word `mask` has its components, which give its
    /// size.
    State { mask: u16 },
}

/// A gather or scatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gather {
    /// First of the block record's words that hold the indices.
    pub indices: u16,
    /// Word that holds the mask, or the first of those that hold its elements.
    pub mask: u16,
    /// Number of lanes.
    pub lanes: u8,
    /// Whether indices are 64 bits wide, not 32.
    pub wide: bool,
    /// By what an index is multiplied.
    pub scale: u8,
    /// Whether the mask is the sign bits of elements.
    pub signed: bool,
}

/// An access or another event of a block.
#[derive(Clone, Copy, Debug)]
pub struct BlockAccess {
    /// The second word of its record: kind, size, program counter.
    pub meta: u64,
    /// What is added to the word.
    pub displacement: u64,
    /// Number of the word in the block record, or [`NO_WORD`].
    pub word: u16,
    /// Whether the base of the segment fs is added.
    pub fs: bool,
    /// Number of the instruction in its block.
    pub instruction: u16,
    pub op: Op,
}

impl BlockAccess {
    /// Whether it is always exactly one row of the dictionary, without a mask.
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

    /// Whether block records with it can be sent unchanged: it is a row, or one of the events that
    /// add no row and that the sender handles itself.
    pub fn may_be_sent_unchanged(&self) -> bool {
        self.row().is_some() || matches!(self.op, Op::Enter { .. } | Op::Result { .. })
    }
}

/// What is looked up for a block record that has more than plain accesses. It is enough to send
/// the record at once, if all that it has besides is a call, or a return while no allocator's
/// function is followed.
#[repr(C)]
pub struct Special {
    /// Its entry, which is in the dictionary, too, if `head` is not 0.
    pub entry: DictionaryEntry,
    /// The head with which the block record can be sent, or 0 if it must be expanded.
    pub head: u32,
    /// Whether a function is called.
    pub enters: bool,
    /// Whether it has an [`Op::Result`]: it must be expanded while an allocator's function is
    /// followed.
    pub results: bool,
    /// If a function is called or left: the word of its stack pointer,
    pub word: u16,
    /// what is added to that word,
    pub displacement: u64,
    /// and, if it is called, the return address.
    pub back: u64,
}

impl Special {
    /// The call in a block record: its return address, and the stack pointer of the function.
    ///
    /// # Safety
    /// `block_record` must point to a block record with this `Special`'s head.
    #[inline(always)]
    pub unsafe fn call(&self, block_record: *const u64) -> (u64, u64) {
        // SAFETY: by the caller.
        (self.back, unsafe { self.pointer(block_record) })
    }

    /// The stack pointer of the function that is called or left in a block record.
    ///
    /// # Safety
    /// As [`Self::call`].
    #[inline(always)]
    pub unsafe fn pointer(&self, block_record: *const u64) -> u64 {
        // SAFETY: by the caller; descriptors name only words that their blocks write.
        let word = unsafe { *block_record.add(usize::from(self.word)) };
        word.wrapping_add(self.displacement)
    }
}

/// What a block does to memory.
#[derive(Debug)]
pub struct Descriptor {
    /// Address after the block's first instruction.
    pub pc: u64,
    /// Words of a block record, its head included; an even number.
    pub words: u16,
    /// Whether all accesses are rows ([`BlockAccess::is_row`]).
    pub plain: bool,
    /// Whether the block only jumps to an address in a table (a stub for calls into other
    /// libraries): such a block is not the function that was called.
    pub stub: bool,
    /// In the order in which they happen.
    pub accesses: &'static [BlockAccess],
    /// How many of these are plain accesses to memory.
    pub hits: u16,
    /// Of these, the one by which a function is left, if it is.
    pub exit: Option<&'static BlockAccess>,
    /// What there is to count, and to look at, where its accesses are not recorded.
    pub summary: EventSummary,
}

/// What there is to count and to look at in a block record whose accesses are not recorded: the
/// number of its plain accesses, and flags. It is in the dictionary entry, so that the descriptor
/// need not be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventSummary(u32);

impl EventSummary {
    /// A function is called or left.
    pub const CALLS: u32 = 1 << 16;
    /// It may be an allocator's function that returns.
    pub const RESULT: u32 = 1 << 17;
    /// There are more accesses, as many as the words of the block record say.
    pub const VARIES: u32 = 1 << 18;
    /// There are events that are recorded in any case.
    pub const KEPT: u32 = 1 << 19;
    /// There are events by which what is recorded changes.
    pub const DECIDES: u32 = 1 << 20;

    /// That of a block with these accesses, of which `hits` are plain.
    pub fn of(hits: u16, accesses: &[BlockAccess]) -> EventSummary {
        let flag = |access: &BlockAccess| match access.op {
            Op::Plain => 0,
            Op::Enter { .. } | Op::Exit => EventSummary::CALLS,
            Op::Result { .. } => EventSummary::RESULT,
            Op::Range { .. }
            | Op::Masked { .. }
            | Op::Signed { .. }
            | Op::Gather(_)
            | Op::State { .. } => EventSummary::VARIES,
            Op::Allocator { .. } | Op::Order => EventSummary::KEPT,
            Op::Region { .. } | Op::Function => EventSummary::DECIDES,
        };
        let flags = accesses
            .iter()
            .fold(0, |flags, access| flags | flag(access));
        EventSummary(u32::from(hits) | flags)
    }

    /// As a number of a dictionary entry.
    pub fn to_bits(self) -> u32 {
        self.0
    }

    /// From that number.
    #[inline(always)]
    pub fn from_bits(bits: u32) -> EventSummary {
        EventSummary(bits)
    }

    /// How many plain accesses to memory there are.
    #[inline(always)]
    pub fn hits(self) -> u64 {
        u64::from(self.0 as u16)
    }

    /// Whether it has any of these flags.
    #[inline(always)]
    pub fn has(self, flags: u32) -> bool {
        self.0 & flags != 0
    }
}
