//! Whether ids are so close together that shadow pages suit them better than a hash table.
//!
//! Two callers decide by the same functions: a hash table that has grown, about the ids that it
//! holds, and the sampling of a stream in memory, about the ids of its sample.

/// log2 of the ids of a page.
pub(crate) const PAGE: u32 = 9;

/// How many low bits are the same in all of these ids, as those of addresses are.
pub fn same_low_bits(ids: impl Iterator<Item = u64>) -> u32 {
    // Bits that are set in any, and in all.
    let (any, all) = ids.fold((0, u64::MAX), |(any, all), id| (any | id, all & id));
    low_bits(any, all)
}

/// The same, of the bits that are set in any id, and in all.
pub(crate) fn low_bits(any: u64, all: u64) -> u32 {
    (any ^ all).trailing_zeros() % u64::BITS
}

/// The page of an id whose `shift` low bits are those of all.
pub fn page(id: u64, shift: u32) -> u64 {
    id.rotate_right(shift) >> PAGE
}

/// The most pages on which `ids` ids count as dense: they are at least a quarter of the pages' ids.
pub fn most_pages(ids: u64) -> u64 {
    ids >> (PAGE - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_addresses_fill_pages() {
        let ids = || (100_u64..2100).map(|line| line << 6);
        assert_eq!(same_low_bits(ids()), 6);
        let pages: std::collections::BTreeSet<u64> = ids().map(|id| page(id, 6)).collect();
        assert_eq!((pages.len(), most_pages(2000)), (5, 15));
        assert_eq!(same_low_bits([7].into_iter()), 0);
    }
}
