//! Why the numbers of a profile are of less than a complete run, and why two profiles may not be
//! before and after of the same work. Reports show these as warnings.

use reuselens_profile::{Outcome, Profile};

use crate::text::is_partial;
use crate::{caches, words};

/// Why a profile is of less than its run: how the run ended, and what was left out.
pub(crate) fn partial(profile: &Profile) -> Vec<String> {
    let mut found = Vec::new();
    // Half a run has half the misses.
    if matches!(profile.outcome, Outcome::Signal(_) | Outcome::Incomplete(_)) {
        found.push(words::outcome(&profile.outcome));
    }
    let parts = profile.warnings.iter();
    let parts = parts.filter(|part| is_partial(part) || part.code == "part");
    found.extend(parts.map(|part| part.message.clone()));
    found
}

/// A warning if different parts of the two runs were seen, or one did not run to its end.
pub(crate) fn seen(before: &Profile, after: &Profile) -> Vec<String> {
    let both = [("before", before), ("after", after)];
    let mut found = Vec::new();
    // The source of a captured run begins with how it was captured; that of a trace is its file.
    let ways = both.map(|(_, profile)| profile.method.source.split_once(": ").map(|way| way.0));
    if let [Some(one), Some(other)] = ways
        && one != other
    {
        found.push(
            "not the same was seen of the two, so some of what changed is not theirs".to_owned(),
        );
        for (name, profile) in both {
            let source = words::or(&profile.method.source, "not stated");
            found.push(format!("{name}: {source}"));
        }
    }
    for (name, profile) in both {
        let parts = partial(profile).into_iter();
        found.extend(parts.map(|part| format!("{name}: {part}")));
    }
    found
}

/// A sentence if distances of some of the profiles depend on a guessed order between threads, so
/// that two runs of one program can differ. Each profile comes with its name.
pub(crate) fn order_guess(profiles: &[(&str, &Profile)]) -> Option<String> {
    let guessed = profiles.iter().filter_map(|(name, profile)| {
        let items = profile.method.order_guessed_below?;
        Some((*name, caches::size(items, profile.granularity)))
    });
    let guessed: Vec<(&str, String)> = guessed.collect();
    let (_, first) = guessed.first()?;
    let is_same = guessed.len() == profiles.len() && guessed.iter().all(|(_, size)| size == first);
    let below = if is_same {
        format!("below {first}")
    } else {
        let all = guessed.iter();
        let all = all.map(|(name, size)| format!("below {size} ({name})"));
        all.collect::<Vec<_>>().join(" and ")
    };
    Some(format!(
        "Between threads that did not synchronise, distances {below} are a guess: there, two runs \
         of one program can differ."
    ))
}

/// Why the two are not before and after of the same work.
pub(crate) fn unlike(before: &Profile, after: &Profile) -> impl Iterator<Item = &'static str> {
    let (old, new) = (&before.method, &after.method);
    let unlike = [
        (
            old.kinds != new.kinds || old.data != new.data,
            "the two count different accesses; analyse both with the same --kind and --data",
        ),
        (
            old.sharing != new.sharing,
            "they have other caches: one for all threads, or one for each, coherent or not; analyse both with the same --sharing",
        ),
        (
            old.ids != new.ids,
            "the items of one are ids, those of the other bytes at addresses; an id may be a line or a page, so sizes \
             are not comparable",
        ),
        (
            before.requested_bytes.is_some() != after.requested_bytes.is_some(),
            "one weighs objects by their sizes and the other counts them; analyse both with --weigh bytes, or neither",
        ),
    ];
    unlike
        .into_iter()
        .filter(|(is, _)| *is)
        .map(|(_, text)| text)
}
