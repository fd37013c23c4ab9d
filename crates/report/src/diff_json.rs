//! [`diff_json`]: the comparison of two profiles as JSON, schema `reuselens-diff/1`.

use reuselens_profile::{
    DifferenceError, Dimension, Group, GroupChange, GroupChanges, LocalityChange, Profile,
    SizeChange, SizeRange,
};
use reuselens_units::{Granularity, Items};
use serde::Serialize;
use serde_json::{Value, json};

use crate::advice::finding_json;
use crate::caches::{self, Level};
use crate::check::{Checked, LimitJson, limits_json};
use crate::diff_text::{DiffOptions, NOISE};
use crate::finding_changes::{FindingChange, FindingChanges, Invalidations};
use crate::histogram_error::{ErrorJson, error_json};
use crate::json::to_text;
use crate::{comparable, conflicts};

/// The name and version of the schema. Fields may be added to it; none is renamed.
pub const DIFF_SCHEMA: &str = "reuselens-diff/1";

#[derive(Serialize)]
struct DiffDocument<'a> {
    schema: &'static str,
    version: &'static str,
    before: Side<'a>,
    after: Side<'a>,
    granularity_bytes: u64,
    /// The distance from which on nothing is compared; null if all are.
    reach: Option<u64>,
    noise: f64,
    wins: Vec<RangeJson>,
    losses: Vec<RangeJson>,
    caches: Vec<CacheChange>,
    /// `[items, bytes, misses before, misses after, by how many the two may be off together]`.
    sizes: Vec<(u64, u64, u64, u64, f64)>,
    /// `[lowest distance, highest, accesses before, accesses after]`.
    bins: Vec<(u64, u64, u64, u64)>,
    /// How far the histogram after is from that before, as the literature measures it; only where
    /// that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorJson>,
    groups: Vec<GroupChangeJson>,
    /// The findings of both; null if they cannot be compared.
    findings: Option<Vec<Value>>,
    /// Why findings, or those of some rules, are not compared.
    findings_not_compared: Vec<String>,
    /// Accesses that find their line invalidated; null unless both profiles have some counted.
    invalidations: Option<Value>,
    /// In which caches conflict misses dominate, and what to do; null if in none.
    conflicts: Option<String>,
    limits: Vec<LimitJson<'a>>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Side<'a> {
    profile: &'a str,
    command: &'a [String],
    engine: &'a str,
    exact: bool,
    accesses: u64,
    cold: u64,
    mean: f64,
    /// In items; null where no order between threads is a guess.
    order_guessed_below: Option<u64>,
}

/// Neighbouring sizes that all win, or all lose.
#[derive(Serialize)]
struct RangeJson {
    from_items: u64,
    from_bytes: u64,
    to_items: u64,
    to_bytes: u64,
    /// Whether all larger sizes change as the last does.
    is_last: bool,
    most_items: u64,
    most_bytes: u64,
    most_before: u64,
    most_after: u64,
}

#[derive(Serialize)]
struct CacheChange {
    name: String,
    bytes: u64,
    items: u64,
    before: u64,
    after: u64,
    set_associative_before: Option<u64>,
    set_associative_after: Option<u64>,
    /// Misses that were counted with its sets; null unless both profiles have them.
    counted_in_sets_before: Option<u64>,
    counted_in_sets_after: Option<u64>,
}

/// Misses of a group in each of `caches`; null where the profile has no such group.
#[derive(Serialize)]
struct GroupChangeJson {
    by: Dimension,
    name: String,
    accesses_before: Option<u64>,
    accesses_after: Option<u64>,
    misses_before: Option<Vec<u64>>,
    misses_after: Option<Vec<u64>>,
    /// Those with the sets of each cache in which conflict misses dominate; null for other caches.
    set_associative_before: Option<Vec<Option<u64>>>,
    set_associative_after: Option<Vec<Option<u64>>>,
}

/// The comparison as JSON, with the limits of `checked`: all cache sizes, bins and groups, in
/// a canonical order. Ends with a line break. Misses are those of fully associative LRU caches
/// unless they are called otherwise.
///
/// # Errors
/// If the profiles count items of different sizes.
pub fn diff_json(
    before: &Profile,
    after: &Profile,
    options: &DiffOptions,
    checked: Option<&Checked<'_>>,
) -> Result<String, DifferenceError> {
    let change = LocalityChange::between(before, after)?;
    let granularity = before.granularity;
    let levels = levels(after, change.reach, options);
    let findings = FindingChanges::between(before, after);
    let unlike = comparable::unlike(before, after).map(str::to_owned);
    let range = |range: &SizeRange| range_json(range, granularity);
    let is_named = |by: &&Dimension| before.has_names(**by) || after.has_names(**by);
    let groups = options.by.iter().filter(is_named);
    Ok(to_text(&DiffDocument {
        schema: DIFF_SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        before: side(before, &options.names[0]),
        after: side(after, &options.names[1]),
        granularity_bytes: granularity.bytes(),
        reach: change.reach,
        noise: NOISE,
        wins: change.wins(NOISE).iter().map(range).collect(),
        losses: change.losses(NOISE).iter().map(range).collect(),
        caches: levels
            .iter()
            .map(|level| cache_change(before, after, level))
            .collect(),
        sizes: change
            .sizes
            .iter()
            .map(|size| size_row(size, granularity))
            .collect(),
        bins: change
            .bins
            .iter()
            .map(|bin| (bin.low, bin.high, bin.before, bin.after))
            .collect(),
        error: options.error.then(|| error_json(before, after)),
        groups: groups
            .flat_map(|by| group_changes(before, after, *by, &levels))
            .collect(),
        findings: findings
            .changes
            .map(|all| all.iter().map(finding_change_json).collect()),
        findings_not_compared: findings.notes,
        invalidations: Invalidations::of_all(&[before, after]).map(|all| invalidations_json(&all)),
        conflicts: conflicts::sentence(&[("before", before), ("after", after)], &levels),
        limits: checked.map(limits_json).unwrap_or_default(),
        warnings: comparable::seen(before, after)
            .into_iter()
            .chain(unlike)
            .collect(),
    }))
}

/// The caches of the machine, and the one that is asked for.
fn levels(after: &Profile, reach: Option<u64>, options: &DiffOptions) -> Vec<Level> {
    let mut levels = caches::levels_within(after, reach);
    if let Some(asked) = options.cache {
        let level = caches::chosen_within(after, reach, Some(asked));
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    levels
}

fn side<'a>(profile: &'a Profile, name: &'a str) -> Side<'a> {
    Side {
        profile: name,
        command: &profile.command,
        engine: &profile.method.engine,
        exact: profile.method.exact,
        accesses: profile.histogram.accesses(),
        cold: profile.first_touches(),
        mean: profile.histogram.mean().unwrap_or(0.0),
        order_guessed_below: profile.method.order_guessed_below,
    }
}

fn bytes(items: u64, granularity: Granularity) -> u64 {
    Items(items).bytes(granularity).get()
}

fn size_row(size: &SizeChange, granularity: Granularity) -> (u64, u64, u64, u64, f64) {
    let bytes = bytes(size.items, granularity);
    (size.items, bytes, size.before, size.after, size.unsure)
}

fn range_json(range: &SizeRange, granularity: Granularity) -> RangeJson {
    RangeJson {
        from_items: range.from,
        from_bytes: bytes(range.from, granularity),
        to_items: range.to,
        to_bytes: bytes(range.to, granularity),
        is_last: range.is_last,
        most_items: range.most.items,
        most_bytes: bytes(range.most.items, granularity),
        most_before: range.most.before,
        most_after: range.most.after,
    }
}

fn cache_change(before: &Profile, after: &Profile, level: &Level) -> CacheChange {
    let counted = caches::counted_in_sets(&[before, after], level);
    CacheChange {
        name: level.short().to_owned(),
        bytes: level.bytes.get(),
        items: level.items,
        before: before.histogram.misses(level.items),
        after: after.histogram.misses(level.items),
        set_associative_before: level.set_associative(&before.histogram),
        set_associative_after: level.set_associative(&after.histogram),
        counted_in_sets_before: counted.as_ref().map(|all| all[0]),
        counted_in_sets_after: counted.as_ref().map(|all| all[1]),
    }
}

/// A finding with its fate, and as it is before and after, as in the JSON of advice.
fn finding_change_json(change: &FindingChange) -> Value {
    json!({
        "change": change.fate().name(),
        "before": change.before.as_ref().map(finding_json),
        "after": change.after.as_ref().map(finding_json),
    })
}

fn invalidations_json(all: &[Invalidations]) -> Value {
    let (before, after) = (all[0], all[1]);
    json!({
        "true_sharing_before": before.true_sharing,
        "true_sharing_after": after.true_sharing,
        "false_sharing_before": before.false_sharing,
        "false_sharing_after": after.false_sharing,
    })
}

/// The groups of one dimension: those whose misses in the first cache change most come first.
fn group_changes(
    before: &Profile,
    after: &Profile,
    by: Dimension,
    levels: &[Level],
) -> Vec<GroupChangeJson> {
    let crowded: Vec<bool> = levels
        .iter()
        .map(|level| caches::counts_sets(level, before, after))
        .collect();
    let items = levels.first().map_or(1, |level| level.items);
    let changes = GroupChanges::between(before, after, by, items);
    let all = changes.into_groups();
    all.map(|change| group_json(by, change, levels, &crowded))
        .collect()
}

fn group_json(
    by: Dimension,
    change: GroupChange,
    levels: &[Level],
    crowded: &[bool],
) -> GroupChangeJson {
    let misses = |group: &Group| {
        let levels = levels.iter();
        levels.map(|level| group.misses(level.items)).collect()
    };
    let sets = |group: &Group| {
        let levels = levels.iter().zip(crowded);
        let sets = levels.map(|(level, crowded)| {
            let histogram = crowded.then_some(&group.histogram)?;
            level.set_associative(histogram)
        });
        sets.collect()
    };
    GroupChangeJson {
        by,
        accesses_before: change.before.as_ref().map(|group| group.accesses),
        accesses_after: change.after.as_ref().map(|group| group.accesses),
        misses_before: change.before.as_ref().map(misses),
        misses_after: change.after.as_ref().map(misses),
        set_associative_before: change.before.as_ref().map(sets),
        set_associative_after: change.after.as_ref().map(sets),
        name: change.name,
    }
}
