//! [`placement_json`]: a plan as JSON, schema `reuselens-placement/1`.

use reuselens_placement::{Placed, PlacementPlan, Reason};
use serde::Serialize;

use super::calls;
use crate::json::to_text;

/// The name and version of the schema. Fields may be added to it; none is renamed.
pub const PLACEMENT_SCHEMA: &str = "reuselens-placement/1";

#[derive(Serialize)]
struct PlacementDocument<'a> {
    schema: &'static str,
    version: &'static str,
    profile: &'a str,
    machine: &'a str,
    machine_source: &'a str,
    objective: &'static str,
    cache_bytes: u64,
    accesses: u64,
    misses: u64,
    /// Accesses to what no placement can move.
    stack_accesses: u64,
    unknown_accesses: u64,
    unknown_size_accesses: u64,
    /// What the plan is worth, in accesses (or units of latency with the objective `time`).
    value: f64,
    bound: f64,
    proven: bool,
    tiers: Vec<TierJson<'a>>,
    rules: Vec<RuleJson>,
    objects: Vec<PlacedJson<'a>>,
}

#[derive(Serialize)]
struct TierJson<'a> {
    name: &'a str,
    /// Null for a last tier that holds all.
    capacity_bytes: Option<u64>,
    used_bytes: u64,
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
    rank: usize,
    name: &'a str,
    path: Vec<String>,
    bytes: u64,
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
}

#[derive(Serialize)]
struct ThreadAccesses {
    thread: u32,
    accesses: u64,
}

/// The plan for the profile of that name as JSON. Ends with a line break.
pub fn placement_json(profile: &str, plan: &PlacementPlan) -> String {
    to_text(&PlacementDocument {
        schema: PLACEMENT_SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        profile,
        machine: &plan.machine.name,
        machine_source: plan.machine.source.trim(),
        objective: plan.objective.name(),
        cache_bytes: plan.cache.get(),
        accesses: plan.accesses,
        misses: plan.misses,
        stack_accesses: plan.others.stack,
        unknown_accesses: plan.others.unknown,
        unknown_size_accesses: plan.others.no_size,
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
            .map(|(rank, placed)| placed_json(plan, rank, placed))
            .collect(),
    })
}

fn tiers(plan: &PlacementPlan) -> Vec<TierJson<'_>> {
    let tiers = plan.machine.tiers.iter().zip(&plan.tiers);
    tiers
        .map(|(tier, used)| TierJson {
            name: &tier.name,
            capacity_bytes: tier.capacity.map(|size| size.get()),
            used_bytes: used.bytes,
            objects: used.objects,
            accesses: used.accesses,
            misses: used.misses,
        })
        .collect()
}

fn placed_json<'a>(plan: &'a PlacementPlan, rank: usize, placed: &'a Placed) -> PlacedJson<'a> {
    let object = &placed.candidate;
    PlacedJson {
        rank,
        name: &object.name,
        path: calls(&object.path).collect(),
        bytes: object.bytes,
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
        reason: match placed.reason {
            Reason::Placed => "placed",
            Reason::Cached => "cached",
            Reason::TooLarge => "too_large",
            Reason::NoRoom => "no_room",
            Reason::NoGain => "no_gain",
        },
    }
}
