//! [`ReuseRoute`]: reuses that miss, of one object, between two lines, with one carrier.

use std::collections::BTreeMap;

use reuselens_locality::FineHistogram;
use reuselens_profile::{Carrier, Cell, CellCauses, MissScope, ObjectKind, ScopeKind};
use reuselens_units::grouped;

use super::{MissFacts, total};

/// Bins of a fine histogram that distances of one pattern fall into: a quarter of an octave, as
/// distances of one loop vary by what other data the loop accesses.
const QUARTER: usize = 4;
/// Bins of an octave.
const OCTAVE: usize = 16;

/// Reuses that miss. Instructions of one line are one.
#[derive(Clone, Debug)]
pub(crate) struct ReuseRoute<'a> {
    /// The line of the access before, for people; `None` if it is not known.
    pub source: Option<String>,
    /// The line of the access that misses.
    pub sink: Option<String>,
    /// The object.
    pub object: u32,
    /// What carries the reuses.
    pub carrier: Carrier,
    /// The loop or function of the carrier; `None` if the accesses are of different threads.
    pub scope: Option<&'a MissScope>,
    /// The carrier for people: `the loop at matmul.c:35`, `the function solve`.
    pub scope_words: String,
    /// Reuses that miss.
    pub misses: u64,
    /// Sum of their distances in items.
    pub distance_sum: u64,
    /// The sites that miss.
    pub sinks: Vec<u32>,
    /// The sites of the accesses before.
    pub sources: Vec<u32>,
    /// Whether the access before is always of an instruction that misses here.
    pub is_same_place: bool,
}

/// What the accesses of a route's sinks to its object are, hits included.
#[derive(Clone, Debug, Default)]
pub(crate) struct SinkSums {
    pub accesses: u64,
    pub histogram: FineHistogram,
    pub causes: CellCauses,
}

impl SinkSums {
    /// The share of the bytes of their fills that are used; 1 where there are none.
    pub fn utilisation(&self, line: u64) -> f64 {
        self.causes.utilisation(line).unwrap_or(1.0)
    }
}

impl<'a> MissFacts<'a> {
    /// The reuses that miss, with those of the instructions of two lines as one, the most misses
    /// first.
    pub(super) fn united_routes(&self) -> Vec<ReuseRoute<'a>> {
        let mut routes = BTreeMap::new();
        for reuse in &self.causes.carried {
            let (source, sink) = (self.site_line(reuse.source), self.site_line(reuse.sink));
            // Without lines, instructions are places by themselves.
            let unknown = |site, line: &Option<String>| line.is_none().then_some(site);
            let apart = (unknown(reuse.source, &source), unknown(reuse.sink, &sink));
            let object = self.object_of(reuse.object);
            let is_same_place = source == sink && apart.0 == apart.1;
            let key = (source.clone(), sink.clone(), apart, object, reuse.carrier);
            let scope = self.scope(reuse.carrier);
            let route = routes.entry(key).or_insert_with(|| ReuseRoute {
                source,
                sink,
                object,
                carrier: reuse.carrier,
                scope,
                scope_words: self.scope_words(scope),
                misses: 0,
                distance_sum: 0,
                sinks: Vec::new(),
                sources: Vec::new(),
                is_same_place,
            });
            route.misses = route.misses.saturating_add(reuse.misses);
            route.distance_sum = route.distance_sum.saturating_add(reuse.distance_sum);
            for (sites, site) in [
                (&mut route.sinks, reuse.sink),
                (&mut route.sources, reuse.source),
            ] {
                if !sites.contains(&site) {
                    sites.push(site);
                }
            }
        }
        let mut routes: Vec<ReuseRoute<'a>> = routes.into_values().collect();
        // Stable, and they were in the order of what they are of.
        routes.sort_by_key(|route| std::cmp::Reverse(route.misses));
        routes
    }

    fn scope(&self, carrier: Carrier) -> Option<&'a MissScope> {
        match carrier {
            Carrier::Threads | Carrier::Others => None,
            Carrier::Scope(scope) | Carrier::Iteration(scope) => {
                self.causes.scopes.get(scope as usize)
            }
        }
    }

    fn scope_words(&self, scope: Option<&MissScope>) -> String {
        match scope {
            Some(scope) => scope.words(&self.paths),
            None => "another thread".to_owned(),
        }
    }

    /// Whether a loop carries a reuse of the memory alone: of local variables of a function that
    /// the loop calls, which are other variables in each iteration.
    pub fn is_new_in_each_iteration(&self, route: &ReuseRoute<'_>) -> bool {
        let object = self.object(route.object);
        let own = object
            .name
            .rsplit_once(" in ")
            .map(|(_, function)| function);
        let (Some(own), Some(scope)) = (own, route.scope) else {
            return false;
        };
        object.kind == ObjectKind::Stack && own != scope.frame.function
    }

    /// Whether both ends of a route are code that the user can change.
    pub fn is_of_own_code(&self, route: &ReuseRoute<'_>) -> bool {
        let mut ends = route.sources.iter().chain(&route.sinks);
        ends.all(|site| self.is_own(*site))
    }

    /// Whether only the system's libraries miss, as where a vector that grows is copied.
    pub fn is_of_system(&self, route: &ReuseRoute<'_>) -> bool {
        route.sinks.iter().all(|site| self.is_system(*site))
    }

    /// Whether a cell is of a route's sinks and object.
    pub fn is_sink(&self, route: &ReuseRoute<'_>, cell: &Cell) -> bool {
        self.object_of(cell.object) == route.object && route.sinks.contains(&cell.site)
    }

    /// The sums of a route's sinks. Cost: linear in the cells.
    pub fn sink_sums(&self, route: &ReuseRoute<'_>) -> SinkSums {
        let mut sums = SinkSums::default();
        let cells = self.profile.cells.iter();
        for cell in cells.filter(|cell| self.is_sink(route, cell)) {
            sums.accesses = sums.accesses.saturating_add(cell.histogram.accesses());
            sums.histogram.merge(&cell.histogram);
            sums.causes.merge(&cell.causes);
        }
        sums
    }
}

impl ReuseRoute<'_> {
    /// Mean distance in items.
    pub fn mean_distance(&self) -> u64 {
        self.distance_sum / self.misses.max(1)
    }

    /// Whether a loop carries the reuses from iteration to iteration.
    pub fn is_carried_by_loop(&self) -> bool {
        let is_loop = self
            .scope
            .is_some_and(|scope| scope.kind == ScopeKind::Loop);
        matches!(self.carrier, Carrier::Scope(_)) && is_loop
    }

    /// Whether the accesses are in different loops or calls that run one after the other.
    pub fn is_between_passes(&self) -> bool {
        let is_function = self
            .scope
            .is_some_and(|scope| scope.kind == ScopeKind::Function);
        match self.carrier {
            Carrier::Iteration(_) => true,
            Carrier::Scope(_) => is_function,
            Carrier::Threads | Carrier::Others => false,
        }
    }

    /// The mean distance for people, in the bytes of the lines between the two accesses.
    pub fn distance_words(&self, line: u64) -> String {
        let items = self.mean_distance();
        let bytes = reuselens_units::Bytes(items.saturating_mul(line));
        format!("{} other lines ({bytes})", grouped(items))
    }
}

/// The largest share of the finite distances that miss which are within a quarter of an octave of
/// each other, from 0 to 1. Loops over arrays have distances that are nearly equal; accesses to
/// random elements have all distances up to the size of the data equally often.
pub(crate) fn regularity(histogram: &FineHistogram, items: u64) -> f64 {
    best_share(histogram, items, QUARTER)
}

/// The largest share of the finite distances from half of the cache on which are within an octave
/// of each other, from 0 to 1. Between two passes the distance shrinks from the data of the first
/// one to that of the second, so that few are nearly equal. Of accesses to random elements of data
/// of up to three times the cache at most two thirds are.
pub(crate) fn octave_share(histogram: &FineHistogram, items: u64) -> f64 {
    best_share(histogram, items / 2, OCTAVE)
}

/// The largest share of the finite distances from `least` on that are in so many bins in a row.
fn best_share(histogram: &FineHistogram, least: u64, width: usize) -> f64 {
    let mut bins = vec![0_u64; FineHistogram::BINS];
    for (low, _, count) in histogram.iter().filter(|(_, high, _)| *high >= least) {
        let bin = &mut bins[FineHistogram::bin(low)];
        *bin = bin.saturating_add(count);
    }
    let all = total(bins.iter().copied());
    let best = bins
        .windows(width)
        .map(|window| total(window.iter().copied()))
        .max();
    match all {
        0 => 0.0,
        all => best.unwrap_or(0) as f64 / all as f64,
    }
}
