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
        plan::count_no_room(number, bytes);
        return;
    }
    plan::count_placed(number, bytes);
    policy::apply_to_parts(number, at, bytes);
}

/// Asks where the pages of all symbols are.
pub fn check_all() {
    sites::for_each_symbol(|number, at| {
        let bytes = plan::get(plan::of_object(number, object::BYTES)) as usize;
        verify::check(number, at as usize, bytes);
    });
}
