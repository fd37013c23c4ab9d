//! Which intervals of a run are alike: its phases.
//!
//! As in *phase tracking* (Sherwood, Sair and Calder, *Phase tracking and prediction*, ISCA 2003),
//! each interval has a vector, and belongs to the phase with the nearest one by Manhattan distance,
//! or begins a new phase if none is near enough. There a vector counts basic blocks; here it is the
//! misses of each object per access of the interval, so that intervals are alike if the same
//! objects miss equally often.
//!
//! The distance of two vectors is relative, from 0 to 2: `Σ |aᵢ − bᵢ| / max(Σ aᵢ, Σ bᵢ, 1/100)`.
//! An interval is in the phase if that is at most 1/2: up to where a quarter of the misses are of
//! other objects, or there are twice as many. Below a miss in a hundred accesses, differences count
//! less and less. A phase's vector is that of all its intervals together.
//!
//! - Where that makes more than 16 phases, the one with the fewest accesses is joined to the
//!   nearest other one, until there are 16.
//! - A phase with less than 1/64 of the accesses is a transition between others: each of its
//!   intervals goes to the nearest phase that has more, if there is one.
//!
//! Phases are numbered by their first interval. The result depends on the intervals alone.

use reuselens_profile::{ObjectMisses, RunPhase};

/// The distance up to which an interval belongs to a phase.
const NEAR: f64 = 0.5;
/// Most phases.
const MOST_PHASES: usize = 16;
/// Phases with less than this part of the accesses are transitions.
const TRANSITION: u64 = 64;
/// Misses per access below which differences are small.
const FEW: f64 = 0.01;

/// What intervals and phases are compared by.
#[derive(Clone, Debug, Default)]
pub(crate) struct MissVector {
    pub accesses: u64,
    pub misses: u64,
    /// Misses by object, ascending by object, none twice.
    pub objects: Vec<(u32, u64)>,
}

impl MissVector {
    /// Adds another one.
    pub fn add(&mut self, other: &MissVector) {
        self.accesses += other.accesses;
        self.misses += other.misses;
        self.objects.extend_from_slice(&other.objects);
        self.unite();
    }

    /// Sorts misses by object, and adds up those of the same object.
    pub fn unite(&mut self) {
        self.objects.sort_unstable();
        self.objects.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
    }

    fn distance(&self, other: &MissVector) -> f64 {
        let of_self = |misses: u64| misses as f64 / self.accesses.max(1) as f64;
        let of_other = |misses: u64| misses as f64 / other.accesses.max(1) as f64;
        let (mut mine, mut others) = (&self.objects[..], &other.objects[..]);
        let mut sum = 0.0;
        loop {
            let next = |list: &[(u32, u64)]| list.first().map_or(u64::MAX, |it| it.0.into());
            let object = next(mine).min(next(others));
            if object == u64::MAX {
                break;
            }
            let take = |list: &mut &[(u32, u64)]| match list.split_first() {
                Some((first, rest)) if u64::from(first.0) == object => {
                    *list = rest;
                    first.1
                }
                _ => 0,
            };
            sum += (of_self(take(&mut mine)) - of_other(take(&mut others))).abs();
        }
        sum / of_self(self.misses).max(of_other(other.misses)).max(FEW)
    }

    fn phase(&self) -> RunPhase {
        let of_object = |&(object, misses): &(u32, u64)| ObjectMisses { object, misses };
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
pub(crate) fn clusters(intervals: &[MissVector]) -> (Vec<u32>, Vec<RunPhase>) {
    let (mut numbers, mut clusters) = by_distance(intervals);
    let mut left = clusters.len();
    while left > MOST_PHASES {
        join_shortest(&mut numbers, &mut clusters);
        left -= 1;
    }
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
fn by_distance(intervals: &[MissVector]) -> (Vec<usize>, Vec<MissVector>) {
    let mut clusters: Vec<MissVector> = Vec::new();
    let place = |interval: &MissVector| {
        let found = nearest(&clusters, 0..clusters.len(), interval);
        let number = match found.filter(|(distance, _)| *distance <= NEAR) {
            Some((_, number)) => number,
            None => {
                clusters.push(MissVector::default());
                clusters.len() - 1
            }
        };
        clusters[number].add(interval);
        number
    };
    let numbers = intervals.iter().map(place).collect();
    (numbers, clusters)
}

/// Joins the cluster of the fewest accesses, the first of equally short ones, to its nearest. It
/// stays in the list, without accesses.
fn join_shortest(numbers: &mut [usize], clusters: &mut [MissVector]) {
    let left = || (0..clusters.len()).filter(|number| clusters[*number].accesses > 0);
    let Some(shortest) = left().min_by_key(|number| clusters[*number].accesses) else {
        return;
    };
    let others = left().filter(|number| *number != shortest);
    if let Some((_, into)) = nearest(clusters, others, &clusters[shortest]) {
        let joined = std::mem::take(&mut clusters[shortest]);
        clusters[into].add(&joined);
        for number in numbers.iter_mut().filter(|number| **number == shortest) {
            *number = into;
        }
    }
}

/// The nearest of some clusters, the first of equally near ones, and its distance.
fn nearest(
    clusters: &[MissVector],
    among: impl Iterator<Item = usize>,
    interval: &MissVector,
) -> Option<(f64, usize)> {
    let distances = among.map(|number| (clusters[number].distance(interval), number));
    distances.min_by(|one, other| one.0.total_cmp(&other.0))
}

/// Numbers phases by their first interval, and adds their intervals up.
fn renumbered(numbers: &[usize], intervals: &[MissVector]) -> (Vec<u32>, Vec<RunPhase>) {
    let mut order: Vec<usize> = Vec::new();
    let mut clusters: Vec<MissVector> = Vec::new();
    let mut place = |(number, interval): (&usize, &MissVector)| {
        let known = order.iter().position(|other| other == number);
        let index = known.unwrap_or(order.len());
        if index == order.len() {
            order.push(*number);
            clusters.push(MissVector::default());
        }
        clusters[index].add(interval);
        index as u32
    };
    let renumbered = numbers.iter().zip(intervals).map(&mut place).collect();
    (renumbered, clusters.iter().map(MissVector::phase).collect())
}
