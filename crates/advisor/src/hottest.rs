//! [`unexplained`]: why no rule applies to the data with the most misses, where that is so. Without
//! it, a report would pass over the place that the user looks at first.

use reuselens_advice::Finding;
use reuselens_units::{grouped, percent, ratio_percent};

use crate::facts::{MissFacts, MissSums};
use crate::rules::{LEAST_MISSES, most_saved};

/// The least share of all misses that the data has: with less, no data stands out.
const LEAST_SHARE: f64 = 0.1;
/// The least share of first touches among misses that are mostly that.
const MOSTLY: f64 = 0.5;

/// A sentence on the object with the most misses, if none of the findings names it.
pub(crate) fn unexplained(facts: &MissFacts<'_>, findings: &[Finding]) -> Option<String> {
    let (object, sums) = facts.hottest()?;
    let share = sums.misses as f64 / facts.misses.max(1) as f64;
    if sums.misses < LEAST_MISSES || share < LEAST_SHARE {
        return None;
    }
    let (misses, share) = (grouped(sums.misses), percent(sums.misses, facts.misses));
    if !facts.is_known(object) {
        return Some(format!(
            "Data without a name has the most misses in {} ({misses}, {share}), so no rule can \
             look at it: docs/unknown.md has the ways to a name.",
            facts.cache_words()
        ));
    }
    let name = &facts.object(object).name;
    if findings.iter().any(|finding| names(finding, name)) {
        return None;
    }
    let reasons = [use_of_lines(facts, object, sums), reuse(facts, sums)];
    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
    Some(format!(
        "{name} has the most misses in {} ({misses}, {share}), and no rule applies to it: {}.",
        facts.cache_words(),
        reasons.join("; ")
    ))
}

/// Whether a finding is about an object, alone or among others.
fn names(finding: &Finding, object: &str) -> bool {
    finding.place.object.as_deref() == Some(object)
        || finding.remedy.contains(object)
        || finding.evidence.iter().any(|it| it.contains(object))
}

/// How much of the lines is used, and what moving fields would save.
fn use_of_lines(facts: &MissFacts<'_>, object: u32, sums: &MissSums) -> Option<String> {
    let used = sums.causes.utilisation(facts.line_bytes())?;
    let used = format!(
        "{} of the bytes that these misses bring in are used",
        ratio_percent(used)
    );
    let mut structures = facts.structures();
    let fields = match structures.find(|it| it.object == object) {
        Some(structure) => match most_saved(facts, &structure) {
            Some(saved) => format!(
                "moving the fields away that are hardly ever used would save {} of them at most",
                ratio_percent(saved)
            ),
            None => "each of its fields is used".to_owned(),
        },
        None if facts.elements_of(object).next().is_some() => {
            "its elements are no structures".to_owned()
        }
        None => "which of its fields that is, is not known".to_owned(),
    };
    Some(format!("{used}, and {fields}"))
}

/// What its misses are: first touches, or reuses that no rule on loops applies to.
fn reuse(facts: &MissFacts<'_>, sums: &MissSums) -> Option<String> {
    if sums.cold as f64 >= MOSTLY * sums.misses as f64 {
        return Some(format!(
            "{} are first touches",
            percent(sums.cold, sums.misses)
        ));
    }
    let loops = if facts.causes.has_loops {
        "no loop carries regular reuses of it that are far beyond the cache"
    } else {
        "which loop carries its reuses is not known"
    };
    Some(loops.to_owned())
}
