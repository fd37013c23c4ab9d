//! The way of the counting tree for streams that mostly reuse within a window of recent accesses:
//! only accesses that leave the window enter the table and the bits.
//!
//! An access to the same item as the access before has distance 0, and the stream without it has
//! the same other distances. Such accesses are dropped first, and get their distance when those of
//! a chunk are written.
//!
//! An access whose item is among the last [`WINDOW`](super::window_layout::WINDOW) kept accesses is
//! *near*: [`lags`] gives its distance by a few comparisons. For the others, the *far* ones, the
//! item's step is taken out of the bits; their distance is the number of distinct items in the
//! window plus the number of live steps since. An access gets a step only when it *leaves* the
//! window without having been renewed. So the bits hold exactly the last accesses outside of the
//! window, in order, and all distances are exact.
//!
//! A call begins with an empty window, and at its end all accesses in the window leave.

use super::compare::Compare;
use super::lags::{CHUNK, Recent};
use super::live_bits::LiveBits;
use super::output::DistanceOutput;
use super::pending::PendingWork;
use super::table::Table;
use crate::prefetch::prefetch;

/// After this many accesses the share of far ones decides whether the window goes on.
const STRETCH: usize = 1 << 12;
/// Far accesses among [`STRETCH`] from which on the window costs more than it saves.
const TOO_MANY: usize = STRETCH * 9 / 16;

/// Takes `items` through the window, up to where it does not pay any more, and returns how many
/// that were.
#[inline(always)]
pub(super) fn run<A: DistanceOutput>(
    compare: impl Compare,
    table: &mut impl Table,
    bits: &mut LiveBits,
    recent: &mut Recent,
    works: &mut [PendingWork; 2],
    items: &[u64],
    output: &mut A,
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
        output.near(compare, recent, taken);
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
                current.run(compare, table, bits, output);
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
    current.run(compare, table, bits, output);
    next.run(compare, table, bits, output);
    current.clear();
    next.clear();
    current.gather(compare, recent.last());
    current.locate(table, next);
    current.run(compare, table, bits, output);
    at
}
