//! [`AnyTable`]: the table of last accesses that suits the ids of a stream, a hash table or shadow
//! pages, and the change from one to the other.

use reuselens_hugepages::Huge;

use super::compare::Portable;
use super::dense::Dense;
use super::expected::Expected;
use super::pending::AHEAD;
use super::sparse::{Sparse, TableStatistics};
use super::table::Table;

/// The table that suits the ids.
pub(crate) enum AnyTable {
    /// A hash table, for any ids.
    Sparse(Sparse),
    /// Shadow pages, for ids that are close together.
    Dense(Box<Dense>),
}

impl AnyTable {
    /// An empty table for such a stream.
    pub(crate) fn expecting(expected: Expected) -> Self {
        let items = expected.items();
        match expected.dense_shift {
            Some(shift) => {
                let dense = Dense::expecting(items, shift, TableStatistics::expecting(items));
                AnyTable::Dense(Box::new(dense))
            }
            None => AnyTable::Sparse(Sparse::expecting(items)),
        }
    }

    /// Goes over to the other kind, where that suits the ids better.
    pub(crate) fn adapt(&mut self) {
        match self {
            AnyTable::Sparse(sparse) => {
                if let Some(shift) = sparse.dense_shift() {
                    let old = std::mem::take(sparse);
                    let dense = Dense::new(shift, old.statistics());
                    *self = AnyTable::Dense(Box::new(moved(old, dense)));
                }
            }
            AnyTable::Dense(dense) => {
                if dense.is_thin() {
                    let none = Dense::new(0, dense.statistics());
                    let old = std::mem::replace(&mut **dense, none);
                    let sparse = Sparse::like(old.statistics(), old.len());
                    *self = AnyTable::Sparse(moved(old, sparse));
                }
            }
        }
    }

    /// Of shadow pages, how many low bits are the same in all ids.
    pub(crate) fn dense_shift(&self) -> Option<u32> {
        match self {
            AnyTable::Sparse(_) => None,
            AnyTable::Dense(dense) => Some(dense.shift()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            AnyTable::Sparse(sparse) => sparse.len(),
            AnyTable::Dense(dense) => dense.len(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            AnyTable::Sparse(sparse) => sparse.bytes(),
            AnyTable::Dense(dense) => dense.bytes(),
        }
    }

    /// See [`Table::bytes_with`]. A hash table that grows may become shadow pages then, which
    /// counts too. The way back does not: nobody knows how soon there will be many pages with few
    /// items each.
    pub(crate) fn bytes_with(&self, more: usize) -> usize {
        match self {
            AnyTable::Sparse(sparse) => {
                let own = sparse.bytes_with(more);
                if own == sparse.bytes() && !sparse.may_be_unsuitable() {
                    return own;
                }
                // Room is made for more than come.
                let items = sparse.len() + more.saturating_sub(AHEAD);
                own.max(items * WHILE_MOVED + DIRECTORY)
            }
            AnyTable::Dense(dense) => dense.bytes_with(more),
        }
    }

    pub(crate) fn for_each(&self, visit: impl FnMut(u64, u32)) {
        match self {
            AnyTable::Sparse(sparse) => sparse.for_each(visit),
            AnyTable::Dense(dense) => dense.for_each(visit),
        }
    }
}

/// Bytes of an item on its way from a hash table to shadow pages: in the list, on a page of which a
/// quarter is in use, and its part of the directory.
const WHILE_MOVED: usize = 12 + 16 + 1;
/// What the directory of few pages takes.
const DIRECTORY: usize = 4 << 10;

/// All items of one table in another.
///
/// One kind has its items in order and the other anywhere, so moving them directly would fill all
/// of the new table before half of the old one is given back. So items wait in a list, 12 bytes
/// each: never more is held than the larger table, or the list and the new one.
fn moved<T: Table>(from: impl Table, mut to: T) -> T {
    let mut waiting: Huge<[u32; 3]> = Huge::new(from.len());
    let mut places = waiting.iter_mut();
    from.into_each(|item, step| match places.next() {
        Some(place) => *place = [item as u32, (item >> 32) as u32, step],
        None => debug_assert!(false, "more items than the table said"),
    });
    debug_assert_eq!(places.len(), 0, "fewer items than the table said");
    waiting.into_pieces(|piece| {
        for &[low, high, step] in piece {
            let item = u64::from(high) << 32 | u64::from(low);
            to.make_room(1);
            let home = to.home(item);
            to.replace(Portable, item, home, step);
        }
    });
    to
}

#[cfg(test)]
mod tests {
    use reuselens_units::Items;

    use super::super::line::NEVER;
    use super::*;

    fn replace(table: &mut impl Table, item: u64, step: u32) -> u32 {
        table.make_room(1);
        let home = table.home(item);
        table.replace(Portable, item, home, step)
    }

    /// A table that is about to become shadow pages includes their memory in its forecast.
    #[test]
    fn memory_forecast_includes_a_change_of_kind() {
        for (items, stride) in [(60_000_u64, 3), (60_000, 1), (9_000, 2)] {
            let mut table = AnyTable::expecting(Expected::default());
            for item in 0..items {
                let AnyTable::Sparse(sparse) = &mut table else {
                    unreachable!("nothing was adapted yet");
                };
                assert_eq!(replace(sparse, item * stride, 7), NEVER);
            }
            let ahead = table.bytes_with(0);
            table.adapt();
            let AnyTable::Dense(dense) = &table else {
                panic!("shadow pages suit these");
            };
            let list = dense.len() * size_of::<[u32; 3]>();
            let taken = list + dense.bytes();
            assert!(ahead >= taken, "{ahead} of {taken} for {items}");
        }
    }

    /// Every step is kept, whatever was expected.
    #[test]
    fn wrong_expectations_lose_no_step() {
        for distinct in [1, 1 << 40, u64::MAX] {
            for dense_shift in [None, Some(0), Some(63), Some(200)] {
                let expected = Expected {
                    distinct: Items(distinct),
                    dense_shift,
                };
                let mut table = AnyTable::expecting(expected);
                for step in 1..9_u32 {
                    for item in 0..300_u64 {
                        let before = match &mut table {
                            AnyTable::Sparse(sparse) => replace(sparse, item << 50, step),
                            AnyTable::Dense(dense) => replace(&mut **dense, item << 50, step),
                        };
                        assert_eq!(before, step - 1);
                    }
                    table.adapt();
                }
                assert_eq!(table.len(), 300);
            }
        }
    }

    /// A stream whose ids are expected to be dense begins as shadow pages, and stays so while there
    /// are few: unless it goes on too far.
    #[test]
    fn expected_pages_stay_while_they_fill() {
        let expected = Expected {
            distinct: Items(512_000),
            dense_shift: Some(6),
        };
        let mut table = AnyTable::expecting(expected);
        let mut changes = 0;
        for page in 0..10_000_u64 {
            let AnyTable::Dense(dense) = &mut table else {
                break;
            };
            replace(&mut **dense, page << (6 + 9), 1);
            table.adapt();
            changes += 1;
        }
        assert_eq!(
            changes, 6_001,
            "pages of six times as many ids as are expected"
        );
        assert_eq!(table.len(), changes);
    }

    /// Items that are close together, then items that are not, and back.
    #[test]
    fn statistics_outlast_a_change_of_kind() {
        let mut table = AnyTable::expecting(Items(3_000_000).into());
        let AnyTable::Sparse(sparse) = &mut table else {
            unreachable!("it begins as one");
        };
        sparse.jam();
        for item in 0..60_000_u64 {
            assert_eq!(replace(sparse, item << 6, item as u32 + 1), NEVER);
        }
        let statistics = sparse.statistics();
        assert_ne!(
            statistics,
            Sparse::new().statistics(),
            "another mix, and what is expected"
        );
        table.adapt();
        let AnyTable::Dense(dense) = &mut table else {
            panic!("shadow pages suit these");
        };
        assert_eq!((dense.len(), dense.statistics()), (60_000, statistics));
        for item in 1..30_000_u64 {
            assert_eq!(replace(&mut **dense, item << 40, 7), NEVER);
        }
        table.adapt();
        let AnyTable::Sparse(sparse) = &mut table else {
            panic!("shadow pages do not suit these");
        };
        assert_eq!((sparse.len(), sparse.statistics()), (89_999, statistics));
        for item in 0..60_000_u64 {
            assert_eq!(replace(sparse, item << 6, 9), item as u32 + 1);
        }
    }
}
