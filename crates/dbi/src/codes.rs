//! The code cache: where translated blocks are, and what is known of them.
//!
//! [`Codes`] holds the blocks with an index by their addresses in the program, links the exits of
//! blocks to other blocks, and makes blocks stale when the program's code changes. It is one value
//! for all threads ([`CODES`]), behind a lock. This module also keeps what the heads of block
//! records mean: entries of the segment's dictionary, and [`Special`]s of this process.
//!
//! Code in the cache is never freed or moved, for threads may run it at any time. A stale block's
//! head is overwritten with a jump to the dispatcher, later to the block that replaces it.

mod exits;
mod threaded;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use reuselens_guest::sys;
use reuselens_wire::{
    ARENA, BLOCK_RECORD_BYTES_MOST, CACHE, DictionaryEntry, ENTRY_ROWS_MOST, EntryRow, SPECIAL,
    SPECIALS_MOST, START_BYTES, block_record_head, entry_bytes, special_head, take_entry,
    unpack_head,
};

use super::blocks::{CachedBlock, Position, sum};
use super::descriptor::{BlockAccess, Descriptor, Op, Special};
use super::lock::Lock;
use super::memory::{self, Frontier};
use super::segment;
use super::x86_64::asm;
use super::x86_64::translate::{Input, translate};
pub use exits::{Exit, Exits};
pub use threaded::{is_threaded, shows_faults};

/// Where the cache ends. It begins after the image, within reach of the image's jumps.
const CACHE_END: u64 = ARENA - (64 << 20);
/// The most bytes of a block in the cache.
const BLOCK_MOST: u64 = 64 << 10;
/// The most heads that one block has.
const HEADS_MOST: u32 = 16;
/// Bytes of address space for the list of [`Special`]s.
const SPECIALS_BYTES: u64 = SPECIALS_MOST as u64 * size_of::<Special>() as u64;
const EXECUTABLE: u64 = sys::PROT_READ_WRITE | sys::PROT_EXEC;
/// How much of the cache is accessible beyond the next block, at least: for the jumps of blocks
/// that become stale, for which there must be room.
const AHEAD: u64 = 1 << 20;

/// Address of the list of [`Special`]s; the number of a head with [`SPECIAL`] is an index in it.
static SPECIALS: AtomicU64 = AtomicU64::new(0);
/// Length of that list.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// Address in the cache of the next block.
static NEXT: AtomicU64 = AtomicU64::new(CACHE);
/// The end of the accessible part of the cache, and of that of the list of [`Special`]s.
static ENDS: [Frontier; 2] = [
    Frontier::new(CACHE + START_BYTES[0], EXECUTABLE),
    Frontier::new(0, sys::PROT_READ_WRITE),
];

/// What a head with [`SPECIAL`] means.
#[inline]
pub fn special(head: u32) -> &'static Special {
    let at = SPECIALS.load(Ordering::Relaxed) as *const Special;
    // SAFETY: heads come from blocks, and a block's `Special`s are made before it and never freed.
    unsafe { &*at.add(unpack_head(head).0 as usize) }
}

/// The dictionary entry of a head.
#[inline]
pub fn entry(head: u32) -> &'static DictionaryEntry {
    if head & SPECIAL != 0 {
        return &special(head).entry;
    }
    // SAFETY: as above; the dictionary stays mapped.
    unsafe { &*(segment::entry_address(unpack_head(head).0) as *const DictionaryEntry) }
}

/// The last row of a dictionary entry that has rows of its own, as the entry of a block without
/// more than plain accesses has that leaves a function: the exit.
#[inline(always)]
pub fn last_row(entry: &'static DictionaryEntry) -> Option<&'static EntryRow> {
    let last = (entry.rows as usize).checked_sub(1)?;
    let rows = core::ptr::from_ref(entry)
        .wrapping_add(1)
        .cast::<EntryRow>();
    // SAFETY: rows without `of` follow their entry (`share`).
    (entry.of == 0).then(|| unsafe { &*rows.add(last) })
}

/// The descriptor of the block that writes block records with this head.
pub fn descriptor(head: u32) -> &'static Descriptor {
    // SAFETY: this process or one that it was forked from made it, and it is never freed.
    unsafe { &*(entry(head).own as *const Descriptor) }
}

/// Adds a descriptor and returns the head of its block records. Called with the codes locked. If
/// its rows are the first rows of another descriptor, `longer` is that one's head.
pub fn add_descriptor(descriptor: Descriptor, longer: Option<u32>) -> u32 {
    let descriptor: &Descriptor = Box::leak(Box::new(descriptor));
    let pc = if descriptor.stub { 0 } else { descriptor.pc };
    let rows = descriptor.accesses.iter().filter_map(BlockAccess::row);
    let entry = DictionaryEntry {
        own: core::ptr::from_ref(descriptor) as u64,
        pc,
        rows: rows.count() as u32,
        words: u32::from(descriptor.words),
        of: longer.and_then(shared).map_or(0, |number| number + 1),
        summary: descriptor.summary.to_bits(),
    };
    let head = share(descriptor, entry);
    match head {
        Some(head) if descriptor.plain => head,
        _ => add_special(descriptor, entry, head.unwrap_or(0)),
    }
}

/// The number of the dictionary entry for block records with this head, if there is one.
fn shared(head: u32) -> Option<u32> {
    let head = if head & SPECIAL == 0 {
        head
    } else {
        special(head).head
    };
    (head != 0).then(|| unpack_head(head).0)
}

/// Writes the meaning of a descriptor's block records into the dictionary, and returns the head
/// for it. `None` if the dictionary is full, or these records cannot be sent unchanged.
fn share(descriptor: &Descriptor, entry: DictionaryEntry) -> Option<u32> {
    let accesses = descriptor.accesses;
    let fits = entry.rows as usize <= ENTRY_ROWS_MOST
        && entry.words as usize * 8 <= BLOCK_RECORD_BYTES_MOST;
    if !fits || !accesses.iter().all(BlockAccess::may_be_sent_unchanged) {
        return None;
    }
    let own = if entry.of == 0 { accesses } else { &[][..] };
    let rows = own.iter().filter_map(BlockAccess::row);
    let bytes = entry_bytes(rows.clone().count());
    let number = take_entry(&segment::get()?.header().dictionary_used, bytes)?;
    // SAFETY: these bytes were taken for this entry; no other thread or process uses them yet.
    unsafe {
        let at = segment::entry_address(number) as *mut DictionaryEntry;
        at.write(entry);
        let first = at.add(1).cast::<EntryRow>();
        rows.enumerate()
            .for_each(|(index, row)| first.add(index).write(row));
    }
    Some(block_record_head(number, entry.words))
}

/// Adds a [`Special`] for a descriptor, and returns its head. `head` is the head with which the
/// plain accesses can be sent, or 0.
fn add_special(descriptor: &Descriptor, entry: DictionaryEntry, head: u32) -> u32 {
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let moves = descriptor.accesses.iter().find_map(|access| {
        let back = match access.op {
            Op::Enter { back } => Some(back),
            Op::Exit => None,
            _ => return None,
        };
        Some((access.word, access.displacement, back))
    });
    let (word, displacement, back) = moves.unwrap_or_default();
    let result = |access: &BlockAccess| matches!(access.op, Op::Result { .. });
    let special = Special {
        entry,
        head,
        enters: back.is_some(),
        results: descriptor.accesses.iter().any(result),
        word,
        displacement,
        back: back.unwrap_or(0),
    };
    let at = SPECIALS.load(Ordering::Relaxed) as *mut Special;
    // SAFETY: `is_full` has checked that there is room; nothing uses it yet.
    unsafe { at.add(number as usize).write(special) };
    special_head(number, u32::from(descriptor.words))
}

/// All blocks in the code cache.
pub struct Codes {
    exits: Exits,
    /// In the order of their code.
    blocks: Vec<CachedBlock>,
    /// A hash table with open addressing: address in the program, and 1 + the number of the newest
    /// block that begins there.
    index: Vec<(u64, u32)>,
    /// Used entries of `index`.
    living: usize,
    /// Numbers of blocks by the pages of the program that they come from.
    pages: BTreeMap<u64, Vec<u32>>,
    /// Heads of stale blocks by their address in the program. When a new block begins at that
    /// address, they are made to jump to it.
    stale: BTreeMap<u64, Vec<u64>>,
}

/// All blocks of this process.
pub static CODES: Lock<Codes> = Lock::new(Codes {
    exits: Exits::new(),
    blocks: Vec::new(),
    index: Vec::new(),
    living: 0,
    pages: BTreeMap::new(),
    stale: BTreeMap::new(),
});

/// Makes room for the list of [`Special`]s; false if the system refuses.
pub fn begin() -> bool {
    let specials = memory::reserve(SPECIALS_BYTES, 4096);
    SPECIALS.store(specials, Ordering::Relaxed);
    ENDS[1].begin(specials);
    has_specials()
}

/// Whether there is room for the [`Special`]s of one more block.
fn has_specials() -> bool {
    let count = COUNT.load(Ordering::Relaxed) + HEADS_MOST;
    let bytes = u64::from(count) * size_of::<Special>() as u64;
    count <= SPECIALS_MOST && ENDS[1].reach(SPECIALS.load(Ordering::Relaxed) + bytes)
}

/// Whether an address is in the cache.
pub fn is_cache(address: u64) -> bool {
    (CACHE..CACHE_END).contains(&address)
}

/// The address in the program of the instruction whose code is at an address in the cache.
pub fn program_counter(code: u64) -> Option<u64> {
    if !is_cache(code) {
        return None;
    }
    let (position, _) = CODES.lock().position(code)?;
    Some(position.pc)
}

/// Code to be translated, and what is known of it; see [`Input`] for the fields.
pub struct Source<'a> {
    pub pc: u64,
    pub code: &'a [u8],
    pub allocator: Option<u8>,
    pub results: bool,
    pub function: bool,
    /// Whether the code cannot be written to.
    pub lasting: bool,
    /// Whether a function of an allocator, or one that is to be recorded, begins at an address.
    pub begins: fn(u64) -> bool,
    /// Whether an address is in an allocator's function that stores its block.
    pub stores: fn(u64) -> bool,
}

impl Codes {
    /// The exit with this number.
    pub fn exit(&self, number: u32) -> Exit {
        self.exits.get(number)
    }

    fn slot(&self, pc: u64) -> usize {
        let mask = self.index.len() - 1;
        let mut at = (pc.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.index[at].1 != 0 && self.index[at].0 != pc {
            at = (at + 1) & mask;
        }
        at
    }

    /// The head of the block for an address in the program, if it is translated.
    pub fn find(&self, pc: u64) -> Option<u64> {
        if self.index.is_empty() {
            return None;
        }
        let number = self.index[self.slot(pc)].1.checked_sub(1)?;
        let block = &self.blocks[number as usize];
        block.alive.then_some(block.head)
    }

    fn enter_index(&mut self, pc: u64, number: u32) {
        if self.living * 2 >= self.index.len() {
            let old = core::mem::take(&mut self.index);
            self.index = alloc::vec![(0, 0); (old.len() * 2).max(1 << 14)];
            for entry in old.into_iter().filter(|entry| entry.1 != 0) {
                let at = self.slot(entry.0);
                self.index[at] = entry;
            }
        }
        let at = self.slot(pc);
        self.living += usize::from(self.index[at].1 == 0);
        self.index[at] = (pc, number + 1);
    }

    /// Whether there is no room for one more block.
    pub fn is_full(&self) -> bool {
        let end = NEXT.load(Ordering::Relaxed) + BLOCK_MOST + AHEAD;
        end > CACHE_END || !ENDS[0].reach(end) || !has_specials()
    }

    /// Makes the cache accessible to its end, as far as the system allows: the program is about to
    /// forbid that memory becomes writable and executable.
    pub fn take_all(&mut self) {
        ENDS[0].reach(CACHE_END);
    }

    /// Translates a block and puts it into the cache. Returns its head's address.
    pub fn add(&mut self, source: &Source<'_>) -> u64 {
        let at = NEXT.load(Ordering::Relaxed);
        let input = Input {
            pc: source.pc,
            code: source.code,
            allocator: source.allocator,
            results: source.results,
            blocks: segment::wants_basic_blocks(),
            ordered: is_threaded(),
            shows_faults: shows_faults(),
            lasting: source.lasting,
            begins: source.begins,
            stores: source.stores,
            function: source.function,
            at,
        };
        let translated = translate(&input, &mut self.exits, add_descriptor);
        let placed = translated.placed;
        let end = source.pc + translated.bytes;
        let length = placed.bytes.len();
        // SAFETY: the cache has room there, which nothing uses yet.
        unsafe {
            core::ptr::copy_nonoverlapping(placed.bytes.as_ptr(), at as *mut u8, length);
        }
        NEXT.store(at + length as u64, Ordering::Relaxed);
        let head = at + placed.head as u64;
        let index = self.blocks.len() as u32;
        self.blocks.push(CachedBlock {
            pc: source.pc,
            end,
            head,
            tail: at + length as u64,
            sum: sum(&source.code[..source.code.len().min((end - source.pc) as usize)]),
            descriptor: translated.head,
            unordered: translated.unordered,
            blurs_faults: translated.blurs_faults,
            alive: true,
            parts: placed.parts,
        });
        self.enter_index(source.pc, index);
        for page in source.pc >> 12..=(end - 1).max(source.pc) >> 12 {
            self.pages.entry(page).or_default().push(index);
        }
        for old in self.stale.remove(&source.pc).unwrap_or_default() {
            lead(old, head);
        }
        head
    }

    /// Makes an exit's jump go to the code at `head` from now on, if the exit has a jump.
    pub fn link(&self, exit: Exit, head: u64) {
        if exit.at != 0 {
            let distance = head.wrapping_sub(exit.at + 4) as u32;
            // SAFETY: four bytes of a jump within one cache line, written at once.
            unsafe { (exit.at as *mut u32).write_volatile(distance) };
        }
    }

    /// The place in a block of an address in the cache, and the block's address in the program.
    /// `None` if no block is there.
    pub fn position(&self, code: u64) -> Option<(Position, u64)> {
        let after = self.blocks.partition_point(|block| block.head <= code);
        let block = &self.blocks[after.checked_sub(1)?];
        if code >= block.tail {
            return None;
        }
        Some((block.position(code)?, block.pc))
    }

    /// Whether any block comes from a page of the memory from `low` to `high`.
    pub fn has(&self, low: u64, high: u64) -> bool {
        !self.within(low, high).is_empty()
    }

    /// The pages from `low` to `high` that blocks come from.
    fn within(&self, low: u64, high: u64) -> Vec<u64> {
        let first = low >> 12;
        let range = first..high.div_ceil(4096).max(first);
        self.pages.range(range).map(|(page, _)| *page).collect()
    }

    /// Makes the blocks of the program's memory from `low` to `high` stale: that is gone or may
    /// change.
    pub fn discard(&mut self, low: u64, high: u64) {
        for page in self.within(low, high) {
            for number in self.pages.remove(&page).unwrap_or_default() {
                self.kill(number);
            }
        }
    }

    /// Like [`Self::discard`], but keeps blocks whose bytes have not changed.
    pub fn revise(&mut self, low: u64, high: u64) {
        for page in self.within(low, high) {
            let blocks = self.pages.remove(&page).unwrap_or_default();
            let (same, changed): (Vec<u32>, Vec<u32>) = blocks.into_iter().partition(|number| {
                let block = &self.blocks[*number as usize];
                let mut bytes = [0; 1024];
                let length = ((block.end - block.pc) as usize).min(1024);
                block.alive
                    && sys::peek(block.pc, &mut bytes[..length])
                    && sum(&bytes[..length]) == block.sum
            });
            changed.into_iter().for_each(|number| self.kill(number));
            if !same.is_empty() {
                self.pages.insert(page, same);
            }
        }
    }

    /// Makes a block stale: its head becomes a jump to code that asks the dispatcher for a new
    /// block.
    fn kill(&mut self, number: u32) {
        let block = &mut self.blocks[number as usize];
        if !core::mem::replace(&mut block.alive, false) {
            return;
        }
        let (head, pc) = (block.head, block.pc);
        let exit = self.exits.add(pc, 0);
        let at = NEXT.load(Ordering::Relaxed);
        let mut emit = super::x86_64::emit::Emit::default();
        emit.store_number_gs(core::mem::offset_of!(super::thread::Thread, exit), exit);
        emit.jump(&[0xe9], at, asm::dispatch_address());
        let end = at + emit.bytes.len() as u64;
        if end > CACHE_END || !ENDS[0].reach(end) {
            memory::exhausted();
        }
        // SAFETY: the cache has room there, which nothing uses yet.
        unsafe {
            core::ptr::copy_nonoverlapping(emit.bytes.as_ptr(), at as *mut u8, emit.bytes.len());
        }
        NEXT.store(end, Ordering::Relaxed);
        lead(head, at);
        self.stale.entry(pc).or_default().push(head);
    }
}

/// Writes a jump to `to` over a block's head. The head's first instruction is at least as long as
/// the jump, so no thread can be between the overwritten bytes; eight bytes are written at once.
fn lead(head: u64, to: u64) {
    let distance = to.wrapping_sub(head + 5) as u32;
    // SAFETY: heads are aligned to sixteen bytes; blocks are longer than eight.
    unsafe {
        let place = head as *mut u64;
        let old = place.read_volatile();
        let new = old & !0xff_ffff_ffff | u64::from(distance) << 8 | 0xe9;
        (*place.cast::<AtomicU64>()).store(new, Ordering::SeqCst);
    }
}
