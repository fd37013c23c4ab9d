//! [`CacheLevel`]: the caches for which misses are predicted, which are those of the machine and
//! one that the caller names.

use reuselens_locality::SetAssociative;
use reuselens_profile::{CacheSize, Machine, Profile};

use super::CacheForecast;
use crate::program_prediction::ProgramPrediction;

/// A cache that something is predicted of.
pub(super) struct CacheLevel {
    pub(super) name: String,
    pub(super) items: u64,
    /// Its sets, where they are known.
    pub(super) sets: Option<SetAssociative>,
}

/// The data caches of the machine of a run, whose lines are the items (none if items have no size),
/// and the one asked for.
pub(super) fn levels(run: &Profile, asked: Option<CacheSize>) -> Vec<CacheLevel> {
    let nothing = Machine::default();
    let machine = if run.method.ids {
        &nothing
    } else {
        &run.machine
    };
    let caches = machine.data_caches().into_iter();
    let known = caches.map(|cache| CacheLevel {
        name: cache.label(),
        items: cache.items(run.granularity),
        sets: cache.model(),
    });
    let asked = asked.map(|cache| CacheLevel {
        name: match (run.method.ids, cache.ways) {
            (false, _) => cache.to_string(),
            (true, 0) => format!("{} items", cache.bytes.get()),
            (true, ways) => format!("{} items {ways}-way", cache.bytes.get()),
        },
        items: cache.items(run.granularity),
        sets: cache.model(run.granularity).ok().flatten(),
    });
    let levels = known.chain(asked);
    levels.filter(|level| level.items > 0).collect()
}

impl CacheLevel {
    /// What is expected there.
    pub(super) fn forecast(&self, program: &ProgramPrediction) -> CacheForecast {
        let sets = self.sets.as_ref();
        CacheForecast {
            name: self.name.clone(),
            items: self.items,
            miss_ratio: program.miss_ratio(self.items),
            with_sets: sets.map(|model| model.miss_ratio(&program.histogram)),
        }
    }
}
