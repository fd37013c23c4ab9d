//! Where distances go.

use reuselens_units::Distance;

use super::compare::Compare;
use super::lags::Recent;
use crate::Tally;

/// Where the distances of a call go: one for each access, or counted.
pub(super) trait Answers {
    /// Whether it must be known which access of the call each is.
    const NUMBERED: bool;

    /// The next accesses of the call, of which the window has those that are left, and how many
    /// distinct items of it lie between each and the one before to its item: that is the distance
    /// of all but the far ones.
    fn near(&mut self, compare: impl Compare, recent: &mut Recent, accesses: usize);

    /// A far access: the number that the window has of it, its item, and the distinct items that
    /// lie outside of the window since the one before; `None` if there was none.
    fn far(&mut self, number: u32, item: u64, outside: Option<u64>);

    /// All distances of the next accesses, to be written at once.
    fn column(&mut self, accesses: usize) -> &mut [Distance];

    /// These accesses of the call have passed and have their distances. Whether some may be cold
    /// that were written as a [`column`](Self::column).
    fn passed(&mut self, items: &[u64], may_be_cold: bool);
}

/// A distance for each access, in order.
pub(super) struct Column<'a> {
    /// Those of the accesses that are left since the last that passed.
    left: &'a mut [Distance],
    /// Accesses of these that the window has.
    near: usize,
}

impl<'a> Column<'a> {
    pub(super) fn new(distances: &'a mut [Distance]) -> Self {
        Column {
            left: distances,
            near: 0,
        }
    }
}

impl Answers for Column<'_> {
    const NUMBERED: bool = true;

    #[inline(always)]
    fn near(&mut self, compare: impl Compare, recent: &mut Recent, accesses: usize) {
        recent.spread(compare, &mut self.left[self.near..][..accesses]);
        self.near += accesses;
    }

    #[inline(always)]
    fn far(&mut self, number: u32, _: u64, outside: Option<u64>) {
        let distance = &mut self.left[number as usize];
        *distance = match outside {
            None => Distance::COLD,
            Some(outside) => Distance::new(distance.raw() + outside),
        };
    }

    #[inline(always)]
    fn column(&mut self, accesses: usize) -> &mut [Distance] {
        &mut self.left[..accesses]
    }

    #[inline(always)]
    fn passed(&mut self, items: &[u64], _: bool) {
        self.left = &mut std::mem::take(&mut self.left)[items.len()..];
        self.near = 0;
    }
}

impl Answers for &mut Tally {
    const NUMBERED: bool = false;

    #[inline(always)]
    fn near(&mut self, compare: impl Compare, recent: &mut Recent, accesses: usize) {
        recent.tally(compare, self.near_mut(), accesses);
    }

    #[inline(always)]
    fn far(&mut self, number: u32, item: u64, outside: Option<u64>) {
        let distance = match outside {
            None => Distance::COLD,
            // Accesses have no number of their own here but what lies within the window.
            Some(outside) => Distance::new(u64::from(number) + outside),
        };
        self.push(distance, item);
    }

    #[inline(always)]
    fn column(&mut self, accesses: usize) -> &mut [Distance] {
        Tally::column(self, accesses)
    }

    #[inline(always)]
    fn passed(&mut self, items: &[u64], may_be_cold: bool) {
        if may_be_cold {
            self.note_firsts(items);
        }
    }
}
