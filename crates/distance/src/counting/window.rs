//! Near reuses apart: only what leaves a window of recent accesses enters the table and the bits.
//!
//! An access whose item is among the last [`WINDOW`](super::lags::WINDOW) accesses is dealt with by
//! [`lags`]: its distance is a few comparisons. The others, the *far* ones, take the item's step out of the
//! bits: their distance is the distinct items of the window and the live steps since. A step is given to an
//! access only when it *leaves* the window without having been renewed. So the bits hold the last accesses
//! that lie outside of the window, in order, and everything is as exact as without it.
//!
//! The window begins and ends with a call: at its end all that is in it leaves.

use reuselens_units::Distance;

use super::compare::Compare;
use super::lags::{self, BACK, BLOCK, Lags};

use super::live_bits::LiveBits;
use super::table::Table;
use super::work::Work;

/// Accesses after which the share of far ones is looked at.
const STRETCH: usize = 1 << 12;
/// Far accesses of a stretch from which on the window does not pay.
const TOO_MANY: usize = STRETCH * 9 / 16;

/// Takes `items` through the window, up to where it does not pay any more, and returns how many that were.
#[inline(always)]
pub(super) fn run(
    compare: impl Compare,
    table: &mut impl Table,
    bits: &mut LiveBits,
    works: &mut [Work; 2],
    items: &[u64],
    distances: &mut [Distance],
) -> usize {
    let [current, next] = works;
    let (mut current, mut next) = (current, next);
    current.clear();
    next.clear();
    let mut lags: Lags = [0; BACK + BLOCK];
    let (mut at, mut far_in_stretch) = (0, 0);
    while at < items.len() {
        let block = BLOCK.min(items.len() - at);
        let (far, leaving) = look(compare, items, at, block, &mut lags, distances);
        next.gather(items, at, far, leaving);
        lags.copy_within(block.., 0);
        at += block;
        if next.is_full() {
            next.locate(table, current);
            current.run(compare, table, bits, distances);
            std::mem::swap(&mut current, &mut next);
            next.clear();
        }
        far_in_stretch += far.count_ones() as usize;
        if at.is_multiple_of(STRETCH) {
            if far_in_stretch > TOO_MANY || table.may_be_unsuitable() {
                break;
            }
            far_in_stretch = 0;
        }
    }
    next.locate(table, current);
    current.run(compare, table, bits, distances);
    next.run(compare, table, bits, distances);
    current.clear();
    next.clear();
    current.gather(items, at, 0, lags::staying(&lags));
    current.locate(table, next);
    current.run(compare, table, bits, distances);
    at
}

/// Finds the lags of the next `block` accesses, and writes how many distinct items of the window lie between
/// each access and the one before to the same item. Which of them are far, and at which an earlier one
/// leaves.
#[inline(always)]
fn look(
    compare: impl Compare,
    items: &[u64],
    at: usize,
    block: usize,
    lags: &mut Lags,
    distances: &mut [Distance],
) -> (u64, u64) {
    lags::find(compare, items, at, &mut lags[BACK..BACK + block]);
    // The distinct items in between are the accesses in between that are the first to their item since:
    // whose own lag reaches at least as far back.
    let near = compare.between(lags);
    for (distance, near) in distances[at..at + block].iter_mut().zip(near) {
        *distance = Distance::new(near.into());
    }
    let all = u64::MAX >> (BLOCK - block);
    (compare.far(lags) & all, compare.leaving(lags) & all)
}
