//! Symbols of the plan: their pages are where the loader mapped them, and only advised.

use super::{heap, is_static, plan, policy, sites, verify};
use crate::layout::object;

/// Places a symbol.
pub fn place(number: usize, at: u64) {
    debug_assert!(is_static(number));
    let at = at as usize;
    let bytes = plan::get(plan::of_object(number, object::BYTES)) as usize;
    let tier = plan::get(plan::of_object(number, object::TIER)) as usize;
    if !heap::charge(tier, policy::placed_bytes(number, at, bytes)) {
        plan::add(plan::of_object(number, object::NO_ROOM), 1);
        plan::add(plan::of_object(number, object::NO_ROOM_BYTES), bytes as u64);
        return;
    }
    plan::add(plan::of_object(number, object::BLOCKS), 1);
    plan::add(plan::of_object(number, object::PLACED), bytes as u64);
    apply(number, tier, at, bytes);
}

/// Asks for the tier's pages for all of some bytes, or for their chunks.
pub fn apply(number: usize, tier: usize, at: usize, bytes: usize) {
    let mut has_chunks = false;
    for (low, high) in plan::chunks(number) {
        has_chunks = true;
        policy::apply(tier, at + low.min(bytes), at + high.min(bytes));
    }
    if !has_chunks {
        policy::apply(tier, at, at + bytes);
    }
}

/// Asks where the pages of all symbols are.
pub fn check_all() {
    sites::for_each_symbol(|number, at| {
        let bytes = plan::get(plan::of_object(number, object::BYTES)) as usize;
        verify::check(number, at as usize, bytes);
    });
}
