//! The miss-ratio curve without the rest of a report: [`curve_svg`] and [`curve_png`] as a picture,
//! [`curve_csv`] as a table.

use reuselens_document::terminal::shorten;
use reuselens_document::{ChartAxis, ChartLine, Look, Panel, Unit, chart, chart_png};
use reuselens_locality::{ExactHistogram, FineHistogram, MissRatioCurve};
use reuselens_profile::Profile;

use crate::caches;
use crate::words;

/// Shares below this, in percent, have no place in the picture.
const LEAST: f64 = 0.001;
/// A curve of more steps than this is drawn at sixteen sizes to an octave.
const STEPS: usize = 512;
/// Letters of the command in the title.
const NAME: usize = 48;
/// Caches up to this many times as large as the size from which on the curve is flat are shown.
const BEYOND: u64 = 16;

/// The miss-ratio curve as an SVG file: a curve of steps, both axes logarithmic, the caches of the
/// machine marked, the command in the title. Ends with a line break.
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
    let (x, y, what, unit) = match (&profile.requested_bytes, profile.method.ids) {
        (Some(_), _) => (
            "size of the cache",
            "% of requests or bytes",
            "misses in a cache of objects",
            Unit::Bytes,
        ),
        (None, true) => (
            "items in the cache",
            "% of accesses",
            "misses by items in the cache",
            Unit::Things,
        ),
        (None, false) => (
            "size of the cache",
            "% of accesses",
            "misses by size of the cache",
            Unit::Bytes,
        ),
    };
    let sizes = sizes(profile);
    let line = |name: &str, histogram, look| {
        let curve = MissRatioCurve::new(histogram);
        let points = sizes.iter().map(|items| {
            let percent = curve.at(*items) * 100.0;
            (*items as f64 * bytes, percent)
        });
        ChartLine {
            name: name.to_owned(),
            points: points.filter(|point| point.1 >= LEAST).collect(),
            look,
            steps: true,
        }
    };
    let lines = match &profile.requested_bytes {
        None => vec![line("of the accesses", &profile.histogram, Look::Strong)],
        Some(requested) => vec![
            line("of the requests", &profile.histogram, Look::Strong),
            line("of the bytes", requested, Look::Soft),
        ],
    };
    let levels = caches::levels(profile);
    Panel::Lines {
        title: format!("{}: {what}", shorten(&words::command(profile), NAME)),
        x: ChartAxis::logarithmic(x, unit),
        y: ChartAxis::logarithmic(y, Unit::Things),
        lines,
        marks: levels
            .iter()
            .map(|level| (level.bytes.get() as f64, level.short().to_owned()))
            .collect(),
    }
}

/// The cache sizes of the picture, in items: those of the curve of a page, up to twice the size
/// from which on it is flat, and to the caches of the machine that are not far beyond. A curve ends
/// where longer distances were not measured.
fn sizes(profile: &Profile) -> Vec<u64> {
    let histograms = [Some(&profile.histogram), profile.requested_bytes.as_ref()];
    let flat = histograms.into_iter().flatten();
    let flat = flat.map(|histogram| MissRatioCurve::new(histogram).flat_from());
    let flat = flat.max().unwrap_or(1);
    let levels = caches::levels(profile);
    let near = levels.iter().map(|level| level.items);
    let near = near.filter(|items| *items <= flat.saturating_mul(BEYOND));
    let reach = profile.method.max_distance.unwrap_or(u64::MAX);
    // The flat end is seen to be flat.
    let last = near.fold(flat.saturating_mul(2), u64::max).min(reach);
    let grid = (1..FineHistogram::BINS).map(|bin| FineHistogram::range(bin).0);
    let grid = grid.take_while(|size| *size < last).chain([last]);
    // A curve with few steps has a point at each step, not only at the next of those sizes.
    let few = |histogram: &&ExactHistogram| histogram.iter().nth(STEPS).is_none();
    let steps = histograms.into_iter().flatten().filter(few);
    let steps = steps.flat_map(|histogram| histogram.iter().map(|(distance, _)| distance + 1));
    let mut sizes: Vec<u64> = grid.chain(steps.filter(|size| *size < last)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The miss-ratio curve as comma-separated values (RFC 4180), a row for each of eight sizes to an
/// octave up to where it is flat: `items, bytes, misses, miss_ratio` of a fully associative LRU
/// cache, and `missed_bytes, byte_miss_ratio` if objects were weighed by their sizes, or
/// `half_width`, how far the miss ratio may be off, if it is an estimate with a bound. The first
/// row names the columns.
pub fn curve_csv(profile: &Profile) -> String {
    let requested = profile.requested_bytes.as_ref();
    let bounds = profile.method.error_bounds.as_ref();
    let more = requested.map_or("", |_| ",missed_bytes,byte_miss_ratio");
    let width = bounds.map_or("", |_| ",half_width");
    let mut out = format!("items,bytes,misses,miss_ratio{more}{width}\r\n");
    for (items, misses, ratio) in points(profile, &profile.histogram) {
        let bytes = items.saturating_mul(profile.granularity.bytes());
        out.push_str(&format!("{items},{bytes},{misses},{ratio}"));
        if let Some(requested) = requested {
            let (missed, ratio) = (requested.misses(items), requested.miss_ratio(items));
            out.push_str(&format!(",{missed},{ratio}"));
        }
        if let Some(bounds) = bounds {
            out.push_str(&format!(",{}", bounds.half_width(items)));
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
