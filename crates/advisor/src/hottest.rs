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
    let reasons = [
        use_of_lines(facts, object, sums),
        reuse(facts, object, sums),
    ];
    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
    if reasons.is_empty() {
        return None;
    }
    Some(format!(
        "{name} has the most misses in {} ({misses}, {share}), and no rule applies to it: {}.",
        facts.cache_words(),
        reasons.join("; ")
    ))
}

/// Whether a finding is about an object, alone or among others that its text lists. An object whose
/// name is a word of the language (`a`) may be taken for one of those.
fn names(finding: &Finding, object: &str) -> bool {
    finding.place.object.as_deref() == Some(object)
        || has_name(&finding.remedy, object)
        || finding.evidence.iter().any(|it| has_name(it, object))
}

/// Whether a name is in a text, and not as a part of another one.
fn has_name(text: &str, name: &str) -> bool {
    let goes_on = |letter: Option<char>| letter.is_some_and(|it| it.is_alphanumeric() || it == '_');
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        !goes_on(before.chars().next_back()) && !goes_on(after.chars().next())
    })
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
            Some(saved) => {
                let of_all = structure.misses as f64 / sums.misses.max(1) as f64;
                format!(
                    "moving the fields away that are hardly ever used would save {} of them at most",
                    ratio_percent(saved * of_all.min(1.0))
                )
            }
            None => "each of its fields is used".to_owned(),
        },
        // Elements with fields, of which too little is known.
        None if facts.elements_of(object).any(|it| it.layout.is_some()) => return Some(used),
        None if facts.elements_of(object).next().is_some() => {
            "its elements are no structures whose fields are known".to_owned()
        }
        None => "which of its fields that is, is not known".to_owned(),
    };
    Some(format!("{used}, and {fields}"))
}

/// What its misses are: first touches, or reuses that no loop carries. Of reuses that one does,
/// nothing is said: each rule on loops has reasons of its own not to apply.
fn reuse(facts: &MissFacts<'_>, object: u32, sums: &MissSums) -> Option<String> {
    if sums.cold as f64 >= MOSTLY * sums.misses as f64 {
        return Some(format!(
            "{} are first touches",
            percent(sums.cold, sums.misses)
        ));
    }
    if !facts.causes.has_loops {
        return Some("which loop carries its reuses is not known".to_owned());
    }
    let mut routes = facts.routes.iter();
    let is_carried = routes.any(|it| it.object == object && it.is_carried_by_loop());
    (!is_carried).then(|| "no loop carries reuses of it that are beyond the cache".to_owned())
}
