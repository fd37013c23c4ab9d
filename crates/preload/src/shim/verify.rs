//! Where the pages of placed data are: the kernel is asked when a block is freed, and for all that
//! is left when the process ends.

use core::sync::atomic::{AtomicUsize, Ordering};

use reuselens_guest::lock::Lock;
use reuselens_guest::sys::{self, File};

use super::plan;
use crate::layout::{HUGE_PAGE, object, table, tier, way};

/// Live blocks that are remembered, at most; others are not asked about.
const SLOTS: usize = 1 << 22;
const GONE: usize = 1;

/// A live block, or a free place.
#[derive(Clone, Copy)]
struct Live {
    /// 0 where there never was one, [`GONE`] where there is none now.
    at: usize,
    bytes: usize,
    object: usize,
}

static TABLE: AtomicUsize = AtomicUsize::new(0);
static FILLED: AtomicUsize = AtomicUsize::new(0);
pub static LOCK: Lock = Lock::new();

/// The slots, where verifying is asked for.
fn slots() -> Option<*mut Live> {
    match TABLE.load(Ordering::Acquire) {
        0 => None,
        at => Some(at as *mut Live),
    }
}

/// Begins to remember blocks.
pub fn begin() {
    let bytes = SLOTS * size_of::<Live>();
    // SAFETY: a new mapping, at a place that the system chooses.
    let at = unsafe { sys::map(0, bytes, sys::PROT_READ_WRITE, sys::MAP_NORESERVE) };
    TABLE.store(at.unwrap_or(0), Ordering::Release);
}

/// Forgets all blocks: those of a process are asked about by that one, not by its children, whose
/// pages are others once they write.
pub fn forget() {
    if let Some(slots) = slots() {
        // SAFETY: the table is ours, and there is one thread in a new process.
        unsafe {
            sys::madvise(
                slots as usize,
                SLOTS * size_of::<Live>(),
                sys::MADV_DONTNEED,
            )
        };
        FILLED.store(0, Ordering::Relaxed);
    }
}

fn first_slot(at: usize) -> usize {
    (at as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 42
}

/// Remembers a block.
pub fn add(object: usize, at: usize, bytes: usize) {
    let Some(slots) = slots() else { return };
    let _held = LOCK.hold();
    let mut slot = first_slot(at) % SLOTS;
    // SAFETY: slots are numbered within the table, and the lock is held.
    unsafe {
        while (*slots.add(slot)).at > GONE {
            slot = (slot + 1) % SLOTS;
        }
        // Slots of blocks that are gone are used again; new ones up to the limit.
        if (*slots.add(slot)).at == 0 {
            if FILLED.load(Ordering::Relaxed) >= SLOTS / 4 * 3 {
                plan::add(plan::of_object(object, object::UNKNOWN), bytes as u64);
                return;
            }
            FILLED.fetch_add(1, Ordering::Relaxed);
        }
        *slots.add(slot) = Live { at, bytes, object };
    }
}

/// A block is about to be freed: asks about it.
pub fn remove(at: usize) {
    let Some(slots) = slots() else { return };
    if let Some(live) = take(slots, at) {
        check(live.object, live.at, live.bytes);
    }
}

fn take(slots: *mut Live, at: usize) -> Option<Live> {
    let _held = LOCK.hold();
    let mut slot = first_slot(at) % SLOTS;
    for _ in 0..SLOTS {
        // SAFETY: slots are numbered within the table, and the lock is held.
        let live = unsafe { &mut *slots.add(slot) };
        match live.at {
            0 => return None,
            there if there == at => {
                let found = *live;
                live.at = GONE;
                return Some(found);
            }
            _ => slot = (slot + 1) % SLOTS,
        }
    }
    None
}

/// Asks about all live blocks.
pub fn finish() {
    let Some(slots) = slots() else { return };
    if FILLED.load(Ordering::Relaxed) == 0 {
        return;
    }
    // A signal handler may end the process while its thread holds the lock.
    let Some(_held) = LOCK.hold_soon() else {
        return count_unknown(slots);
    };
    for slot in 0..SLOTS {
        // SAFETY: slots are numbered within the table, and the lock is held.
        let live = unsafe { &mut *slots.add(slot) };
        if live.at > GONE {
            check(live.object, live.at, live.bytes);
            live.at = GONE;
        }
    }
}

/// Counts all live blocks as unknown, without the lock: one of them may be half written.
fn count_unknown(slots: *mut Live) {
    for slot in 0..SLOTS {
        // SAFETY: slots are numbered within the table, and any bytes are a `Live`.
        let live = unsafe { slots.add(slot).read_volatile() };
        if live.at > GONE && live.object < plan::count(table::OBJECTS) {
            let unknown = plan::of_object(live.object, object::UNKNOWN);
            plan::add(unknown, live.bytes as u64);
        }
    }
}

/// What the kernel says of some bytes.
#[derive(Default)]
struct PageCounts {
    as_planned: u64,
    elsewhere: u64,
    untouched: u64,
    unknown: u64,
}

/// Asks about bytes of an object, or about its chunks of a block there.
pub fn check(number: usize, at: usize, bytes: usize) {
    let mut found = PageCounts::default();
    for (low, high) in plan::parts(number, bytes) {
        ask(number, at + low, at + high, &mut found);
    }
    let counts = [
        (object::AS_PLANNED, found.as_planned),
        (object::ELSEWHERE, found.elsewhere),
        (object::UNTOUCHED, found.untouched),
        (object::UNKNOWN, found.unknown),
    ];
    for (field, count) in counts {
        plan::add(plan::of_object(number, field), count);
    }
}

fn ask(number: usize, low: usize, high: usize, found: &mut PageCounts) {
    if low >= high {
        return;
    }
    let tier = plan::get(plan::of_object(number, object::TIER)) as usize;
    if plan::get(plan::of_tier(tier, tier::WAY)) == way::NODE {
        let node = plan::get(plan::of_tier(tier, tier::NODE));
        return nodes(low, high, node, found);
    }
    // Of ranges with other data beside them (symbols, chunks, mappings), whole huge pages only
    // can be huge.
    let is_inner = |at: usize| {
        !super::heap::is_ours(at) || plan::get(plan::of_object(number, object::CHUNKS)) > 0
    };
    let (mut low, mut high) = (low, high);
    if is_inner(low) {
        (low, high) = (
            low.next_multiple_of(HUGE_PAGE),
            high / HUGE_PAGE * HUGE_PAGE,
        );
    }
    if low < high
        && !huge_pages(low, high, found)
        && !super::smaps::ask(low, high, |sort, bytes| match sort {
            super::smaps::Sort::Huge => found.as_planned += bytes,
            super::smaps::Sort::Small => found.elsewhere += bytes,
            super::smaps::Sort::Untouched => found.untouched += bytes,
        })
    {
        found.unknown += (high - low) as u64;
    }
}

/// By `move_pages`, which moves nothing where it is given no nodes.
fn nodes(low: usize, high: usize, node: u64, found: &mut PageCounts) {
    const BATCH: usize = 256;
    let mut page = low & !4095;
    while page < high {
        let mut pages = [0_usize; BATCH];
        let mut status = [0_i32; BATCH];
        let count = (high - page).div_ceil(4096).min(BATCH);
        for (index, at) in pages[..count].iter_mut().enumerate() {
            *at = page + index * 4096;
        }
        let a = [
            0,
            count as u64,
            pages.as_ptr() as u64,
            0,
            status.as_mut_ptr() as u64,
            0,
        ];
        // SAFETY: the tables have `count` entries; the kernel writes the second.
        let result = unsafe { sys::call(sys::MOVE_PAGES, a) };
        for (index, status) in status[..count].iter().enumerate() {
            let start = page + index * 4096;
            let bytes = (high.min(start + 4096) - low.max(start)) as u64;
            let into = match status {
                _ if result < 0 => &mut found.unknown,
                -2 | -14 => &mut found.untouched,
                at if *at >= 0 && *at as u64 == node => &mut found.as_planned,
                0.. => &mut found.elsewhere,
                _ => &mut found.unknown,
            };
            *into += bytes;
        }
        page += count * 4096;
    }
}

/// `struct pm_scan_arg` of the kernel's `PAGEMAP_SCAN` (6.7).
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_len: u64,
    max_pages: u64,
    inverted: u64,
    required: u64,
    any_of: u64,
    returned: u64,
}

/// `struct page_region`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ScanRegion {
    start: u64,
    end: u64,
    categories: u64,
}

const PAGEMAP_SCAN: u64 = 0xc060_6610;
const PRESENT: u64 = 1 << 3;
const SWAPPED: u64 = 1 << 4;
const HUGE: u64 = 1 << 6;

/// Whether pages are huge, page by page; false where the kernel cannot say.
fn huge_pages(low: usize, high: usize, found: &mut PageCounts) -> bool {
    let Some(file) = File::open(c"/proc/self/pagemap", 0) else {
        return false;
    };
    let mut regions = [ScanRegion::default(); 64];
    let mut scan = Scan {
        size: size_of::<Scan>() as u64,
        start: low as u64 & !4095,
        end: (high as u64).next_multiple_of(4096),
        regions: regions.as_mut_ptr() as u64,
        regions_len: regions.len() as u64,
        any_of: PRESENT | SWAPPED,
        returned: PRESENT | SWAPPED | HUGE,
        ..Scan::default()
    };
    let (mut huge, mut small) = (0, 0);
    while scan.start < scan.end {
        // SAFETY: the argument is as the request asks, and its table is ours.
        let count = unsafe { file.control(PAGEMAP_SCAN, &raw mut scan as u64) };
        let Ok(count) = usize::try_from(count) else {
            return false;
        };
        // SAFETY: the kernel wrote `count` regions; they are read anew.
        let seen = unsafe { core::slice::from_raw_parts(regions.as_ptr(), count) };
        for region in seen {
            let start = region.start.max(low as u64);
            let bytes = region.end.min(high as u64).saturating_sub(start);
            if region.categories & HUGE != 0 {
                huge += bytes
            } else {
                small += bytes
            }
        }
        if scan.walk_end <= scan.start {
            break;
        }
        scan.start = scan.walk_end;
    }
    found.as_planned += huge;
    found.elsewhere += small;
    found.untouched += (high - low) as u64 - huge - small;
    true
}
