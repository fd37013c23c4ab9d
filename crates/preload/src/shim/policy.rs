//! How the memory of a tier is made: huge pages, pages of the pool, pages of a node.

use core::sync::atomic::Ordering;

use reuselens_guest::sys;

use super::plan;
use crate::layout::{HUGE_PAGE, object, table, tier, way};

/// `mbind`: pages of one node, where it has any.
const MPOL_PREFERRED: u64 = 1;
/// `mbind`: move the pages that are there.
const MPOL_MF_MOVE: u64 = 2;
/// Nodes that a mask of ours can name.
const NODES: usize = 1024;

fn way_of(number: usize) -> u64 {
    plan::get(plan::of_tier(number, tier::WAY))
}

/// Notes what a system call for a tier ended with; whether it did what was asked.
fn note(number: usize, result: i64) -> bool {
    if result < 0 {
        plan::add(plan::of_tier(number, tier::REFUSED), 1);
        let error = plan::word(plan::of_tier(number, tier::ERROR));
        error.store(-result as u64, Ordering::Relaxed);
    }
    result >= 0
}

/// Prepares a tier's range, which is mapped already.
pub fn prepare(number: usize, at: usize, bytes: usize) {
    match way_of(number) {
        way::HUGETLB => {
            // Only what is in use is taken from the pool.
            let flags = sys::MAP_FIXED | sys::MAP_NORESERVE;
            // SAFETY: the range is ours, and nothing is in it.
            let _ = unsafe { sys::map(at, bytes, sys::PROT_NONE, flags) };
        }
        _ => apply(number, at, at + bytes),
    }
}

/// Asks for the tier's sort of pages in a range. Bytes that are there stay.
pub fn apply(number: usize, low: usize, high: usize) {
    // Whole pages of it.
    let (low, high) = (low.next_multiple_of(4096), high & !4095);
    if low >= high {
        return;
    }
    let result = match way_of(number) {
        way::NODE => bind(
            low,
            high,
            plan::get(plan::of_tier(number, tier::NODE)) as usize,
        ),
        // SAFETY: this changes no bytes.
        _ => unsafe { sys::madvise(low, high - low, sys::MADV_HUGEPAGE) },
    };
    note(number, result);
}

/// Asks for the pages of an object's tier for the parts of a block, mapping or symbol that are
/// placed.
pub fn apply_to_parts(number: usize, at: usize, bytes: usize) {
    let tier = plan::get(plan::of_object(number, object::TIER)) as usize;
    for (low, high) in plan::parts(number, bytes) {
        apply(tier, at + low, at + high);
    }
}

/// The bytes between two addresses whose pages a tier's way can choose: whole pages, which other
/// data does not share.
pub fn whole_pages(number: usize, low: usize, high: usize) -> (usize, usize) {
    let page = match way_of(number) {
        way::MADVISE | way::HUGETLB => HUGE_PAGE,
        _ => 4096,
    };
    let (low, high) = (low.next_multiple_of(page), high / page * page);
    (low, high.max(low))
}

/// The bytes of a block, mapping or symbol that count against the capacity of its tier: the whole
/// pages of its chunks, or of all of it where it has none.
pub fn placed_bytes(number: usize, at: usize, bytes: usize) -> u64 {
    let tier = plan::get(plan::of_object(number, object::TIER)) as usize;
    let pages = plan::parts(number, bytes).map(|(low, high)| {
        let (low, high) = whole_pages(tier, at + low, at + high);
        (high - low) as u64
    });
    pages.sum()
}

fn bind(low: usize, high: usize, node: usize) -> i64 {
    let mut mask = [0_u64; NODES / 64];
    let Some(word) = mask.get_mut(node / 64) else {
        return sys::EINVAL;
    };
    *word = 1 << (node % 64);
    // The kernel ignores the last bit of the given length.
    let a = [
        low as u64,
        (high - low) as u64,
        MPOL_PREFERRED,
        mask.as_ptr() as u64,
        NODES as u64 + 1,
        MPOL_MF_MOVE,
    ];
    // SAFETY: this changes no bytes, and the kernel reads the mask only.
    unsafe { sys::call(sys::MBIND, a) }
}

/// Whether pages of a range have to be supplied before they are used.
pub fn needs_supply(range: usize) -> bool {
    range < plan::count(table::TIERS) && way_of(range) == way::HUGETLB
}

/// Puts a page of the pool behind a part of a range that has none.
pub fn supply(range: usize, at: usize, bytes: usize) -> bool {
    let flags = sys::MAP_FIXED | sys::MAP_HUGETLB;
    // SAFETY: the part is ours, and nothing is in it.
    match unsafe { sys::map(at, bytes, sys::PROT_READ_WRITE, flags) } {
        Ok(_) => true,
        Err(error) => {
            // A failed mapping may have taken the old one away.
            let flags = sys::MAP_FIXED | sys::MAP_NORESERVE;
            // SAFETY: as above.
            let _ = unsafe { sys::map(at, bytes, sys::PROT_NONE, flags) };
            note(range, error)
        }
    }
}

/// Gives the pages of a free part of a range back to the system, so that its bytes are 0; false
/// where the system keeps them.
pub fn drop_pages(at: usize, bytes: usize) -> bool {
    // SAFETY: the part is free, so its bytes are nobody's.
    unsafe { sys::madvise(at, bytes, sys::MADV_DONTNEED) == 0 }
}

/// Makes a free part of a range as new: all 0, without advice for its pages; false where the system
/// refuses.
pub fn renew(at: usize, bytes: usize) -> bool {
    let flags = sys::MAP_FIXED | sys::MAP_NORESERVE;
    // SAFETY: the part is free, so its bytes are nobody's.
    unsafe { sys::map(at, bytes, sys::PROT_READ_WRITE, flags).is_ok() }
}
