//! A plan: what goes where, why, and how good that is.

use std::collections::BTreeSet;

use reuselens_profile::{CacheSize, Profile};
use reuselens_units::{Bytes, Items, counted};
use thiserror::Error;

use crate::candidate::{Candidate, CandidateOptions, Unplaceable, candidates};
use crate::machine::{LINE_FILL_BUFFERS, MemoryMachine, TierScope};
use crate::objective::{Objective, least_parallelism};
use crate::optimum::{self, NODES, NODES_OF_LIVES, Optimum};
use crate::phases::{self, PhaseInput, Phases};
use crate::problem::{Problem, ProblemBin, ProblemItem};
use crate::rules::RULES;

/// A chunk of a large object has at most this part of the fast memory (Shen 2021, section 2.5.2).
const CHUNKS_OF_FAST: u64 = 10;

/// What to plan for.
#[derive(Clone, Copy, Debug)]
pub struct PlanOptions {
    /// What to make large.
    pub objective: Objective,
    /// The cache in front of the memory.
    pub cache: CacheSize,
}

/// Why an object is where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is in a fast memory.
    Placed,
    /// The caches serve all its accesses, so that no memory gains anything.
    Cached,
    /// It is larger than every fast memory that takes it.
    TooLarge,
    /// Objects whose bytes are worth more have the room.
    NoRoom,
    /// It fits only into tiers that gain nothing over the last by this objective.
    NoGain,
}

/// An object of the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The object.
    pub candidate: Candidate,
    /// Index of the tier that it belongs in.
    pub tier: usize,
    /// The thread whose core's memory that is; `None` for a tier of all cores.
    pub core_of: Option<u32>,
    /// Why.
    pub reason: Reason,
}

/// How well a rule does.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleResult {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// What its choice is worth.
    pub value: f64,
    /// The objects that it puts into fast memory.
    pub placed: usize,
    /// The bytes of those.
    pub bytes: u64,
}

/// How a tier is used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TierUse {
    /// Objects in it.
    pub objects: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The most of them that are live at one time; as many as `bytes` if lifetimes are not known.
    pub peak: u64,
    /// Accesses to them.
    pub accesses: u64,
    /// Of those, the accesses that the caches do not serve.
    pub misses: u64,
}

/// A plan for a profile on a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacementPlan {
    /// The machine, with the parallelism that was planned for.
    pub machine: MemoryMachine,
    /// The threads that the parallelism was taken from, if nothing states it.
    pub assumed_threads: Option<usize>,
    /// What was made large.
    pub objective: Objective,
    /// The cache in front.
    pub cache: CacheSize,
    /// All accesses of the profile.
    pub accesses: u64,
    /// Those that the cache does not serve.
    pub misses: u64,
    /// Bytes of all data that the program accessed.
    pub footprint: Bytes,
    /// Accesses to what cannot be placed.
    pub others: Unplaceable,
    /// The objects, by falling F (accesses for each byte): rank 1 first.
    pub objects: Vec<Placed>,
    /// The use of each tier.
    pub tiers: Vec<TierUse>,
    /// The tiers but the last that gain nothing by this objective.
    pub gainless: Vec<usize>,
    /// What the plan is worth, and its bound.
    pub best: Optimum,
    /// The rules, in the order of [`RULES`].
    pub rules: Vec<RuleResult>,
    /// Contexts, and phases with placements of their own.
    pub phases: Phases,
    /// Whether the profile has chunks of large objects, lifetimes and footprints.
    pub has_data: bool,
    /// The numbers that were optimised.
    pub problem: Problem,
}

impl PlacementPlan {
    /// Index of the tier whose capacity is scarcest: the first that gains anything.
    pub fn fastest(&self) -> usize {
        self.problem.bins.first().map_or(0, |bin| bin.tier)
    }

    /// Whether the cache in front holds all data of the program, so that only first accesses miss
    /// and misses say little.
    pub fn is_all_cached(&self) -> bool {
        self.objective != Objective::F && self.footprint <= self.cache.bytes
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// No object can be moved.
    #[error(
        "the profile has no data object of known size that is worth a place, so nothing can be placed; profile a program with -g, or one that allocates memory"
    )]
    NothingToPlace,
    /// No tier is faster than the slowest for this objective.
    #[error(
        "no tier of {machine} gains anything over {slowest} by the objective {objective}: {why}"
    )]
    NoGain {
        /// The machine.
        machine: String,
        /// Its last tier.
        slowest: String,
        /// The objective.
        objective: Objective,
        /// What makes them equal, and what to change.
        why: String,
    },
    /// The distances of the profile end before the cache does.
    #[error(
        "the profile's distances end at {reach} (--max-distance), so it does not show what a cache of {cache} misses; take --cache with at most {reach}, or profile without --max-distance"
    )]
    Reach {
        /// The cache.
        cache: Bytes,
        /// The longest distance that is exact.
        reach: Bytes,
    },
}

/// Plans where the objects of `profile` belong on `machine`.
///
/// Cost: linear in the profile's cells, then that of [`optimum::solve`].
///
/// # Errors
/// If there is nothing to place, or no memory that gains anything.
pub fn plan(
    profile: &Profile,
    machine: &MemoryMachine,
    options: PlanOptions,
) -> Result<PlacementPlan, PlanError> {
    let PlanOptions { objective, cache } = options;
    check_reach(profile, cache.bytes)?;
    let (candidates, others) = candidates(profile, candidate_options(machine, cache));
    if candidates.is_empty() {
        return Err(PlanError::NothingToPlace);
    }
    let threads = threads(&candidates);
    let assumed_threads = machine.takes_threads().then_some(threads);
    let machine = &machine.for_threads(threads);
    let problem = Problem {
        items: candidates.iter().map(|it| item(it, objective)).collect(),
        bins: bins(profile, machine, objective, &candidates),
    };
    if problem.bins.is_empty() {
        let line = profile.granularity.bytes();
        return Err(no_gain(machine, objective, (assumed_threads, line)));
    }
    let gainless = gainless(machine, &problem);
    let shares_room = problem.items.iter().any(|item| item.live.is_some());
    let nodes = if shares_room { NODES_OF_LIVES } else { NODES };
    let best = optimum::solve(&problem, nodes);
    let phases = phases::phases(&PhaseInput {
        profile,
        machine,
        objective,
        cache,
        candidates: &candidates,
        problem: &problem,
        whole: &best.choice,
    });
    let objects = placed(&problem, candidates, &best, machine, &gainless);
    let tiers = uses(&objects, machine.tiers.len(), &problem, &best);
    let rules = rules(&problem);
    let misses = tiers.iter().map(|tier| tier.misses);
    Ok(PlacementPlan {
        machine: machine.clone(),
        assumed_threads,
        objective,
        cache,
        accesses: profile.histogram.accesses(),
        misses: misses.fold(others.misses, u64::saturating_add),
        footprint: Items(profile.histogram.cold()).bytes(profile.granularity),
        gainless,
        others,
        tiers,
        objects,
        best,
        rules,
        phases,
        has_data: profile.method.placement.is_some(),
        problem,
    })
}

/// What is taken for a candidate on this machine.
pub(crate) fn candidate_options(machine: &MemoryMachine, cache: CacheSize) -> CandidateOptions {
    let fast = machine.tiers[0].capacity;
    CandidateOptions {
        cache,
        by_pages: machine.is_paged(),
        most_chunk: fast.map(|bytes| Bytes(bytes.get() / CHUNKS_OF_FAST)),
    }
}

/// A candidate as numbers.
pub(crate) fn item(candidate: &Candidate, objective: Objective) -> ProblemItem {
    ProblemItem {
        bytes: candidate.bytes,
        weight: objective.weight(candidate),
        owner: candidate.owner(),
        frequency: candidate.accesses as f64,
        live: candidate.live,
    }
}

/// Fails if the distances of the profile end before the cache does.
fn check_reach(profile: &Profile, cache: Bytes) -> Result<(), PlanError> {
    let reach = profile.method.max_distance.map(Items);
    match reach.map(|reach| reach.bytes(profile.granularity)) {
        Some(reach) if cache > reach => Err(PlanError::Reach { cache, reach }),
        _ => Ok(()),
    }
}

/// What each rule chooses.
fn rules(problem: &Problem) -> Vec<RuleResult> {
    let rules = RULES.iter().map(|rule| {
        let choice = (rule.place)(problem);
        RuleResult {
            name: rule.name,
            summary: rule.summary,
            value: problem.value(&choice),
            placed: choice.iter().flatten().count(),
            bytes: problem.used(&choice).iter().sum(),
        }
    });
    rules.collect()
}

/// The fast memories of the machine, by falling gain: one for each tier, and for a tier of cores
/// one for each thread that has objects of its own. A machine is taken to have a core for each
/// thread.
pub(crate) fn bins(
    profile: &Profile,
    machine: &MemoryMachine,
    objective: Objective,
    candidates: &[Candidate],
) -> Vec<ProblemBin> {
    let mut threads: Vec<u32> = candidates.iter().filter_map(Candidate::owner).collect();
    threads.sort_unstable();
    threads.dedup();
    let line = profile.granularity.bytes();
    let mut bins = Vec::new();
    for (tier, known) in machine.tiers.iter().enumerate() {
        let gain = objective.gain(machine, known, line);
        let Some(capacity) = known.capacity.filter(|_| gain > 0.0) else {
            continue;
        };
        let bin = |owner| ProblemBin {
            tier,
            bytes: capacity.get(),
            gain,
            owner,
        };
        match known.scope {
            TierScope::Machine => bins.push(bin(None)),
            TierScope::Core => bins.extend(threads.iter().map(|&thread| bin(Some(thread)))),
        }
    }
    bins.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    bins
}

/// The tiers but the last that are in no bin, as they gain nothing.
fn gainless(machine: &MemoryMachine, problem: &Problem) -> Vec<usize> {
    let in_bin = |tier: &usize| problem.bins.iter().any(|bin| bin.tier == *tier);
    // Of a core's tier there are only bins if there are threads with objects of their own.
    let is_shared = |tier: &usize| machine.tiers[*tier].scope == TierScope::Machine;
    let tiers = 0..machine.tiers.len() - 1;
    tiers
        .filter(|tier| is_shared(tier) && !in_bin(tier))
        .collect()
}

/// The number of threads that access what can be placed.
fn threads(candidates: &[Candidate]) -> usize {
    let threads = candidates.iter().flat_map(|it| it.by_thread.iter());
    let threads: BTreeSet<u32> = threads.map(|(thread, _)| *thread).collect();
    threads.len()
}

/// `assumed`: the threads that the parallelism was taken from, if nothing states it.
fn no_gain(
    machine: &MemoryMachine,
    objective: Objective,
    (assumed, line): (Option<usize>, u64),
) -> PlanError {
    let least = least_parallelism(machine, line).filter(|_| objective == Objective::Time);
    let why = match least {
        Some((least, tier)) => format!(
            "with {} at a time{} one costs no less there; {} gains from {least} on: add --parallelism \
             {least} if so many wait at the same time, or take --objective misses",
            counted(machine.parallelism_of(1) as u64, "miss", "misses"),
            assumed.map_or_else(String::new, |threads| format!(
                " ({LINE_FILL_BUFFERS} line-fill buffers for each of {})",
                counted(threads as u64, "thread", "threads")
            )),
            tier.name
        ),
        None => "their latency and bandwidth are no better; check them in the machine file".into(),
    };
    PlanError::NoGain {
        machine: machine.name.clone(),
        slowest: machine.slowest().name.clone(),
        objective,
        why,
    }
}

/// The objects with their tiers, by falling F.
fn placed(
    problem: &Problem,
    candidates: Vec<Candidate>,
    best: &Optimum,
    machine: &MemoryMachine,
    gainless: &[usize],
) -> Vec<Placed> {
    let slowest = machine.tiers.len() - 1;
    let fits_gainless = |bytes: u64| {
        let mut tiers = gainless.iter().map(|&tier| &machine.tiers[tier]);
        tiers.any(|tier| {
            tier.capacity
                .is_some_and(|capacity| bytes <= capacity.get())
        })
    };
    let reason = |item: usize| {
        let known = &problem.items[item];
        let bins = problem.bins.iter().enumerate();
        let fits = bins
            .into_iter()
            .any(|(bin, room)| known.bytes <= room.bytes && problem.takes(bin, item));
        match best.choice[item] {
            Some(_) => Reason::Placed,
            None if known.weight == 0.0 => Reason::Cached,
            None if !fits && fits_gainless(known.bytes) => Reason::NoGain,
            None if !fits => Reason::TooLarge,
            None => Reason::NoRoom,
        }
    };
    let mut placed: Vec<Placed> = candidates
        .into_iter()
        .enumerate()
        .map(|(item, candidate)| {
            let bin = best.choice[item].map(|bin| &problem.bins[bin]);
            Placed {
                candidate,
                tier: bin.map_or(slowest, |bin| bin.tier),
                core_of: bin.and_then(|bin| bin.owner),
                reason: reason(item),
            }
        })
        .collect();
    placed.sort_by(|a, b| {
        let (a, b) = (&a.candidate, &b.candidate);
        let by_frequency = b.frequency().total_cmp(&a.frequency());
        by_frequency.then(a.object.cmp(&b.object))
    });
    placed
}

fn uses(objects: &[Placed], tiers: usize, problem: &Problem, best: &Optimum) -> Vec<TierUse> {
    let mut uses = vec![TierUse::default(); tiers];
    for object in objects {
        let tier = &mut uses[object.tier];
        tier.objects += 1;
        tier.bytes = tier.bytes.saturating_add(object.candidate.bytes);
        tier.accesses = tier.accesses.saturating_add(object.candidate.accesses);
        tier.misses = tier.misses.saturating_add(object.candidate.misses);
    }
    for (bin, used) in problem.bins.iter().zip(problem.used(&best.choice)) {
        uses[bin.tier].peak = uses[bin.tier].peak.saturating_add(used);
    }
    if let Some(last) = uses.last_mut() {
        last.peak = last.bytes;
    }
    uses
}
