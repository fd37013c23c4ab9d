//! The field `causes` of a profile's JSON.

use std::collections::BTreeMap;

use reuselens_profile::{CellCauses, Profile, SetCache};
use serde::Serialize;
use serde_json::{Value, json};

use super::cause_rows::CauseNames;
use super::sharing::SharedPlace;
use super::{carried, lines, phases, sets, sharing};

/// Why accesses miss: what belongs to lines, objects, pairs of accesses, and the time.
#[derive(Serialize)]
pub(crate) struct CausesJson {
    /// The size of the fully associative cache whose misses these are.
    cache_bytes: u64,
    /// The share of the lines that was counted, if a sample was: misses and bytes are then scaled
    /// to all lines, and all that belongs to no line is null.
    sample_rate: Option<f64>,
    /// Whether the capture saw loops; null if a sample was counted.
    has_loops: Option<bool>,
    by_line: Vec<Value>,
    by_object: Vec<Value>,
    set_caches: Option<Vec<Value>>,
    /// Null also if no cache has known sets.
    conflicts: Option<Vec<Value>>,
    shared: Option<Vec<Value>>,
    /// The pairs of accesses that `shared` does not list, if there are any.
    unlisted_pairs: Option<Value>,
    /// Null also if the capture saw no loops.
    carried: Option<Vec<Value>>,
    phases: Option<Value>,
}

/// The causes of a profile, if it has them.
pub(super) fn of(profile: &Profile) -> Option<CausesJson> {
    let names = CauseNames::of(profile)?;
    let causes = names.causes();
    // A sample is of lines: what belongs to no line is not counted.
    let is_complete = causes.sample_rate.is_none();
    let has_carried = is_complete && (causes.has_loops || !causes.carried.is_empty());
    Some(CausesJson {
        cache_bytes: causes.cache.get(),
        sample_rate: causes.sample_rate,
        has_loops: is_complete.then_some(causes.has_loops),
        by_line: by_line(&names),
        by_object: by_object(&names),
        set_caches: is_complete.then(|| causes.set_caches.iter().map(set_cache).collect()),
        conflicts: (is_complete && !causes.set_caches.is_empty()).then(|| conflicts(&names)),
        shared: is_complete.then(|| shared(&names)),
        unlisted_pairs: causes.unlisted_pairs.map(|it| {
            json!({
                "invalidations": it.invalidations,
                "most_of_a_pair": it.most_of_a_pair,
            })
        }),
        carried: has_carried.then(|| carried(&names)),
        phases: is_complete.then(|| over_time(&names)),
    })
}

/// The causes of each line, the most misses first.
fn by_line(names: &CauseNames<'_>) -> Vec<Value> {
    let mut all: BTreeMap<&str, CellCauses> = BTreeMap::new();
    for cell in &names.profile().cells {
        if !cell.causes.is_empty() {
            let sum = all.entry(names.line(cell.site)).or_default();
            sum.merge(&cell.causes);
        }
    }
    let mut all: Vec<(&str, CellCauses)> = all.into_iter().collect();
    all.sort_by_key(|(_, causes)| std::cmp::Reverse(causes.fills));
    let entry = |(line, causes): (&str, CellCauses)| {
        let mut value = cell_causes(names, &causes);
        value["line"] = json!(line);
        value
    };
    all.into_iter().map(entry).collect()
}

/// The causes of each object, with the share of the fetched bytes that was used, the most misses
/// first.
fn by_object(names: &CauseNames<'_>) -> Vec<Value> {
    let all = lines::of(names.profile()).into_iter();
    let objects = all.filter(|it| it.object.is_some());
    let entry = |it: lines::ObjectLines<'_>| {
        let mut value = cell_causes(names, &it.causes);
        value["object"] = json!(it.name());
        value["utilisation"] = json!((it.brought > 0).then(|| it.utilisation()));
        value["utilisation_bound"] = json!(it.bound());
        value
    };
    objects.map(entry).collect()
}

/// Causes of a group of cells; what a sample does not count is null.
fn cell_causes(names: &CauseNames<'_>, causes: &CellCauses) -> Value {
    let line = names.profile().granularity.bytes();
    let is_complete = names.causes().sample_rate.is_none();
    json!({
        "misses": causes.fills,
        "bytes_brought": causes.fills.saturating_mul(line),
        "bytes_used": causes.used_bytes,
        "bytes_new": causes.new_bytes,
        "single_use": causes.single_use_fills,
        "true_sharing": is_complete.then_some(causes.true_sharing),
        "false_sharing": is_complete.then_some(causes.false_sharing),
        "set_misses": is_complete.then_some(&causes.set_misses),
    })
}

fn set_cache(cache: &SetCache) -> Value {
    json!({
        "name": cache.name,
        "bytes": cache.size.get(),
        "sets": cache.sets,
        "ways": cache.ways,
        "misses": cache.misses,
        "associative_misses": cache.associative_misses,
    })
}

fn conflicts(names: &CauseNames<'_>) -> Vec<Value> {
    let rows = sets::rows(names).into_iter();
    let rows = rows.filter(|row| row.conflicts() > 0);
    let entry = |row: sets::ConflictRow| {
        json!({
            "object": row.object,
            "cache": row.cache,
            "misses": row.misses,
            "associative_misses": row.associative_misses,
        })
    };
    rows.map(entry).collect()
}

fn shared(names: &CauseNames<'_>) -> Vec<Value> {
    let side = |place: &SharedPlace| json!({ "line": place.line, "object": place.object, "field": place.field });
    let entry = |row: &sharing::SharedRow| {
        let [writer, victim] = match &row.places {
            Some(places) => places.each_ref().map(side),
            None => [Value::Null, Value::Null],
        };
        json!({
            "writer": writer,
            "victim": victim,
            "true_sharing": row.true_sharing,
            "false_sharing": row.false_sharing,
            "lines": row.lines,
        })
    };
    sharing::rows(names).iter().map(entry).collect()
}

fn carried(names: &CauseNames<'_>) -> Vec<Value> {
    let entry = |row: &carried::CarriedRow| {
        json!({
            "source": (!row.source.is_empty()).then_some(&row.source),
            "sink": row.sink,
            "object": row.object,
            "kind": row.kind,
            "carrier": row.carrier,
            "misses": row.misses,
            "mean_distance": row.mean_distance(),
        })
    };
    carried::rows(names).iter().map(entry).collect()
}

/// Intervals as `[accesses, misses, first touches, footprint, phase]`, phases counted from 1.
fn over_time(names: &CauseNames<'_>) -> Value {
    let intervals = names.causes().phases.intervals.iter();
    let intervals = intervals.map(|it| {
        (
            it.accesses,
            it.misses,
            it.first_touches,
            it.footprint,
            u64::from(it.phase) + 1,
        )
    });
    let phase = |row: &phases::PhaseRow| {
        json!({
            "phase": row.number,
            "intervals": row.intervals,
            "accesses": row.accesses,
            "misses": row.misses,
            "mean_footprint": row.footprint,
            "objects": row.objects,
        })
    };
    json!({
        "intervals": intervals.collect::<Vec<_>>(),
        "phases": phases::rows(names).iter().map(phase).collect::<Vec<_>>(),
    })
}
