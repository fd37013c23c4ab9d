//! The miss-ratio curve by itself: as a picture and as a table.

use reuselens_locality::{MissRatioCurve, Profile};

use crate::caches;
use crate::chart::{Line, Look, Panel, chart};
use crate::words;

/// Shares below this, in percent, have no place in the picture.
const LEAST: f64 = 0.001;

/// The miss-ratio curve as an SVG file: both axes logarithmic, the caches of the machine marked.
/// Ends with a line break.
pub fn curve_svg(profile: &Profile) -> String {
    let bytes = profile.granularity.bytes() as f64;
    let (x, title) = match profile.method.ids {
        true => (
            "items in the cache",
            "Misses per access, by items in the cache",
        ),
        false => (
            "bytes in the cache",
            "Misses per access, by size of the cache",
        ),
    };
    let points = points(profile).into_iter();
    let points = points.map(|(items, _, ratio)| (items as f64 * bytes, ratio * 100.0));
    let levels = caches::levels(profile);
    let panel = Panel::Lines {
        title: title.to_owned(),
        x: x.to_owned(),
        y: "% of accesses".to_owned(),
        lines: vec![Line {
            name: words::command(profile),
            points: points.filter(|point| point.1 >= LEAST).collect(),
            look: Look::Strong,
        }],
        marks: levels
            .iter()
            .map(|level| (level.bytes.get() as f64, level.short().to_owned()))
            .collect(),
    };
    chart(&[panel])
}

/// The miss-ratio curve as comma-separated values (RFC 4180), a row for each of eight sizes to an
/// octave up to where it is flat: `items, bytes, misses, miss_ratio` of a fully associative LRU
/// cache. The first row names the columns.
pub fn curve_csv(profile: &Profile) -> String {
    let mut out = "items,bytes,misses,miss_ratio\r\n".to_owned();
    for (items, misses, ratio) in points(profile) {
        let bytes = items.saturating_mul(profile.granularity.bytes());
        out.push_str(&format!("{items},{bytes},{misses},{ratio}\r\n"));
    }
    out
}

/// Items, misses and miss ratio, as far as distances are known.
fn points(profile: &Profile) -> Vec<(u64, u64, f64)> {
    let reach = profile.method.max_distance.unwrap_or(u64::MAX);
    let points = MissRatioCurve::new(&profile.histogram).default_points();
    let known = points.iter().filter(|point| point.items <= reach);
    known
        .map(|point| (point.items, point.misses, point.miss_ratio))
        .collect()
}
