//! The miss-ratio curve by itself: as a picture and as a table.

use reuselens_locality::{ExactHistogram, MissRatioCurve, Profile};

use crate::caches;
use crate::chart::{Line, Look, Panel, chart, chart_png};
use crate::words;

/// Shares below this, in percent, have no place in the picture.
const LEAST: f64 = 0.001;

/// The miss-ratio curve as an SVG file: both axes logarithmic, the caches of the machine marked.
/// Ends with a line break.
pub fn curve_svg(profile: &Profile) -> String {
    chart(&[panel(profile)])
}

/// The picture of [`curve_svg`] as a PNG file, on light ground. Equal profiles give equal bytes on
/// every machine.
pub fn curve_png(profile: &Profile) -> Vec<u8> {
    chart_png(&[panel(profile)])
}

fn panel(profile: &Profile) -> Panel {
    let bytes = profile.granularity.bytes() as f64;
    let (x, y, title) = match (&profile.requested_bytes, profile.method.ids) {
        (Some(_), _) => (
            "bytes in the cache",
            "% of requests or bytes",
            "Misses in a cache of objects",
        ),
        (None, true) => (
            "items in the cache",
            "% of accesses",
            "Misses per access, by items in the cache",
        ),
        (None, false) => (
            "bytes in the cache",
            "% of accesses",
            "Misses per access, by size of the cache",
        ),
    };
    let line = |name: String, histogram, look| {
        let points = points(profile, histogram).into_iter();
        let points = points.map(|(items, _, ratio)| (items as f64 * bytes, ratio * 100.0));
        Line {
            name,
            points: points.filter(|point| point.1 >= LEAST).collect(),
            look,
        }
    };
    let accesses = |name| line(name, &profile.histogram, Look::Strong);
    let lines = match &profile.requested_bytes {
        None => vec![accesses(words::command(profile))],
        Some(bytes) => vec![
            accesses("of the requests".to_owned()),
            line("of the bytes".to_owned(), bytes, Look::Soft),
        ],
    };
    let levels = caches::levels(profile);
    Panel::Lines {
        title: title.to_owned(),
        x: x.to_owned(),
        y: y.to_owned(),
        lines,
        marks: levels
            .iter()
            .map(|level| (level.bytes.get() as f64, level.short().to_owned()))
            .collect(),
    }
}

/// The miss-ratio curve as comma-separated values (RFC 4180), a row for each of eight sizes to an
/// octave up to where it is flat: `items, bytes, misses, miss_ratio` of a fully associative LRU
/// cache, and `missed_bytes, byte_miss_ratio` if objects were weighed by their sizes. The first row
/// names the columns.
pub fn curve_csv(profile: &Profile) -> String {
    let requested = profile.requested_bytes.as_ref();
    let more = requested.map_or("", |_| ",missed_bytes,byte_miss_ratio");
    let mut out = format!("items,bytes,misses,miss_ratio{more}\r\n");
    for (items, misses, ratio) in points(profile, &profile.histogram) {
        let bytes = items.saturating_mul(profile.granularity.bytes());
        out.push_str(&format!("{items},{bytes},{misses},{ratio}"));
        if let Some(requested) = requested {
            let (missed, ratio) = (requested.misses(items), requested.miss_ratio(items));
            out.push_str(&format!(",{missed},{ratio}"));
        }
        out.push_str("\r\n");
    }
    out
}

/// Items, misses and miss ratio of a histogram of the profile, as far as distances are known.
fn points(profile: &Profile, histogram: &ExactHistogram) -> Vec<(u64, u64, f64)> {
    let reach = profile.method.max_distance.unwrap_or(u64::MAX);
    let points = MissRatioCurve::new(histogram).default_points();
    let known = points.iter().filter(|point| point.items <= reach);
    known
        .map(|point| (point.items, point.misses, point.miss_ratio))
        .collect()
}
