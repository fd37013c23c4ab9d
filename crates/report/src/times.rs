//! The points of the average footprint, as all reports show them.

use reuselens_locality::ReuseTimes;
use reuselens_profile::Profile;

/// Lengths of windows that the summary names.
pub(crate) const DECADES: [u64; 4] = [100, 10_000, 1_000_000, 100_000_000];

/// The average footprint: window in accesses, mean distinct items; four windows to an octave, and
/// every one up to 8. `None` if it was not measured.
pub(crate) fn footprint(profile: &Profile) -> Option<Vec<(u64, f64)>> {
    let curve = profile
        .reuse_times
        .as_ref()
        .map(ReuseTimes::footprint_curve)?;
    let is_kept = |window: u64| {
        // Multiples of a quarter of the octave.
        let quarter = (window.ilog2()).saturating_sub(2);
        window.is_multiple_of(1 << quarter)
    };
    Some(curve.into_iter().filter(|point| is_kept(point.0)).collect())
}
