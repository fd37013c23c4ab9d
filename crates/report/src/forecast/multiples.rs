//! The small pictures of a prediction: the patterns of each line, or of each path to an
//! instruction.

use std::collections::BTreeMap;

use reuselens_locality::Pattern;
use reuselens_predict::{GroupForecast, PatternPrediction};

use super::Forecast;
use super::text::{short, short_name};
use crate::multiples::{self, Bar, Edge, MOST, PATHS, PatternRow, Picture};

/// Growth from which on a pattern moves rather than stays.
const MOVES: f64 = 1.5;

/// How the colours are read.
pub(super) const EXPLAIN: &str =
    "What <b>moves</b> with the data is marked by colour and an arrow; the rest stays.";

/// Appends pictures of the groups with most misses; nothing if none has patterns.
pub(super) fn write(out: &mut String, forecast: &Forecast) -> bool {
    let pictures = match forecast.by {
        "path" => by_path(forecast),
        _ => by_run(forecast),
    };
    let caches = forecast.prediction.caches.iter();
    let edges: Vec<Edge> = caches
        .map(|cache| (short(&cache.name).to_owned(), cache.items))
        .collect();
    multiples::write(out, &pictures, &edges);
    !pictures.is_empty()
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

fn bar(pattern: Pattern, moves: bool, rare: bool) -> Bar {
    Bar {
        pattern,
        warm: moves,
        moves,
        rare,
    }
}

/// What is predicted of a group: its patterns and its rare reuses.
fn predicted(group: &GroupForecast, patterns: &[PatternPrediction]) -> Vec<Bar> {
    let bars = |patterns: &[PatternPrediction], rare: bool| -> Vec<Bar> {
        let one = |pattern: &PatternPrediction| bar(pattern.pattern(), moves(pattern), rare);
        patterns.iter().map(one).collect()
    };
    [bars(patterns, false), bars(&group.rare, true)].concat()
}

/// The patterns of a group in training run `at` of `runs`. Rare reuses are known of all runs, or of
/// those that had some, among them the last.
fn seen(
    group: &GroupForecast,
    patterns: &[PatternPrediction],
    (at, runs): (usize, usize),
) -> Vec<Bar> {
    let common = patterns.iter().filter_map(|pattern| {
        let seen = pattern.seen.get(at)?;
        Some(bar(*seen, moves(pattern), false))
    });
    let rare = group.rare.iter().filter_map(|pattern| {
        let all = pattern.seen.len() == runs;
        let seen = match (all, at + 1 == runs) {
            (true, _) => pattern.seen.get(at),
            (false, true) => pattern.seen.last(),
            (false, false) => None,
        };
        Some(bar(*seen?, moves(pattern), true))
    });
    common.chain(rare).collect()
}

/// One picture per group; a row for each run, and one for what is predicted.
fn by_run(forecast: &Forecast) -> Vec<Picture> {
    let sizes: Vec<f64> = forecast.by_size().map(|run| run.2).collect();
    let size = |size: f64| forecast.size(size);
    let picture = |(group, patterns): (&GroupForecast, &[PatternPrediction])| {
        let run = |(at, items): (usize, &f64)| PatternRow {
            name: size(*items),
            bars: seen(group, patterns, (at, sizes.len())),
            outlines: Vec::new(),
        };
        let mut rows: Vec<PatternRow> = sizes.iter().enumerate().map(run).collect();
        rows.push(PatternRow {
            name: "predicted".to_owned(),
            bars: predicted(group, patterns),
            outlines: observed(forecast, &group.name),
        });
        Picture {
            name: short_name(&group.name),
            note: String::new(),
            rows,
        }
    };
    patterned(forecast).take(MOST).map(picture).collect()
}

/// One picture per instruction; a row for each path to it, those with most accesses first.
fn by_path(forecast: &Forecast) -> Vec<Picture> {
    let mut order: Vec<&str> = Vec::new();
    let mut paths: BTreeMap<&str, Vec<(f64, PatternRow)>> = BTreeMap::new();
    for (group, patterns) in patterned(forecast) {
        let (instruction, path) = group
            .name
            .split_once(" after ")
            .unwrap_or((&group.name, ""));
        let rows = paths.entry(instruction).or_default();
        if rows.is_empty() {
            order.push(instruction);
        }
        let row = PatternRow {
            name: path.to_owned(),
            bars: predicted(group, patterns),
            outlines: observed(forecast, &group.name),
        };
        rows.push((group.accesses.value, row));
    }
    // An instruction with only one path has nothing to compare.
    order.retain(|instruction| paths.get(instruction).is_some_and(|rows| rows.len() > 1));
    let mut pictures = Vec::new();
    for instruction in order.into_iter().take(MOST) {
        let mut rows = paths.remove(instruction).unwrap_or_default();
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let rows = rows.into_iter().take(PATHS).map(|(_, row)| row);
        pictures.push(Picture {
            name: short_name(instruction),
            note: String::new(),
            rows: rows.collect(),
        });
    }
    pictures
}
