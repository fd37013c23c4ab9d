//! Bytes used of lines in JSON.

use reuselens_locality::Profile;
use serde::Serialize;

use super::lines;

/// Bytes used of the lines that misses bring in.
#[derive(Serialize)]
pub(crate) struct LinesJson<'a> {
    cache_bytes: u64,
    /// The share of the lines that was counted, if a sample was; counts are scaled to all lines.
    sample_rate: Option<f64>,
    /// All data together, whose name is null, then the objects of the most misses.
    data: Vec<LineUseJson<'a>>,
}

/// The lines of an object.
#[derive(Serialize)]
struct LineUseJson<'a> {
    object: Option<&'a str>,
    misses: u64,
    bytes_brought: u64,
    bytes_used: u64,
    utilisation: f64,
    /// How far the utilisation of all lines may be from that of the sample, with 95 % confidence:
    /// 0 if all lines were counted, null where too few were to say so.
    utilisation_bound: Option<f64>,
}

/// The use of lines; `None` if nothing missed, or the profile has no causes.
pub(super) fn of<'a>(profile: &'a Profile) -> Option<LinesJson<'a>> {
    let causes = profile.causes.as_ref()?;
    let lines = lines::of(profile);
    if lines.is_empty() {
        return None;
    }
    let line_use = |it: lines::ObjectLines<'a>| LineUseJson {
        utilisation: it.utilisation(),
        utilisation_bound: it.bound(),
        object: it.object,
        misses: it.fills,
        bytes_brought: it.brought,
        bytes_used: it.used,
    };
    Some(LinesJson {
        cache_bytes: causes.cache.get(),
        sample_rate: causes.sample_rate,
        data: lines.into_iter().map(line_use).collect(),
    })
}
