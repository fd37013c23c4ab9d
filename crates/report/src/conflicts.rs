//! Caches in which conflict misses dominate: a sentence about them, and the groups of a comparison
//! with misses counted by sets.

use std::fmt::Display;

use reuselens_document::numbers::significant;
use reuselens_profile::{Dimension, GroupChange, GroupChanges, Profile};

use crate::caches::{self, Level};

/// One sentence on the caches in which conflict misses dominate, and the remedy; `None` where they
/// dominate in none. Each profile comes with what it is called, which may be empty. The remedy is
/// left out where the last profile has no such cache.
pub(crate) fn sentence(profiles: &[(impl Display, &Profile)], levels: &[Level]) -> Option<String> {
    let of_level = |level: &Level| {
        let factors: Vec<String> = profiles
            .iter()
            .filter_map(|(name, profile)| Some(format!("{} {name}", factor(level, profile)?)))
            .collect();
        let factors = factors.iter().map(|factor| factor.trim_end());
        let factors = factors.collect::<Vec<_>>().join(", ");
        (!factors.is_empty()).then(|| format!("{} ({factors})", level.short()))
    };
    let caches: Vec<String> = levels.iter().filter_map(of_level).collect();
    let (_, last) = profiles.last()?;
    let is_open = levels.iter().any(|level| factor(level, last).is_some());
    // If items are ids or objects there are no rows of lines.
    let has_rows = !last.method.ids && last.requested_bytes.is_none();
    let remedy = if is_open && has_rows {
        format!(
            ": pad the rows by a line ({} bytes)",
            last.granularity.bytes()
        )
    } else {
        String::new()
    };
    (!caches.is_empty()).then(|| {
        let caches = caches.join(" and ");
        format!("Conflict misses dominate in {caches}{remedy}.")
    })
}

/// How many times as often a cache misses with its sets, in words, where conflict misses dominate.
fn factor(level: &Level, profile: &Profile) -> Option<String> {
    let sets = level.conflicted(profile)?;
    let about = if sets.is_counted { "" } else { "about " };
    let full = profile.histogram.misses(level.items);
    Some(match full {
        0 => "none without its sets".to_owned(),
        full => format!(
            "with its sets {about}×{}",
            significant(sets.misses as f64 / full as f64)
        ),
    })
}

/// The groups whose misses in a cache change, the largest changes first. Where
/// [`caches::counts_sets`] is true, misses are those with the cache's sets, rounded: the model
/// takes any histogram, those of groups too. Cost then: one probability per bin, group and profile.
pub(crate) fn changed_groups(
    before: &Profile,
    after: &Profile,
    by: Dimension,
    level: &Level,
) -> Vec<GroupChange> {
    let mut changes = GroupChanges::between(before, after, by, level.items);
    if caches::counts_sets(level, before, after) {
        changes.recount(|group| level.set_associative(&group.histogram).unwrap_or(0));
    }
    changes.by_size()
}

/// A cache as the title of a comparison's table names it: `L1d (48 KiB)`, and whether its misses
/// are counted with its sets.
pub(crate) fn counted_in(before: &Profile, after: &Profile, level: &Level) -> String {
    let sets = if caches::counts_sets(level, before, after) {
        " with its sets, about,"
    } else {
        ""
    };
    format!("{}{sets}", level.label())
}
