//! Misses in caches of objects that were weighed by their sizes, per request and per byte, for the
//! summary and the page.

use reuselens_document::numbers::{noun, percent};
use reuselens_document::{Table, TableColumn};
use reuselens_locality::ExactHistogram;
use reuselens_profile::Profile;
use reuselens_units::Bytes;

use crate::caches;

/// The most cache sizes of a table.
const SIZES: usize = 12;

/// What misses in caches of powers of two, up to the first that holds all objects, as shares of the
/// requests and of the bytes. Without rows unless objects were weighed.
pub(crate) fn table(profile: &Profile) -> Table {
    let heads = ["size", "of the requests", "of the bytes"];
    let bytes = profile.requested_bytes.as_ref();
    let rows = bytes.into_iter().flat_map(|bytes| rows(profile, bytes));
    Table::new(TableColumn::all(&heads, &[]), rows)
}

fn rows(profile: &Profile, bytes: &ExactHistogram) -> Vec<[String; 3]> {
    let requests = &profile.histogram;
    let reach = requests.max().unwrap_or(0).saturating_add(1);
    let largest = reach.checked_next_power_of_two().unwrap_or(reach);
    let sizes = std::iter::successors(Some(largest), |size| Some(size / 2));
    let mut sizes: Vec<u64> = sizes.take_while(|size| *size > 0).take(SIZES).collect();
    sizes.reverse();
    let share =
        |histogram: &ExactHistogram, size| percent(histogram.misses(size), histogram.accesses());
    let row = |size| {
        let name = caches::size(size, profile.granularity);
        [name, share(requests, size), share(bytes, size)]
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
