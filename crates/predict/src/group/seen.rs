//! A group in all runs, if it can be predicted from them.

use reuselens_locality::Pattern;

use super::{GroupRun, Groups, Unpredictable};
use crate::merging::Merging;

/// A group in one run.
pub(super) struct Seen<'a> {
    pub(super) size: f64,
    pub(super) run: &'a GroupRun,
    pub(super) patterns: Vec<Pattern>,
}

/// The group in the runs, of which there is one at least; or why it cannot be predicted.
pub(super) fn seen<'a>(
    name: &str,
    runs: &[(f64, &'a Groups)],
    merging: Merging,
) -> Result<Vec<Seen<'a>>, Unpredictable> {
    let found: Vec<Option<&GroupRun>> = runs.iter().map(|(_, groups)| groups.get(name)).collect();
    let missing: Vec<usize> = (0..runs.len())
        .filter(|run| found[*run].is_none())
        .collect();
    if !missing.is_empty() {
        return Err(Unpredictable::Missing(missing));
    }
    let sizes = runs.iter().map(|run| run.0);
    let found: Vec<Seen> = sizes
        .zip(found.into_iter().flatten())
        .map(|(size, run)| Seen {
            size,
            run,
            patterns: merging.patterns(&run.bins),
        })
        .collect();
    let counts: Vec<usize> = found.iter().map(|seen| seen.patterns.len()).collect();
    if counts.iter().any(|count| *count != counts[0]) {
        return Err(Unpredictable::Patterns(counts));
    }
    Ok(found)
}
