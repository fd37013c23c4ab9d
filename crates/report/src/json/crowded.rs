//! Lines that crowd into few sets of a cache, as JSON.

use reuselens_locality::Crowding;
use serde::Serialize;

/// A line and an object whose data share few sets of a cache.
#[derive(Serialize)]
pub(super) struct CrowdedJson {
    line: String,
    object: String,
    cache: String,
    /// Whether virtual addresses decide.
    sure: bool,
    sets: u64,
    ways: u64,
    /// Sets that are used at a time, and the lines for which they have room.
    sets_used: u64,
    room_lines: u64,
    /// The median of the other lines between two uses.
    lines_between: u64,
    accesses: u64,
    misses: u64,
    misses_at_random_sets: u64,
    stride_bytes: Option<u64>,
}

impl From<Crowding> for CrowdedJson {
    fn from(one: Crowding) -> Self {
        CrowdedJson {
            sure: one.sure,
            sets: one.sets,
            ways: one.ways,
            sets_used: one.used,
            room_lines: one.room(),
            lines_between: one.between,
            accesses: one.accesses,
            misses: one.misses,
            misses_at_random_sets: one.at_random,
            stride_bytes: one.stride,
            line: one.line,
            object: one.object,
            cache: one.cache,
        }
    }
}

/// Those that are crowded.
pub(super) fn list(crowding: Vec<Crowding>) -> Vec<CrowdedJson> {
    let crowded = crowding.into_iter().filter(|one| one.is_crowded);
    crowded.map(CrowdedJson::from).collect()
}
