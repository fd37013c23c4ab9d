//! The model of a trace: a [`Row`] is something that a thread did, a [`Block`] is consecutive rows
//! of one thread, in columns.
//!
//! Every [`Source`](crate::Source) fills blocks, and every analysis takes them. A block can have
//! item accesses ([`ItemBatch`]) or compressed rows ([`Repeats`]) too, if the consumer asked for
//! those. *Invariant:* all columns have the same length, and a row and its operand rows are in one
//! block.

use std::ops::Range;

use reuselens_units::Bytes;

use crate::{ItemBatch, ProcessId, Repeats, ThreadId};

/// What a row says happened. The numbers are those of the native file and of the shared-memory
/// ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// `size` bytes were read at `addr` by the instruction before `pc`.
    Load = 1,
    /// `size` bytes were written at `addr`.
    Store = 2,
    /// `size` bytes at `addr` were read and written in one atomic step: one access.
    Atomic = 3,
    /// Bytes from `addr` on were read by a range operation (`memcpy`); an [`Kind::Operand`] row
    /// with their number follows.
    RangeLoad = 4,
    /// Bytes from `addr` on were written by a range operation; an operand row follows (bytes).
    RangeStore = 5,
    /// A function was entered: `pc` is in it, `addr` is its stack pointer after the call (the low
    /// end of its caller's frame); an operand row with the call's return address follows. With size
    /// 0 the pointer is that within the function, the low end of its frame; with size 1 that of the
    /// moment of the call, where the return address is and the function's frame begins,
    /// downwards.
    Enter = 6,
    /// The function last entered was left. `addr` is the stack pointer, `pc` is in it.
    Exit = 7,
    /// A heap block begins at `addr`; `pc` is the allocating call's return address; an operand row
    /// (bytes) follows.
    Alloc = 8,
    /// The heap block at `addr` ends; an operand row follows: its bytes, or 0 for all of it.
    Free = 9,
    /// The program's own `RecordAccess(base, element)`: `addr` is the element; an operand row with
    /// the base follows. Accesses the element that contains `addr`.
    Named = 10,
    /// The program's own mark that a statement begins (for statement mode).
    Statement = 11,
    /// The program's own `RecordData(base, total, element)`: `addr` is the base; operand rows
    /// follow: total bytes, element bytes, length of the name in bytes, then the name, eight bytes
    /// a row, little endian, zero-padded.
    Data = 12,
    /// The program's own `RecordPartialData(base, entry)`: `addr` is the entry; an operand row with
    /// the base follows.
    PartialData = 13,
    /// A further number (`addr`) of the row before.
    Operand = 14,
    /// A basic block began; see [`crate::BasicBlock`], which such a row unpacks to. Only in traces
    /// that were asked for it.
    BasicBlock = 15,
}

impl Kind {
    /// The kind with this number, if there is one.
    #[inline]
    pub const fn from_u8(number: u8) -> Option<Kind> {
        Some(match number {
            1 => Kind::Load,
            2 => Kind::Store,
            3 => Kind::Atomic,
            4 => Kind::RangeLoad,
            5 => Kind::RangeStore,
            6 => Kind::Enter,
            7 => Kind::Exit,
            8 => Kind::Alloc,
            9 => Kind::Free,
            10 => Kind::Named,
            11 => Kind::Statement,
            12 => Kind::Data,
            13 => Kind::PartialData,
            14 => Kind::Operand,
            15 => Kind::BasicBlock,
            _ => return None,
        })
    }

    /// Whether a row of this kind is an access: one row is one access, whatever its bytes.
    #[inline]
    pub const fn is_access(self) -> bool {
        matches!(
            self,
            Kind::Load
                | Kind::Store
                | Kind::Atomic
                | Kind::RangeLoad
                | Kind::RangeStore
                | Kind::Named
        )
    }

    /// Whether rows of this kind change what later rows mean: calls, and what memory holds.
    #[inline]
    pub const fn is_state(self) -> bool {
        matches!(
            self,
            Kind::Enter | Kind::Exit | Kind::Alloc | Kind::Free | Kind::Data | Kind::PartialData
        )
    }

    /// How many operand rows follow a row of this kind, without those of a name ([`Kind::Data`]).
    #[inline]
    pub const fn operands(self) -> usize {
        match self {
            Kind::RangeLoad
            | Kind::RangeStore
            | Kind::Enter
            | Kind::Alloc
            | Kind::Free
            | Kind::Named
            | Kind::PartialData => 1,
            Kind::Data => 3,
            Kind::Load
            | Kind::Store
            | Kind::Atomic
            | Kind::Exit
            | Kind::Statement
            | Kind::Operand
            | Kind::BasicBlock => 0,
        }
    }
}

/// One row of a [`Block`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// What happened.
    pub kind: Kind,
    /// Bytes accessed, for loads, stores and atomics; see also [`Kind::Enter`]; else 0.
    pub size: u8,
    /// The return address of the hook: the instruction meant is just before it. 0 = unknown.
    pub pc: u64,
    /// The address, or the number that the kind calls for.
    pub addr: u64,
}

/// Consecutive rows of one thread, one column per field. A row and its operand rows are never
/// split over two blocks.
///
/// `first_stamp` and `last_stamp` are times on one clock of the machine (ticks; 0 = unknown):
/// blocks of different threads are delivered in the order of `last_stamp`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The process that ran.
    pub process: ProcessId,
    /// The thread that ran (unique over all processes of the trace).
    pub thread: ThreadId,
    /// When the first row was made.
    pub first_stamp: u64,
    /// When the last row was made.
    pub last_stamp: u64,
    /// Item accesses in the place of rows, if a consumer asked for
    /// [`Projection::Items`](crate::Projection::Items); else empty.
    pub item_batch: ItemBatch,
    /// Compressed rows, if a consumer asked for
    /// [`Projection::Repeats`](crate::Projection::Repeats); else empty.
    pub repeats: Box<Repeats>,
    kinds: Vec<Kind>,
    sizes: Vec<u8>,
    pcs: Vec<u64>,
    addrs: Vec<u64>,
}

/// The columns of a block, all of one length.
pub struct Columns<'a> {
    /// What each row says.
    pub kinds: &'a mut [Kind],
    /// Sizes in bytes.
    pub sizes: &'a mut [u8],
    /// Program counters.
    pub pcs: &'a mut [u64],
    /// Addresses and operands.
    pub addrs: &'a mut [u64],
}

impl Columns<'_> {
    /// Writes the rows `into` as copies of the rows `back` places before, each at an address
    /// further by its step. There are `back` steps, which repeat.
    #[inline]
    pub fn repeat(&mut self, back: usize, steps: &[u64], into: Range<usize>) {
        copy_back(self.kinds, back, &into);
        copy_back(self.sizes, back, &into);
        copy_back(self.pcs, back, &into);
        let (before, after) = self.addrs[into.start - back..into.end].split_at_mut(back);
        let mut before = &*before;
        for part in after.chunks_mut(back) {
            for ((addr, last), step) in part.iter_mut().zip(before).zip(steps) {
                *addr = last.wrapping_add(*step);
            }
            before = part;
        }
    }
}

/// Writes to `into` copies of the values `back` places before.
fn copy_back<T: Copy>(column: &mut [T], back: usize, into: &Range<usize>) {
    let (from, mut at) = (into.start - back, into.start);
    while at < into.end {
        // What was just written repeats too, so each copy is twice as long as the one before.
        let length = (at - from).min(into.end - at);
        column.copy_within(from..from + length, at);
        at += length;
    }
}

impl Block {
    /// An empty block.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the rows and keeps the memory.
    pub fn clear(&mut self) {
        self.item_batch.clear();
        self.repeats.clear();
        self.kinds.clear();
        self.sizes.clear();
        self.pcs.clear();
        self.addrs.clear();
    }

    /// The memory held, used or not.
    pub fn memory(&self) -> Bytes {
        let rows = self.kinds.capacity() * size_of::<Kind>()
            + self.sizes.capacity()
            + (self.pcs.capacity() + self.addrs.capacity()) * size_of::<u64>();
        Bytes((rows + self.item_batch.memory() + self.repeats.memory()) as u64)
    }

    /// The number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there are no rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Makes room for `rows` more rows.
    pub fn reserve(&mut self, rows: usize) {
        self.kinds.reserve(rows);
        self.sizes.reserve(rows);
        self.pcs.reserve(rows);
        self.addrs.reserve(rows);
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, row: Row) {
        self.kinds.push(row.kind);
        self.sizes.push(row.size);
        self.pcs.push(row.pc);
        self.addrs.push(row.addr);
    }

    /// Appends rows, column by column: faster than one by one. The iterator is run once per column.
    #[inline]
    pub fn extend(&mut self, rows: impl Iterator<Item = Row> + Clone) {
        self.kinds.extend(rows.clone().map(|row| row.kind));
        self.sizes.extend(rows.clone().map(|row| row.size));
        self.pcs.extend(rows.clone().map(|row| row.pc));
        self.addrs.extend(rows.map(|row| row.addr));
    }

    /// Appends rows that are in columns already; they are as many as the shortest has.
    #[inline]
    pub fn append(&mut self, kinds: &[Kind], sizes: &[u8], pcs: &[u64], addrs: &[u64]) {
        let rows = kinds.len().min(sizes.len()).min(pcs.len()).min(addrs.len());
        self.kinds.extend_from_slice(&kinds[..rows]);
        self.sizes.extend_from_slice(&sizes[..rows]);
        self.pcs.extend_from_slice(&pcs[..rows]);
        self.addrs.extend_from_slice(&addrs[..rows]);
    }

    /// The columns, made `rows` long, to be overwritten: their contents are arbitrary. Memory that
    /// the block had before is not cleared, so a block that is used again costs nothing.
    /// [`Self::truncate`] removes rows that were not needed.
    pub fn overwrite(&mut self, rows: usize) -> Columns<'_> {
        self.item_batch.clear();
        self.repeats.clear();
        self.kinds.resize(rows, Kind::Load);
        self.sizes.resize(rows, 0);
        self.pcs.resize(rows, 0);
        self.addrs.resize(rows, 0);
        Columns {
            kinds: &mut self.kinds,
            sizes: &mut self.sizes,
            pcs: &mut self.pcs,
            addrs: &mut self.addrs,
        }
    }

    /// Appends the first rows of another.
    pub fn append_first(&mut self, other: &Block, rows: usize) {
        self.append(
            &other.kinds[..rows],
            &other.sizes[..rows],
            &other.pcs[..rows],
            &other.addrs[..rows],
        );
    }

    /// Keeps the first `rows` rows.
    pub fn truncate(&mut self, rows: usize) {
        self.kinds.truncate(rows);
        self.sizes.truncate(rows);
        self.pcs.truncate(rows);
        self.addrs.truncate(rows);
    }

    /// Keeps the rows `rows`, which are there.
    pub fn keep(&mut self, rows: Range<usize>) {
        self.truncate(rows.end);
        self.kinds.drain(..rows.start);
        self.sizes.drain(..rows.start);
        self.pcs.drain(..rows.start);
        self.addrs.drain(..rows.start);
    }

    /// Keeps of the rows before `end` those that `wanted` says, and those of which
    /// [`Kind::is_state`] is true with their operands.
    pub(crate) fn keep_state(&mut self, wanted: Range<usize>, end: usize) {
        let (mut kept, mut state) = (0, false);
        for row in 0..end.min(self.len()) {
            let kind = self.kinds[row];
            state = kind.is_state() || (state && kind == Kind::Operand);
            if state || wanted.contains(&row) {
                self.kinds[kept] = kind;
                self.sizes[kept] = self.sizes[row];
                self.pcs[kept] = self.pcs[row];
                self.addrs[kept] = self.addrs[row];
                kept += 1;
            }
        }
        self.truncate(kept);
    }

    /// Appends an operand row.
    #[inline]
    pub fn push_operand(&mut self, number: u64) {
        self.push(Row {
            kind: Kind::Operand,
            size: 0,
            pc: 0,
            addr: number,
        });
    }

    /// Row `index`, or `None` past the end.
    #[inline]
    pub fn row(&self, index: usize) -> Option<Row> {
        Some(Row {
            kind: *self.kinds.get(index)?,
            size: self.sizes[index],
            pc: self.pcs[index],
            addr: self.addrs[index],
        })
    }

    /// The first operand of the row at `index`; 0 if there is none.
    pub fn operand(&self, index: usize) -> u64 {
        let next = self.row(index + 1);
        let operand = next.filter(|row| row.kind == Kind::Operand);
        operand.map_or(0, |row| row.addr)
    }

    /// The bytes of the load, store, atomic or range operation at `index`.
    pub fn access_bytes(&self, index: usize) -> u64 {
        match self.kinds[index] {
            Kind::RangeLoad | Kind::RangeStore => self.operand(index),
            _ => self.sizes[index].into(),
        }
    }

    /// The rows in order.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        (0..self.len()).filter_map(|index| self.row(index))
    }

    /// The column of kinds.
    #[inline]
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// The column of access sizes in bytes.
    #[inline]
    pub fn sizes(&self) -> &[u8] {
        &self.sizes
    }

    /// The column of program counters.
    #[inline]
    pub fn pcs(&self) -> &[u64] {
        &self.pcs
    }

    /// The column of addresses and operands.
    #[inline]
    pub fn addrs(&self) -> &[u64] {
        &self.addrs
    }
}
