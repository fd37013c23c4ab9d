//! The shared segment, mapped into the program.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use reuselens_wire::{
    BLOCK_BYTES, BLOCKS_OFFSET, BlockHeader, DICTIONARY_OFFSET, ENTRY_UNIT, HEADER_BYTES, Header,
    MAGIC, MARKS_OFFSET, Marks, SEGMENT_BYTES, SLOTS, Slot, SlotState, VERSION, WANTS_BASIC_BLOCKS,
    take_entry,
};

use super::{memory, space, sys};

/// Where it is; 0 = nobody listens.
static BASE: AtomicU64 = AtomicU64::new(0);
/// The same, but never forgotten.
static MAPPED: AtomicU64 = AtomicU64::new(0);
/// What is to be recorded, as the header said when it was opened.
static WANTS: AtomicU32 = AtomicU32::new(0);

/// Whether basic blocks are to be recorded.
pub fn wants_basic_blocks() -> bool {
    WANTS.load(Ordering::Relaxed) & WANTS_BASIC_BLOCKS != 0
}

/// Where entry `number` of the dictionary is; there must be a segment.
#[inline]
pub fn entry_address(number: u32) -> u64 {
    MAPPED.load(Ordering::Relaxed)
        + DICTIONARY_OFFSET as u64
        + u64::from(number) * ENTRY_UNIT as u64
}

/// The mapped segment.
#[derive(Clone, Copy)]
pub struct Segment {
    base: u64,
}

impl Segment {
    /// The segment, unless nobody listens (any more).
    #[inline]
    pub fn get() -> Option<Segment> {
        let base = BASE.load(Ordering::Acquire);
        (base != 0).then_some(Segment { base })
    }

    /// The segment, if there ever was one.
    pub fn ever() -> Option<Segment> {
        let base = MAPPED.load(Ordering::Acquire);
        (base != 0).then_some(Segment { base })
    }

    /// Records nothing from now on: the analysing side is gone.
    pub fn abandon() {
        BASE.store(0, Ordering::Release);
    }

    /// The header.
    pub fn header(self) -> &'static Header {
        // SAFETY: the mapping starts with a header and lasts as long as the process; all its fields
        // are atomic.
        unsafe { &*(self.base as *const Header) }
    }

    /// Slot `index`.
    pub fn slot(self, index: usize) -> &'static Slot {
        debug_assert!(index < SLOTS);
        // SAFETY: in bounds; as above.
        unsafe { &*((self.base as usize + HEADER_BYTES) as *const Slot).add(index) }
    }

    /// Address of block `index`.
    pub fn block_address(self, index: u32) -> u64 {
        self.base + BLOCKS_OFFSET as u64 + u64::from(index) * BLOCK_BYTES as u64
    }

    /// Header of block `index`, which comes from the pool.
    pub fn block(self, index: u32) -> &'static BlockHeader {
        // SAFETY: in bounds; as above.
        unsafe { &*(self.block_address(index) as *const BlockHeader) }
    }

    /// Whether other threads record too, or did.
    pub fn others_run() -> bool {
        let used = |segment: Segment| segment.header().slots_used.load(Ordering::Relaxed);
        Segment::get().is_some_and(|segment| used(segment) > 1)
    }

    /// The marks of block `index`, which comes from the pool.
    pub fn marks(self, index: u32) -> &'static Marks {
        // SAFETY: in bounds; as above.
        unsafe { &*((self.base as usize + MARKS_OFFSET) as *const Marks).add(index as usize) }
    }

    /// Takes room for an entry of the dictionary: its number.
    pub fn take_entry(self, bytes: usize) -> Option<u32> {
        take_entry(&self.header().dictionary_used, bytes)
    }

    /// Claims a free slot.
    pub fn claim_slot(self) -> Option<usize> {
        let claim = |index: &usize| {
            let state = &self.slot(*index).state;
            let (free, claimed) = (SlotState::Free as u32, SlotState::Claimed as u32);
            let (taken, seen) = (Ordering::Acquire, Ordering::Relaxed);
            state.load(seen) == free && state.compare_exchange(free, claimed, taken, seen).is_ok()
        };
        let index = (0..SLOTS).find(claim)?;
        let used = &self.header().slots_used;
        used.fetch_max(index as u32 + 1, Ordering::Release);
        Some(index)
    }
}

/// Maps the file at `path` (ended by a zero byte), so that blocks are aligned to their size.
/// Without it nothing is recorded.
pub fn open(path: &[u8]) {
    const O_RDWR: u64 = 2;
    const READ_WRITE: u64 = 3;
    const SHARED_FIXED: u64 = 0x11;
    let fd = sys::open(path, O_RDWR);
    if fd < 0 {
        return;
    }
    let at = memory::reserve(SEGMENT_BYTES as u64, BLOCK_BYTES as u64);
    let a = [
        at,
        SEGMENT_BYTES as u64,
        READ_WRITE,
        SHARED_FIXED,
        fd as u64,
        0,
    ];
    space::grow(SEGMENT_BYTES as u64);
    // SAFETY: the arena's own address space.
    let base = unsafe { sys::call(sys::MMAP, a) };
    sys::close(fd);
    if base != at as i64 {
        space::shrink(SEGMENT_BYTES as u64);
        return;
    }
    let segment = Segment { base: at };
    let header = segment.header();
    if header.magic.load(Ordering::Acquire) == MAGIC
        && header.version.load(Ordering::Relaxed) == VERSION
    {
        WANTS.store(header.wants.load(Ordering::Relaxed), Ordering::Relaxed);
        MAPPED.store(at, Ordering::Release);
        BASE.store(at, Ordering::Release);
    }
}
