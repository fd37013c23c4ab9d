//! Near reuses apart: only what leaves a window of recent accesses enters the table and the bits.
//!
//! An access to the same item as the access before has distance 0, and what is left of the stream
//! without it has the same distances: such accesses are dropped first, and get their distance when
//! those of a chunk are written.
//!
//! An access whose item is among the last [`WINDOW`](super::lags::WINDOW) that are left is dealt
//! with by [`lags`]: its distance is a few comparisons. The others, the *far* ones, take the item's
//! step out of the bits: their distance is the distinct items of the window and the live steps
//! since. A step is given to an access only when it *leaves* the window without having been
//! renewed. So the bits hold the last accesses that lie outside of the window, in order, and
//! everything is as exact as without it.
//!
//! The window begins and ends with a call: at its end all that is in it leaves.

use super::answers::Answers;
use super::compare::Compare;
use super::lags::{CHUNK, Recent};
use super::live_bits::LiveBits;
use super::table::Table;
use super::work::Work;
use crate::prefetch::prefetch;

/// Accesses after which the share of far ones is looked at.
const STRETCH: usize = 1 << 12;
/// Far accesses of a stretch from which on the window does not pay.
const TOO_MANY: usize = STRETCH * 9 / 16;

/// Takes `items` through the window, up to where it does not pay any more, and returns how many
/// that were.
#[inline(always)]
pub(super) fn run<A: Answers>(
    compare: impl Compare,
    table: &mut impl Table,
    bits: &mut LiveBits,
    recent: &mut Recent,
    works: &mut [Work; 2],
    items: &[u64],
    answers: &mut A,
) -> usize {
    let [current, next] = works;
    let (mut current, mut next) = (current, next);
    current.clear();
    next.clear();
    recent.clear();
    let (mut at, mut far_in_stretch) = (0, 0);
    while at < items.len() {
        let taken = recent.take(compare, A::NUMBERED, items, at);
        recent.find(compare);
        recent.count(compare);
        answers.near(compare, recent, taken);
        let mut asked = at + CHUNK;
        for block in 0..recent.blocks() {
            let todo = recent.block(compare, block);
            // A few lines at a time: all of a chunk's would fill the processor's queue of misses,
            // and it would wait.
            let until = at + CHUNK + taken * (block + 1) / recent.blocks();
            while asked < until {
                prefetch(items, asked);
                asked += 8;
            }
            next.gather(compare, todo);
            if next.is_full() {
                next.locate(table, current);
                current.run(compare, table, bits, answers);
                std::mem::swap(&mut current, &mut next);
                next.clear();
            }
            far_in_stretch += todo.far.count_ones() as usize;
        }
        recent.pass();
        at += taken;
        if at.is_multiple_of(STRETCH) {
            if far_in_stretch > TOO_MANY || table.may_be_unsuitable() {
                break;
            }
            far_in_stretch = 0;
        }
    }
    next.locate(table, current);
    current.run(compare, table, bits, answers);
    next.run(compare, table, bits, answers);
    current.clear();
    next.clear();
    current.gather(compare, recent.last());
    current.locate(table, next);
    current.run(compare, table, bits, answers);
    at
}
