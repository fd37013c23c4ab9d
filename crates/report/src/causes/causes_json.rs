//! Causes in JSON.

use std::collections::BTreeMap;

use reuselens_locality::{CellCauses, Profile, SetCache};
use serde::Serialize;
use serde_json::{Value, json};

use super::cause_table::CauseNames;
use super::sharing::SharedPlace;
use super::{carried, phases, sets, sharing};

/// Why accesses miss: what belongs to lines, objects, pairs of accesses, and the time.
#[derive(Serialize)]
pub(crate) struct CausesJson {
    /// The cache that misses are of: fully associative.
    cache_bytes: u64,
    /// Whether the capture saw loops.
    has_loops: bool,
    by_line: Vec<Value>,
    by_object: Vec<Value>,
    set_caches: Vec<Value>,
    conflicts: Vec<Value>,
    shared: Vec<Value>,
    carried: Vec<Value>,
    phases: Value,
}

/// The causes of a profile, if it has them.
pub(super) fn of(profile: &Profile) -> Option<CausesJson> {
    let names = CauseNames::of(profile)?;
    let causes = names.causes();
    Some(CausesJson {
        cache_bytes: causes.cache.get(),
        has_loops: causes.has_loops,
        by_line: sums(&names, "line", |cell| names.line(cell.site)),
        by_object: sums(&names, "object", |cell| names.object(cell.object)),
        set_caches: causes.set_caches.iter().map(set_cache).collect(),
        conflicts: conflicts(&names),
        shared: shared(&names),
        carried: carried(&names),
        phases: over_time(&names),
    })
}

/// The causes of cells by name, the most misses first.
fn sums<'n>(
    names: &CauseNames<'_>,
    what: &str,
    name: impl Fn(&reuselens_locality::Cell) -> &'n str,
) -> Vec<Value> {
    let mut all: BTreeMap<&str, CellCauses> = BTreeMap::new();
    for cell in &names.profile().cells {
        if !cell.causes.is_empty() {
            all.entry(name(cell)).or_default().merge(&cell.causes);
        }
    }
    let mut all: Vec<(&str, CellCauses)> = all.into_iter().collect();
    all.sort_by_key(|(_, causes)| std::cmp::Reverse(causes.fills));
    let line = names.profile().granularity.bytes();
    let entry = |(name, causes): (&str, CellCauses)| {
        json!({
            what: name,
            "misses": causes.fills,
            "bytes_brought": causes.fills.saturating_mul(line),
            "bytes_used": causes.used_bytes,
            "single_use": causes.single_use_fills,
            "true_sharing": causes.true_sharing,
            "false_sharing": causes.false_sharing,
            "set_misses": causes.set_misses,
        })
    };
    all.into_iter().map(entry).collect()
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
        json!({
            "writer": side(&row.writer),
            "victim": side(&row.victim),
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
