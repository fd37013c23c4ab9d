//! [`CacheDistances`]: exact reuse distances of lines in the order of the cache model, for caches
//! of any size: one for each SM, one for each SM that others' stores invalidate, and one for all.
//!
//! A cache of *n* lines with LRU replacement and no sets hits exactly the loads of a distance below
//! *n*. So the histogram is the hit rate of all sizes at once.
//!
//! Each line of 128 bytes that a request touches is one access of the SM that runs the block; a
//! store brings its line in, and an atomic operation is a store. Loads that pass the L1 by are
//! accesses of the shared cache only. Caches of SMs are emptied before each launch, the shared one
//! is not, as in the model.
//!
//! Source of the caches with invalidation: Schuff, Parsons and Pai, *Multicore-Aware Reuse Distance
//! Analysis*, IPDPSW 2010; see [`Coherent`].

use std::collections::BTreeMap;

use reuselens_distance::{Coherent, CountingTree, Engine};
use reuselens_locality::Log2Histogram;
use reuselens_units::Distance;
use reuselens_warp::WarpKind;

use super::requests::{BlockRequests, CacheStep};
use crate::order::Lockstep;

/// Accesses after which they are given to an engine.
const FULL: usize = 1 << 12;

/// Distances of loads, in lines of 128 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheDistances {
    /// In a cache of each SM.
    pub private: Log2Histogram,
    /// In a cache of each SM in which a store by another SM invalidates the line.
    pub coherent: Log2Histogram,
    /// Of the loads that `coherent` has as cold, those of lines that were invalidated.
    pub invalidated: u64,
    /// In one cache of all SMs.
    pub shared: Log2Histogram,
}

impl CacheDistances {
    /// Adds the loads of another.
    pub fn merge(&mut self, other: &CacheDistances) {
        self.private.merge(&other.private);
        self.coherent.merge(&other.coherent);
        self.invalidated += other.invalidated;
        self.shared.merge(&other.shared);
    }
}

/// Measures them, wave by wave.
///
/// Cost: three exact engines, and two look-ups more for invalidation, for each line of a request.
/// Memory: that of the engines, for each line and cache that has seen it, and as much again for
/// invalidation ([`Coherent`]).
#[derive(Default)]
pub(crate) struct DistanceMeter {
    /// By SM, of those that the launch uses.
    private: BTreeMap<usize, CountedAccesses>,
    coherent: Coherent,
    shared: CountedAccesses,
    request: CoherentRequest,
    /// Of the launch.
    pub distances: CacheDistances,
}

/// Accesses of one cache that its engine has not seen yet.
#[derive(Default)]
struct CountedAccesses {
    engine: CountingTree,
    lines: Vec<u64>,
    is_load: Vec<bool>,
    distances: Vec<Distance>,
}

/// Room for one request.
#[derive(Default)]
struct CoherentRequest {
    lines: Vec<u64>,
    stores: Vec<bool>,
    distances: Vec<Distance>,
    invalidated: Vec<u32>,
}

impl DistanceMeter {
    /// A launch begins: the caches of SMs are empty.
    pub fn begin(&mut self) {
        self.private.clear();
        self.coherent = Coherent::new();
        self.distances = CacheDistances::default();
    }

    /// Runs a wave whose first block is on the SM `first` of `sms`. `passes_by` says which requests
    /// pass the L1 by. The blocks have all lines of their requests in order.
    pub fn run(
        &mut self,
        wave: &[BlockRequests],
        first: usize,
        sms: usize,
        passes_by: impl Fn(&CacheStep) -> bool,
    ) {
        let mut next_lines = vec![0; wave.len()];
        let blocks = wave.iter().map(|requests| &requests.steps[..]).enumerate();
        for (block, step) in Lockstep::new(blocks) {
            let begin = next_lines[block];
            next_lines[block] += usize::from(step.lines);
            let lines = &wave[block].lines[begin..next_lines[block]];
            let lines = lines.iter().map(|line| line.line);
            let is_load = step.kind == WarpKind::Load;
            let sums = &mut self.distances;
            self.shared.add(lines.clone(), is_load, &mut sums.shared);
            if passes_by(step) {
                continue;
            }
            let sm = (first + block) % sms;
            let private = self.private.entry(sm).or_default();
            private.add(lines.clone(), is_load, &mut sums.private);
            self.request.lines.clear();
            self.request.lines.extend(lines);
            self.request.run(&mut self.coherent, sm, is_load, sums);
        }
    }

    /// The launch has ended: its distances.
    pub fn end(&mut self) -> CacheDistances {
        let sums = &mut self.distances;
        self.shared.flush_into(&mut sums.shared);
        for cache in self.private.values_mut() {
            cache.flush_into(&mut sums.private);
        }
        std::mem::take(sums)
    }
}

impl CountedAccesses {
    /// Takes the lines of a request.
    fn add(&mut self, lines: impl Iterator<Item = u64>, is_load: bool, sum: &mut Log2Histogram) {
        self.lines.extend(lines);
        self.is_load.resize(self.lines.len(), is_load);
        if self.lines.len() >= FULL {
            self.flush_into(sum);
        }
    }

    /// Adds the distances of the loads that wait.
    fn flush_into(&mut self, sum: &mut Log2Histogram) {
        self.distances.resize(self.lines.len(), Distance::COLD);
        self.engine.process(&self.lines, &mut self.distances);
        let loads = self.distances.iter().zip(&self.is_load);
        let loads = loads.filter(|(_, is_load)| **is_load);
        loads.for_each(|(distance, _)| sum.add(*distance, 1));
        self.lines.clear();
        self.is_load.clear();
    }
}

impl CoherentRequest {
    /// Gives the request to the caches, and adds the distances if it loads.
    fn run(&mut self, caches: &mut Coherent, sm: usize, is_load: bool, sums: &mut CacheDistances) {
        let number = self.lines.len();
        self.stores.clear();
        self.stores.resize(number, !is_load);
        self.distances.resize(number, Distance::COLD);
        caches.process(
            sm as u32,
            &self.lines,
            &self.stores,
            &mut self.distances,
            &mut self.invalidated,
        );
        if is_load {
            let distances = self.distances.iter();
            distances.for_each(|distance| sums.coherent.add(*distance, 1));
            sums.invalidated += self.invalidated.len() as u64;
        }
    }
}

impl std::fmt::Debug for DistanceMeter {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut fields = out.debug_struct("DistanceMeter");
        fields
            .field("distances", &self.distances)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::CacheRequest;

    const SMS: usize = 3;

    /// Blocks of requests made from a seed.
    fn wave(seed: u64, blocks: usize) -> Vec<BlockRequests> {
        let mut state = seed;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        let mut block = || {
            let mut requests = BlockRequests::default();
            for position in 0..40 {
                let count = random(4) as u8;
                let step = CacheStep {
                    position: position / 2,
                    site: random(3) as u16,
                    warp: (position % 2) as u16,
                    kind: [
                        WarpKind::Load,
                        WarpKind::Load,
                        WarpKind::Store,
                        WarpKind::Atomic,
                    ][random(4) as usize],
                    lines: count,
                };
                let lines: Vec<CacheRequest> = (0..count)
                    .map(|_| CacheRequest {
                        line: random(25),
                        sectors: 1,
                        object: 0,
                    })
                    .collect();
                requests.push(u32::MAX, step, lines.into_iter());
            }
            requests
        };
        (0..blocks).map(|_| block()).collect()
    }

    /// A cache as a list, most recent first; invalidated lines keep their places.
    #[derive(Default)]
    struct Stack(Vec<(u64, bool)>);

    impl Stack {
        /// The distance, or whether the line was invalidated.
        fn access(&mut self, line: u64) -> Result<u64, bool> {
            let at = self.0.iter().position(|(other, _)| *other == line);
            let found = at.map(|at| (at, self.0.remove(at).1));
            self.0.insert(0, (line, true));
            match found {
                Some((at, true)) => Ok(at as u64),
                Some((_, false)) => Err(true),
                None => Err(false),
            }
        }

        fn invalidate(&mut self, line: u64) {
            let entries = self.0.iter_mut().filter(|(other, _)| *other == line);
            entries.for_each(|entry| entry.1 = false);
        }
    }

    /// The same by lists.
    #[derive(Default)]
    struct ByLists {
        private: [Stack; SMS],
        coherent: [Stack; SMS],
        shared: Stack,
        distances: CacheDistances,
    }

    impl ByLists {
        fn run(&mut self, wave: &[BlockRequests], first: usize) {
            let mut all = Vec::new();
            for (block, requests) in wave.iter().enumerate() {
                let mut lines = requests.lines.iter();
                for step in &requests.steps {
                    let lines: Vec<u64> = lines
                        .by_ref()
                        .take(step.lines.into())
                        .map(|it| it.line)
                        .collect();
                    all.push((step.position, block, step, lines));
                }
            }
            all.sort_by_key(|&(position, block, ..)| (position, block));
            for (_, block, step, lines) in all {
                for line in lines {
                    self.access((first + block) % SMS, step, line);
                }
            }
        }

        fn access(&mut self, sm: usize, step: &CacheStep, line: u64) {
            let is_load = step.kind == WarpKind::Load;
            let sums = &mut self.distances;
            let add = |sum: &mut Log2Histogram, found: Result<u64, bool>| {
                let distance = found.map_or(Distance::COLD, Distance::new);
                sum.add(distance, u64::from(is_load));
            };
            add(&mut sums.shared, self.shared.access(line));
            if passes_by(step) {
                return;
            }
            add(&mut sums.private, self.private[sm].access(line));
            let found = self.coherent[sm].access(line);
            sums.invalidated += u64::from(is_load && found == Err(true));
            add(&mut sums.coherent, found);
            if !is_load {
                let others = self.coherent.iter_mut().enumerate();
                let others = others.filter(|(other, _)| *other != sm);
                others.for_each(|(_, stack)| stack.invalidate(line));
            }
        }
    }

    fn passes_by(step: &CacheStep) -> bool {
        step.kind == WarpKind::Load && step.site == 1
    }

    #[test]
    fn distances_are_those_of_lists() {
        for seed in 0..50 {
            let (mut meter, mut lists) = (DistanceMeter::default(), ByLists::default());
            for launch in 0..2 {
                meter.begin();
                lists = ByLists {
                    shared: lists.shared,
                    ..ByLists::default()
                };
                let mut first = 0;
                for part in 0..2 {
                    let wave = wave(seed * 4 + launch * 2 + part, 1 + seed as usize % 7);
                    meter.run(&wave, first, SMS, passes_by);
                    lists.run(&wave, first);
                    first = (first + wave.len()) % SMS;
                }
                assert_eq!(meter.end(), lists.distances, "{seed}");
            }
        }
    }
}
