//! Small pictures of patterns: one for each line, or for each instruction with a row for each path to it.

use std::collections::BTreeMap;
use std::fmt::Write;

use reuselens_locality::Pattern;
use reuselens_predict::{GroupForecast, PatternPrediction};

use super::Forecast;
use super::text::{short, short_name};
use crate::caches;
use crate::html::escape;
use crate::numbers::count;

/// Pictures at most.
const MOST: usize = 12;
/// Paths in a picture at most.
const PATHS: usize = 6;
/// Width of a picture, of the names at its left, and height of a row.
const WIDTH: f64 = 360.0;
const LEFT: f64 = 92.0;
const ROW: f64 = 20.0;
/// Growth from which on a pattern moves rather than stays.
const MOVES: f64 = 1.5;

/// How the pictures are read.
pub(super) const EXPLAIN: &str = "Each bar is a locality pattern, from its lowest to its highest distance, with a dot at the mean; the \
higher the bar, the more of the reuses are in it. Patterns that <b>move</b> with the data are marked by colour and an arrow, others stay. \
The upright lines are the caches of the machine: what is to the right of one misses there.";

const STYLE: &str = "<style>.multiples{display:grid;grid-template-columns:repeat(auto-fill,minmax(320px,1fr));gap:18px 22px}\
.multiples figure{margin:0;min-width:0}.multiples figcaption{font-size:13px;color:var(--ink);overflow-wrap:anywhere}\
.multiples svg text{font:11px system-ui,sans-serif;fill:var(--soft)}.multiples .stay{fill:var(--hit);stroke:var(--hit)}\
.multiples .move{fill:var(--miss);stroke:var(--miss)}.multiples .edge{stroke:var(--soft);stroke-opacity:.6;stroke-dasharray:2 2}.multiples .bar{fill-opacity:.45;stroke:none}\
.multiples .seen{fill:none;stroke:var(--ink);stroke-width:1}</style>";

/// A row of a picture: its name, its patterns with whether they move, and what was observed of it.
struct Row {
    name: String,
    patterns: Vec<(Pattern, bool)>,
    observed: Vec<Pattern>,
}

/// A picture: its name, and rows.
type Picture = (String, Vec<Row>);

/// Appends pictures of the groups with most misses; nothing if none has patterns.
pub(super) fn write(out: &mut String, forecast: &Forecast) -> bool {
    let pictures = match forecast.by {
        "path" => by_path(forecast),
        _ => by_run(forecast),
    };
    if pictures.is_empty() {
        return false;
    }
    let _ = write!(out, "{STYLE}<div class=\"multiples\">");
    for picture in &pictures {
        draw(out, forecast, picture);
    }
    out.push_str("</div>");
    true
}

fn moves(pattern: &PatternPrediction) -> bool {
    let last = pattern.seen.last().map_or(0.0, |seen| seen.mean);
    pattern.mean.value > last * MOVES && pattern.mean.value - last >= 1.0
}

/// The groups that have patterns, most misses first.
fn patterned<'a>(
    forecast: &'a Forecast,
) -> impl Iterator<Item = (&'a GroupForecast, &'a [PatternPrediction])> {
    let groups = forecast.prediction.groups.iter();
    groups.filter_map(|(group, _)| {
        let patterns = group.patterns.as_deref().ok()?;
        (!patterns.is_empty()).then_some((group, patterns))
    })
}

fn observed(forecast: &Forecast, name: &str) -> Vec<Pattern> {
    let check = forecast.observed.map(|(_, _, check)| check);
    let patterns = check.and_then(|check| check.observed.get(name));
    patterns.cloned().unwrap_or_default()
}

fn predicted(patterns: &[PatternPrediction]) -> Vec<(Pattern, bool)> {
    let bar = |pattern: &PatternPrediction| (pattern.pattern(), moves(pattern));
    patterns.iter().map(bar).collect()
}

/// One picture per group; a row for each run, and one for what is predicted.
fn by_run(forecast: &Forecast) -> Vec<Picture> {
    let sizes: Vec<f64> = forecast.by_size().map(|run| run.2).collect();
    let size = |items: f64| caches::size(items.round() as u64, forecast.prediction.granularity);
    let picture = |(group, patterns): (&GroupForecast, &[PatternPrediction])| {
        let run = |(at, items): (usize, &f64)| Row {
            name: size(*items),
            patterns: patterns
                .iter()
                .filter_map(|pattern| Some((*pattern.seen.get(at)?, moves(pattern))))
                .collect(),
            observed: Vec::new(),
        };
        let mut rows: Vec<Row> = sizes.iter().enumerate().map(run).collect();
        rows.push(Row {
            name: "predicted".to_owned(),
            patterns: predicted(patterns),
            observed: observed(forecast, &group.name),
        });
        (group.name.clone(), rows)
    };
    patterned(forecast).take(MOST).map(picture).collect()
}

/// One picture per instruction; a row for each path to it, those with most accesses first.
fn by_path(forecast: &Forecast) -> Vec<Picture> {
    let mut order: Vec<&str> = Vec::new();
    let mut paths: BTreeMap<&str, Vec<(f64, Row)>> = BTreeMap::new();
    for (group, patterns) in patterned(forecast) {
        let (instruction, path) = group
            .name
            .split_once(" after ")
            .unwrap_or((&group.name, ""));
        let rows = paths.entry(instruction).or_default();
        if rows.is_empty() {
            order.push(instruction);
        }
        let row = Row {
            name: path.to_owned(),
            patterns: predicted(patterns),
            observed: observed(forecast, &group.name),
        };
        rows.push((group.accesses.value, row));
    }
    // What one path alone leads to is no multiple.
    order.retain(|instruction| paths.get(instruction).is_some_and(|rows| rows.len() > 1));
    let mut pictures = Vec::new();
    for instruction in order.into_iter().take(MOST) {
        let mut rows = paths.remove(instruction).unwrap_or_default();
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let rows = rows.into_iter().take(PATHS).map(|(_, row)| row);
        pictures.push((instruction.to_owned(), rows.collect()));
    }
    pictures
}

/// Where a distance lies: on a logarithmic axis that begins with 0.
fn place(items: f64, top: f64) -> f64 {
    LEFT + (items + 1.0).ln() / (top + 1.0).ln().max(1.0) * (WIDTH - LEFT - 12.0)
}

fn draw(out: &mut String, forecast: &Forecast, (name, rows): &Picture) {
    let ends = rows.iter().flat_map(|row| {
        let own = row.patterns.iter().map(|(pattern, _)| pattern.max);
        own.chain(row.observed.iter().map(|pattern| pattern.max))
    });
    let caches = &forecast.prediction.caches;
    let top = ends.chain(caches.first().map(|cache| cache.items)).max();
    let top = top.unwrap_or(1) as f64 * 1.2;
    let bottom = rows.len() as f64 * ROW + 4.0;
    let _ = write!(
        out,
        "<figure><figcaption>{}</figcaption><svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" width=\"100%\">",
        escape(&short_name(name)),
        bottom + 30.0
    );
    for cache in caches.iter().filter(|cache| (cache.items as f64) < top) {
        let x = place(cache.items as f64, top);
        let label = short(&cache.name);
        let _ = write!(
            out,
            "<path class=\"edge\" d=\"M{x:.1} 0V{bottom:.0}\"/><text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
            bottom + 26.0,
            escape(label)
        );
    }
    ticks(out, top, bottom);
    for (at, row) in rows.iter().enumerate() {
        bars(out, row, (at as f64 + 0.5) * ROW + 2.0, top);
    }
    out.push_str("</svg></figure>");
}

fn ticks(out: &mut String, top: f64, bottom: f64) {
    let step = if top > 1e5 { 100.0 } else { 10.0 };
    let mut value = 0.0;
    while value <= top {
        let x = place(value, top);
        let anchor = if x > WIDTH - 24.0 { "end" } else { "middle" };
        let x = if x > WIDTH - 24.0 { WIDTH } else { x };
        let label = match value as u64 {
            small @ 0..1_000 => small.to_string(),
            some @ 1_000..1_000_000 => format!("{} k", some / 1_000),
            many => format!("{} M", many / 1_000_000),
        };
        let _ = write!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"{anchor}\">{label}</text>",
            bottom + 13.0
        );
        value = if value == 0.0 { step } else { value * step };
    }
}

fn bars(out: &mut String, row: &Row, y: f64, top: f64) {
    let _ = write!(
        out,
        "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        LEFT - 8.0,
        y + 4.0,
        escape(&row.name)
    );
    let all: u64 = row
        .patterns
        .iter()
        .map(|(pattern, _)| pattern.accesses)
        .fold(0, u64::saturating_add);
    for (pattern, moves) in &row.patterns {
        let [from, mean, to] =
            [pattern.min as f64, pattern.mean, pattern.max as f64].map(|items| place(items, top));
        let share = pattern.accesses as f64 / all.max(1) as f64;
        let height = (share.sqrt() * (ROW - 6.0)).max(2.0);
        let class = if *moves { "move" } else { "stay" };
        let (left, width) = ((from - 1.0), (to - from + 2.0));
        let _ = write!(
            out,
            "<rect class=\"bar {class}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"1.5\">\
             <title>{} to {}, mean {:.0}, {:.1} % of the reuses{}</title></rect><circle class=\"{class}\" cx=\"{mean:.1}\" cy=\"{y:.1}\" r=\"2.2\"/>",
            y - height / 2.0,
            count(pattern.min),
            count(pattern.max),
            pattern.mean,
            share * 100.0,
            if *moves { "; moves with the data" } else { "" }
        );
        if *moves {
            let tip = (to + 7.0).min(WIDTH - 3.0);
            let _ = write!(
                out,
                "<path class=\"{class}\" d=\"M{:.1} {:.1}L{tip:.1} {y:.1}L{:.1} {:.1}Z\"/>",
                tip - 5.0,
                y - 3.5,
                tip - 5.0,
                y + 3.5
            );
        }
    }
    for pattern in &row.observed {
        let [from, to] = [pattern.min, pattern.max].map(|items| place(items as f64, top));
        let _ = write!(
            out,
            "<rect class=\"seen\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"1.5\"/>",
            from - 2.0,
            y - ROW / 2.0 + 1.0,
            to - from + 4.0,
            ROW - 2.0
        );
    }
}
