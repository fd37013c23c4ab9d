//! [`RunPhases`]: a run over time, in intervals, and the phases that these belong to.

use serde::{Deserialize, Serialize};

use super::unite;

/// Misses of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectMisses {
    /// Index into [`Profile::objects`](crate::Profile::objects).
    pub object: u32,
    /// Its accesses that miss, first touches included.
    pub misses: u64,
}

/// An interval of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInterval {
    /// Item accesses: equally many in all intervals but the last.
    pub accesses: u64,
    /// Of these, those that miss in [`Causes::cache`](super::Causes::cache), first touches
    /// included.
    pub misses: u64,
    /// Of these, first touches.
    pub first_touches: u64,
    /// Distinct items that were accessed.
    pub footprint: u64,
    /// Index into [`RunPhases::phases`].
    pub phase: u32,
}

/// Intervals that are alike. A phase may be several stretches of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPhase {
    /// Item accesses.
    pub accesses: u64,
    /// Of these, those that miss, first touches included.
    pub misses: u64,
    /// The objects with the most misses, the most first; at most [`RunPhase::OBJECTS`].
    pub objects: Vec<ObjectMisses>,
}

impl RunPhase {
    /// Objects that are kept.
    pub const OBJECTS: usize = 16;
}

/// A run over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPhases {
    /// The intervals, in the order of the run.
    pub intervals: Vec<RunInterval>,
    /// The phases, by their first interval.
    pub phases: Vec<RunPhase>,
}

impl RunPhases {
    /// Gives objects other numbers.
    pub(crate) fn renumber(&mut self, object: impl Fn(u32) -> u32) {
        for misses in self.phases.iter_mut().flat_map(|phase| &mut phase.objects) {
            misses.object = object(misses.object);
        }
        for RunPhase { objects, .. } in &mut self.phases {
            objects.sort_by_key(|it| it.object);
            unite(
                objects,
                |it| it.object,
                |into, other| {
                    into.misses = into.misses.saturating_add(other.misses);
                },
            );
            objects.sort_by_key(|it| (u64::MAX - it.misses, it.object));
        }
    }
}
