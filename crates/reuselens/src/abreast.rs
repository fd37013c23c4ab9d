//! A trace in stretches abreast: each is read, decoded and counted by a thread of its own.
//!
//! # What it is
//! Where no more than items is asked of accesses, nothing but the engine's memory of items goes from one part of a trace to the
//! next: also where the program names its accesses, as long as no element of what it names can lie in several items. So a trace that can be read from several places ([`Source::stretches`]) is counted as one in memory is
//! ([`histogram_parallel`](crate::shard::histogram_parallel)): items that a stretch meets for the first time it hands to the one before.
//! The alternative, one thread that decodes and one that counts, has all items change from one processor's cache to another's, and
//! takes as long as the slower of the two.
//!
//! # Cost
//! That of decoding and counting, divided by the threads, and an access for each distinct item of each stretch but the
//! first. Memory: an engine and a histogram for each thread. If that is more than the analysis may have, or an element can lie in
//! several items, it begins anew on one engine.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use reuselens_attribute::Columns;
use reuselens_locality::{ExactHistogram, Machine, Sharing};
use reuselens_trace::{AnySource, Block, Source, Step, TraceError, Wish};
use reuselens_units::{Accesses, Bytes, Items};

use crate::analysis::{LOOK_AT_MEMORY_EVERY, Pass, memory_limit};
use crate::attribution::Attribution;
use crate::counts::{self, Counted};
use crate::shard::Link;
use crate::stopping::Stop;
use crate::{AnalysisOptions, Error, Progress};

/// The shortest stretch for which a thread begins with empty tables.
const SHORTEST: Accesses = Accesses(4 << 20);
/// The most stretches: each has tables of its own.
const MOST: usize = 32;
/// Touches that are counted together: they stay in a processor's own cache from one to the other.
const TOGETHER: usize = 1 << 13;
/// How often progress is told while others work.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// The engine, and the names by which it is asked for.
const ENGINE: &str = "counting";
const ENGINES: [&str; 2] = ["auto", ENGINE];

/// Reads and counts all of `source` in stretches; `None` if that cannot be, or takes too much memory: the source is as it was
/// then.
///
/// # Errors
/// Those of the source.
pub(crate) fn count(
    source: &mut dyn Source,
    machine: &Machine,
    options: &AnalysisOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<Pass>, Error> {
    count_long(source, machine, options, SHORTEST, progress)
}

/// [`count`] in stretches of at least so many accesses.
fn count_long(
    source: &mut dyn Source,
    machine: &Machine,
    options: &AnalysisOptions,
    shortest: Accesses,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<Pass>, Error> {
    let Some(wish) = wish(source, machine, options) else {
        return Ok(None);
    };
    let most = counts::threads(options).get().min(MOST);
    let stretches = source.stretches(wish, most, shortest)?;
    if stretches.len() < 2 {
        return Ok(None);
    }
    let common = Common::new(stretches.len(), memory_limit(options));
    let new = |(number, stretch): (usize, AnySource)| {
        let attribution = Attribution::new(&*stretch, machine, options);
        Runner::new(number, stretch, attribution, &common)
    };
    let runners = stretches.into_iter().enumerate().map(new).collect();
    match in_chain(runners, &common, progress) {
        Some(ended) if !common.is_given_up() => put_together(ended).map(Some),
        _ => Ok(None),
    }
}

/// What has to be known of accesses, if they can be counted so.
fn wish(source: &dyn Source, machine: &Machine, options: &AnalysisOptions) -> Option<Wish> {
    let is_plain = ENGINES.contains(&options.engine.as_str())
        && options.is_whole()
        && options.sharing == Sharing::Shared
        && options.sample.is_none()
        && options.max_distance.is_none()
        && !(options.reuse_times || options.forward || options.paths);
    let attribution = is_plain.then(|| Attribution::new(source, machine, options));
    attribution.and_then(|attribution| attribution.wish())
}

/// What all threads know.
struct Common {
    accesses: AtomicU64,
    /// Bytes of the source that were read, by all.
    bytes: AtomicU64,
    /// Bytes held, by each.
    memory: Vec<AtomicU64>,
    limit: Bytes,
    /// Whether it cannot be done so: all end then.
    given_up: AtomicBool,
}

impl Common {
    fn new(threads: usize, limit: Bytes) -> Common {
        Common {
            accesses: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            memory: (0..threads).map(|_| AtomicU64::new(0)).collect(),
            limit,
            given_up: AtomicBool::new(false),
        }
    }

    fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Notes what a thread holds.
    fn holds(&self, number: usize, memory: Bytes) {
        self.memory[number].store(memory.get(), Ordering::Relaxed);
        let held = self.memory.iter().map(|held| held.load(Ordering::Relaxed));
        if held.fold(0, u64::saturating_add) > self.limit.get() {
            self.give_up();
        }
    }

    fn progress(&self, all: Option<u64>) -> Progress {
        let bytes = self.bytes.load(Ordering::Relaxed);
        Progress {
            accesses: Accesses(self.accesses.load(Ordering::Relaxed)),
            source_bytes: all.map(|all| (bytes.min(all), all)),
        }
    }
}

/// A thread with its stretch.
struct Runner<'a> {
    number: usize,
    source: AnySource,
    attribution: Attribution,
    common: &'a Common,
    /// How far the source was when it was last asked.
    place: u64,
    accesses: u64,
    begun: bool,
    /// The accesses when the others were last told, and when that is due again.
    told: u64,
    next_look: u64,
}

/// What a thread leaves.
struct Ended {
    attribution: Attribution,
    histogram: ExactHistogram,
    accesses: u64,
    /// Whether there was a block.
    begun: bool,
    error: Option<TraceError>,
}

impl<'a> Runner<'a> {
    fn new(
        number: usize,
        source: AnySource,
        attribution: Attribution,
        common: &'a Common,
    ) -> Runner<'a> {
        Runner {
            place: place(&source),
            number,
            source,
            attribution,
            common,
            accesses: 0,
            begun: false,
            told: 0,
            next_look: LOOK_AT_MEMORY_EVERY,
        }
    }

    /// Counts the stretch, and then what the one behind does not know. `tell` is called now and then.
    fn run(
        mut self,
        before: Option<Sender<Vec<u64>>>,
        behind: Receiver<Vec<u64>>,
        tell: &mut dyn FnMut(),
    ) -> Ended {
        let mut link = Link::new(Items(0), before);
        let error = self.stretch(&mut link, tell);
        link.hand_on();
        // What comes behind where the trace breaks off is not looked at.
        while error.is_none() && !self.common.is_given_up() {
            let firsts = behind.recv_timeout(TELL_EVERY);
            tell();
            match firsts {
                Ok(firsts) => link.count(&firsts),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.common.holds(self.number, self.memory(&link));
        }
        Ended {
            attribution: self.attribution,
            histogram: link.finish(),
            accesses: self.accesses,
            begun: self.begun,
            error,
        }
    }

    /// Reads the stretch to its end, or until it is of no more use; why it breaks off.
    fn stretch(&mut self, link: &mut Link, tell: &mut dyn FnMut()) -> Option<TraceError> {
        let (mut block, mut columns) = (Block::new(), Columns::new());
        let error = loop {
            match self.source.next(&mut block) {
                Ok(Step::Block) => {
                    self.begun = true;
                    if block.touches.uneven {
                        self.common.give_up();
                    }
                    let accesses = &mut self.accesses;
                    let mut count = |piece: &Columns| {
                        *accesses += piece.len() as u64;
                        link.count(&piece.items);
                    };
                    self.attribution
                        .gather(&mut block, &mut columns, &mut count);
                    if columns.len() >= TOGETHER {
                        count(&columns);
                        columns.clear();
                    }
                    self.look(link);
                    if self.common.is_given_up() {
                        break None;
                    }
                    tell();
                }
                Ok(Step::Event(event)) => self.attribution.event(event),
                Ok(Step::End) => break None,
                Err(error) => break Some(error),
            }
        };
        self.accesses += columns.len() as u64;
        link.count(&columns.items);
        self.next_look = 0;
        self.look(link);
        error
    }

    /// Tells the others how far it is and what it holds, if that is due.
    fn look(&mut self, link: &Link) {
        if self.accesses < self.next_look {
            return;
        }
        self.next_look = self.accesses + LOOK_AT_MEMORY_EVERY;
        let place = place(&self.source);
        let read = place - self.place.min(place);
        self.common.bytes.fetch_add(read, Ordering::Relaxed);
        self.place = place;
        let counted = self.accesses - std::mem::replace(&mut self.told, self.accesses);
        self.common.accesses.fetch_add(counted, Ordering::Relaxed);
        self.common.holds(self.number, self.memory(link));
    }

    fn memory(&self, link: &Link) -> Bytes {
        link.memory() + self.attribution.memory()
    }
}

/// How far a source is, in bytes.
fn place(source: &AnySource) -> u64 {
    source.progress().map_or(0, |(place, _)| place)
}

/// What the threads leave, in the order of their stretches; `None` if there are not as many as that.
fn in_chain(
    runners: Vec<Runner<'_>>,
    common: &Common,
    progress: &mut dyn FnMut(Progress),
) -> Option<Vec<Ended>> {
    let mut runners = runners.into_iter();
    let own = runners.next()?;
    let all = own.source.progress().map(|(_, all)| all);
    std::thread::scope(|scope| {
        let (mut send, behind) = channel();
        let mut others = Vec::new();
        for runner in runners {
            let (next, receive) = channel();
            let before = std::mem::replace(&mut send, next);
            let work = move || runner.run(Some(before), receive, &mut || {});
            let thread = Builder::new().name("stretch".to_owned());
            match thread.spawn_scoped(scope, work) {
                Ok(thread) => others.push(thread),
                Err(_) => {
                    common.give_up();
                    return None;
                }
            }
        }
        // Nobody comes behind the last.
        drop(send);
        let mut ended = vec![own.run(None, behind, &mut || progress(common.progress(all)))];
        for other in others {
            match other.join() {
                Ok(more) => ended.push(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Some(ended)
    })
}

/// Makes one of what all have counted, up to where the trace breaks off.
fn put_together(ended: Vec<Ended>) -> Result<Pass, Error> {
    let mut ended = ended.into_iter();
    let Some(mut all) = ended.next() else {
        unreachable!("a chain has a thread");
    };
    for next in ended {
        if all.error.is_some() {
            // What comes behind is no part of what was read.
            break;
        }
        let mut attribution = next.attribution;
        attribution.put_behind(all.attribution);
        all.histogram.merge(&next.histogram);
        all = Ended {
            attribution,
            histogram: all.histogram,
            accesses: all.accesses + next.accesses,
            begun: all.begun || next.begun,
            error: next.error,
        };
    }
    let stop = all.error.map(|error| Stop::because(error, all.begun));
    Ok(Pass {
        attribution: all.attribution,
        accesses: all.accesses,
        stop: stop.transpose()?,
        counted: Counted::exactly(ENGINE, all.histogram),
    })
}

#[cfg(test)]
mod tests;
