//! The memory of the tiers: a range of addresses for each, reserved at the first planned
//! allocation, in spans of 64 KiB.
//!
//! Blocks of up to 32 KiB share spans with others of their size class (eight classes to a
//! doubling); larger blocks are runs of spans. What is known of spans is outside of them. Nothing
//! is served beyond a tier's capacity: the caller then asks the ordinary allocator. A range of huge
//! pages has no more addresses than the capacity, so that fragments cannot take more pages either.
//!
//! Freed spans keep their pages. On nodes, where there are more addresses than bytes, they are
//! given back to the system before the capacity would be exceeded.

use core::sync::atomic::{AtomicUsize, Ordering};

use reuselens_guest::lock::Lock;
use reuselens_guest::sys;

use super::{plan, policy};
use crate::layout::{HUGE_PAGE, MAX_TIERS, SPAN, head, object, table, tier, way};

/// Spans of a huge page.
const PER_PAGE: usize = HUGE_PAGE / SPAN;
/// The largest block that shares a span.
const SMALL: usize = SPAN / 2;
const CLASSES: usize = 72;
const NO_SPAN: u32 = u32::MAX;

/// All ranges together, one after another; 0 and 0 before they are reserved. Both are read without
/// a lock: `BYTES` is written after `BASE` (release) and read before it (acquire), so that a thread
/// that sees a length also sees the address that it belongs to.
static BASE: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);
pub static LOCK: Lock = Lock::new();

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Use {
    Free,
    /// Blocks of a class.
    Small,
    /// The first of a run.
    Head,
    /// Another one of a run.
    Tail,
}

/// What is known of a span.
#[derive(Clone, Copy)]
struct Span {
    used_as: Use,
    /// Whether its bytes may be other than 0.
    is_dirty: bool,
    /// Of the first span of a huge page: whether the page is supplied.
    has_page: bool,
    /// The class of a small span; the number of spans of a run.
    class: u32,
    /// Blocks in use.
    blocks: u32,
    /// Blocks that were in use at any time: those after them are as new.
    fresh: u32,
    /// The first free block and 1; each begins with the next.
    free: u32,
    /// The other spans of the class that have free blocks.
    previous: u32,
    next: u32,
    /// What a run is charged with.
    charge: u64,
}

/// A tier's range, or that of blocks with chunks in tiers, which is the last.
struct Range {
    /// Spans that were in use at any time.
    top: usize,
    /// Spans in use.
    used: usize,
    /// Free spans that are dirty.
    kept: usize,
    /// No span before this one is free.
    lowest: usize,
    /// Bytes that count against the capacity.
    charge: u64,
    /// By class: the first span with free blocks.
    partial: [u32; CLASSES],
}

struct State {
    is_tried: bool,
    /// Spans of each range.
    spans: usize,
    table: *mut Span,
    ranges: [Range; MAX_TIERS + 1],
}

/// Changed by who holds [`LOCK`] only.
struct HeapCell(core::cell::UnsafeCell<State>);
// SAFETY: all accesses are made under `LOCK`.
unsafe impl Sync for HeapCell {}

static STATE: HeapCell = HeapCell(core::cell::UnsafeCell::new(State {
    is_tried: false,
    spans: 0,
    table: core::ptr::null_mut(),
    ranges: [const {
        Range {
            top: 0,
            used: 0,
            kept: 0,
            lowest: 0,
            charge: 0,
            partial: [NO_SPAN; CLASSES],
        }
    }; MAX_TIERS + 1],
}));

/// Calls `work` with the state, under the lock.
fn locked<T>(work: impl FnOnce(&mut State) -> T) -> T {
    let _held = LOCK.hold();
    // SAFETY: the lock is held, and `work` does not lock again.
    work(unsafe { &mut *STATE.0.get() })
}

/// Whether a block is one of ours.
#[inline]
pub fn is_ours(at: usize) -> bool {
    let bytes = BYTES.load(Ordering::Acquire);
    at.wrapping_sub(BASE.load(Ordering::Relaxed)) < bytes
}

/// The number of the class of a block, and the bytes of its blocks.
fn class(bytes: usize) -> (usize, usize) {
    let last = bytes.max(1) - 1;
    if last < 128 {
        return (last / 16, (last / 16 + 1) * 16);
    }
    let step = last.ilog2() as usize - 3;
    (
        (step - 4) * 8 + (last >> step),
        ((last >> step) + 1) << step,
    )
}

/// The bytes of the blocks of a class.
fn class_bytes(class: usize) -> usize {
    match class {
        0..8 => (class + 1) * 16,
        _ => (class % 8 + 9) << (class / 8 + 3),
    }
}

/// A block of an object: its address, and whether its bytes are 0. `None` where the ordinary
/// allocator has to serve it; the plan's counts say why.
pub fn allocate(number: usize, bytes: usize, align: usize) -> Option<(usize, bool)> {
    let tier = plan::get(plan::of_object(number, object::TIER)) as usize;
    let has_chunks = plan::get(plan::of_object(number, object::CHUNKS)) > 0;
    // Blocks of a power of two are aligned to it.
    let wanted = match align {
        0..=16 => bytes,
        _ => bytes.max(align).checked_next_power_of_two()?,
    };
    if align > HUGE_PAGE || wanted > 1 << 46 {
        plan::count_no_room(number, bytes);
        return None;
    }
    let found = locked(|state| {
        if !state.reserve() {
            plan::add(head::NO_RANGE, 1);
            plan::count_no_room(number, bytes);
            return None;
        }
        let found = if has_chunks {
            state.run_with_chunks(tier, number, bytes)
        } else if wanted <= SMALL {
            state.small(tier, class(wanted).0).map(|at| (at, false))
        } else {
            state.run(tier, tier, bytes, align)
        };
        if found.is_none() {
            plan::count_no_room(number, bytes);
        }
        found
    })?;
    plan::count_placed(number, bytes);
    Some(found)
}

/// The bytes that a block of ours has room for.
pub fn room(at: usize) -> usize {
    locked(|state| {
        let span = state.span_of(at);
        // SAFETY: a block's span is in the table.
        let known = unsafe { &*state.table.add(span) };
        match known.used_as {
            Use::Small => class_bytes(known.class as usize),
            _ => known.class as usize * SPAN,
        }
    })
}

/// Gives a block of ours back.
pub fn free(at: usize) {
    locked(|state| state.free(at));
}

/// Counts bytes against a tier's capacity, if it has room.
pub fn charge(tier: usize, bytes: u64) -> bool {
    locked(|state| {
        let has_room = state.charge(tier, bytes).is_some();
        if has_room {
            state.give_back(tier);
        }
        has_room
    })
}

/// Bytes that were counted are the tier's no more.
pub fn discharge(tier: usize, bytes: u64) {
    locked(|state| state.ranges[tier].charge = state.ranges[tier].charge.saturating_sub(bytes));
}

impl State {
    /// Reserves the ranges, at the first call; whether there are any.
    fn reserve(&mut self) -> bool {
        if self.is_tried {
            return self.spans > 0;
        }
        self.is_tried = true;
        let tiers = plan::count(table::TIERS);
        let largest = (0..tiers).map(|tier| plan::get(plan::of_tier(tier, tier::CAPACITY)));
        let largest = largest.max().unwrap_or(0).clamp(SPAN as u64, 1 << 40) as usize;
        // Four times as many addresses as bytes leave room for fragments.
        let mut spans = (4 * largest).max(1 << 30).next_multiple_of(HUGE_PAGE) / SPAN;
        while spans >= PER_PAGE && spans.is_multiple_of(PER_PAGE) {
            if let Some(()) = self.map(tiers, spans) {
                return true;
            }
            spans /= 2;
        }
        false
    }

    fn map(&mut self, tiers: usize, spans: usize) -> Option<()> {
        let bytes = (tiers + 1) * spans * SPAN;
        let flags = sys::MAP_NORESERVE;
        // SAFETY: new mappings, at places that the system chooses.
        let (at, known) = unsafe {
            let at = sys::map(0, bytes + HUGE_PAGE, sys::PROT_READ_WRITE, flags).ok()?;
            let known = (tiers + 1) * spans * size_of::<Span>();
            let known = sys::map(0, known, sys::PROT_READ_WRITE, flags);
            if known.is_err() {
                sys::munmap(at, bytes + HUGE_PAGE);
            }
            (at.next_multiple_of(HUGE_PAGE), known.ok()?)
        };
        self.spans = spans;
        self.table = known as *mut Span;
        for number in 0..tiers {
            policy::prepare(number, at + number * spans * SPAN, spans * SPAN);
        }
        BASE.store(at, Ordering::Relaxed);
        BYTES.store(bytes, Ordering::Release);
        Some(())
    }

    fn span_of(&self, at: usize) -> usize {
        (at - BASE.load(Ordering::Relaxed)) / SPAN
    }

    fn address(&self, span: usize) -> usize {
        BASE.load(Ordering::Relaxed) + span * SPAN
    }

    fn span(&mut self, span: usize) -> &mut Span {
        // SAFETY: spans are numbered within the table, which the state alone refers to.
        unsafe { &mut *self.table.add(span) }
    }

    /// A block of a class.
    fn small(&mut self, tier: usize, class: usize) -> Option<usize> {
        let first = match self.ranges[tier].partial[class] {
            NO_SPAN => self.take_small(tier, class)?,
            span => span as usize,
        };
        let bytes = class_bytes(class);
        let start = self.address(first);
        let span = self.span(first);
        let block = match span.free {
            0 => {
                span.fresh += 1;
                span.fresh as usize - 1
            }
            free => free as usize - 1,
        };
        let at = start + block * bytes;
        if span.free > 0 {
            // SAFETY: a free block begins with the number of the next.
            span.free = unsafe { *(at as *const u32) };
        }
        span.blocks += 1;
        let is_full = span.free == 0 && (span.fresh as usize + 1) * bytes > SPAN;
        if is_full {
            self.unlink(tier, first);
        }
        Some(at)
    }

    /// A new span for a class.
    fn take_small(&mut self, tier: usize, class: usize) -> Option<usize> {
        let (span, _) = self.take_charged(tier, tier, (1, 1), SPAN as u64)?;
        let known = self.span(span);
        (known.used_as, known.class, known.charge) = (Use::Small, class as u32, SPAN as u64);
        (known.blocks, known.fresh, known.free) = (0, 0, 0);
        self.link(tier, span);
        Some(span)
    }

    /// A block of spans of its own, in a range, charged to a tier.
    fn run(
        &mut self,
        range: usize,
        tier: usize,
        bytes: usize,
        align: usize,
    ) -> Option<(usize, bool)> {
        let count = bytes.max(1).div_ceil(SPAN);
        let charge = (count * SPAN) as u64;
        let align = align.div_ceil(SPAN);
        let (first, is_zero) = self.take_charged(range, tier, (count, align), charge)?;
        self.begin_run(first, count, (tier, charge));
        Some((self.address(first), is_zero))
    }

    /// A block of which parts only are placed, in the range of such blocks.
    fn run_with_chunks(
        &mut self,
        tier: usize,
        number: usize,
        bytes: usize,
    ) -> Option<(usize, bool)> {
        // Such blocks begin at a huge page, as address 0 does.
        let charge = policy::placed_bytes(number, 0, bytes);
        let (range, count) = (plan::count(table::TIERS), bytes.max(1).div_ceil(SPAN));
        let (first, is_zero) = self.take_charged(range, tier, (count, PER_PAGE), charge)?;
        self.begin_run(first, count, (tier, charge));
        let at = self.address(first);
        policy::apply_to_parts(number, at, bytes);
        Some((at, is_zero))
    }

    fn begin_run(&mut self, first: usize, count: usize, (tier, charge): (usize, u64)) {
        for span in first..first + count {
            self.span(span).used_as = Use::Tail;
        }
        let head = self.span(first);
        (head.used_as, head.class, head.charge) = (Use::Head, count as u32, charge);
        // Where the run is charged.
        head.blocks = tier as u32;
    }

    /// Free spans of a range, charged to a tier.
    fn take_charged(
        &mut self,
        range: usize,
        tier: usize,
        spans: (usize, usize),
        charge: u64,
    ) -> Option<(usize, bool)> {
        self.charge(tier, charge)?;
        let taken = self.take(range, spans);
        match taken {
            Some(_) => self.give_back(tier),
            None => self.ranges[tier].charge -= charge,
        }
        taken
    }

    /// Counts bytes against a tier's capacity, if it has room.
    fn charge(&mut self, tier: usize, bytes: u64) -> Option<()> {
        let capacity = plan::get(plan::of_tier(tier, tier::CAPACITY));
        let charge = self.ranges[tier].charge.checked_add(bytes)?;
        if charge > capacity {
            return None;
        }
        self.ranges[tier].charge = charge;
        plan::word(plan::of_tier(tier, tier::PEAK)).fetch_max(charge, Ordering::Relaxed);
        Some(())
    }

    /// The first of some free spans in a row, at a multiple of `align` spans, which has no use
    /// yet; whether they are all 0.
    fn take(&mut self, range: usize, (count, align): (usize, usize)) -> Option<(usize, bool)> {
        let start = range * self.spans;
        let first = match self.hole(range, count, align) {
            Some(first) => first,
            None => {
                let first = self.ranges[range].top.next_multiple_of(align);
                if first + count > self.limit(range) {
                    return None;
                }
                self.ranges[range].top = first + count;
                start + first
            }
        };
        if !self.supply(range, first, count) {
            return None;
        }
        let mut is_zero = true;
        for span in first..first + count {
            let known = self.span(span);
            // No longer free, so that `give_back` leaves it; the caller says what it is.
            known.used_as = Use::Tail;
            let was_dirty = core::mem::replace(&mut known.is_dirty, true);
            is_zero &= !was_dirty;
            self.ranges[range].kept -= usize::from(was_dirty);
        }
        self.ranges[range].used += count;
        Some((first, is_zero))
    }

    /// The number of spans of a range that may be used.
    fn limit(&self, range: usize) -> usize {
        if range == plan::count(table::TIERS)
            || plan::get(plan::of_tier(range, tier::WAY)) == way::NODE
        {
            return self.spans;
        }
        let pages = plan::get(plan::of_tier(range, tier::CAPACITY)) / HUGE_PAGE as u64;
        self.spans.min((pages as usize).saturating_mul(PER_PAGE))
    }

    /// The first free spans in a row among those that were in use.
    fn hole(&mut self, range: usize, count: usize, align: usize) -> Option<usize> {
        let (start, known) = (range * self.spans, &self.ranges[range]);
        let (lowest, top) = (known.lowest, known.top);
        if top - known.used < count {
            return None;
        }
        let mut first = lowest.next_multiple_of(align);
        let mut is_lowest = true;
        for span in lowest..top {
            if self.span(start + span).used_as != Use::Free {
                first = (span + 1).next_multiple_of(align);
                continue;
            }
            if core::mem::take(&mut is_lowest) {
                self.ranges[range].lowest = span;
            }
            if span + 1 == first + count {
                return Some(start + first);
            }
        }
        None
    }

    /// Puts pages behind spans, where the tier's way needs that; whether it could.
    fn supply(&mut self, range: usize, first: usize, count: usize) -> bool {
        if !policy::needs_supply(range) {
            return true;
        }
        let pages = first / PER_PAGE..(first + count).div_ceil(PER_PAGE);
        pages.into_iter().all(|page| {
            let span = page * PER_PAGE;
            let at = self.address(span);
            let known = self.span(span);
            known.has_page = known.has_page || policy::supply(range, at, HUGE_PAGE);
            known.has_page
        })
    }

    /// Gives the pages of a node's free spans back, if they and what is charged to the tier are
    /// more than its capacity. Called after each charge, and after the spans were taken for it.
    fn give_back(&mut self, range: usize) {
        let known = &self.ranges[range];
        if known.kept == 0 || plan::get(plan::of_tier(range, tier::WAY)) != way::NODE {
            return;
        }
        let kept = (known.kept * SPAN) as u64;
        if known.charge.saturating_add(kept) <= plan::get(plan::of_tier(range, tier::CAPACITY)) {
            return;
        }
        let (start, top) = (range * self.spans, known.top);
        for span in start..start + top {
            let known = self.span(span);
            if known.used_as == Use::Free && known.is_dirty {
                // The system keeps locked pages (`mlockall`): the span stays dirty, and so would
                // the others.
                if !policy::drop_pages(self.address(span), SPAN) {
                    return;
                }
                self.span(span).is_dirty = false;
                self.ranges[range].kept -= 1;
            }
        }
    }

    fn free(&mut self, at: usize) {
        let span = self.span_of(at);
        let range = span / self.spans;
        let start = self.address(span);
        let known = *self.span(span);
        if known.used_as != Use::Small {
            return self.free_run(range, span, &known);
        }
        let bytes = class_bytes(known.class as usize);
        let was_full = known.free == 0 && (known.fresh as usize + 1) * bytes > SPAN;
        // SAFETY: the block is free now, and 16 bytes at least.
        unsafe { *(at as *mut u32) = known.free };
        let now = self.span(span);
        now.free = ((at - start) / bytes) as u32 + 1;
        now.blocks -= 1;
        let is_empty = now.blocks == 0;
        if was_full {
            self.link(range, span);
        }
        if is_empty {
            self.unlink(range, span);
            self.release(range, span, 1);
            self.ranges[range].charge -= known.charge;
        }
    }

    fn free_run(&mut self, range: usize, first: usize, known: &Span) {
        let (count, tier) = (known.class as usize, known.blocks as usize);
        self.release(range, first, count);
        self.ranges[tier].charge -= known.charge;
        if range == plan::count(table::TIERS) {
            // The next block may have other chunks. Where the system refuses new pages, the spans
            // stay dirty.
            if policy::renew(self.address(first), count * SPAN) {
                for span in first..first + count {
                    self.span(span).is_dirty = false;
                }
                self.ranges[range].kept -= count;
            }
        }
    }

    fn release(&mut self, range: usize, first: usize, count: usize) {
        for span in first..first + count {
            self.span(span).used_as = Use::Free;
        }
        let of_range = first - range * self.spans;
        let known = &mut self.ranges[range];
        known.used -= count;
        known.kept += count;
        known.lowest = known.lowest.min(of_range);
    }

    /// Puts a span before the others of its class with free blocks.
    fn link(&mut self, tier: usize, span: usize) {
        let class = self.span(span).class as usize;
        let first = self.ranges[tier].partial[class];
        let known = self.span(span);
        (known.previous, known.next) = (NO_SPAN, first);
        if first != NO_SPAN {
            self.span(first as usize).previous = span as u32;
        }
        self.ranges[tier].partial[class] = span as u32;
    }

    fn unlink(&mut self, tier: usize, span: usize) {
        let Span {
            previous,
            next,
            class,
            ..
        } = *self.span(span);
        match previous {
            NO_SPAN => self.ranges[tier].partial[class as usize] = next,
            previous => self.span(previous as usize).next = next,
        }
        if next != NO_SPAN {
            self.span(next as usize).previous = previous;
        }
    }
}
