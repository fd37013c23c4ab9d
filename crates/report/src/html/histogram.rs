//! The picture of the reuse-distance histogram on a page.

use std::fmt::Write;

use reuselens_document::html::percent;
use reuselens_document::numbers::{count, grouped};
use reuselens_locality::Log2Histogram;

use super::plot::{self, Axis, Plot};
use super::scene::Scene;
use crate::caches;

/// Room left at each side of a bar, as a part of its bin.
const INSET: f64 = 0.05;

/// The bars of a histogram as one path in a square of 1000 × 1000, of heights relative to `top`.
pub(crate) fn bars(
    histogram: &Log2Histogram,
    accesses: u64,
    axis: &Axis,
    top: f64,
    inset: (f64, f64),
) -> String {
    let mut path = String::new();
    for (low, high, count) in histogram.iter() {
        let (left, right) = span(axis, low, high);
        let width = right - left;
        let share = count as f64 / accesses.max(1) as f64;
        bar(
            &mut path,
            left + width * inset.0,
            right - width * inset.1,
            share / top,
        );
    }
    path
}

/// The left and right edge of a bin, in thousandths.
pub(crate) fn span(axis: &Axis, low: u64, high: u64) -> (f64, f64) {
    let left = if low == 0 { 0.5 } else { low as f64 };
    (axis.x(left) * 1000.0, axis.x(high as f64 + 1.0) * 1000.0)
}

/// One bar, never too low to be seen.
pub(crate) fn bar(path: &mut String, left: f64, right: f64, height: f64) {
    if height > 0.0 {
        let y = 1000.0 - (height * 1000.0).clamp(6.0, 1000.0);
        let _ = write!(path, "M{left:.1} 1000V{y:.1}H{right:.1}V1000Z");
    }
}

/// The largest share of a bin, first touches included.
pub(crate) fn highest(histogram: &Log2Histogram) -> f64 {
    let most = histogram
        .iter()
        .map(|(_, _, count)| count)
        .max()
        .unwrap_or(0)
        .max(histogram.cold());
    most as f64 / histogram.accesses().max(1) as f64
}

/// Appends the picture, its key and its numbers.
pub(crate) fn write(out: &mut String, scene: &Scene) {
    super::page::heights(out, "histogram");
    let top = plot::share_top(highest(&scene.log2) * 1.06);
    let plot = Plot {
        id: "histogram",
        label: describe(scene),
        height: 260,
        axis: &scene.axis,
        top,
        shapes: shapes(scene, top),
        words: format!(
            "{}{}",
            plot::marks(&scene.axis, &scene.levels, &scene.chosen, |_| None),
            labels(scene, top)
        ),
        cold: true,
        axis_name: if scene.in_bytes() {
            "how much other data is touched before the reuse (log scale) → the cache it takes to hit"
        } else {
            "how many other items are touched before the reuse (log scale) → the cache it takes to hit"
        },
    };
    plot.write(out);
    let chosen = scene.chosen.label();
    let _ = write!(
        out,
        "<ul class=\"legend\"><li><i class=\"k-hit\"></i>hits in <span data-cache>{chosen}</span></li>\
         <li><i class=\"k-miss\"></i>misses in it (a bar with both is coloured by their shares)</li><li><i class=\"k-cold\"></i>first touch{}: misses in any cache</li>\
         <li class=\"needs-js\" id=\"key-pick\" hidden><i class=\"k-pick\"></i><span></span></li></ul>",
        scene.or_invalidated()
    );
    if let Some(guess) = crate::words::order_guess(scene.profile) {
        let _ = write!(out, "<p class=\"soft\">{guess}</p>");
    }
    numbers(out, scene);
}

fn shapes(scene: &Scene, top: f64) -> String {
    let bars = bars(
        &scene.log2,
        scene.accesses,
        &scene.axis,
        top,
        (INSET, INSET),
    );
    let edge = edge(scene);
    let mut cold = String::new();
    let (left, right) = plot::cold_bar();
    bar(
        &mut cold,
        left,
        right,
        scene.cold as f64 / scene.accesses.max(1) as f64 / top,
    );
    format!(
        "<defs><clipPath id=\"hits\"><rect id=\"hits-rect\" x=\"-1\" y=\"0\" width=\"{:.1}\" height=\"1000\"/></clipPath>\
         <clipPath id=\"misses\"><rect id=\"misses-rect\" x=\"{edge:.1}\" y=\"0\" width=\"2000\" height=\"1000\"/></clipPath>\
         </defs><path class=\"hit bars\" clip-path=\"url(#hits)\" d=\"{bars}\"/><path class=\"miss bars\" \
         clip-path=\"url(#misses)\" d=\"{bars}\"/><path class=\"cold\" d=\"{cold}\"/><path id=\"pick-bars\" \
         class=\"picked\" d=\"\"/>",
        edge + 1.0
    )
}

/// Where the colour changes, in thousandths: at the chosen size, but in a bar that it cuts at the
/// share of the bar's accesses that hit.
fn edge(scene: &Scene) -> f64 {
    let items = scene.chosen.items;
    let cut = scene
        .log2
        .iter()
        .find(|(low, high, _)| (low + 1..=*high).contains(&items));
    let Some((low, high, count)) = cut.filter(|(_, _, count)| *count > 0) else {
        return scene.axis.x(items as f64) * 1000.0;
    };
    let (left, right) = span(&scene.axis, low, high);
    let hits = scene.misses(low).saturating_sub(scene.misses(items));
    let share = (hits as f64 / count as f64).min(1.0);
    left + (right - left) * (INSET + (1.0 - 2.0 * INSET) * share)
}

fn labels(scene: &Scene, top: f64) -> String {
    let mut out = String::new();
    let mut label = |middle: f64, part: u64| {
        let share = part as f64 / scene.accesses.max(1) as f64;
        if share >= 0.005 {
            let _ = write!(
                out,
                "<span class=\"bar-label\" style=\"left:{:.2}%;bottom:{:.2}%\">{}</span>",
                middle / 10.0,
                (share / top).min(1.0) * 100.0,
                percent(part, scene.accesses)
            );
        }
    };
    for (low, high, part) in scene.log2.iter() {
        let (left, right) = span(&scene.axis, low, high);
        label((left + right) / 2.0, part);
    }
    let (left, right) = plot::cold_bar();
    label((left + right) / 2.0, scene.cold);
    out
}

fn describe(scene: &Scene) -> String {
    let largest = scene.log2.iter().max_by_key(|(_, _, count)| *count);
    let mut text = format!(
        "Histogram of the reuse distances of {} accesses.",
        grouped(scene.accesses)
    );
    if let Some((low, high, part)) = largest {
        let _ = write!(
            text,
            " The highest bar, {}, is at {} to {}.",
            reuselens_document::numbers::percent(part, scene.accesses),
            caches::size(low, scene.profile.granularity),
            caches::size(high, scene.profile.granularity)
        );
    }
    text
}

fn numbers(out: &mut String, scene: &Scene) {
    out.push_str(
        "<details><summary>The numbers</summary><div class=\"scroll\"><table class=\"plain\"><thead><tr>\
         <th scope=\"col\">Distance in items</th><th scope=\"col\">Size</th><th scope=\"col\">Accesses</th>\
         <th scope=\"col\">Share</th></tr></thead><tbody>",
    );
    for (low, high, part) in scene.log2.iter() {
        let range = if low == high {
            low.to_string()
        } else {
            format!("{}–{}", count(low), count(high))
        };
        let size = caches::size(high.saturating_add(1), scene.profile.granularity);
        let _ = write!(
            out,
            "<tr><td>{range}</td><td>fits in {size}</td><td>{}</td><td>{}</td></tr>",
            grouped(part),
            percent(part, scene.accesses)
        );
    }
    let _ = write!(
        out,
        "{}{}</tbody></table></div></details>",
        without_distance(
            scene,
            &crate::words::cold(scene.profile),
            scene.profile.first_touches()
        ),
        scene
            .profile
            .invalidations()
            .map_or_else(String::new, |lost| {
                without_distance(scene, crate::words::INVALIDATED, lost)
            })
    );
}

/// The row of accesses that have no distance.
fn without_distance(scene: &Scene, what: &str, accesses: u64) -> String {
    format!(
        "<tr><td>{what}</td><td>no cache</td><td>{}</td><td>{}</td></tr>",
        grouped(accesses),
        percent(accesses, scene.accesses)
    )
}
