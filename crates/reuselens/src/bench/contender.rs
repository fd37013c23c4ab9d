//! What is measured.

use reuselens_distance::{CountingTree, Engine, LookupBound, Simd};
use reuselens_locality::ExactHistogram;
use reuselens_units::Bytes;

use super::clock::{Clock, Elapsed};
use crate::TalliedHistogram;
use crate::engines::{ENGINES, EngineError, by_name};

/// Items per call: a block and its distances stay in the second-level cache.
const BLOCK: usize = 1 << 14;

/// One who takes part. (An engine with threads would be a variant of its own, with their number.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contender {
    /// An engine of the list, on one thread, with the counting of its distances.
    Engine(&'static str),
    /// The look-up of last accesses alone.
    Bound,
}

/// One run over a stream.
pub(crate) struct Run {
    pub(crate) elapsed: Elapsed,
    /// What it counted; the bound counts nothing.
    pub(crate) histogram: Option<ExactHistogram>,
    /// Held by the engine at the end.
    pub(crate) memory: Option<Bytes>,
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
            _ => Ok(Contender::Engine(by_name(name)?.name())),
        }
    }

    /// Its name in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Contender::Engine(name) => name,
            Contender::Bound => "bound",
        }
    }

    /// Whether its histogram must be that of the others.
    pub(crate) fn is_exact(&self) -> bool {
        match self {
            Contender::Engine(name) => ENGINES.iter().any(|info| info.name == *name && info.exact),
            Contender::Bound => false,
        }
    }

    /// Runs over all items, from empty, with these instructions at most (those that have hot loops
    /// for several). The clock stops before anything is freed.
    pub(crate) fn run(&self, items: &[u64], simd: Simd) -> Result<Run, EngineError> {
        match self {
            Contender::Engine(name) => run_engine(name, items, simd),
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
        memory: Some(engine.memory()),
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
        memory: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_ones_are_those_for_items_without_the_oracle() {
        let names: Vec<&str> = Contender::exact().iter().map(Contender::name).collect();
        assert_eq!(names, ["counting", "fenwick", "olken", "bound"]);
    }
}
