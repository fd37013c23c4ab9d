//! What a window of recent accesses leaves to be done by the table and the bits.

use reuselens_units::Distance;

use super::compare::Compare;
use super::lags::{BACK, BLOCK};
use super::line::NEVER;
use super::live_bits::LiveBits;
use super::table::Table;

/// Pieces of work that are done together, at least.
const ENOUGH: usize = 64;
/// Pieces of work that there is room for: a block adds up to two for each access.
const ROOM: usize = ENOUGH + 2 * BLOCK;

/// Marks a piece that is a far access, and not one that leaves the window.
const FAR: u32 = u32::MAX;

/// Far accesses, and accesses that leave the window, in order of time. No loop over them has a branch that
/// depends on which of the two a piece is: no processor could guess it.
pub(super) struct Work {
    len: usize,
    items: [u64; ROOM],
    homes: [usize; ROOM],
    /// How many left before this one; or [`FAR`].
    order: [u32; ROOM],
    /// The step that the item had.
    previous: [u32; ROOM],
    leaving: u32,
    far: [FarAccess; ROOM],
    far_len: usize,
}

/// An access that is not near.
#[derive(Clone, Copy)]
struct FarAccess {
    /// Which piece of work it is.
    piece: u32,
    /// Which access of the call it is.
    access: u32,
    /// How many leave before it.
    left: u32,
}

impl Work {
    pub(super) const EMPTY: Work = Work {
        len: 0,
        items: [0; ROOM],
        homes: [0; ROOM],
        order: [0; ROOM],
        previous: [NEVER; ROOM],
        leaving: 0,
        far: [FarAccess {
            piece: 0,
            access: 0,
            left: 0,
        }; ROOM],
        far_len: 0,
    };

    #[inline(always)]
    pub(super) fn clear(&mut self) {
        (self.len, self.leaving, self.far_len) = (0, 0, 0);
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
        let (mut len, mut left, mut far_len) = (self.len, self.leaving, self.far_len);
        while both != 0 {
            let index = both.trailing_zeros() as usize;
            both &= both - 1;
            let access = at + index;
            // Both are written, and kept only as far as they are so.
            self.items[len % ROOM] = items[access.saturating_sub(BACK)];
            self.order[len % ROOM] = left;
            let leaves = (leaving >> index & 1) as u32;
            len += leaves as usize;
            left += leaves;
            self.items[len % ROOM] = items[access.min(items.len() - 1)];
            self.order[len % ROOM] = FAR;
            self.far[far_len % ROOM] = FarAccess {
                piece: len as u32,
                access: access as u32,
                left,
            };
            let is_far = (far >> index & 1) as usize;
            len += is_far;
            far_len += is_far;
        }
        (self.len, self.leaving, self.far_len) = (len, left, far_len);
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
        if !bits.has_room(self.leaving.into()) {
            table.renumber(bits);
            bits.restart(self.leaving.into());
        }
        self.look_up(compare, table, bits);
        self.count(bits, distances);
    }

    /// Gives steps to those that leave, and takes those of the far.
    #[inline(always)]
    fn look_up(&mut self, compare: impl Compare, table: &mut impl Table, bits: &LiveBits) {
        let now = bits.now() as u32;
        let pieces = self.items[..self.len].iter().zip(&self.homes);
        let pieces = pieces.zip(&self.order).zip(&mut self.previous);
        for (((&item, &home), &order), previous) in pieces {
            // A far access makes its item known, with any step: it has a true one when it leaves.
            let step = if order == FAR { NEVER + 1 } else { now + order };
            *previous = table.replace(compare, item, home, step);
            bits.prefetch(*previous);
        }
    }

    /// Adds what lies outside of the window to the distances of the far.
    #[inline(always)]
    fn count(&self, bits: &mut LiveBits, distances: &mut [Distance]) {
        let live = bits.live();
        bits.begin(self.leaving.into());
        let mut taken = 0;
        let mut taker = bits.taker();
        for far in &self.far[..self.far_len] {
            let distance = &mut distances[far.access as usize];
            *distance = match self.previous[far.piece as usize % ROOM] {
                NEVER => Distance::COLD,
                step => {
                    taken += 1;
                    let others = live + u64::from(far.left) - taken;
                    Distance::new(distance.raw() + others - taker.take(step))
                }
            };
        }
        bits.end(self.leaving.into(), taken);
    }
}
