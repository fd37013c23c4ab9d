//! [`worth_elsewhere`]: what a plan that was made for one run is worth in another run.

use reuselens_profile::{FileOffset, Frame, Object, ObjectKind, Profile};
use reuselens_units::Bytes;

use crate::candidate::{Candidate, candidates};
use crate::objective::Objective;
use crate::plan::{
    Placed, PlacementPlan, PlanError, PlanOptions, Reason, bins, candidate_options, item, plan,
};
use crate::problem::{Filling, Problem};

/// A plan in a run that it was not made for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransferredPlan {
    /// What the plan is worth in the run, by the plan's objective: of its objects, those that fit.
    pub value: f64,
    /// What the run's own best plan is worth.
    pub best: f64,
}

impl TransferredPlan {
    /// The share of the best plan's worth that is lost, from 0 to 1.
    pub fn regret(&self) -> f64 {
        if self.best > 0.0 {
            (1.0 - self.value / self.best).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

/// What makes an object of one run that of another.
type Identity<'a> = (ObjectKind, &'a str, &'a [Frame], Option<&'a [FileOffset]>);

fn identity(object: &Object) -> Identity<'_> {
    let origin = object.origins.first().map(Vec::as_slice);
    let place = origin.filter(|_| object.kind == ObjectKind::Static);
    (object.kind, &object.name, &object.path, place)
}

/// What `planned`, a plan for the profile `of`, is worth in `run` on the same machine.
///
/// The objects of the plan go to their tiers, those with the most worth for each byte first, as far
/// as there is room: sizes in `run` may be others. A row of `run` belongs to an object of the plan
/// by kind, name and call path, and is in its tier if the plan has at least half of its bytes.
///
/// # Errors
/// As [`plan`], if `run` has no plan on the machine.
pub fn worth_elsewhere(
    planned: &PlacementPlan,
    of: &Profile,
    run: &Profile,
) -> Result<TransferredPlan, PlanError> {
    let (machine, objective, cache) = (&planned.machine, planned.objective, planned.cache);
    let own = plan(run, machine, PlanOptions { objective, cache })?;
    let mut options = candidate_options(machine, cache);
    // Each chunk of the profile by itself.
    options.most_chunk = options.most_chunk.map(|_| Bytes(1));
    let (rows, _) = candidates(run, options);
    let problem = Problem {
        items: rows.iter().map(|row| item(row, objective)).collect(),
        bins: bins(run, machine, objective, &rows),
    };
    let mut filling = Filling::new(&problem);
    for placed in by_density(planned, objective) {
        let wanted = identity(&of.objects[placed.candidate.object]);
        for (at, row) in rows.iter().enumerate() {
            if identity(&run.objects[row.object]) == wanted && has_half(&placed.candidate, row) {
                let of_tier = |bin: &usize| problem.bins[*bin].tier == placed.tier;
                let mut bins = (0..problem.bins.len()).filter(of_tier);
                let bin = bins.find(|&bin| problem.takes(bin, at));
                if let Some(bin) = bin {
                    filling.put(bin, at);
                }
            }
        }
    }
    Ok(TransferredPlan {
        value: problem.value(&filling.finish()),
        best: own.best.value,
    })
}

/// The objects in fast tiers, those with the most worth for each byte first.
fn by_density(planned: &PlacementPlan, objective: Objective) -> Vec<&Placed> {
    let objects = planned.objects.iter();
    let mut placed: Vec<&Placed> = objects
        .filter(|object| object.reason == Reason::Placed)
        .collect();
    let density = |object: &Placed| {
        objective.weight(&object.candidate) / object.candidate.bytes.max(1) as f64
    };
    placed.sort_by(|a, b| density(b).total_cmp(&density(a)));
    placed
}

/// Whether a planned object has at least half of the bytes of a row of the same object.
fn has_half(planned: &Candidate, row: &Candidate) -> bool {
    if planned.parts.is_empty() {
        return true;
    }
    let whole = [(0, row.bytes)];
    let parts = match row.parts[..] {
        [] => &whole[..],
        _ => &row.parts,
    };
    let shared = |one: &(u64, u64), other: &(u64, u64)| {
        one.1.min(other.1).saturating_sub(one.0.max(other.0))
    };
    let bytes: u64 = parts.iter().map(|part| part.1 - part.0).sum();
    let both = parts.iter();
    let both: u64 = both
        .flat_map(|part| planned.parts.iter().map(move |other| shared(part, other)))
        .sum();
    2 * both >= bytes
}
