//! Which way of counting the options ask for, and which observers beside it.
//!
//! | asked for | who counts | observers |
//! |---|---|---|
//! | bursts | [`Bursts`] | none |
//! | causes | [`Exact`] | [`causes::Causes`] |
//! | causes of a sample | [`SampledCauses`](super::sampled_causes::SampledCauses) | none |
//! | private caches | [`private::Private`], on threads of its own | none |
//! | coherent caches | [`coherent::Coherent`] | none |
//! | a sample, or `auto` | [`sampled::Sampled`], exact while memory lasts | reuse times |
//! | an engine by name | [`Exact`]; [`TotalCounts`] where there is no breakdown | all |
//! | an engine whose distances come late | [`late::Late`], or on a device | reuse times |
//!
//! Reuse times, forward distances and paths need every access, so with them `auto` is [`Exact`];
//! forward distances, paths and causes need a way of counting that has all distances. A sample
//! measures some accesses, each with a weight, so what is to be counted of it belongs into
//! [`sampled::Sampled`].
//!
//! The counting goes on on a background thread if there may be more than one ([`in_background`]);
//! where the system refuses memory, it ends with what was counted ([`Guarded`]).

use std::num::NonZeroUsize;

use reuselens_distance::{Bounded, Engine};
use reuselens_profile::Sharing;

use super::bursts::Bursts;
use super::exact::Exact;
use super::guarded::Guarded;
use super::observed::Observed;
use super::totals::TotalCounts;
use super::{CountMethod, Counts, DeviceFault, Observer};
use super::{
    background, causes, chunks, coherent, late, on_device, paths, previous, private, sampled,
};
use crate::engines::{self, EngineError};
use crate::{AnalysisOptions, Error};

/// The rate of the sampled engine where none is given.
const RATE: f64 = 0.01;

/// Whether what counts with these options merges cells, by the pairs of them in
/// [`Columns`](reuselens_attribute::Columns). With distances by the access before, and with engines
/// for several threads, numbers of cells are remembered.
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
    let fault = DeviceFault::default();
    // The order is that of refusals: each way refuses those below it, so the message names the two
    // options that do not go together.
    let method: Box<dyn CountMethod> = if options.bursts {
        Box::new(Bursts::begin(options)?)
    } else if let Some(cache) = options.causes {
        causes::begin(options, cache)?
    } else {
        paths::refuse_contradictions(options)?;
        match options.sharing {
            Sharing::Private => return Ok(Box::new(private::begin(options, threads)?)),
            Sharing::Coherent => Box::new(coherent::begin(options)?),
            Sharing::Shared => observed(options, &fault)?,
        }
    };
    let counts = Guarded::begin(method, fault);
    // HP-RDA has its own threads, and so have devices.
    if is_late(&options.engine) {
        return Ok(counts);
    }
    Ok(in_background(counts, threads))
}

/// Whether the distances of an engine come late.
pub(super) fn is_late(engine: &str) -> bool {
    engine == late::HP_RDA || on_device::is_on_device(engine)
}

/// Moves the counting to a background thread if more than one thread may be used.
fn in_background(counts: Box<dyn Counts>, threads: NonZeroUsize) -> Box<dyn Counts> {
    if threads.get() > 1 {
        background::BackgroundCounts::begin(counts)
    } else {
        counts
    }
}

/// The way of counting that `engine` names, with what else is asked for but causes.
fn observed(options: &AnalysisOptions, fault: &DeviceFault) -> Result<Box<dyn CountMethod>, Error> {
    let method = method(options, fault)?;
    let mut observers: Vec<Box<dyn Observer>> = Vec::new();
    // Refused here and not piece by piece: an observer without distances would count nothing.
    if options.forward && method.distances().is_none() {
        let engine = options.engine.clone();
        return Err(Error::NoForward { engine });
    }
    if options.reuse_times || options.forward {
        let observer = previous::PreviousAccesses::new(options.reuse_times, options.forward);
        observers.push(Box::new(observer));
    }
    if options.paths {
        need_distances(&*method, "--by path")?;
        observers.push(Box::new(paths::Paths::new(options)));
    }
    Ok(Observed::with(method, observers))
}

/// Refuses a way of counting that does not tell distances, for `one`, an option that needs them.
pub(super) fn need_distances(method: &dyn CountMethod, one: &'static str) -> Result<(), Error> {
    if method.distances().is_some() {
        return Ok(());
    }
    Err(Error::Together {
        one,
        other: "this --engine",
        why: "it does not tell the distance of every access in order; counting does",
    })
}

/// The way of counting that `engine` names; what a device refuses it is kept in `fault`.
pub(super) fn method(
    options: &AnalysisOptions,
    fault: &DeviceFault,
) -> Result<Box<dyn CountMethod>, Error> {
    refuse_contradictions(options)?;
    chunks::check(options)?;
    if options.engine == late::HP_RDA {
        refuse_parts(options)?;
        let engine =
            late::hp_rda_on_processor(options.chunks, options.threads(), options.memory_limit());
        let counts = late::Late::new(Box::new(engine), options, fault.clone());
        return Ok(Box::new(counts));
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
        None => Ok(Box::new(samples)),
        Some(_) => Err(Error::NotBounded {
            engine: "sampled".to_owned(),
        }),
    }
}

/// With the engine of this name, in the order of the trace.
fn with_engine(name: &str, options: &AnalysisOptions) -> Result<Box<dyn CountMethod>, Error> {
    if options.sample.is_some() {
        engines::find(name)?;
        let name = name.to_owned();
        return Err(EngineError::NotSampled { name }.into());
    }
    let engine = bounded(options, engines::by_name(name)?)?;
    let name = engine.name();
    let distances = options.elements || options.forward || options.paths;
    let distances = distances || options.causes.is_some();
    if options.is_totals_only() && !distances {
        return Ok(Box::new(TotalCounts::new(engine, name)));
    }
    Ok(Box::new(Exact::new(engine, name, options.is_totals_only())))
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
pub(super) fn bounded(
    options: &AnalysisOptions,
    engine: Box<dyn Engine>,
) -> Result<Box<dyn Engine>, Error> {
    match options.max_distance {
        None => Ok(engine),
        Some(_) if options.reuse_times || options.forward => Err(Error::UnboundedTable),
        Some(limit) if engine.name() == "counting" => Ok(Box::new(Bounded::new(limit))),
        Some(_) => Err(Error::NotBounded {
            engine: engine.name().to_owned(),
        }),
    }
}
