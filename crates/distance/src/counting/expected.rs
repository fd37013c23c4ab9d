//! [`Expected`]: what a caller knows of a stream before the engine sees it, for instance from a
//! sample. If it is wrong it costs time or memory; results do not change.

use reuselens_units::Items;

/// What is known of a stream beforehand, from a sample for instance. A wrong expectation changes no
/// result; it costs time or memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// About how many distinct items it has; 0 if that is unknown.
    pub distinct: Items,
    /// If at least a quarter of the ids around those that occur do, as those of addresses do: how
    /// many low bits are the same in all ids.
    pub dense_shift: Option<u32>,
}

impl Expected {
    /// The number of items: no more than there can be.
    pub(super) fn items(self) -> usize {
        self.distinct.get().min(u32::MAX.into()) as usize
    }
}

impl From<Items> for Expected {
    /// That many distinct items, whose ids may be anywhere.
    fn from(distinct: Items) -> Self {
        Expected {
            distinct,
            dense_shift: None,
        }
    }
}
