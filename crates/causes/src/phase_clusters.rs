//! Which intervals of a run are alike: its phases.
//!
//! As in *phase tracking* (Sherwood, Sair and Calder, *Phase tracking and prediction*, ISCA 2003),
//! each interval has a vector, and belongs to the phase with the nearest one by Manhattan distance,
//! or begins a new phase if none is near enough. There a vector counts basic blocks; here it is the
//! misses of each object per access of the interval, so that intervals are alike if the same
//! objects miss equally often.
//!
//! The distance of two vectors is relative: `Σ |aᵢ − bᵢ| / max(Σ aᵢ, Σ bᵢ, 1/100)`, from 0 to 2.
//! An interval is in the phase if that is at most 1/2: half of the misses are others, or twice as
//! many. Below a miss in a hundred accesses differences count less and less. A phase's vector is
//! that of all its intervals together.
//!
//! - Where that makes more than 16 phases, the limit of 1/2 is raised by half, until it does not.
//! - A phase with less than 1/64 of the accesses is a transition between others: each of its
//!   intervals goes to the nearest phase that has more, if there is one.
//!
//! Phases are numbered by their first interval. The result depends on the intervals alone.

use std::collections::BTreeMap;

use reuselens_locality::{ObjectMisses, RunPhase};

/// Misses by object, ascending by object, none twice.
pub(crate) type IntervalMisses = Vec<(u32, u64)>;

/// The distance up to which an interval belongs to a phase.
const NEAR: f64 = 0.5;
/// What that is multiplied with where there are too many phases.
const WIDER: f64 = 1.5;
/// Most phases.
const MOST_PHASES: usize = 16;
/// Phases with less than this part of the accesses are transitions.
const TRANSITION: u64 = 64;
/// Misses per access below which differences are small.
const FEW: f64 = 0.01;

/// What clustering takes of an interval.
pub(crate) struct IntervalCounts<'a> {
    pub accesses: u64,
    pub misses: u64,
    pub objects: &'a IntervalMisses,
}

/// A phase in the making.
#[derive(Clone, Debug, Default)]
struct Cluster {
    accesses: u64,
    misses: u64,
    objects: BTreeMap<u32, u64>,
}

impl Cluster {
    fn add(&mut self, interval: &IntervalCounts) {
        self.accesses += interval.accesses;
        self.misses += interval.misses;
        for (object, misses) in interval.objects {
            *self.objects.entry(*object).or_default() += misses;
        }
    }

    /// The distance of an interval.
    fn distance(&self, interval: &IntervalCounts) -> f64 {
        let ratio = |misses: u64, accesses: u64| misses as f64 / accesses.max(1) as f64;
        let of_phase = |misses| ratio(misses, self.accesses);
        let of_interval = |misses| ratio(misses, interval.accesses);
        // All that the phase has, and what the differences are from that.
        let mut sum: f64 = self.objects.values().map(|&misses| of_phase(misses)).sum();
        for (object, misses) in interval.objects {
            let phase = of_phase(self.objects.get(object).copied().unwrap_or(0));
            sum += (phase - of_interval(*misses)).abs() - phase;
        }
        let largest = of_phase(self.misses).max(of_interval(interval.misses));
        // Rounding can make a sum of zeros negative.
        sum.max(0.0) / largest.max(FEW)
    }

    fn phase(&self) -> RunPhase {
        let of_object = |(&object, &misses): (&u32, &u64)| ObjectMisses { object, misses };
        let mut objects: Vec<ObjectMisses> = self.objects.iter().map(of_object).collect();
        objects.sort_by_key(|it| (u64::MAX - it.misses, it.object));
        objects.truncate(RunPhase::OBJECTS);
        RunPhase {
            accesses: self.accesses,
            misses: self.misses,
            objects,
        }
    }
}

/// The phase of each interval, and the phases.
pub(crate) fn clusters(intervals: &[IntervalCounts]) -> (Vec<u32>, Vec<RunPhase>) {
    let mut near = NEAR;
    let mut found = by_distance(intervals, near);
    while found.1.len() > MOST_PHASES {
        near *= WIDER;
        found = by_distance(intervals, near);
    }
    let (mut numbers, clusters) = found;
    let all: u64 = intervals.iter().map(|interval| interval.accesses).sum();
    let is_long = |number: usize| clusters[number].accesses >= all.div_ceil(TRANSITION);
    for (number, interval) in numbers.iter_mut().zip(intervals) {
        if !is_long(*number) {
            let long = (0..clusters.len()).filter(|other| is_long(*other));
            *number = nearest(&clusters, long, interval).map_or(*number, |(_, other)| other);
        }
    }
    renumbered(&numbers, intervals)
}

/// Groups intervals in their order.
fn by_distance(intervals: &[IntervalCounts], near: f64) -> (Vec<usize>, Vec<Cluster>) {
    let mut clusters: Vec<Cluster> = Vec::new();
    let place = |interval: &IntervalCounts| {
        let found = nearest(&clusters, 0..clusters.len(), interval);
        let number = match found.filter(|(distance, _)| *distance <= near) {
            Some((_, number)) => number,
            None => {
                clusters.push(Cluster::default());
                clusters.len() - 1
            }
        };
        clusters[number].add(interval);
        number
    };
    let numbers = intervals.iter().map(place).collect();
    (numbers, clusters)
}

/// The nearest of some clusters, the first of equally near ones, and its distance.
fn nearest(
    clusters: &[Cluster],
    among: impl Iterator<Item = usize>,
    interval: &IntervalCounts,
) -> Option<(f64, usize)> {
    let distances = among.map(|number| (clusters[number].distance(interval), number));
    distances.min_by(|one, other| one.0.total_cmp(&other.0))
}

/// Numbers phases by their first interval, and adds their intervals up.
fn renumbered(numbers: &[usize], intervals: &[IntervalCounts]) -> (Vec<u32>, Vec<RunPhase>) {
    let mut order: Vec<usize> = Vec::new();
    let mut clusters: Vec<Cluster> = Vec::new();
    let mut place = |(number, interval): (&usize, &IntervalCounts)| {
        let known = order.iter().position(|other| other == number);
        let index = known.unwrap_or(order.len());
        if index == order.len() {
            order.push(*number);
            clusters.push(Cluster::default());
        }
        clusters[index].add(interval);
        index as u32
    };
    let renumbered = numbers.iter().zip(intervals).map(&mut place).collect();
    (renumbered, clusters.iter().map(Cluster::phase).collect())
}
