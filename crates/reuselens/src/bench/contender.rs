//! What is measured.

use std::num::NonZeroUsize;

use reuselens_distance::{CountingTree, Engine, LookupBound, Simd};
use reuselens_locality::ExactHistogram;
use reuselens_profile::EngineStep;
use reuselens_units::Bytes;

use super::BenchError;
use super::chunked::ChunkedEngine;
use super::clock::{Clock, Elapsed};
use crate::counts::{check_chunks, is_exact};
use crate::engines::{ENGINES, EngineError, by_name, find};
use crate::{AnalysisOptions, DeviceChoice, EngineChunks, TalliedHistogram};

/// Items per call: a block and its distances stay in the second-level cache.
const BLOCK: usize = 1 << 14;

/// One who takes part. (An engine with threads would be a variant of its own, with their number.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contender {
    /// An engine of the list, on one thread, with the counting of its distances.
    Engine(&'static str),
    /// An engine whose distances come by the chunk, on one thread or on a device.
    Chunked(ChunkedEngine),
    /// The look-up of last accesses alone.
    Bound,
}

/// One run over a stream.
pub(crate) struct Run {
    pub(crate) elapsed: Elapsed,
    /// What it counted; the bound counts nothing.
    pub(crate) histogram: Option<ExactHistogram>,
    /// The same of an approximate engine before its last step.
    pub(crate) merged: Option<Merged>,
    /// Held by the engine at the end.
    pub(crate) memory: Option<Bytes>,
    /// How long each step took, if the engine has some.
    pub(crate) steps: Vec<EngineStep>,
}

/// What an approximate engine has before its last step, which adjusts distances.
pub(crate) struct Merged {
    pub(crate) histogram: ExactHistogram,
    /// What distances beyond the number of items are multiplied by.
    pub(crate) factor: f64,
}

impl Contender {
    /// All exact engines but the oracle, which would take days, and the bound.
    pub fn exact() -> Vec<Contender> {
        let fast = ENGINES
            .iter()
            .filter(|engine| engine.name != "brute" && engine.takes_items());
        fast.map(|engine| Contender::Engine(engine.name))
            .chain([Contender::Bound])
            .collect()
    }

    /// The engine of this name (`auto` included), or the `bound`.
    ///
    /// # Errors
    /// If there is no such engine.
    pub fn named(name: &str) -> Result<Contender, EngineError> {
        match name {
            "bound" => Ok(Contender::Bound),
            _ if ChunkedEngine::NAMES.contains(&name) => {
                let name = find(name)?.name;
                Ok(Contender::Chunked(ChunkedEngine::published(name)))
            }
            _ => Ok(Contender::Engine(by_name(name)?.name())),
        }
    }

    /// Its name in tables.
    pub fn name(&self) -> String {
        match self {
            Contender::Engine(name) => (*name).to_owned(),
            Contender::Chunked(engine) => engine.name(),
            Contender::Bound => "bound".to_owned(),
        }
    }

    /// Those who take its place: of an engine in chunks one for each of these and each number of
    /// threads, all on `device`.
    pub fn in_chunks(
        self,
        chunks: &[EngineChunks],
        threads: &[NonZeroUsize],
        device: DeviceChoice,
    ) -> Vec<Contender> {
        let Contender::Chunked(engine) = self else {
            return vec![self];
        };
        let with = |(&chunks, &threads): (&EngineChunks, &NonZeroUsize)| {
            Contender::Chunked(ChunkedEngine {
                chunks,
                device,
                threads,
                ..engine
            })
        };
        let all = chunks
            .iter()
            .flat_map(|chunks| threads.iter().map(move |threads| (chunks, threads)));
        all.map(with).collect()
    }

    /// Refuses chunks that the engine cannot have.
    ///
    /// # Errors
    /// Names the option and what it can be.
    pub fn check(&self) -> Result<(), crate::Error> {
        let Contender::Chunked(engine) = self else {
            return Ok(());
        };
        check_chunks(&AnalysisOptions {
            engine: engine.engine.to_owned(),
            chunks: engine.chunks,
            ..AnalysisOptions::default()
        })
    }

    /// Whether its histogram must be that of the others.
    pub(crate) fn is_exact(&self) -> bool {
        match self {
            Contender::Engine(name) => is_exact(name),
            Contender::Chunked(engine) => is_exact(engine.engine),
            Contender::Bound => false,
        }
    }

    /// Runs over all items, from empty, with these instructions at most (those that have hot loops
    /// for several). The clock stops before anything is freed.
    pub(crate) fn run(&self, items: &[u64], simd: Simd) -> Result<Run, BenchError> {
        match self {
            Contender::Engine(name) => Ok(run_engine(name, items, simd)?),
            Contender::Chunked(engine) => engine.run(items),
            Contender::Bound => Ok(run_bound(items, simd)),
        }
    }
}

fn run_engine(name: &str, items: &[u64], simd: Simd) -> Result<Run, EngineError> {
    let start = Clock::start();
    let mut engine = engine(name, simd)?;
    let mut histogram = TalliedHistogram::new();
    for items in items.chunks(BLOCK) {
        histogram.add(|tally| engine.tally(items, tally));
    }
    let histogram = histogram.finish();
    Ok(Run {
        elapsed: start.elapsed(),
        histogram: Some(histogram),
        merged: None,
        memory: Some(engine.memory()),
        steps: Vec::new(),
    })
}

/// An engine of this name.
pub(super) fn engine(name: &str, simd: Simd) -> Result<Box<dyn Engine>, EngineError> {
    let engine = by_name(name)?;
    if engine.name() == CountingTree::new().name() {
        return Ok(Box::new(CountingTree::new().with_simd(simd)));
    }
    Ok(engine)
}

fn run_bound(items: &[u64], simd: Simd) -> Run {
    let start = Clock::start();
    let mut bound = LookupBound::new().with_simd(simd);
    for items in items.chunks(BLOCK) {
        bound.process(items);
    }
    std::hint::black_box(bound.reuse_times());
    Run {
        elapsed: start.elapsed(),
        histogram: None,
        merged: None,
        memory: None,
        steps: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_ones_are_those_for_items_without_the_oracle() {
        let names: Vec<String> = Contender::exact().iter().map(Contender::name).collect();
        assert_eq!(names, ["counting", "fenwick", "olken", "bound"]);
    }
}
