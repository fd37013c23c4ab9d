//! What a plan would be worth with other capacities of the fastest tier.

use reuselens_units::Bytes;

use crate::optimum;
use crate::plan::PlacementPlan;

/// Number of capacities.
const POINTS: u32 = 20;
/// The smallest is the bytes of all objects, halved so many times.
const HALVINGS: f64 = 10.0;
/// Branches that are looked at for a capacity.
const POINT_NODES: u64 = 100_000;

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapacityPoint {
    /// The capacity of the fastest tier.
    pub capacity: Bytes,
    /// What the best plan is worth, in the objective's unit.
    pub value: f64,
    /// No plan is worth more.
    pub bound: f64,
}

/// What the best plan is worth for some twenty capacities of the fastest tier, ascending from a
/// thousandth of all data to all of it; all else is as in `plan`.
///
/// Cost: a search for each, of 100,000 branches at most.
pub fn capacity_curve(plan: &PlacementPlan) -> Vec<CapacityPoint> {
    let items = plan.problem.items.iter();
    let all = items
        .fold(0_u64, |sum, item| sum.saturating_add(item.bytes))
        .max(1);
    let capacity = |point: u32| {
        let halvings = HALVINGS * (1.0 - f64::from(point) / f64::from(POINTS - 1));
        (all as f64 / halvings.exp2()) as u64
    };
    let mut points: Vec<CapacityPoint> = Vec::new();
    for point in 0..POINTS {
        // Rounding must not lose the last byte.
        let bytes = if point == POINTS - 1 {
            all
        } else {
            capacity(point)
        };
        let mut problem = plan.problem.clone();
        for bin in problem
            .bins
            .iter_mut()
            .filter(|bin| bin.tier == plan.fastest())
        {
            bin.bytes = bytes;
        }
        let best = optimum::solve(&problem, POINT_NODES);
        // What fits into less fits into more; a search that stopped early may have missed that.
        let least = points.last().map_or(0.0, |point| point.value);
        points.push(CapacityPoint {
            capacity: Bytes(bytes),
            value: best.value.max(least),
            bound: best.bound.max(least),
        });
    }
    points
}
