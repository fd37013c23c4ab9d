//! [`placement_json`]: a plan as JSON, schema `reuselens-placement/1`.

use reuselens_placement::{ContextUse, Phase, PhaseVerdict, Placed, PlacementPlan, Reason};
use serde::Serialize;

use super::phases::{advice_word, verdict_word};
use super::prediction::{IntervalsJson, PredictionJson};
use super::{PlacementPrediction, PlacementReport, calls};
use crate::json::to_text;

/// The name and version of the schema. Fields may be added to it; none is renamed.
pub const PLACEMENT_SCHEMA: &str = "reuselens-placement/1";

/// What misses are, and how many wait at the same time.
#[derive(Serialize)]
struct MissesJson {
    cache_bytes: u64,
    cache_ways: u32,
    parallelism: f64,
}

impl MissesJson {
    fn of(plan: &PlacementPlan) -> MissesJson {
        MissesJson {
            cache_bytes: plan.cache.bytes.get(),
            cache_ways: plan.cache.ways,
            parallelism: plan.machine.parallelism_of(1),
        }
    }
}

#[derive(Serialize)]
struct PlacementDocument<'a> {
    schema: &'static str,
    version: &'static str,
    profile: &'a str,
    machine: &'a str,
    machine_source: &'a str,
    objective: &'static str,
    #[serde(flatten)]
    misses_of: MissesJson,
    accesses: u64,
    misses: u64,
    /// Accesses to what no placement can move.
    stack_accesses: u64,
    unknown_accesses: u64,
    unknown_size_accesses: u64,
    loader_accesses: u64,
    small_static_accesses: u64,
    negligible_accesses: u64,
    /// Bytes of all data that the program accessed.
    footprint_bytes: u64,
    /// What the plan is worth, in accesses (or units of latency with the objective `time`).
    value: f64,
    bound: f64,
    proven: bool,
    tiers: Vec<TierJson<'a>>,
    rules: Vec<RuleJson>,
    objects: Vec<PlacedJson<'a>>,
    /// Whether the profile has chunks, lifetimes and footprints.
    placement_data: bool,
    /// Contexts with 5 % of the accesses at least, each after its caller.
    contexts: Vec<ContextJson<'a>>,
    /// The leaves among them, if there are several.
    phases: Vec<PhaseJson<'a>>,
    /// Accesses that are in no phase.
    outside_phases: u64,
    /// How the profile was predicted; null for one that was measured.
    prediction: Option<PredictionJson<'a>>,
}

#[derive(Serialize)]
struct ContextJson<'a> {
    context: usize,
    function: &'a str,
    /// The calls that led to it, the innermost first.
    calls: Vec<String>,
    depth: usize,
    accesses: u64,
    misses: u64,
    footprint_bytes: Option<u64>,
    entries: Option<u64>,
    advice: &'static str,
    is_phase: bool,
}

#[derive(Serialize)]
struct PhaseJson<'a> {
    context: usize,
    function: &'a str,
    calls: Vec<String>,
    accesses: u64,
    entries: Option<u64>,
    value_of_plan: f64,
    value_of_own: f64,
    moved_bytes: u64,
    /// Of all entries, in the unit of the values; null if unknown.
    moving_cost: Option<f64>,
    verdict: &'static str,
    /// For `do_not_move`: moving would pay with this number of entries, or with as many times the
    /// accesses in each.
    break_even_entries: Option<u64>,
    break_even_times_accesses: Option<f64>,
    placed: Vec<PhaseObjectJson<'a>>,
}

#[derive(Serialize)]
struct PhaseObjectJson<'a> {
    name: &'a str,
    tier: &'a str,
}

#[derive(Serialize)]
struct TierJson<'a> {
    name: &'a str,
    /// Null for a last tier that holds all.
    capacity_bytes: Option<u64>,
    used_bytes: u64,
    /// The most bytes that are live at one time.
    peak_bytes: u64,
    objects: usize,
    accesses: u64,
    misses: u64,
}

#[derive(Serialize)]
struct RuleJson {
    name: &'static str,
    value: f64,
    objects: usize,
    bytes: u64,
}

#[derive(Serialize)]
struct PlacedJson<'a> {
    /// From 1.
    rank: usize,
    name: &'a str,
    path: Vec<String>,
    bytes: u64,
    /// The parts of each block that this row is; empty for all of it.
    chunks: &'a [(u64, u64)],
    /// The accesses of the run before its first allocation and its last free; null if it is live
    /// all the time, or that is not known.
    live: Option<(u64, u64)>,
    blocks: u64,
    accesses: u64,
    stores: u64,
    misses: u64,
    f: f64,
    by_thread: Vec<ThreadAccesses>,
    tier: &'a str,
    /// The thread whose core's memory the tier is; null for memory of the machine.
    core_of: Option<u32>,
    reason: &'static str,
    /// The intervals of what was predicted; null for a profile that was measured.
    predicted: Option<IntervalsJson>,
}

#[derive(Serialize)]
struct ThreadAccesses {
    thread: u32,
    accesses: u64,
}

/// A plan as JSON. Ends with a line break.
pub fn placement_json(report: &PlacementReport) -> String {
    let PlacementReport {
        name: profile,
        plan,
        prediction,
        ..
    } = *report;
    to_text(&PlacementDocument {
        schema: PLACEMENT_SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        profile,
        machine: &plan.machine.name,
        machine_source: plan.machine.source.trim(),
        objective: plan.objective.name(),
        misses_of: MissesJson::of(plan),
        accesses: plan.accesses,
        misses: plan.misses,
        stack_accesses: plan.others.stack,
        unknown_accesses: plan.others.unknown,
        unknown_size_accesses: plan.others.no_size,
        loader_accesses: plan.others.loader.accesses,
        small_static_accesses: plan.others.small.accesses,
        negligible_accesses: plan.others.negligible.accesses,
        footprint_bytes: plan.footprint.get(),
        value: plan.best.value,
        bound: plan.best.bound,
        proven: plan.best.is_proven,
        tiers: tiers(plan),
        rules: plan
            .rules
            .iter()
            .map(|rule| RuleJson {
                name: rule.name,
                value: rule.value,
                objects: rule.placed,
                bytes: rule.bytes,
            })
            .collect(),
        objects: plan
            .objects
            .iter()
            .enumerate()
            .map(|(rank, placed)| PlacedJson {
                predicted: prediction.and_then(|it| it.intervals_json(placed)),
                ..placed_json(plan, rank, placed)
            })
            .collect(),
        prediction: prediction.map(PlacementPrediction::json),
        placement_data: plan.has_data,
        contexts: plan.phases.contexts.iter().map(context_json).collect(),
        phases: plan
            .phases
            .phases
            .iter()
            .map(|phase| phase_json(plan, phase))
            .collect(),
        outside_phases: plan.phases.outside,
    })
}

fn context_json(context: &ContextUse) -> ContextJson<'_> {
    ContextJson {
        context: context.context,
        function: &context.function,
        calls: calls(&context.calls).collect(),
        depth: context.depth,
        accesses: context.accesses,
        misses: context.misses,
        footprint_bytes: context.footprint.map(|bytes| bytes.get()),
        entries: context.entries,
        advice: advice_word(context.advice),
        is_phase: context.is_phase,
    }
}

fn phase_json<'a>(plan: &'a PlacementPlan, phase: &'a Phase) -> PhaseJson<'a> {
    let break_even = match phase.verdict {
        PhaseVerdict::DoNotMove {
            most_entries,
            times_accesses,
        } => Some((most_entries, times_accesses)),
        _ => None,
    };
    let object = |&(object, tier): &(usize, usize)| {
        let mut objects = plan.objects.iter();
        let placed = objects.find(|placed| placed.candidate.object == object)?;
        let (name, tier) = (&placed.candidate.name, &plan.machine.tiers[tier].name);
        Some(PhaseObjectJson { name, tier })
    };
    PhaseJson {
        context: phase.context,
        function: &phase.function,
        calls: calls(&phase.calls).collect(),
        accesses: phase.accesses,
        entries: phase.entries,
        value_of_plan: phase.value_whole,
        value_of_own: phase.value_own,
        moved_bytes: phase.moved.get(),
        moving_cost: phase.cost,
        verdict: verdict_word(phase.verdict),
        break_even_entries: break_even.map(|(entries, _)| entries),
        break_even_times_accesses: break_even.map(|(_, times)| times),
        placed: phase.placed.iter().filter_map(object).collect(),
    }
}

fn tiers(plan: &PlacementPlan) -> Vec<TierJson<'_>> {
    let tiers = plan.machine.tiers.iter().zip(&plan.tiers);
    tiers
        .map(|(tier, used)| TierJson {
            name: &tier.name,
            capacity_bytes: tier.capacity.map(|size| size.get()),
            used_bytes: used.bytes,
            peak_bytes: used.peak,
            objects: used.objects,
            accesses: used.accesses,
            misses: used.misses,
        })
        .collect()
}

fn placed_json<'a>(plan: &'a PlacementPlan, rank: usize, placed: &'a Placed) -> PlacedJson<'a> {
    let object = &placed.candidate;
    PlacedJson {
        rank: rank + 1,
        name: &object.name,
        path: calls(&object.path).collect(),
        bytes: object.bytes,
        chunks: &object.parts,
        live: object.live,
        blocks: object.blocks,
        accesses: object.accesses,
        stores: object.stores,
        misses: object.misses,
        f: object.frequency(),
        by_thread: object
            .by_thread
            .iter()
            .map(|&(thread, accesses)| ThreadAccesses { thread, accesses })
            .collect(),
        tier: &plan.machine.tiers[placed.tier].name,
        core_of: placed.core_of,
        predicted: None,
        reason: match placed.reason {
            Reason::Placed => "placed",
            Reason::Cached => "cached",
            Reason::TooLarge => "too_large",
            Reason::NoRoom => "no_room",
            Reason::NoGain => "no_gain",
        },
    }
}
