//! [`seen`]: the training runs from which a group's patterns can be predicted, or why there are
//! none.

use reuselens_locality::Pattern;

use super::{AFTER, GroupRun, Groups, Unpredictable, rarer_paths};
use crate::merging::Merging;

/// A group in one run.
pub(super) struct SeenGroup<'a> {
    pub(super) size: f64,
    pub(super) run: &'a GroupRun,
    pub(super) patterns: Vec<Pattern>,
}

/// The group in the runs; or why it cannot be predicted.
///
/// In small runs, patterns that are separate in larger ones can still be one, or be missing. So if
/// the runs do not agree, the largest of them are used, which are nearest to the size asked for: as
/// many as agree, and two at least.
pub(super) fn seen<'a>(
    name: &str,
    runs: &[(f64, &'a Groups)],
    merging: Merging,
) -> Result<Vec<SeenGroup<'a>>, Unpredictable> {
    let of_run = |(size, groups): &(f64, &'a Groups)| {
        let run = groups.get(name)?;
        let (size, patterns) = (*size, merging.patterns(&run.bins));
        Some(SeenGroup {
            size,
            run,
            patterns,
        })
    };
    let rest = |run: &usize| runs[*run].1.get(name).is_some_and(|run| run.rest);
    let rarer: Vec<usize> = (0..runs.len()).filter(rest).collect();
    if !rarer.is_empty() {
        return Err(Unpredictable::Rarer(rarer));
    }
    let mut found: Vec<Option<SeenGroup>> = runs.iter().map(of_run).collect();
    let counts: Vec<Option<usize>> = found
        .iter()
        .map(|seen| seen.as_ref().map(|seen| seen.patterns.len()))
        .collect();
    let last = counts.last().copied().flatten();
    let agree = counts.iter().rev().take_while(|count| **count == last);
    let agree = last.map_or(0, |_| agree.count());
    if agree >= 2 || agree == counts.len() {
        let found = found.split_off(found.len() - agree);
        return Ok(found.into_iter().flatten().collect());
    }
    let missing: Vec<usize> = (0..runs.len())
        .filter(|run| counts[*run].is_none())
        .collect();
    // In a smaller run than the last two it could be missing.
    let matters = missing.iter().any(|run| run + 2 >= runs.len());
    if !matters {
        let counts = counts.into_iter().map(Option::unwrap_or_default);
        return Err(Unpredictable::Patterns(counts.collect()));
    }
    // A path that is missing can be one of those that were counted together.
    let rarer = name.rsplit_once(AFTER).map(|path| rarer_paths(path.0));
    let rarer = rarer.map_or(Vec::new(), |rarer| {
        let among = |run: &&usize| runs[**run].1.contains_key(&rarer);
        missing.iter().filter(among).copied().collect()
    });
    Err(if rarer.is_empty() {
        Unpredictable::Missing(missing)
    } else {
        Unpredictable::Rarer(rarer)
    })
}
