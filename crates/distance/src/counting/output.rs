//! [`DistanceOutput`]: where the counting tree puts the distances of a call. A [`Column`] has one
//! for each access; a [`Tally`] counts them.

use reuselens_units::Distance;

use super::compare::Compare;
use super::lags::Recent;
use crate::Tally;

/// Where the distances of a call go: one for each access, or counted.
pub(super) trait DistanceOutput {
    /// Whether [`far`](Self::far) needs the number of each access within the call.
    const NUMBERED: bool;

    /// Takes the next accesses of the call. `recent` has those that are kept, and for each the
    /// number of distinct items of the window since the access before to its item: that is the
    /// distance of all but the far ones.
    fn near(&mut self, compare: impl Compare, recent: &mut Recent, accesses: usize);

    /// Takes a far access: the number that the window has of it, its item, and the distinct items
    /// outside of the window since the access before to its item; `None` if there was none.
    fn far(&mut self, number: u32, item: u64, outside: Option<u64>);

    /// The distances of the next accesses, to be written by the caller.
    fn column(&mut self, accesses: usize) -> &mut [Distance];

    /// These accesses of the call have all their distances. `may_be_cold` is set if some of those
    /// written as a [`column`](Self::column) may be cold.
    fn passed(&mut self, items: &[u64], may_be_cold: bool);
}

/// A distance for each access, in order.
pub(super) struct Column<'a> {
    /// The distances of the accesses after the last that passed.
    left: &'a mut [Distance],
    /// How many of these accesses the window has taken.
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

impl DistanceOutput for Column<'_> {
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

impl DistanceOutput for &mut Tally {
    const NUMBERED: bool = false;

    #[inline(always)]
    fn near(&mut self, compare: impl Compare, recent: &mut Recent, accesses: usize) {
        recent.tally(compare, self.near_mut(), accesses);
    }

    #[inline(always)]
    fn far(&mut self, number: u32, item: u64, outside: Option<u64>) {
        let distance = match outside {
            None => Distance::COLD,
            // Accesses are not numbered here: `number` is the distinct items within the window.
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
