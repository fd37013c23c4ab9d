//! The picture of the miss-ratio curve on a page.

use std::fmt::Write;

use reuselens_document::html::{escape, percent};
use reuselens_document::numbers::{grouped, ratio_percent};
use reuselens_locality::FineHistogram;

use super::plot::{self, Axis, Plot};
use super::scene::Scene;
use crate::caches;

/// Cache sizes at which a curve has a point: every size below 32 items, then sixteen to an octave,
/// up to the end of the axis. A fine histogram is exact at all of them.
pub(crate) fn sizes(axis: &Axis) -> impl Iterator<Item = u64> {
    let end = axis.end();
    (0..FineHistogram::BINS)
        .map(|bin| FineHistogram::range(bin).0)
        .skip(1)
        .take_while(move |low| *low <= end)
}

/// The curve as points: size in items, misses. One pass over the histogram.
pub(crate) fn points(histogram: &FineHistogram, axis: &Axis) -> Vec<(u64, u64)> {
    let mut misses = histogram.accesses();
    let mut bins = histogram.iter().peekable();
    sizes(axis)
        .map(|size| {
            while let Some((_, _, count)) = bins.next_if(|(low, _, _)| *low < size) {
                misses = misses.saturating_sub(count);
            }
            (size, misses)
        })
        .collect()
}

/// The curve as a path in a square of 1000 × 1000, of heights relative to `top`.
pub(crate) fn path(points: &[(u64, u64)], accesses: u64, axis: &Axis, top: f64) -> String {
    let mut path = String::new();
    let mut last = None;
    for (index, (size, misses)) in points.iter().enumerate() {
        let next = points.get(index + 1).map(|(_, misses)| *misses);
        // Points in the middle of a level piece add nothing.
        if last == Some(*misses) && next == Some(*misses) {
            continue;
        }
        last = Some(*misses);
        let x = axis.x(*size as f64) * 1000.0;
        let y = 1000.0 - *misses as f64 / accesses.max(1) as f64 / top * 1000.0;
        let _ = match (index, *size) {
            (0, _) => write!(path, "M{x:.1} {y:.1}"),
            // There is no cache of two and a half items: small sizes are steps.
            (_, ..=32) => write!(path, "H{x:.1}L{x:.1} {y:.1}"),
            _ => write!(path, "L{x:.1} {y:.1}"),
        };
    }
    if !path.is_empty() {
        let y = path.rsplit(' ').next().unwrap_or("1000").to_owned();
        let _ = write!(path, "L1000 {y}");
    }
    path
}

/// Appends the picture, its readout and its numbers.
pub(crate) fn write(out: &mut String, scene: &Scene) {
    super::page::heights(out, "curve");
    let points = points(&scene.fine, &scene.axis);
    let highest =
        points.first().map_or(0, |(_, misses)| *misses) as f64 / scene.accesses.max(1) as f64;
    let top = plot::share_top(highest);
    let line = path(&points, scene.accesses, &scene.axis, top);
    let left = scene.axis.x(1.0) * 1000.0;
    let plot = Plot {
        id: "curve",
        label: describe(scene),
        height: 280,
        axis: &scene.axis,
        top,
        shapes: format!(
            "<path class=\"fill\" d=\"{line}V1000H{left:.1}Z\"/><path class=\"line\" \
             d=\"{line}\"/><path id=\"pick-line\" class=\"picked\" d=\"\"/>"
        ),
        words: plot::marks(&scene.axis, &scene.levels, &scene.chosen, |level| {
            Some(format!("{} miss", escape(&level.miss_ratio(scene.profile))))
        }),
        cold: false,
        axis_name: "size of a fully associative LRU cache (log scale)",
    };
    plot.write(out);
    out.push_str(
        "<div class=\"readout needs-js\" id=\"readout\" aria-live=\"polite\"><span class=\"soft\">Point at the \
         curve, touch it, or focus it and press ← →. Enter or a click takes that size for the tables below.\
         </span></div>",
    );
    numbers(out, scene, &points);
}

fn describe(scene: &Scene) -> String {
    let mut text = "Miss-ratio curve.".to_owned();
    for level in &scene.levels {
        let ratio = level.miss_ratio(scene.profile);
        let _ = write!(text, " {ratio} of the accesses miss in {}.", level.label());
    }
    text
}

/// A table with every power of two, and the caches of the machine between them.
fn numbers(out: &mut String, scene: &Scene, points: &[(u64, u64)]) {
    let mut rows: Vec<(u64, u64, &str)> = points
        .iter()
        .filter(|(size, _)| size.is_power_of_two())
        .map(|(size, misses)| (*size, *misses, ""))
        .collect();
    for level in &scene.levels {
        rows.retain(|(size, _, _)| *size != level.items);
        rows.push((
            level.items,
            scene.misses(level.items),
            level.name.as_deref().unwrap_or(""),
        ));
    }
    rows.sort_by_key(|(size, _, name)| (*size, name.len()));
    out.push_str(
        "<details><summary>The numbers</summary><div class=\"scroll\"><table class=\"plain\"><thead><tr>\
         <th scope=\"col\">Cache</th><th scope=\"col\">Items</th><th scope=\"col\">Misses</th>\
         <th scope=\"col\">Miss ratio</th></tr></thead><tbody>",
    );
    for (size, misses, name) in rows {
        let _ = write!(
            out,
            "<tr><td>{} {name}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            caches::size(size, scene.profile.granularity),
            grouped(size),
            grouped(misses),
            percent(misses, scene.accesses)
        );
    }
    out.push_str("</tbody></table></div>");
    if scene.profile.method.error_bounds.is_none() {
        floor(out, scene);
    } else {
        out.push_str(
            "<p class=\"soft\">All of these are estimates; how far they may be off, the caches of \
             the machine say above, and the CSV of the curve at each size.</p>",
        );
    }
    out.push_str("</details>");
}

/// What no cache gets below.
fn floor(out: &mut String, scene: &Scene) {
    let floor = scene.cold as f64 / scene.accesses.max(1) as f64;
    let _ = write!(
        out,
        "<p class=\"soft\">No cache gets below {}: first touches{} miss in all of them.</p>",
        escape(&ratio_percent(floor)),
        scene.or_invalidated()
    );
}
