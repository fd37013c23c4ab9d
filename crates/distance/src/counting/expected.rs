//! What an engine may be told of a stream before it sees it.

use reuselens_units::Items;

/// What is known of a stream beforehand, from a sample say. If it is wrong nothing comes out
/// otherwise; it costs time or memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// About how many distinct items it has; 0 if nobody knows.
    pub distinct: Items,
    /// If at least a quarter of the ids around those that occur do, as those of addresses do: how
    /// many low bits are the same in all ids.
    pub crowded: Option<u32>,
}

impl Expected {
    /// The number of items: no more than there can be.
    pub(super) fn items(self) -> usize {
        self.distinct.get().min(u32::MAX.into()) as usize
    }
}

impl From<Items> for Expected {
    /// So many distinct items that may lie anywhere.
    fn from(distinct: Items) -> Self {
        Expected {
            distinct,
            crowded: None,
        }
    }
}
