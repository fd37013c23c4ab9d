//! Misses in caches of objects that were weighed by their sizes, per request and per byte, for the
//! summary and the page.

use reuselens_document::numbers::{noun, percent};
use reuselens_locality::ExactHistogram;
use reuselens_profile::Profile;
use reuselens_units::Bytes;

use crate::caches;

/// The most cache sizes of a table.
const SIZES: usize = 12;

/// What misses in a cache of one size.
pub(crate) struct WeightedMisses {
    /// The size as text.
    pub(crate) size: String,
    /// Missed requests, as a share of all requests.
    pub(crate) requests: String,
    /// Bytes of missed requests, as a share of all bytes requested.
    pub(crate) bytes: String,
}

/// What misses in caches of powers of two, up to the first that holds all objects. Empty unless
/// objects were weighed.
pub(crate) fn misses(profile: &Profile) -> Vec<WeightedMisses> {
    let Some(bytes) = &profile.requested_bytes else {
        return Vec::new();
    };
    let requests = &profile.histogram;
    let reach = requests.max().unwrap_or(0).saturating_add(1);
    let largest = reach.checked_next_power_of_two().unwrap_or(reach);
    let sizes = std::iter::successors(Some(largest), |size| Some(size / 2));
    let mut sizes: Vec<u64> = sizes.take_while(|size| *size > 0).take(SIZES).collect();
    sizes.reverse();
    let share =
        |histogram: &ExactHistogram, size| percent(histogram.misses(size), histogram.accesses());
    let row = |size| WeightedMisses {
        size: caches::size(size, profile.granularity),
        requests: share(requests, size),
        bytes: share(bytes, size),
    };
    sizes.into_iter().map(row).collect()
}

/// What was requested, as a sentence; `None` unless objects were weighed.
pub(crate) fn totals(profile: &Profile) -> Option<String> {
    let bytes = profile.requested_bytes.as_ref()?;
    let requests = &profile.histogram;
    Some(format!(
        "{} for {} of {} ({}); {} of the requests and {} of the bytes are the first for their object.",
        noun(requests.accesses(), "request", "requests"),
        Bytes(bytes.accesses()),
        noun(requests.cold(), "distinct object", "distinct objects"),
        Bytes(bytes.cold()),
        percent(requests.cold(), requests.accesses()),
        percent(bytes.cold(), bytes.accesses()),
    ))
}
