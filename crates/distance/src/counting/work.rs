//! What a window of recent accesses leaves to be done by the table and the bits.

use reuselens_units::Distance;

use super::lags::{BACK, BLOCK};
use super::line::{Compare, NEVER};
use super::live_bits::LiveBits;
use super::table::Table;

/// Pieces of work that are done together, at least.
const ENOUGH: usize = 64;
/// Pieces of work that there is room for: a block adds up to two for each access.
const ROOM: usize = ENOUGH + 2 * BLOCK;

/// No output: the access leaves the window.
const LEAVING: u32 = u32::MAX;

/// Far accesses, and accesses that leave the window, in order of time.
pub(super) struct Work {
    len: usize,
    items: [u64; ROOM],
    homes: [usize; ROOM],
    /// Where the distance goes, or [`LEAVING`].
    outputs: [u32; ROOM],
    /// For a far access, the step that its item had.
    previous: [u32; ROOM],
}

impl Work {
    pub(super) const EMPTY: Work = Work {
        len: 0,
        items: [0; ROOM],
        homes: [0; ROOM],
        outputs: [0; ROOM],
        previous: [NEVER; ROOM],
    };

    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.len >= ENOUGH
    }

    /// Notes what there is to do for a block of accesses from `at` on: `far` ones, and ones at which the
    /// access [`BACK`] before leaves.
    #[inline(always)]
    pub(super) fn gather(&mut self, items: &[u64], at: usize, far: u64, leaving: u64) {
        let mut both = far | leaving;
        while both != 0 {
            let index = both.trailing_zeros() as usize;
            both &= both - 1;
            if leaving >> index & 1 == 1 {
                self.push(items[at + index - BACK], LEAVING);
            }
            if far >> index & 1 == 1 {
                self.push(items[at + index], (at + index) as u32);
            }
        }
    }

    #[inline(always)]
    fn push(&mut self, item: u64, output: u32) {
        self.items[self.len % ROOM] = item;
        self.outputs[self.len % ROOM] = output;
        self.len += 1;
    }

    /// Finds where the table may have the items, and asks for that memory. If the table had to grow, finds
    /// those of the work that is `waiting` anew.
    #[inline(always)]
    pub(super) fn locate(&mut self, table: &mut impl Table, waiting: &mut Work) {
        if table.make_room(2 * ROOM) {
            waiting.find(table);
        }
        self.find(table);
    }

    #[inline(always)]
    fn find(&mut self, table: &mut impl Table) {
        for (&item, home) in self.items[..self.len].iter().zip(&mut self.homes) {
            *home = table.home(item);
            table.prefetch(*home);
        }
    }

    /// Does it all.
    #[inline(always)]
    pub(super) fn run(
        &mut self,
        compare: impl Compare,
        table: &mut impl Table,
        bits: &mut LiveBits,
        distances: &mut [Distance],
    ) {
        let mut from = 0;
        while from < self.len {
            if bits.is_full() {
                table.renumber(bits);
                bits.restart();
            }
            let (to, leaving) = self.within_word(from, bits.room_in_word());
            self.look_up(compare, table, bits, from..to);
            self.count(bits, distances, from..to, leaving);
            from = to;
        }
    }

    /// The end of the pieces from `from` on that need at most `room` new steps, and the steps they need.
    #[inline(always)]
    fn within_word(&self, from: usize, room: u64) -> (usize, u64) {
        let mut leaving = 0;
        for (index, output) in (from..).zip(&self.outputs[from..self.len]) {
            let more = u64::from(*output == LEAVING);
            if leaving + more > room {
                return (index, leaving);
            }
            leaving += more;
        }
        (self.len, leaving)
    }

    /// Gives steps to those that leave, and takes those of the far.
    #[inline(always)]
    fn look_up(
        &mut self,
        compare: impl Compare,
        table: &mut impl Table,
        bits: &LiveBits,
        range: std::ops::Range<usize>,
    ) {
        let mut now = bits.now() as u32;
        for index in range {
            let leaves = self.outputs[index] == LEAVING;
            // A far access makes its item known, with any step: it has a true one when it leaves.
            let step = if leaves { now } else { NEVER + 1 };
            now += u32::from(leaves);
            let previous = table.replace(compare, self.items[index], self.homes[index], step);
            self.previous[index] = previous;
            if !leaves {
                bits.prefetch(previous);
            }
        }
    }

    /// Adds what lies outside of the window to the distances of the far.
    #[inline(always)]
    fn count(
        &self,
        bits: &mut LiveBits,
        distances: &mut [Distance],
        range: std::ops::Range<usize>,
        leaving: u64,
    ) {
        let mut live = bits.live();
        let mut taken = 0;
        bits.begin(leaving);
        let mut taker = bits.taker();
        for index in range {
            let output = self.outputs[index];
            if output == LEAVING {
                live += 1;
                continue;
            }
            let distance = &mut distances[output as usize];
            *distance = match self.previous[index] {
                NEVER => Distance::COLD,
                step => {
                    live -= 1;
                    taken += 1;
                    Distance::new(distance.raw() + live - taker.take(step))
                }
            };
        }
        bits.end(leaving, taken);
    }
}
