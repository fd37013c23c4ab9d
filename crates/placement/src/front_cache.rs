//! The misses of the cache in front of the memory.

use reuselens_locality::{FineHistogram, SetAssociative};
use reuselens_profile::CacheSize;
use reuselens_units::Granularity;

/// Counts the accesses that a cache does not serve: of a fully associative LRU cache as they are,
/// of one with sets as the model expects them.
#[derive(Debug)]
pub(crate) struct FrontCache {
    items: u64,
    sets: Option<SetAssociative>,
}

impl FrontCache {
    /// A cache for items of this granularity. Ways that do not fill it are left out.
    pub fn new(cache: CacheSize, granularity: Granularity) -> FrontCache {
        FrontCache {
            items: cache.items(granularity),
            sets: cache.model(granularity).ok().flatten(),
        }
    }

    /// The accesses of a histogram that it does not serve.
    pub fn misses(&self, histogram: &FineHistogram) -> u64 {
        match &self.sets {
            None => histogram.misses(self.items),
            Some(sets) => (sets.misses(histogram).round() as u64).min(histogram.accesses()),
        }
    }
}
