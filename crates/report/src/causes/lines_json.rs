//! The field `line_use` of a profile's JSON: bytes used of lines.

use reuselens_profile::Profile;
use serde::Serialize;

use super::lines;

/// Bytes used of the lines that misses bring in, of all data together. Those of each object are in
/// the causes.
#[derive(Serialize)]
pub(crate) struct LinesJson {
    cache_bytes: u64,
    /// The share of the lines that was counted, if a sample was; counts are scaled to all lines.
    sample_rate: Option<f64>,
    misses: u64,
    bytes_brought: u64,
    bytes_used: u64,
    utilisation: f64,
    /// How far the utilisation of all lines may be from that of the sample, with 95 % confidence:
    /// 0 if all lines were counted, null if too few were sampled to know it.
    utilisation_bound: Option<f64>,
}

/// The use of lines; `None` if nothing missed, or the profile has no causes.
pub(super) fn of(profile: &Profile) -> Option<LinesJson> {
    let causes = profile.causes.as_ref()?;
    let (lines, _) = lines::shown(profile);
    let all = lines.first()?;
    Some(LinesJson {
        cache_bytes: causes.cache.get(),
        sample_rate: causes.sample_rate,
        misses: all.causes.fills,
        bytes_brought: all.brought,
        bytes_used: all.causes.used_bytes,
        utilisation: all.utilisation(),
        utilisation_bound: all.bound(),
    })
}
