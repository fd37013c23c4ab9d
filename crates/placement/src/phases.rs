//! Phases of a run: contexts with accesses enough to have a placement of their own, and whether
//! moving the data between them pays.
//!
//! The tree of calling contexts is pruned of contexts with less than a share of all accesses; the
//! leaves that are left are phases (Shen 2021, section 2.5.2). A parallel region is one phase over
//! all its threads; the loader and run-time libraries of threads are none. Each gets the best
//! placement of what it accesses. Moving costs `bytes / bandwidth + latency`, at each entry into
//! the phase for the data that differ from the plan of the run, and again at its end to go back.
//! Contexts with little reuse, or that the caches hold, gain little whatever is placed (section
//! 2.5.3).

use reuselens_profile::{CacheSize, Frame, Profile};
use reuselens_units::{Bytes, Items};

use crate::candidate::Candidate;
use crate::front_cache::FrontCache;
use crate::machine::MemoryMachine;
use crate::objective::Objective;
use crate::optimum;
use crate::problem::{Choice, Filling, Problem};

/// Contexts with less than this share of the accesses are pruned.
const SHARE: f64 = 0.05;
/// Branches that are looked at for a phase.
const PHASE_NODES: u64 = 50_000;
/// A context reuses little whose accesses for each byte of footprint are below this part of the
/// program's.
const LITTLE: f64 = 0.5;

/// What the rule of footprints says of a context (Shen 2021, section 2.5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextAdvice {
    /// Many accesses to more data than the caches hold: optimise it first.
    OptimiseFirst,
    /// Few accesses for each byte of its data: little to gain.
    LittleReuse,
    /// The caches hold its data: little to gain.
    FitsCache,
    /// The profile does not say how much data it accesses.
    Unknown,
}

/// A context that is not pruned.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextUse {
    /// Its index in [`Profile::contexts`].
    pub context: usize,
    /// The function.
    pub function: String,
    /// The calls that led to it, the innermost first: each the caller, and where in the source.
    pub calls: Vec<Frame>,
    /// Number of contexts above it that are shown.
    pub depth: usize,
    /// Accesses in it and below it.
    pub accesses: u64,
    /// Of those, the accesses that the caches do not serve.
    pub misses: u64,
    /// Bytes that it and what is below it access; `None` without placement data.
    pub footprint: Option<Bytes>,
    /// How often it was entered; `None` if unknown.
    pub entries: Option<u64>,
    /// What the rule says of it.
    pub advice: ContextAdvice,
    /// Whether it is a leaf: a phase.
    pub is_phase: bool,
}

/// Whether a placement of its own pays for a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PhaseVerdict {
    /// The plan of the whole run is as good for it.
    Same,
    /// Moving pays.
    Move,
    /// Moving costs more than it gains.
    DoNotMove {
        /// It would pay with this number of entries for the same accesses, 0 if not even with one.
        most_entries: u64,
        /// It would pay if each entry made as many times the accesses.
        times_accesses: f64,
    },
    /// The machine's bandwidths or the number of entries are not known.
    Unknown,
}

/// A phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its context.
    pub context: usize,
    /// The function.
    pub function: String,
    /// The calls that led to it, as in [`ContextUse::calls`].
    pub calls: Vec<Frame>,
    /// Its accesses.
    pub accesses: u64,
    /// How often it was entered; `None` if unknown.
    pub entries: Option<u64>,
    /// What the plan of the run is worth in it, in the objective's unit.
    pub value_whole: f64,
    /// What a placement of its own is worth in it.
    pub value_own: f64,
    /// The bytes that are in another tier than in the plan of the run.
    pub moved: Bytes,
    /// What moving costs over all entries, in the objective's unit; `None` if unknown.
    pub cost: Option<f64>,
    /// Whether it pays.
    pub verdict: PhaseVerdict,
    /// Of the candidates in its own placement, the index in [`Profile::objects`] and the bin's
    /// tier.
    pub placed: Vec<(usize, usize)>,
}

/// Contexts and phases of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phases {
    /// Contexts that are not pruned, each after its caller.
    pub contexts: Vec<ContextUse>,
    /// The leaves among them.
    pub phases: Vec<Phase>,
    /// Accesses of pruned contexts and of callers themselves, which are in no phase.
    pub outside: u64,
}

/// What phases are computed from.
pub(crate) struct PhaseInput<'a> {
    pub profile: &'a Profile,
    pub machine: &'a MemoryMachine,
    pub objective: Objective,
    pub cache: CacheSize,
    /// The candidates, and their problem over the run.
    pub candidates: &'a [Candidate],
    pub problem: &'a Problem,
    /// The plan of the whole run.
    pub whole: &'a Choice,
}

/// Contexts and phases. Cost: linear in the profile's cells, and a search for each phase.
pub(crate) fn phases(input: &PhaseInput<'_>) -> Phases {
    let profile = input.profile;
    let sums = ContextCounts::new(profile, input.cache);
    let total = profile.histogram.accesses();
    let least = total as f64 * SHARE;
    let mut is_kept = vec![false; profile.contexts.len()];
    let mut has_kept_child = is_kept.clone();
    // What is called before its callers.
    for (context, known) in profile.contexts.iter().enumerate().rev() {
        let accesses = sums.accesses[context];
        let is_large = accesses > 0 && accesses as f64 >= least;
        // A library that only runs or waits has no data of the program to move.
        is_kept[context] = is_large && (has_kept_child[context] || !is_run_time(&known.function));
        if is_kept[context] && context > 0 {
            has_kept_child[known.parent as usize] = true;
        }
    }
    let mut found = Phases::default();
    let mut phase_of: Vec<Option<usize>> = vec![None; profile.contexts.len()];
    let mut depths = vec![0; profile.contexts.len()];
    let mut leaves: Vec<Vec<usize>> = Vec::new();
    // Callers come before what they call.
    for (context, known) in profile.contexts.iter().enumerate() {
        let parent = known.parent as usize;
        if context > 0 {
            phase_of[context] = phase_of[parent];
            depths[context] = depths[parent] + 1;
        }
        if !is_kept[context] {
            continue;
        }
        let is_phase = !has_kept_child[context];
        if is_phase {
            phase_of[context] = Some(add_leaf(profile, &mut leaves, context));
        }
        let depth = depths[context];
        found
            .contexts
            .push(context_use(input, &sums, context, depth, is_phase));
    }
    let weights = weights(input, &phase_of, leaves.len());
    let accesses = |leaf: &Vec<usize>| leaf.iter().map(|it| sums.accesses[*it]).sum::<u64>();
    let inside: u64 = leaves.iter().map(accesses).sum();
    found.outside = total.saturating_sub(inside);
    // What is one phase has the plan of the run.
    if leaves.len() > 1 {
        let phase =
            |(leaf, weights): (&Vec<usize>, &Vec<f64>)| phase(input, leaf, accesses(leaf), weights);
        found.phases = leaves.iter().zip(&weights).map(phase).collect();
    }
    found
}

/// Adds a leaf to the phases so far: to the one that is the same parallel region in other threads,
/// or as a new one. The number of its phase.
fn add_leaf(profile: &Profile, phases: &mut Vec<Vec<usize>>, leaf: usize) -> usize {
    let region = region(profile, leaf);
    let is_same = |phase: &Vec<usize>| {
        let known = phase.first();
        region.is_some() && known.is_some_and(|known| self::region(profile, *known) == region)
    };
    match phases.iter().position(is_same) {
        Some(phase) => {
            phases[phase].push(leaf);
            phase
        }
        None => {
            phases.push(vec![leaf]);
            phases.len() - 1
        }
    }
}

/// The functions on the way to a context, innermost first, up to the outermost one that a compiler
/// made of a parallel region: the same in the thread that began the region, where it is below its
/// caller, and in the others, where it is below the start of a thread. `None` outside of regions.
fn region(profile: &Profile, context: usize) -> Option<Vec<&str>> {
    let parent = |context: &usize| Some(profile.contexts[*context].parent as usize);
    let path = std::iter::successors(Some(context), parent).take_while(|context| *context != 0);
    let names = path.map(|context| profile.contexts[context].function.as_str());
    let mut names: Vec<&str> = names.filter(|name| !is_run_time(name)).collect();
    let outermost = names.iter().rposition(|name| is_parallel_region(name))?;
    names.truncate(outermost + 1);
    Some(names)
}

/// Whether a function is what a compiler made of a parallel region: gcc and gfortran, clang and
/// flang.
fn is_parallel_region(function: &str) -> bool {
    function.contains("._omp_fn.") || function.contains("omp_outlined")
}

/// Whether a function is of the loader, the start of a program or a thread, or a run-time library
/// of threads.
fn is_run_time(function: &str) -> bool {
    const NAMES: [&str; 6] = [
        "_start",
        "__libc_start_main",
        "__libc_start_call_main",
        "start_thread",
        "clone",
        "clone3",
    ];
    const BEGINNINGS: [&str; 8] = [
        "_dl_", "dl_main", "__kmp", "gomp_", "GOMP_", "libgomp", "libomp", "libiomp5",
    ];
    let name = function.split(['@', '+']).next().unwrap_or(function);
    NAMES.contains(&name)
        || BEGINNINGS.iter().any(|begin| name.starts_with(begin))
        || name.starts_with("ld-linux")
        || name == "dynamic loader"
}

/// Inclusive counts by context.
struct ContextCounts {
    accesses: Vec<u64>,
    misses: Vec<u64>,
}

impl ContextCounts {
    fn new(profile: &Profile, cache: CacheSize) -> ContextCounts {
        let cache = FrontCache::new(cache, profile.granularity);
        let count = profile.contexts.len();
        let (mut accesses, mut misses) = (vec![0_u64; count], vec![0_u64; count]);
        for cell in &profile.cells {
            let context = cell.context as usize;
            accesses[context] = accesses[context].saturating_add(cell.histogram.accesses());
            misses[context] = misses[context].saturating_add(cache.misses(&cell.histogram));
        }
        for context in (1..count).rev() {
            let parent = profile.contexts[context].parent as usize;
            accesses[parent] = accesses[parent].saturating_add(accesses[context]);
            misses[parent] = misses[parent].saturating_add(misses[context]);
        }
        ContextCounts { accesses, misses }
    }
}

fn context_use(
    input: &PhaseInput<'_>,
    sums: &ContextCounts,
    context: usize,
    depth: usize,
    is_phase: bool,
) -> ContextUse {
    let known = &input.profile.contexts[context];
    let bytes = |items: u64| Items(items).bytes(input.profile.granularity);
    let footprint = known.footprint.map(|items| bytes(items.inclusive));
    let accesses = sums.accesses[context];
    let density = |accesses: u64, bytes: Bytes| accesses as f64 / bytes.get().max(1) as f64;
    let all = density(
        input.profile.histogram.accesses(),
        bytes(input.profile.histogram.cold()),
    );
    let advice = match footprint {
        None => ContextAdvice::Unknown,
        Some(footprint) if footprint <= input.cache.bytes => ContextAdvice::FitsCache,
        Some(footprint) if density(accesses, footprint) < LITTLE * all => {
            ContextAdvice::LittleReuse
        }
        Some(_) => ContextAdvice::OptimiseFirst,
    };
    ContextUse {
        context,
        function: known.function.clone(),
        calls: calls(input.profile, context),
        depth,
        accesses,
        misses: sums.misses[context],
        footprint,
        entries: known.entries,
        advice,
        is_phase,
    }
}

/// The calls that led to a context, the innermost first.
fn calls(profile: &Profile, context: usize) -> Vec<Frame> {
    let parent = |context: &usize| Some(profile.contexts[*context].parent as usize);
    let path = std::iter::successors(Some(context), parent).take_while(|context| *context != 0);
    path.map(|context| profile.contexts[context].call.clone())
        .filter(|call| *call != Frame::default())
        .collect()
}

/// By phase, what each candidate counts with in it.
fn weights(input: &PhaseInput<'_>, phase_of: &[Option<usize>], phases: usize) -> Vec<Vec<f64>> {
    let cache = FrontCache::new(input.cache, input.profile.granularity);
    let mut candidate_of = vec![None; input.profile.objects.len()];
    for (index, candidate) in input.candidates.iter().enumerate() {
        for &row in &candidate.rows {
            candidate_of[row] = Some(index);
        }
    }
    let mut weights = vec![vec![0.0; input.candidates.len()]; phases];
    for cell in &input.profile.cells {
        let phase = phase_of[cell.context as usize];
        if let (Some(phase), Some(candidate)) = (phase, candidate_of[cell.object as usize]) {
            weights[phase][candidate] += match input.objective {
                Objective::F => cell.histogram.accesses(),
                Objective::Misses | Objective::Time => cache.misses(&cell.histogram),
            } as f64;
        }
    }
    weights
}

/// `leaves`: the contexts of the phase, of which each has the same functions.
fn phase(input: &PhaseInput<'_>, leaves: &[usize], accesses: u64, weights: &[f64]) -> Phase {
    let mut problem = input.problem.clone();
    for (item, weight) in problem.items.iter_mut().zip(weights) {
        item.weight = *weight;
    }
    let best = optimum::solve(&problem, PHASE_NODES);
    let (own, whole) = (with_rest(&problem, &best.choice, input.whole), input.whole);
    let leaf = leaves.first().copied().unwrap_or(0);
    let known = &input.profile.contexts[leaf];
    // Each thread enters a region as often as the region runs.
    let entries = leaves
        .iter()
        .map(|leaf| input.profile.contexts[*leaf].entries);
    let entries = entries.min().flatten();
    let value_whole = problem.value(whole);
    let (mut moved, mut nanoseconds) = (0_u64, Some(0.0));
    for (item, (own, whole)) in own.iter().zip(whole).enumerate() {
        if own != whole {
            let bytes = problem.items[item].bytes;
            moved = moved.saturating_add(bytes);
            let cost = input
                .machine
                .moving(tier(input, *own), tier(input, *whole), bytes);
            nanoseconds = nanoseconds.zip(cost).map(|(sum, more)| sum + more);
        }
    }
    // There, and back.
    let both_ways = nanoseconds.zip(entries).map(|(once, entries)| {
        2.0 * once * entries as f64 / input.objective.nanoseconds(input.machine)
    });
    let gain = best.value - value_whole;
    let verdict = verdict(gain, moved, both_ways, entries);
    let placed = own.iter().enumerate().filter_map(|(item, bin)| {
        Some((input.candidates[item].object, problem.bins[(*bin)?].tier))
    });
    Phase {
        context: leaf,
        function: known.function.clone(),
        calls: calls(input.profile, leaf),
        accesses,
        entries,
        value_whole,
        value_own: value_whole + gain,
        moved: Bytes(moved),
        cost: both_ways,
        verdict,
        placed: placed.collect(),
    }
}

/// The tier of a bin, or of none.
fn tier(input: &PhaseInput<'_>, bin: Option<usize>) -> usize {
    bin.map_or(input.machine.tiers.len() - 1, |bin| {
        input.problem.bins[bin].tier
    })
}

/// The phase's choice, and what it has room for of that of the run, so that no more is moved
/// than must be.
fn with_rest(problem: &Problem, own: &Choice, whole: &Choice) -> Choice {
    let mut filling = Filling::new(problem);
    for choice in [own, whole] {
        for (item, bin) in choice.iter().enumerate() {
            if let Some(bin) = bin {
                filling.put(*bin, item);
            }
        }
    }
    filling.finish()
}

fn verdict(gain: f64, moved: u64, cost: Option<f64>, entries: Option<u64>) -> PhaseVerdict {
    if gain <= 0.0 || moved == 0 {
        return PhaseVerdict::Same;
    }
    match cost.zip(entries) {
        None | Some((_, 0)) => PhaseVerdict::Unknown,
        Some((cost, _)) if cost < gain => PhaseVerdict::Move,
        Some((cost, entries)) => PhaseVerdict::DoNotMove {
            most_entries: (gain / (cost / entries as f64)) as u64,
            times_accesses: cost / gain,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_profile::Context;
    use reuselens_units::Granularity;

    /// A profile with these contexts: the caller's index, and the function.
    fn profile(contexts: &[(u32, &str)]) -> Profile {
        let mut profile = Profile::empty(Granularity::LINE_64);
        let made = contexts.iter().map(|(parent, function)| Context {
            parent: *parent,
            function: (*function).to_owned(),
            ..Context::default()
        });
        profile.contexts.extend(made);
        profile
    }

    #[test]
    fn a_parallel_region_is_one_phase_over_its_threads() {
        let profile = profile(&[
            (0, "main"),
            (1, "GOMP_parallel"),
            (2, "main._omp_fn.0"),
            (3, "work"),
            (0, "start_thread"),
            (5, "libgomp.so.1.0.0!fn@1a50"),
            (6, "main._omp_fn.0"),
            (7, "work"),
            (6, "main._omp_fn.1"),
            (1, "work"),
        ]);
        let mut phases = Vec::new();
        let numbers: Vec<usize> = [4, 8, 9, 10]
            .map(|leaf| add_leaf(&profile, &mut phases, leaf))
            .into();
        assert_eq!(numbers, [0, 0, 1, 2]);
        assert_eq!(phases, [vec![4, 8], vec![9], vec![10]]);
    }

    #[test]
    fn functions_of_programs_are_no_run_times() {
        for run_time in [
            "_dl_relocate_object",
            "start_thread",
            "__kmp_fork_call",
            "GOMP_parallel",
        ] {
            assert!(is_run_time(run_time), "{run_time}");
        }
        for own in [
            "main",
            "cloned",
            "start",
            "dl",
            "main._omp_fn.0",
            "kmp",
            "clone_tree",
        ] {
            assert!(!is_run_time(own), "{own}");
        }
    }
}
