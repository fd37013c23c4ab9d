//! Refuses profiles that are not of one program ([`same_program`]), orders them by size
//! ([`sizes`]), and reads their groups under names that agree between runs ([`groups`]).

use std::collections::BTreeMap;

use reuselens_locality::{FineHistogram, Histogram, PatternBin, PatternBins};
use reuselens_profile::{Frame, Profile, Site};
use thiserror::Error;

use crate::group::{AFTER, GroupRun, Groups, rarer_paths};
use crate::program_prediction::data_size;

/// The groups that are predicted beside the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Source lines.
    Line,
    /// Instructions.
    Instruction,
    /// Instructions and this number of outcomes before them, if profiles have paths that long.
    Path(u32),
}

/// Profiles that do not belong together. Runs are counted from 1 as they were given.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// Fewer than two.
    #[error(
        "one training run says nothing about growth; give two or more of different inputs: --train SMALL.rlprof LARGE.rlprof"
    )]
    TooFew,
    /// Items of different sizes.
    #[error(
        "run {run} counts items of {other} bytes and run 1 of {first}; profile again with the same --granularity"
    )]
    Items {
        /// Which.
        run: usize,
        /// Its bytes per item.
        other: u64,
        /// Those of the first.
        first: u64,
    },
    /// Other accesses count.
    #[error(
        "run {run} counts {other}, and run 1 {first}; profile again with the same --kind, --data and --sharing"
    )]
    Counted {
        /// Which.
        run: usize,
        /// What it counts.
        other: String,
        /// What the first counts.
        first: String,
    },
    /// Other programs.
    #[error(
        "run {run} is of '{other}' and run 1 of '{first}': different programs; say --loose to match them by lines all the same"
    )]
    Programs {
        /// Which.
        run: usize,
        /// Its program.
        other: String,
        /// That of the first.
        first: String,
    },
    /// Other builds of a program.
    #[error(
        "run {run} is of another build of '{module}': its instruction at {offset:#x} is {other}, and in run 1 {first}; profile one build, or say --loose to match by lines"
    )]
    Builds {
        /// Which.
        run: usize,
        /// The file.
        module: String,
        /// Where in it.
        offset: u64,
        /// What is there.
        other: String,
        /// What was there in the first.
        first: String,
    },
    /// Other builds of a program, by their build ids.
    #[error(
        "run {run} is of another build of '{module}' than run 1 (build id {other} for {first}): profile one build, or say --loose to match by lines"
    )]
    BuildIds {
        /// Which.
        run: usize,
        /// The file.
        module: String,
        /// Its build id.
        other: String,
        /// That in the first.
        first: String,
    },
    /// Equal data sizes.
    #[error(
        "runs {one} and {other} have the same size ({size}), which says nothing about growth; profile inputs that differ several-fold, or, if the data do not grow with the input, say how large the inputs are: --sizes"
    )]
    Sizes {
        /// One.
        one: usize,
        /// The other.
        other: usize,
        /// Their size.
        size: u64,
    },
    /// Nothing was used twice.
    #[error(
        "run {run} has no reuses: there is nothing to predict from; profile an input that does some work"
    )]
    NoReuses {
        /// Which.
        run: usize,
    },
    /// No paths, or too short ones.
    #[error(
        "run {run} has no paths of {length} outcomes ({there}); profile it with --by path, or ask for shorter ones: --history"
    )]
    Paths {
        /// Which.
        run: usize,
        /// What was asked for.
        length: u32,
        /// What there is.
        there: String,
    },
    /// A size that no data can have.
    #[error("{text}")]
    BadSize {
        /// Fact and remedy.
        text: String,
    },
}

/// Refuses profiles that do not belong together; with `loose`, only those whose numbers do not
/// compare.
///
/// # Errors
/// The first reason found. Builds are compared by the build ids of their files, where those have
/// one, and by what is at the same offset of the same file.
pub fn same_program(profiles: &[&Profile], loose: bool) -> Result<(), ProgramError> {
    let Some((first, others)) = profiles.split_first() else {
        return Err(ProgramError::TooFew);
    };
    for (run, other) in (2..).zip(others) {
        if other.granularity != first.granularity {
            return Err(ProgramError::Items {
                run,
                other: other.granularity.bytes(),
                first: first.granularity.bytes(),
            });
        }
        let (counted, expected) = (counted(other), counted(first));
        if counted != expected {
            return Err(ProgramError::Counted {
                run,
                other: counted,
                first: expected,
            });
        }
        if !loose {
            same_code(run, other, first)?;
        }
    }
    Ok(())
}

fn counted(profile: &Profile) -> String {
    let method = &profile.method;
    let items = if method.ids { "ids" } else { "addresses" };
    let sharing = format!("{:?}", method.sharing).to_lowercase();
    format!(
        "{} accesses to {} data ({sharing}, {items})",
        method.kinds, method.data
    )
}

fn same_code(run: usize, other: &Profile, first: &Profile) -> Result<(), ProgramError> {
    let (names, expected) = (program(other), program(first));
    if names != expected {
        return Err(ProgramError::Programs {
            run,
            other: names,
            first: expected,
        });
    }
    for (module, id) in &other.builds {
        if let Some(before) = first.builds.get(module).filter(|before| *before != id) {
            return Err(ProgramError::BuildIds {
                run,
                module: module.clone(),
                other: short(id),
                first: short(before),
            });
        }
    }
    // Instructions by their place, except those of which nothing is known.
    let places = |profile: &'_ Profile| -> BTreeMap<(String, u64), Site> {
        let known = profile.sites.iter().filter(|site| !site.module.is_empty());
        known
            .map(|site| ((site.module.clone(), site.offset), site.clone()))
            .collect()
    };
    let expected = places(first);
    for ((module, offset), site) in places(other) {
        let Some(before) = expected.get(&(module.clone(), offset)) else {
            continue;
        };
        if before.frames.first() != site.frames.first() {
            return Err(ProgramError::Builds {
                run,
                module,
                offset,
                other: place(&site),
                first: place(before),
            });
        }
    }
    Ok(())
}

/// The first digits of a build id: enough to distinguish it.
fn short(id: &str) -> String {
    id.chars().take(12).collect()
}

/// The name of the program that was run, without its folder.
fn program(profile: &Profile) -> String {
    let path = profile.command.first().map_or("", String::as_str);
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

fn place(site: &Site) -> String {
    match site.frames.first() {
        Some(Frame { file, line, .. }) if !file.is_empty() => format!("{file}:{line}"),
        Some(Frame { function, .. }) if !function.is_empty() => format!("in {function}"),
        _ => "without a line".to_owned(),
    }
}

/// The data sizes of runs, ascending: as given, or the largest finite distance of each. With the
/// order of the runs.
///
/// # Errors
/// If two are equal, or one has none.
pub fn sizes(profiles: &[&Profile], given: &[f64]) -> Result<Vec<(usize, f64)>, ProgramError> {
    if profiles.len() < 2 {
        return Err(ProgramError::TooFew);
    }
    if !given.is_empty() && given.len() != profiles.len() {
        let text = format!(
            "--sizes has {} numbers for {} training runs; give one for each",
            given.len(),
            profiles.len()
        );
        return Err(ProgramError::BadSize { text });
    }
    if let Some(wrong) = given
        .iter()
        .find(|size| !(size.is_finite() && **size >= 1.0))
    {
        let text = format!("a size of {wrong} says nothing; give sizes of 1 or more");
        return Err(ProgramError::BadSize { text });
    }
    let mut sizes = Vec::new();
    for (run, profile) in profiles.iter().enumerate() {
        let measured =
            data_size(&profile.histogram).ok_or(ProgramError::NoReuses { run: run + 1 })?;
        sizes.push((run, given.get(run).copied().unwrap_or(measured as f64)));
    }
    sizes.sort_by(|a, b| a.1.total_cmp(&b.1));
    if let Some(pair) = sizes.windows(2).find(|pair| pair[0].1 == pair[1].1) {
        return Err(ProgramError::Sizes {
            one: pair[0].0.min(pair[1].0) + 1,
            other: pair[0].0.max(pair[1].0) + 1,
            size: pair[0].1 as u64,
        });
    }
    Ok(sizes)
}

/// The groups of a profile, under names that do not depend on what else is in it: `dir/a.c:12`,
/// `prog+0x12ab`; what has no line is named by its file and function.
///
/// The lowest, highest and mean distance of each bin are exact with `exact`, which profiles with
/// paths can be asked for; else they are known to a sixteenth of an octave.
pub fn groups(profile: &Profile, by: By, exact: bool) -> Groups {
    match by {
        By::Path(length) => return path_groups(profile, length),
        By::Line | By::Instruction if exact => return exact_groups(profile, by),
        By::Line | By::Instruction => {}
    }
    let name = |site: &Site| name(by, &site.module, site.offset, site.frames.first());
    let names: Vec<String> = profile.sites.iter().map(name).collect();
    let mut sums: BTreeMap<&str, FineHistogram> = BTreeMap::new();
    for cell in &profile.cells {
        let name = names
            .get(cell.site as usize)
            .map_or("(unknown)", String::as_str);
        sums.entry(name).or_default().merge(&cell.histogram);
    }
    let run = |fine: &FineHistogram| GroupRun {
        rest: false,
        accesses: fine.accesses(),
        cold: fine.cold(),
        bins: PatternBin::of_fine(fine),
    };
    sums.iter()
        .map(|(name, fine)| ((*name).to_owned(), run(fine)))
        .collect()
}

/// The name of an instruction's group.
pub(crate) fn name(by: By, module: &str, offset: u64, frame: Option<&Frame>) -> String {
    match (by, frame) {
        (By::Line, Some(Frame { file, line, .. })) if !file.is_empty() && *line > 0 => {
            format!("{file}:{line}")
        }
        (By::Line, Some(Frame { function, .. })) if !function.is_empty() => {
            format!("{function} ({module})")
        }
        (By::Line, _) if module.is_empty() => "(unknown)".to_owned(),
        (By::Line, _) => format!("({module})"),
        (By::Instruction | By::Path(_), _) => format!("{module}+{offset:#x}"),
    }
}

/// Lines or instructions, from the distances that were counted by path.
fn exact_groups(profile: &Profile, by: By) -> Groups {
    let mut sums: BTreeMap<String, PatternBins> = BTreeMap::new();
    for site in profile.paths.iter().flat_map(|paths| &paths.sites) {
        let name = name(by, &site.module, site.offset, Some(&site.frame));
        let sum = sums.entry(name).or_default();
        for path in &site.paths {
            sum.merge(&path.bins);
        }
    }
    let groups = sums.into_iter();
    groups.map(|(name, bins)| (name, run(&bins))).collect()
}

/// A group from its distances in pattern bins.
fn run(bins: &PatternBins) -> GroupRun {
    GroupRun {
        rest: false,
        accesses: bins.accesses(),
        cold: bins.cold(),
        bins: bins.iter().collect(),
    }
}

fn path_groups(profile: &Profile, length: u32) -> Groups {
    let sites = profile
        .paths
        .as_ref()
        .and_then(|paths| paths.at(length))
        .unwrap_or_default();
    let mut groups = Groups::new();
    for (site, paths) in sites {
        let instruction = name(By::Instruction, &site.module, site.offset, None);
        let mut rest = PatternBins::new();
        for path in paths {
            if path.length < length {
                rest.merge(&path.bins);
                continue;
            }
            let name = format!("{instruction}{AFTER}{}", path.digits(length));
            groups.insert(name, run(&path.bins));
        }
        if rest.accesses() > 0 {
            let rest = GroupRun {
                rest: true,
                ..run(&rest)
            };
            groups.insert(rarer_paths(&instruction), rest);
        }
    }
    groups
}

/// Refuses profiles without paths that long.
///
/// # Errors
/// The first such.
pub(crate) fn have_paths(profiles: &[&Profile], by: By) -> Result<(), ProgramError> {
    let By::Path(length) = by else {
        return Ok(());
    };
    for (run, profile) in (1..).zip(profiles) {
        let there = match &profile.paths {
            None => "no paths were followed".to_owned(),
            Some(paths) if paths.length < length => format!("the longest have {}", paths.length),
            Some(_) => continue,
        };
        return Err(ProgramError::Paths { run, length, there });
    }
    Ok(())
}
