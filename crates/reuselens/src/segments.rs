//! A trace in parallel segments: each is read, decoded and counted by a thread of its own.
//!
//! # What it is
//! The exact parallel method of Niu, Dinan, Lu & Sadayappan (*PARDA: A Fast Parallel Reuse Distance
//! Analysis Algorithm*, IPDPS 2012). A trace is cut into segments, and each has an engine of its
//! own. The first access to an item within a segment has a distance that depends on what came
//! before; all other distances do not. A segment passes its first accesses to the segment before
//! it, which counts them after its own accesses, and passes on what it does not know either. So no
//! thread waits for the state of another one, and nothing is merged but histograms. An idle thread
//! takes half of what another one has left, if that is long enough to be worth an engine of its
//! own: processors are not always equally fast.
//!
//! [`scheduler`] does this for any [`Divisible`](scheduler::Divisible), a piece of a trace that
//! yields items and can be cut in two. There are two kinds:
//!
//! - [`file`]: segments of a trace file ([`Segmented`]), where nothing is asked of accesses but
//!   their items. Then only the engine's memory of items passes from one part of a trace to the
//!   next. That holds also where the program names its accesses, as long as no element of what it
//!   names can be in several items. The alternative, one thread that decodes and one that counts,
//!   has all items change from one processor's cache to another's, and takes as long as the slower
//!   of the two.
//! - [`items`]: segments of items in memory ([`histogram_parallel`]).
//!
//! # Cost
//! That of decoding and counting, divided by the threads, and an access for each distinct item of
//! each segment but the first. Memory: an engine and a histogram for each segment. If that is more
//! than the analysis of a file may have, if an element can be in several items, or if the trace is
//! damaged, the analysis begins anew on one engine.

mod counter;
mod file;
mod items;
mod sample;
mod scheduler;
mod worker;

use reuselens_distance::Expected;
use reuselens_profile::{Machine, Sharing};
use reuselens_trace::{ItemProjection, Segmented, Source, TraceError};
use reuselens_units::Accesses;

use crate::analysis::Pass;
use crate::attribution::Attribution;
use crate::counts::Counted;
use crate::stopping::EarlyEnd;
use crate::{AnalysisOptions, Error, Progress};
use file::FileSegment;

pub use items::histogram_parallel;
use scheduler::{CountedSegment, Scheduler};

/// The fewest accesses for which a thread begins with empty tables.
const SHORTEST: Accesses = Accesses(2 << 20);
/// The most threads: each has tables of its own.
const MOST: usize = 32;

/// The engine, and the names by which it is asked for.
const ENGINE: &str = "counting";
const ENGINES: [&str; 2] = ["auto", ENGINE];

/// Reads and counts all of `source` in segments. `None` if that cannot be done, takes too much
/// memory, or something is wrong with the trace: the source is as it was then.
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

/// [`count`] in segments of at least so many accesses.
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
    let segments = source.segments(projection, most, shortest)?;
    if segments.len() < 2 {
        return Ok(None);
    }
    let all = segments[0].progress().map(|(_, all)| all);
    let segment = |source| FileSegment::new(source, machine, options);
    let segments: Vec<_> = segments.into_iter().map(segment).collect();
    let threads = segments.len();
    let mut progress = |accesses, bytes: u64| {
        progress(Progress {
            accesses,
            source_bytes: all.map(|all| (bytes.min(all), all)),
        });
    };
    let scheduler = Scheduler::new(shortest, options.memory_limit());
    let finished = scheduler.run(segments, threads, Expected::default(), &mut progress);
    finished.map(|finished| join(finished, ENGINE)).transpose()
}

/// What has to be known of accesses, if they can be counted so.
fn projection(
    source: &dyn Source,
    machine: &Machine,
    options: &AnalysisOptions,
) -> Option<ItemProjection> {
    let is_plain = ENGINES.contains(&options.engine.as_str())
        && options.is_totals_only()
        && options.sharing == Sharing::Shared
        && options.sample.is_none()
        && options.max_distance.is_none()
        && !(options.reuse_times || options.forward || options.paths || options.causes.is_some());
    let attribution = is_plain.then(|| Attribution::new(source, machine, options));
    attribution.and_then(|attribution| attribution.projection())
}

/// Makes one pass of segments, in their order, up to where an end was asked for.
fn join(finished: Vec<CountedSegment<FileSegment<'_>>>, engine: &str) -> Result<Pass, Error> {
    let mut finished = finished.into_iter();
    let Some(first) = finished.next() else {
        unreachable!("there are two segments or more");
    };
    let (mut all, mut histogram, mut accesses) = (first.segment, first.histogram, first.accesses);
    for next in finished {
        if all.asked.is_some() {
            // What comes after that was not read.
            break;
        }
        all.asked = next.segment.asked;
        if next.segment.asked.is_some() && !next.segment.begun {
            // It may not even know the events before it.
            break;
        }
        let earlier = std::mem::replace(&mut all.attribution, next.segment.attribution);
        all.attribution.put_behind(earlier);
        histogram.merge(&next.histogram);
        accesses += next.accesses;
        all.begun |= next.segment.begun;
    }
    let stopped = |signal| EarlyEnd::because(TraceError::Stopped { signal }, all.begun);
    Ok(Pass {
        stop: all.asked.map(stopped).transpose()?,
        attribution: all.attribution,
        accesses,
        counted: Counted::exactly(engine, histogram),
    })
}

#[cfg(test)]
mod tests;
