//! A trace in parallel segments: each is read, decoded and counted by a thread of its own.
//!
//! # What it is
//! Where no more than items is asked of accesses, nothing but the engine's memory of items goes
//! from one part of a trace to the next: also where the program names its accesses, as long as no
//! element of what it names can lie in several items. So a trace that can be read from several
//! places ([`Segmented::segments`]) is counted as one in memory is
//! ([`histogram_parallel`](crate::shard::histogram_parallel)): items that a stretch meets for the
//! first time it hands to the one before. Who is done with a stretch takes the half of what another
//! has left.
//!
//! The alternative, one thread that decodes and one that counts, has all items change from one
//! processor's cache to another's, and takes as long as the slower of the two.
//!
//! # Cost
//! That of decoding and counting, divided by the threads, and an access for each distinct item of
//! each stretch but the first. Memory: an engine and a histogram for each stretch. If that is more
//! than the analysis may have, an element can lie in several items, or the trace is damaged, it
//! begins anew on one engine.

mod counter;
mod items;
mod sample;
mod scheduler;
mod worker;

use reuselens_locality::{Machine, Sharing};
use reuselens_trace::{ItemProjection, Segmented, Source, TraceError};
use reuselens_units::Accesses;

use crate::analysis::Pass;
use crate::attribution::Attribution;
use crate::counts::{Counted, PARALLEL};
use crate::stopping::Stop;
use crate::{AnalysisOptions, Error, Progress};
pub use items::histogram_parallel;
use scheduler::SegmentPool;
use worker::Ended;

/// The shortest stretch for which a thread begins with empty tables.
const SHORTEST: Accesses = Accesses(2 << 20);
/// The most threads: each has tables of its own.
const MOST: usize = 32;

/// The engine, and the names by which it is asked for.
const ENGINE: &str = "counting";
const ENGINES: [&str; 3] = ["auto", ENGINE, PARALLEL];

/// Reads and counts all of `source` in stretches; `None` if that cannot be, takes too much memory,
/// or something is wrong with the trace: the source is as it was then.
///
/// # Errors
/// Those of the source.
pub(crate) fn count(
    source: &mut dyn Segmented,
    machine: &Machine,
    options: &AnalysisOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<Pass>, Error> {
    count_long(source, machine, options, SHORTEST, progress)
}

/// [`count`] in stretches of at least so many accesses.
fn count_long(
    source: &mut dyn Segmented,
    machine: &Machine,
    options: &AnalysisOptions,
    shortest: Accesses,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<Pass>, Error> {
    let Some(projection) = projection(source, machine, options) else {
        return Ok(None);
    };
    let most = options.threads().get().min(MOST);
    let stretches = source.segments(projection, most, shortest)?;
    if stretches.len() < 2 {
        return Ok(None);
    }
    let pool = SegmentPool::new(machine, options, options.memory_limit(), shortest);
    let threads = stretches.len();
    let ended = pool.count(stretches, threads, progress);
    let engine = match options.engine.as_str() {
        PARALLEL => PARALLEL,
        _ => ENGINE,
    };
    let together = ended.map(|ended| put_together(ended, engine));
    together.transpose()
}

/// What has to be known of accesses, if they can be counted so.
fn projection(
    source: &dyn Source,
    machine: &Machine,
    options: &AnalysisOptions,
) -> Option<ItemProjection> {
    let is_plain = ENGINES.contains(&options.engine.as_str())
        && options.is_whole()
        && options.sharing == Sharing::Shared
        && options.sample.is_none()
        && options.max_distance.is_none()
        && !(options.reuse_times || options.forward || options.paths);
    let attribution = is_plain.then(|| Attribution::new(source, machine, options));
    attribution.and_then(|attribution| attribution.projection())
}

/// Makes one of what stretches, in their order, have come to, up to where an end was asked for.
fn put_together(ended: Vec<Ended>, engine: &str) -> Result<Pass, Error> {
    let mut ended = ended.into_iter();
    let Some(mut all) = ended.next() else {
        unreachable!("there are two stretches or more");
    };
    for next in ended {
        if all.asked.is_some() {
            // What comes behind is no part of what was read.
            break;
        }
        all.asked = next.asked;
        if next.asked.is_some() && !next.begun {
            // It may not even know what was announced before it.
            break;
        }
        let earlier = std::mem::replace(&mut all.attribution, next.attribution);
        all.attribution.put_behind(earlier);
        all.histogram.merge(&next.histogram);
        all.accesses += next.accesses;
        all.begun |= next.begun;
    }
    let stopped = |signal| Stop::because(TraceError::Stopped { signal }, all.begun);
    Ok(Pass {
        stop: all.asked.map(stopped).transpose()?,
        attribution: all.attribution,
        accesses: all.accesses,
        counted: Counted::exactly(engine, all.histogram),
    })
}

#[cfg(test)]
mod tests;
