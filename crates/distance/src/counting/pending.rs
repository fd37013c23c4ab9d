//! [`PendingWork`]: what the window has found for the table and the bits to do: far accesses, and
//! accesses that leave the window, in order of time. It is done many pieces at a time, so that
//! cache misses overlap.

use super::compare::Compare;
use super::line::NEVER;
use super::live_bits::LiveBits;
use super::output::DistanceOutput;
use super::table::Table;
use super::window_layout::{BLOCK, LEAVES, Todo};

/// Pieces of work that are done together, at least.
const ENOUGH: usize = 64;
/// Pieces of work at most: a block adds up to two for each access, and writes a vector more.
const MOST: usize = ENOUGH + 2 * BLOCK + 16;
/// Pieces of work that there is room for: a power of two, so that the remainder of a division by it
/// is one instruction.
const ROOM: usize = MOST.next_power_of_two();

/// A table has room for at least this many more items before each batch of work.
pub(super) const AHEAD: usize = 2 * MOST;

/// Far accesses, and accesses that leave the window, in order of time. No loop over them has a
/// branch that depends on which of the two a piece is: no processor could guess it.
pub(super) struct PendingWork {
    len: usize,
    items: [u64; ROOM],
    homes: [usize; ROOM],
    /// The number that the window has of a far access, or [`LEAVES`].
    accesses: [u32; ROOM],
    /// The step that the item had.
    previous: [u32; ROOM],
    leaving: u32,
    /// Which pieces are far accesses.
    far: [u32; ROOM],
    far_len: usize,
}

impl PendingWork {
    pub(super) const EMPTY: PendingWork = PendingWork {
        len: 0,
        items: [0; ROOM],
        homes: [0; ROOM],
        accesses: [LEAVES; ROOM],
        previous: [NEVER; ROOM],
        leaving: 0,
        far: [0; ROOM],
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

    /// Adds the work of a block of accesses.
    #[inline(always)]
    pub(super) fn gather(&mut self, compare: impl Compare, todo: Todo<'_>) {
        let to = (&mut self.items[self.len..], &mut self.accesses[self.len..]);
        self.len += compare.pieces(todo, to);
        self.leaving += todo.leaving.count_ones();
        self.far_len += todo.far.count_ones() as usize;
    }

    /// Finds where the table may have the items, and asks for that memory. If the table had to
    /// grow, finds those of the work that is `waiting` anew.
    #[inline(always)]
    pub(super) fn locate(&mut self, table: &mut impl Table, waiting: &mut PendingWork) {
        if table.make_room(AHEAD) {
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

    /// Does all of the work.
    #[inline(always)]
    pub(super) fn run(
        &mut self,
        compare: impl Compare,
        table: &mut impl Table,
        bits: &mut LiveBits,
        output: &mut impl DistanceOutput,
    ) {
        if !bits.has_room(self.leaving.into()) {
            table.renumber(bits);
            bits.restart(self.leaving.into());
        }
        self.look_up(compare, table, bits);
        self.count(bits, output);
    }

    /// Gives steps to those that leave, and takes those of the far.
    #[inline(always)]
    fn look_up(&mut self, compare: impl Compare, table: &mut impl Table, bits: &LiveBits) {
        let now = bits.now() as u32;
        let (mut left, mut far) = (0, 0);
        let pieces = self.items[..self.len].iter().zip(&self.homes);
        let pieces = pieces.zip(&self.accesses).zip(&mut self.previous);
        for (piece, (((&item, &home), &access), previous)) in (0..).zip(pieces) {
            let leaves = access == LEAVES;
            // A far access makes its item known, with any step: it has a true one when it leaves.
            let step = if leaves { now + left } else { NEVER + 1 };
            *previous = table.replace(compare, item, home, step);
            bits.prefetch(*previous);
            left += u32::from(leaves);
            self.far[far % ROOM] = piece;
            far += usize::from(!leaves);
        }
    }

    /// Adds the distinct items outside of the window to the distances of the far accesses.
    #[inline(always)]
    fn count(&self, bits: &mut LiveBits, output: &mut impl DistanceOutput) {
        let live = bits.live();
        bits.begin(self.leaving.into());
        let mut taken = 0;
        let mut taker = bits.taker();
        for (before, &piece) in (0..).zip(&self.far[..self.far_len]) {
            // All other pieces before it left.
            let left = u64::from(piece) - before;
            let piece = piece as usize % ROOM;
            let outside = match self.previous[piece] {
                NEVER => None,
                step => {
                    taken += 1;
                    Some(live + left - taken - taker.take(step))
                }
            };
            output.far(self.accesses[piece], self.items[piece], outside);
        }
        bits.end(self.leaving.into(), taken);
    }
}
