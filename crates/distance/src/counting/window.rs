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
use super::lags::{BACK, BLOCK, CHUNK, FAR, Recent};
use super::live_bits::LiveBits;
use super::table::Table;
use super::work::Work;
use crate::prefetch::prefetch;

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
    let mut recent = Recent::before(items, 0);
    let (mut at, mut far_in_stretch) = (0, 0);
    while at < items.len() {
        let len = CHUNK.min(items.len() - at);
        recent.find(compare, items, at, len);
        for (number, block) in (0..len).step_by(BLOCK).enumerate() {
            let end = len.min(block + BLOCK);
            // A few lines at a time: all of a chunk's would fill the processor's queue of misses, and it would wait.
            for line in (at + block + 2 * CHUNK..).step_by(8).take(BLOCK / 8) {
                prefetch(items, line);
            }
            let distances_here = &mut distances[at + block..at + end];
            let (far, leaving) = look(compare, &recent, number, distances_here);
            next.gather(compare, items, at + block, far, leaving);
            if next.is_full() {
                next.locate(table, current);
                current.run(compare, table, bits, distances);
                std::mem::swap(&mut current, &mut next);
                next.clear();
            }
            far_in_stretch += far.count_ones() as usize;
        }
        recent.pass(len);
        at += len;
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
    current.gather(compare, items, at, 0, recent.staying());
    current.locate(table, next);
    current.run(compare, table, bits, distances);
    at
}

/// Writes how many distinct items of the window lie between each access of a block and the one before to the
/// same item. Which of them are far, and at which an earlier one leaves.
#[inline(always)]
fn look(
    compare: impl Compare,
    recent: &Recent,
    block: usize,
    distances: &mut [Distance],
) -> (u64, u64) {
    let (lags, reach) = recent.block(block);
    // The distinct items in between are the accesses in between that are the first to their item since:
    // that reach at least as far back. So do all those before the previous access.
    let reaching = compare.reaching(reach);
    let near = |lane: usize| {
        let items = reaching[lane]
            .wrapping_add(lags[BACK + lane])
            .wrapping_sub(FAR);
        Distance::new(items.into())
    };
    let all = u64::MAX >> (BLOCK - distances.len());
    match <&mut [Distance; BLOCK]>::try_from(&mut *distances) {
        Ok(whole) => *whole = std::array::from_fn(near),
        Err(_) => {
            for (lane, distance) in distances.iter_mut().enumerate() {
                *distance = near(lane);
            }
        }
    }
    (compare.far(lags) & all, compare.leaving(lags) & all)
}
