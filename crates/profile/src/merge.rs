//! [`Profile::merge`]: the profiles of several runs as one, and [`Profile::canonicalise`]: the form
//! in which equal profiles are equal bytes.

use std::collections::{BTreeMap, HashMap};

use reuselens_locality::{ExactHistogram, FineHistogram, ReuseTimes};
use reuselens_units::Granularity;

use crate::merge_error::MergeError;
use crate::tables::{self, Renumbering, Tables};
use crate::{CellCauses, Method, Outcome, Profile, Warning};

impl Profile {
    /// The profiles of several runs of one program as one: all counts are summed, and equal sites,
    /// objects, contexts and threads become one. The result is in canonical form, and its bytes are
    /// the same in whatever order, and in whatever groups, the profiles are merged.
    ///
    /// Where the runs differ in what is not a count, the result keeps the value that orders last
    /// (the outcome: the worst) and has a warning about it. The causes of misses are of one run, so
    /// the result of merging several has none. It is exact if all are, and its
    /// error bound is the largest. Cost: linear in the sizes of the profiles, and the sorting of
    /// their tables.
    ///
    /// # Errors
    /// If there is no profile, or their granularities differ, or what their distances look back
    /// over, or their placement data or the chunks of an object.
    pub fn merge(profiles: &[Profile]) -> Result<Profile, MergeError> {
        let (mut merged, renumberings) = Profile::merge_all_but_cells(profiles)?;
        let cells = profiles.iter().map(|profile| profile.cells.clone());
        merged.cells = tables::cells(&renumberings, cells);
        if profiles.iter().any(lacks_forward) {
            merged.drop_forward();
        }
        if merged.causes.is_none() {
            for cell in &mut merged.cells {
                cell.causes = CellCauses::default();
            }
        }
        Ok(merged)
    }

    /// The merged profile without its cells, and what becomes of theirs.
    fn merge_all_but_cells(
        profiles: &[Profile],
    ) -> Result<(Profile, Vec<Renumbering>), MergeError> {
        let (first, rest) = profiles.split_first().ok_or(MergeError::Nothing)?;
        for other in rest {
            check(first.granularity, other.granularity)?;
            if first.method.sharing != other.method.sharing {
                return Err(MergeError::Sharing);
            }
            if first.requested_bytes.is_some() != other.requested_bytes.is_some() {
                return Err(MergeError::Weight);
            }
        }
        check_placement(profiles)?;
        let tables = Tables::new(profiles);
        let mut merged = Profile {
            version: latest(profiles, |profile| &profile.version),
            command: latest(profiles, |profile| &profile.command),
            machine: latest(profiles, |profile| &profile.machine),
            method: method(profiles),
            outcome: worst(profiles),
            granularity: first.granularity,
            references: profiles
                .iter()
                .fold(0, |sum, one| sum.saturating_add(one.references)),
            histogram: ExactHistogram::new(),
            invalidated: profiles
                .iter()
                .fold(0, |sum, one| sum.saturating_add(one.invalidated)),
            waiting: profiles
                .iter()
                .fold(0, |sum, one| sum.saturating_add(one.waiting)),
            requested_bytes: requested_bytes(profiles),
            reuse_times: reuse_times(profiles),
            // Shares of several runs do not add up.
            paths: first.paths.clone().filter(|_| rest.is_empty()),
            // Their tables are for one run.
            causes: None,
            builds: builds(profiles),
            sites: tables.sites(),
            objects: tables.objects(),
            contexts: tables.contexts(),
            threads: tables.threads(),
            cells: Vec::new(),
            warnings: warnings(profiles),
        };
        for profile in profiles {
            merged.histogram.merge(&profile.histogram);
        }
        let renumberings = tables.renumberings();
        if let ([one], [renumbering]) = (profiles, renumberings.as_slice()) {
            let causes = one.causes.clone();
            merged.causes = causes.map(|causes| renumbering.causes(causes));
        }
        Ok((merged, renumberings))
    }

    fn drop_forward(&mut self) {
        for cell in &mut self.cells {
            cell.forward = FineHistogram::new();
        }
    }

    /// The canonical form: tables sorted, equal entries united, and entries dropped that no access
    /// belongs to; except that index 0 of sites, objects and contexts stays. Two profiles with the
    /// same contents are equal, and equal in bytes, in this form. It is its own canonical form.
    pub fn canonicalise(&mut self) {
        let lacks_forward = lacks_forward(self);
        // One profile has one granularity, so this cannot fail.
        let Ok((mut canonical, renumberings)) =
            Profile::merge_all_but_cells(std::slice::from_ref(self))
        else {
            return;
        };
        let cells = std::mem::take(&mut self.cells);
        canonical.cells = tables::cells(&renumberings, std::iter::once(cells));
        *self = canonical;
        if lacks_forward {
            self.drop_forward();
        }
    }
}

/// The bytes requested in all of the runs, by distance.
fn requested_bytes(profiles: &[Profile]) -> Option<ExactHistogram> {
    let all = profiles
        .iter()
        .map(|profile| profile.requested_bytes.as_ref());
    let all: Option<Vec<&ExactHistogram>> = all.collect();
    let mut merged = ExactHistogram::new();
    for histogram in all? {
        merged.merge(histogram);
    }
    Some(merged)
}

fn check(first: Granularity, other: Granularity) -> Result<(), MergeError> {
    if first == other {
        return Ok(());
    }
    // The same message whichever comes first.
    let (low, high) = (
        first.bytes().min(other.bytes()),
        first.bytes().max(other.bytes()),
    );
    Err(MergeError::Granularity {
        first: low,
        other: high,
    })
}

/// The builds that no two profiles disagree on.
fn builds(profiles: &[Profile]) -> BTreeMap<String, String> {
    let mut merged: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (module, build) in profiles.iter().flat_map(|profile| &profile.builds) {
        let known = merged
            .entry(module.clone())
            .or_insert_with(|| Some(build.clone()));
        if known.as_ref() != Some(build) {
            *known = None;
        }
    }
    let agreed = merged.into_iter();
    agreed
        .filter_map(|(module, build)| Some((module, build?)))
        .collect()
}

/// The value that orders last.
fn latest<T: Ord + Clone + Default>(profiles: &[Profile], field: impl Fn(&Profile) -> &T) -> T {
    profiles
        .iter()
        .map(field)
        .max()
        .cloned()
        .unwrap_or_default()
}

fn method(profiles: &[Profile]) -> Method {
    Method {
        engine: latest(profiles, |profile| &profile.method.engine),
        exact: profiles.iter().all(|profile| profile.method.exact),
        error_bound: error_bound(profiles),
        max_distance: max_distance(profiles),
        ids: profiles.iter().any(|profile| profile.method.ids),
        totals_only: !profiles.is_empty()
            && profiles.iter().all(|profile| profile.method.totals_only),
        // Of several runs only the largest is known: sizes do not correspond.
        error_bounds: match profiles {
            [one] => one.method.error_bounds.clone(),
            _ => None,
        },
        source: latest(profiles, |profile| &profile.method.source),
        recorded: latest(profiles, |profile| &profile.method.recorded),
        order: latest(profiles, |profile| &profile.method.order),
        order_guessed_below: profiles
            .iter()
            .filter_map(|profile| profile.method.order_guessed_below)
            .max(),
        sharing: latest(profiles, |profile| &profile.method.sharing),
        kinds: latest(profiles, |profile| &profile.method.kinds),
        data: latest(profiles, |profile| &profile.method.data),
        // Equal in all: see `check_placement`.
        placement: profiles.first().and_then(|first| first.method.placement),
        // Times of several runs are of none.
        engine_steps: match profiles {
            [one] => one.method.engine_steps.clone(),
            _ => Vec::new(),
        },
    }
}

/// Refuses profiles of which some have no placement data, or chunks of other sizes: their rows
/// would overlap.
fn check_placement(profiles: &[Profile]) -> Result<(), MergeError> {
    let placement = |profile: &Profile| profile.method.placement;
    let are_equal = |(one, other)| placement(one) == placement(other);
    if !profiles.iter().zip(profiles.iter().skip(1)).all(are_equal) {
        return Err(MergeError::Placement);
    }
    if profiles.len() == 1 || profiles.iter().all(|first| placement(first).is_none()) {
        return Ok(());
    }
    let mut chunks: HashMap<_, Option<u64>> = HashMap::new();
    for object in profiles.iter().flat_map(|profile| &profile.objects) {
        let chunk = object.part.map(|part| part.chunk);
        let key = tables::key_of_all_parts(object);
        if *chunks.entry(key).or_insert(chunk) != chunk {
            return Err(MergeError::Chunks(object.name.clone()));
        }
    }
    Ok(())
}

/// The largest bound: the total miss ratio is a mean of those of the runs. `None` if a run that is
/// not exact has none.
fn error_bound(profiles: &[Profile]) -> Option<f64> {
    let bounds = profiles.iter().map(|profile| &profile.method);
    if bounds
        .clone()
        .any(|method| !method.exact && method.error_bound.is_none())
    {
        return None;
    }
    bounds
        .filter_map(|method| method.error_bound)
        .max_by(f64::total_cmp)
}

/// The smallest: up to there, every distance of all of them is known.
fn max_distance(profiles: &[Profile]) -> Option<u64> {
    let limits = profiles.iter().map(|profile| profile.method.max_distance);
    limits.flatten().min()
}

/// The reuse times of all accesses, or none: those of some runs would be taken for those of all.
fn reuse_times(profiles: &[Profile]) -> Option<ReuseTimes> {
    let mut times: Option<ReuseTimes> = None;
    for profile in profiles {
        match &profile.reuse_times {
            Some(more) => times.get_or_insert_default().merge(more),
            None if profile.histogram.is_empty() => {}
            None => return None,
        }
    }
    times
}

/// Whether some accesses of a profile have no forward distance.
fn lacks_forward(profile: &Profile) -> bool {
    let mut used = profile
        .cells
        .iter()
        .filter(|cell| !cell.histogram.is_empty());
    used.any(|cell| cell.forward.is_empty())
}

fn has_forward(profile: &Profile) -> bool {
    let mut used = profile
        .cells
        .iter()
        .filter(|cell| !cell.histogram.is_empty());
    used.any(|cell| !cell.forward.is_empty())
}

/// Whether something was measured in some of the profiles only, and so is left out.
fn is_partial(profiles: &[Profile]) -> bool {
    let some_times = profiles.iter().any(|profile| profile.reuse_times.is_some());
    let some_forward = profiles.iter().any(has_forward);
    some_times && reuse_times(profiles).is_none()
        || some_forward && profiles.iter().any(lacks_forward)
}

/// The worst end of a run.
fn worst(profiles: &[Profile]) -> Outcome {
    // Declared from good to bad, but for the sign of an exit status: 0 is better than −1.
    let badness = |outcome: &&Outcome| match outcome {
        Outcome::Exit(status) => (1, status.unsigned_abs()),
        Outcome::Complete => (0, 0),
        Outcome::Signal(signal) => (2, signal.unsigned_abs()),
        Outcome::Incomplete(_) => (3, 0),
    };
    let outcomes = profiles.iter().map(|profile| &profile.outcome);
    outcomes
        .max_by(|a, b| badness(a).cmp(&badness(b)).then_with(|| a.cmp(b)))
        .cloned()
        .unwrap_or_default()
}

/// All warnings, sorted, with those about the merging itself. Their texts do not depend on the
/// values, so they do not depend on the order of merging.
fn warnings(profiles: &[Profile]) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = profiles
        .iter()
        .flat_map(|profile| profile.warnings.iter().cloned())
        .collect();
    let pairs = || profiles.iter().zip(profiles.iter().skip(1));
    let reasons = [
        (
            "different-commands",
            "the merged runs had different commands; the one that is shown is one of them",
            pairs().any(|(a, b)| a.command != b.command),
        ),
        (
            "different-machines",
            "the merged runs were on different machines; the caches are those of one of them",
            pairs().any(|(a, b)| a.machine != b.machine),
        ),
        (
            "different-methods",
            "the merged runs were measured in different ways; the way that is shown is put together from them",
            pairs().any(|(a, b)| differ(&a.method, &b.method)),
        ),
        (
            "measured-in-part",
            "reuse times or forward distances were measured in some of the merged runs only, and are left out",
            is_partial(profiles),
        ),
        (
            "causes-of-one-run",
            "why accesses miss was recorded, which is of one run, and is left out",
            profiles.len() > 1 && profiles.iter().any(|profile| profile.causes.is_some()),
        ),
        (
            "different-versions",
            "different versions of reuselens made the merged profiles; the latest is shown",
            pairs().any(|(a, b)| a.version != b.version),
        ),
    ];
    for (code, message, holds) in reasons {
        if holds {
            let hint = "merge only profiles of runs that are alike".to_owned();
            warnings.push(Warning {
                code: code.to_owned(),
                message: message.to_owned(),
                hint,
            });
        }
    }
    warnings.sort();
    warnings.dedup();
    warnings
}

/// Whether two methods differ in more than the error bounds and times.
fn differ(a: &Method, b: &Method) -> bool {
    let [a, b] = [a, b].map(|method| Method {
        error_bound: None,
        error_bounds: None,
        engine_steps: Vec::new(),
        ..method.clone()
    });
    a != b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn counts_add_up() {
        let mut one = testing::profile();
        one.canonicalise();
        let merged = Profile::merge(&[one.clone(), one.clone(), one.clone()]).unwrap();
        assert_eq!(merged.histogram.accesses(), 3 * one.histogram.accesses());
        assert_eq!(
            (merged.references, merged.cells.len()),
            (300, one.cells.len())
        );
        for (cell, single) in merged.cells.iter().zip(&one.cells) {
            assert_eq!(cell.distance_sum, 3 * single.distance_sum);
        }
        assert!(merged.warnings.is_empty());
    }

    #[test]
    fn canonicalising_twice_changes_nothing() {
        let mut profile = testing::profile();
        profile.canonicalise();
        assert!(
            profile
                .cells
                .is_sorted_by_key(|c| (c.site, c.object, c.context, c.thread))
        );
        let bytes = profile.to_bytes();
        profile.canonicalise();
        assert_eq!(profile.to_bytes(), bytes);
    }

    #[test]
    fn merge_warns_of_differences_and_keeps_the_worst_outcome() {
        let (a, mut b) = (testing::profile(), testing::profile());
        b.command.push("more".into());
        b.outcome = Outcome::Signal(11);
        b.method.exact = false;
        let merged = Profile::merge(&[a.clone(), b.clone()]).unwrap();
        let codes: Vec<_> = merged
            .warnings
            .iter()
            .map(|warning| warning.code.as_str())
            .collect();
        assert_eq!(codes, ["different-commands", "different-methods"]);
        assert_eq!(
            (merged.outcome, merged.method.exact),
            (Outcome::Signal(11), false)
        );
        assert_eq!(merged.method.error_bound, None);
        b.method.error_bound = Some(0.01);
        assert_eq!(
            Profile::merge(&[b, a]).unwrap().method.error_bound,
            Some(0.01)
        );
    }

    #[test]
    fn merge_rejects_incompatible_profiles() {
        let (a, mut b) = (testing::profile(), testing::profile());
        b.granularity = Granularity::BYTE;
        let error = Profile::merge(&[a.clone(), b.clone()]).unwrap_err();
        assert_eq!(error, Profile::merge(&[b, a]).unwrap_err());
        assert_eq!(Profile::merge(&[]), Err(MergeError::Nothing));
    }
}
