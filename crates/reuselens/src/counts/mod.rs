//! From columns of item accesses to counts of distances: one file per way of counting.

mod background;
mod bursts;
mod causes;
mod chunks;
mod coherent;
mod exact;
mod extras;
mod gather;
mod guarded;
mod lanes;
mod late;
mod on_device;
mod paths;
mod private;
mod sampled;
mod sampled_causes;
mod shares;
mod totals;

use std::num::NonZeroUsize;

use reuselens_attribute::Columns;
use reuselens_distance::{Bounded, Engine};
use reuselens_hugepages::OutOfMemory;
use reuselens_locality::{BoundedCurve, ElementHistograms, ExactHistogram, KeyedHistograms};
use reuselens_profile::{Sharing, Warning};
use reuselens_trace::{ProcessId, Sampling, ThreadId};
use reuselens_units::{Bytes, Distance};

use crate::attribution::line_granularity;
use crate::engines::{self, ENGINES, EngineError};
use crate::{AnalysisOptions, Error};

pub(crate) use chunks::{check as check_chunks, hp_rda_settings};
pub(crate) use extras::{More, SampledRun};
use guarded::{AnyMethod, Guarded};
pub(crate) use late::{EngineTime, HP_RDA, LateEngine, engine_steps, hp_rda_on_processor};
pub(crate) use on_device::{DeviceFault, GPU, HP_RDA_GPU, INTERPRETED, OnDevice, device_blocks};
pub(crate) use paths::PathCounts;
pub(crate) use sampled_causes::warning as sampled_causes_warning;

/// A program thread with its own tables costs as much memory as this many accesses: the tables take
/// a hundred kilobytes before the thread's first access.
pub(crate) const THREAD_STEPS: u64 = 1 << 11;

/// Whether the engine of this name is exact.
pub(crate) fn is_exact(name: &str) -> bool {
    ENGINES
        .iter()
        .any(|engine| engine.name == name && engine.exact)
}

/// Takes the item accesses of a trace in order and counts their distances: what an analysis
/// drives. A [`CountMethod`] does the work, on the thread of the analysis or on another one.
pub(crate) trait Counts: Send {
    /// What comes next is of this program thread. Called once per block.
    fn thread(&mut self, process: ProcessId, thread: ThreadId);

    /// A program thread has ended.
    fn thread_ended(&mut self, thread: ThreadId);

    /// How the run is sampled from here on; only for whoever counts bursts.
    fn sampling(&mut self, sampling: Sampling);

    /// Whether it must know which program thread an access is of, and when one has ended.
    fn by_thread(&self) -> bool;

    /// Counts a piece of the trace.
    fn add(&mut self, columns: &Columns);

    /// Counts a piece of the trace and leaves the columns empty, these or others.
    fn take(&mut self, columns: &mut Columns);

    /// The item accesses so far.
    fn accesses(&self) -> u64;

    /// What the time of the next look at the memory is measured by: accesses, and [`THREAD_STEPS`]
    /// for each program thread that gets tables of its own.
    fn steps(&self) -> u64;

    /// The memory held, and that which it takes if a table grows before the next look; where the
    /// work goes on elsewhere, no less than that.
    fn memory(&self) -> Bytes;

    /// The memory that the system refused, if it did: nothing was counted since.
    fn refused(&self) -> Option<OutOfMemory>;

    /// What a device refuses, now or later, if one counts: the analysis has failed then.
    fn fault(&self) -> DeviceFault;

    /// As [`CountMethod::shrink`].
    fn shrink(&mut self, limit: Bytes, whole: Bytes) -> bool;

    /// Waits for work that goes on elsewhere, so that [`memory`](Self::memory) is what is held.
    fn drain(&mut self);

    /// What was counted.
    fn finish(self: Box<Self>) -> Counted;
}

/// A way of counting.
pub(crate) trait CountMethod: Send {
    /// Counts a piece of the trace.
    fn add(&mut self, columns: &Columns);

    /// The item accesses so far.
    fn accesses(&self) -> u64;

    /// The memory held, and that which it takes if a table grows before the next look.
    fn memory(&self) -> Bytes;

    /// Gives memory up, to hold at most `limit` from now on, where that is possible without losing
    /// the rest of the trace. The whole analysis may have `whole`. False if it is not: nothing is
    /// given up then, or not enough.
    fn shrink(&mut self, limit: Bytes, whole: Bytes) -> bool;

    /// What was counted.
    fn finish(self: Box<Self>) -> Counted;
}

/// A way of counting that has the distance of each access when it is counted.
pub(crate) trait DistanceMethod: CountMethod {
    /// The distance of each access of the piece that was added last; empty before the first piece.
    fn distances(&self) -> &[Distance];
}

/// A way of counting that must know which program thread an access is of.
pub(crate) trait ThreadMethod: CountMethod {
    /// As [`Counts::thread`].
    fn thread(&mut self, process: ProcessId, thread: ThreadId);

    /// As [`Counts::thread_ended`].
    fn thread_ended(&mut self, thread: ThreadId);

    /// As [`Counts::steps`].
    fn steps(&self) -> u64;
}

/// A way of counting of all program threads together, by what it knows.
enum Together {
    WithDistances(Box<dyn DistanceMethod>),
    Plain(Box<dyn CountMethod>),
}

impl From<Together> for AnyMethod {
    fn from(method: Together) -> AnyMethod {
        AnyMethod::Together(match method {
            Together::WithDistances(method) => method,
            Together::Plain(method) => method,
        })
    }
}

/// Everything that was counted, and how.
pub(crate) struct Counted {
    /// Name of the engine that did it.
    pub engine: String,
    /// Whether the counts are exact.
    pub exact: bool,
    /// Bound on the error of a miss ratio, where there is one.
    pub error_bound: Option<f64>,
    /// That for each cache size.
    pub error_bounds: Option<BoundedCurve>,
    /// All accesses.
    pub histogram: ExactHistogram,
    /// The accesses of each cell.
    pub keyed: KeyedHistograms,
    /// The accesses of each element, if they were asked for.
    pub elements: ElementHistograms,
    /// What else was counted.
    pub more: More,
    /// What the reader of the report must know.
    pub warnings: Vec<Warning>,
}

impl Counted {
    /// A histogram that an exact engine has counted, and nothing else.
    pub fn exactly(engine: &str, histogram: ExactHistogram) -> Counted {
        Counted {
            engine: engine.to_owned(),
            exact: true,
            error_bound: None,
            error_bounds: None,
            histogram,
            keyed: KeyedHistograms::new(),
            elements: ElementHistograms::new(),
            more: More::default(),
            warnings: Vec::new(),
        }
    }
}

/// Whether what counts with these options merges cells ([`Columns::merged`]). With distances by
/// the access before, and with engines for several threads, numbers of cells are remembered.
pub(crate) fn merge_cells(options: &AnalysisOptions) -> bool {
    let causes = options.causes.is_some();
    let remembers = options.paths || options.forward || causes || is_late(&options.engine);
    options.sharing == Sharing::Shared && !remembers
}

/// A new way of counting, as the options have it.
///
/// # Errors
/// If there is no such engine, or it cannot do what else is asked for.
pub(crate) fn begin(options: &AnalysisOptions) -> Result<Box<dyn Counts>, Error> {
    let threads = options.threads();
    if options.bursts {
        let bursts = bursts::Bursts::begin(options)?;
        let counts = Guarded::begin(AnyMethod::Bursts(Box::new(bursts)));
        return Ok(in_background(counts, threads));
    }
    if let Some(cache) = options.causes {
        let causes = causes::begin(options, cache)?;
        let counts = Guarded::begin(AnyMethod::ByThread(causes));
        return Ok(in_background(counts, threads));
    }
    if options.paths {
        let paths = Box::new(with_paths(options)?);
        let counts = Guarded::begin(AnyMethod::ByThread(paths));
        return Ok(in_background(counts, threads));
    }
    if options.sharing == Sharing::Private {
        let private = Box::new(private::begin(options, threads)?);
        return Ok(Guarded::begin(AnyMethod::Private(private)));
    }
    if options.sharing == Sharing::Coherent {
        let coherent = Box::new(coherent::begin(options)?);
        let counts = Guarded::begin(AnyMethod::ByThread(coherent));
        return Ok(in_background(counts, threads));
    }
    let fault = DeviceFault::default();
    let counts = more(options, counts(options, &fault)?)?.into();
    let counts = Guarded::begin_on_device(counts, fault);
    // HP-RDA has its own threads, and so have devices.
    if is_late(&options.engine) {
        return Ok(counts);
    }
    Ok(in_background(counts, threads))
}

/// Whether the distances of an engine come late.
fn is_late(engine: &str) -> bool {
    engine == late::HP_RDA || on_device::is_on_device(engine)
}

/// Moves the counting to a background thread if more than one thread may be used.
fn in_background(counts: Box<dyn Counts>, threads: NonZeroUsize) -> Box<dyn Counts> {
    match threads.get() > 1 {
        true => background::BackgroundCounts::begin(counts),
        false => counts,
    }
}

/// With paths beside the distances.
fn with_paths(options: &AnalysisOptions) -> Result<paths::Paths, Error> {
    let refused = |other, why| Error::Together {
        one: "--by path",
        other,
        why,
    };
    let sharing = match options.sharing {
        Sharing::Shared => None,
        Sharing::Private => Some("--sharing private"),
        Sharing::Coherent => Some("--sharing coherent"),
    };
    if let Some(sharing) = sharing {
        return Err(refused(
            sharing,
            "paths are counted with distances over all threads",
        ));
    }
    if options.sample.is_some() {
        return Err(refused(
            "--sample",
            "a sample knows the distances of some accesses only",
        ));
    }
    let Together::WithDistances(counts) = more(options, counts(options, &DeviceFault::default())?)?
    else {
        return Err(refused(
            "this --engine",
            "it does not tell the distance of every access in order; counting does",
        ));
    };
    let line = line_granularity(&crate::this_machine(), options);
    // As many doubles as an item has.
    let keep = (line.bytes() / 8).clamp(1, 64) as u32;
    Ok(paths::Paths::new(counts, keep, options.most_paths))
}

/// A way of counting; what a device refuses it is kept in `fault`.
fn counts(options: &AnalysisOptions, fault: &DeviceFault) -> Result<Together, Error> {
    refuse_contradictions(options)?;
    chunks::check(options)?;
    if options.engine == late::HP_RDA {
        refuse_parts(options)?;
        let engine =
            late::hp_rda_on_processor(options.chunks, options.threads(), options.memory_limit());
        let counts = late::Late::new(Box::new(engine), options, fault.clone());
        return Ok(Together::Plain(Box::new(counts)));
    }
    if on_device::is_on_device(&options.engine) {
        refuse_parts(options)?;
        return on_device::begin(options, fault);
    }
    let samples = match (sample_rate(options), options.engine.as_str()) {
        (Some(rate), _) => sampled::Sampled::at(rate, options),
        // Options that a sample cannot serve take an exact engine, which stops at the memory limit.
        (None, "auto") if !needs_exact(options) => sampled::Sampled::when_memory_is_short(options),
        (None, name) => return with_engine(name, options),
    };
    match options.max_distance {
        None => Ok(Together::Plain(Box::new(samples))),
        Some(_) => Err(Error::NotBounded {
            engine: "sampled".to_owned(),
        }),
    }
}

/// With the engine of this name, in the order of the trace.
fn with_engine(name: &str, options: &AnalysisOptions) -> Result<Together, Error> {
    if options.sample.is_some() {
        engines::find(name)?;
        let name = name.to_owned();
        return Err(EngineError::NotSampled { name }.into());
    }
    let engine = bounded(options, engines::by_name(name)?)?;
    let name = engine.name();
    let distances = options.elements || options.forward || options.paths;
    let distances = distances || options.causes.is_some();
    Ok(if options.is_totals_only() && !distances {
        Together::Plain(Box::new(totals::TotalCounts::new(engine, name)))
    } else {
        let exact = exact::Exact::new(engine, name, options.is_totals_only());
        Together::WithDistances(Box::new(exact))
    })
}

/// The share of the items that a sample is asked to have, if one is asked for. Below a memory limit
/// samples may be taken all the same.
pub(crate) fn sample_rate(options: &AnalysisOptions) -> Option<f64> {
    match options.engine.as_str() {
        "auto" => options.sample,
        "sampled" => Some(options.sample.unwrap_or(RATE)),
        _ => None,
    }
}

/// Refuses a sample where every access is asked for.
fn refuse_contradictions(options: &AnalysisOptions) -> Result<(), Error> {
    if options.sample.is_none() {
        return Ok(());
    }
    let (other, why) = match options {
        options if options.forward => (
            "--forward",
            "a sample knows the distances of some accesses only",
        ),
        options if options.max_distance.is_some() => (
            "--max-distance",
            "a sample is bounded by its rate, and estimates all distances",
        ),
        _ => return Ok(()),
    };
    Err(Error::Together {
        one: "--sample",
        other,
        why,
    })
}

/// Refuses a largest distance and a sample for the engines whose distances come late.
fn refuse_parts(options: &AnalysisOptions) -> Result<(), Error> {
    let engine = options.engine.clone();
    if options.max_distance.is_some() {
        return Err(Error::NotBounded { engine });
    }
    if options.sample.is_some() {
        return Err(EngineError::NotSampled { name: engine }.into());
    }
    Ok(())
}

fn needs_exact(options: &AnalysisOptions) -> bool {
    let remembers = options.reuse_times || options.forward || options.paths;
    remembers || options.max_distance.is_some() || options.causes.is_some()
}

/// The engine, or one in bounded memory if a largest distance is given.
fn bounded(options: &AnalysisOptions, engine: Box<dyn Engine>) -> Result<Box<dyn Engine>, Error> {
    match options.max_distance {
        None => Ok(engine),
        Some(_) if options.reuse_times || options.forward => Err(Error::UnboundedTable),
        Some(limit) if engine.name() == "counting" => Ok(Box::new(Bounded::new(limit))),
        Some(_) => Err(Error::NotBounded {
            engine: engine.name().to_owned(),
        }),
    }
}

/// With what else is asked for.
fn more(options: &AnalysisOptions, counts: Together) -> Result<Together, Error> {
    let (times, forward) = (options.reuse_times, options.forward);
    if !times && !forward {
        return Ok(counts);
    }
    Ok(match counts {
        Together::WithDistances(counts) if forward => {
            Together::WithDistances(Box::new(extras::Extras::forward(counts, times)))
        }
        Together::WithDistances(counts) => {
            Together::WithDistances(Box::new(extras::Extras::times(counts)))
        }
        Together::Plain(_) if forward => {
            return Err(Error::NoForward {
                engine: options.engine.clone(),
            });
        }
        Together::Plain(counts) => Together::Plain(Box::new(extras::Extras::times(counts))),
    })
}

/// The rate of the sampled engine where none is given.
const RATE: f64 = 0.01;
