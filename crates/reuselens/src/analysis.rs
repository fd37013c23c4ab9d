//! From a source to a profile, in one pass.

use reuselens_attribute::{Attributor, Columns, Loader, Options, Tables};
use reuselens_locality::{
    Cell, Element, ElementHistograms, KeyedHistograms, Machine, Method, Outcome, Profile, Warning,
};
use reuselens_trace::{Block, Event, ProcessEnd, ProcessId, Source, Step, TraceError};
use reuselens_units::{Accesses, Bytes, Granularity};

use crate::counts::{self, Counted, Counts};
use crate::{AnalysisOptions, Error, available_memory, this_machine};

/// How far an analysis has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Accesses (item touches) analysed so far.
    pub accesses: Accesses,
    /// Bytes of the source read and bytes in all, where that is known.
    pub source_bytes: Option<(u64, u64)>,
}

/// Analyses all of `source`.
///
/// `command` is what was measured, for the head of the report. `progress` is called after every
/// block. Where the source breaks off, or the analysis would need more memory than it may have, the
/// profile holds everything before that and says so.
///
/// Cost: one pass; per access one look-up of its instruction, object and item. Memory: by the engine's
/// bytes per distinct item, and the histograms.
///
/// # Errors
/// If there is no such engine, or the source cannot be read at all: also if it breaks off before there
/// was anything to analyse.
pub fn analyze(
    source: &mut dyn Source,
    command: Vec<String>,
    options: &AnalysisOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Profile, Error> {
    let machine = this_machine();
    let mut analysis = Analysis::new(source, &machine, options)?;
    let stopped = analysis.run(source, progress)?;
    Ok(analysis.profile(source, command, machine, options, stopped))
}

/// The state of one pass.
struct Analysis {
    granularity: Granularity,
    attributor: Attributor,
    loader: Loader,
    counts: Box<dyn Counts>,
    memory_limit: Bytes,
    outcome: Option<Outcome>,
    warnings: Vec<Warning>,
    threads: u32,
}

/// The memory held is looked at once per so many blocks: a block cannot add much.
const LOOK_AT_MEMORY_EVERY: u64 = 32;

/// Why a pass ended before the source did.
enum Stop {
    OutOfMemory(Bytes),
    Broken(TraceError),
}

impl Analysis {
    fn new(
        source: &dyn Source,
        machine: &Machine,
        options: &AnalysisOptions,
    ) -> Result<Self, Error> {
        let ids = !source.has_addresses();
        let automatic = options.granularity.or_else(|| machine.line());
        let granularity = if ids {
            Granularity::BYTE
        } else {
            automatic.unwrap_or(Granularity::LINE_64)
        };
        let attribute_options = Options {
            granularity,
            kinds: options.kinds,
            data: options.data,
            names: options.names,
            contexts: options.contexts,
            elements: options.elements,
            ids,
            ..Options::default()
        };
        let free = || available_memory().map_or(Bytes(u64::MAX), |free| Bytes(free.get() / 4 * 3));
        Ok(Analysis {
            granularity,
            attributor: Attributor::new(attribute_options),
            loader: Loader::new(),
            counts: counts::begin(options)?,
            memory_limit: options.memory_limit.unwrap_or_else(free),
            outcome: None,
            warnings: Vec::new(),
            threads: 0,
        })
    }

    fn run(
        &mut self,
        source: &mut dyn Source,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Option<Stop>, Error> {
        let mut block = Block::new();
        let mut columns = Columns::new();
        let mut blocks = 0_u64;
        loop {
            match source.next(&mut block) {
                Ok(Step::Block) => {
                    let counts = &mut self.counts;
                    self.attributor
                        .pieces(&block, &mut columns, |piece| counts.add(piece));
                    let accesses = Accesses(counts.accesses());
                    progress(Progress {
                        accesses,
                        source_bytes: source.progress(),
                    });
                    blocks += 1;
                    if blocks.is_multiple_of(LOOK_AT_MEMORY_EVERY) {
                        let memory = self.memory();
                        if memory > self.memory_limit && !self.shrink() {
                            return Ok(Some(Stop::OutOfMemory(memory)));
                        }
                    }
                }
                Ok(Step::Event(event)) => self.event(event),
                Ok(Step::End) => return Ok(None),
                Err(error) if error.is_partial() && blocks > 0 => {
                    return Ok(Some(Stop::Broken(error)));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn memory(&self) -> Bytes {
        self.counts.memory() + self.attributor.memory()
    }

    /// Whether the way of counting can do with less.
    fn shrink(&mut self) -> bool {
        let others = self.attributor.memory().get();
        let left = self.memory_limit.get().checked_sub(others);
        left.is_some_and(|left| self.counts.shrink(Bytes(left), self.memory_limit))
    }

    fn event(&mut self, event: Event) {
        match &event {
            Event::ProcessEnded(ProcessId(0), end) => {
                self.outcome = match *end {
                    ProcessEnd::Exit(status) => Some(Outcome::Exit(status)),
                    ProcessEnd::Signal(signal) => Some(Outcome::Signal(signal)),
                    ProcessEnd::Unknown => None,
                };
            }
            Event::Thread(_) => self.threads += 1,
            Event::Note(note) => self.warnings.push(Warning {
                code: note.code.clone(),
                message: note.message.clone(),
                hint: note.hint.clone(),
            }),
            _ => {}
        }
        self.attributor.event(&event, &mut self.loader);
    }

    fn profile(
        mut self,
        source: &dyn Source,
        command: Vec<String>,
        machine: Machine,
        options: &AnalysisOptions,
        stopped: Option<Stop>,
    ) -> Profile {
        let whole = stopped.is_none();
        if let Some(stop) = stopped {
            self.stopped(stop);
        }
        let references = self.attributor.references();
        let accesses = self.counts.accesses();
        let mut counted = self.counts.finish();
        let method = method(&counted, self.threads, source, options);
        let mut tables = self.attributor.finish(&mut self.loader);
        self.warnings.append(&mut tables.warnings);
        self.warnings.append(&mut counted.warnings);
        add_distances(&mut tables, counted.elements);
        self.warnings
            .extend(options.max_distance.map(bounded_history));
        if accesses == 0 && whole {
            self.warnings.push(no_accesses());
        }
        let mut profile = Profile {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            machine,
            method,
            outcome: self.outcome.unwrap_or_default(),
            granularity: self.granularity,
            references,
            histogram: counted.histogram,
            reuse_times: counted.more.reuse_times,
            cells: cells(&tables, &counted.keyed, counted.more.forward.as_ref()),
            sites: tables.sites,
            objects: tables.objects,
            contexts: tables.contexts,
            threads: tables.threads,
            warnings: self.warnings,
        };
        profile.canonicalise();
        profile
    }

    fn stopped(&mut self, stop: Stop) {
        let (warning, reason) = match stop {
            Stop::OutOfMemory(needed) => {
                let message = format!(
                    "the analysis stopped after {} accesses: it holds {needed}, more than the {} it may have",
                    self.counts.accesses(),
                    self.memory_limit
                );
                let hint = "raise --memory-limit, or take a larger --granularity".to_owned();
                (
                    Warning {
                        code: "memory-limit".to_owned(),
                        message,
                        hint,
                    },
                    "memory limit reached",
                )
            }
            Stop::Broken(error) => {
                let hint =
                    "record it again; what is shown is everything before that point".to_owned();
                let message = error.to_string();
                (
                    Warning {
                        code: "truncated".to_owned(),
                        message,
                        hint,
                    },
                    "it is cut off or damaged",
                )
            }
        };
        self.warnings.push(warning);
        self.outcome = Some(Outcome::Incomplete(reason.to_owned()));
    }
}

fn method(
    counted: &Counted,
    threads: u32,
    source: &dyn Source,
    options: &AnalysisOptions,
) -> Method {
    let order = if threads > 1 {
        "threads interleaved as they ran, block by block (up to 4060 events each), in the order in \
         which the blocks were completed; exact within each thread"
    } else {
        "program order"
    };
    Method {
        engine: counted.engine.clone(),
        exact: counted.exact,
        error_bound: counted.error_bound,
        max_distance: options.max_distance,
        error_bounds: counted.error_bounds.clone(),
        source: source.describe(),
        order: order.to_owned(),
        kinds: format!("{:?}", options.kinds).to_lowercase(),
        data: format!("{:?}", options.data).to_lowercase(),
    }
}

fn no_accesses() -> Warning {
    Warning {
        code: "no-accesses".to_owned(),
        message: "no access was seen: there is nothing to show".to_owned(),
        hint: "widen --kind and --data, or check that the code that runs was compiled with reuselens cc"
            .to_owned(),
    }
}

fn bounded_history(limit: u64) -> Warning {
    Warning {
        code: "max-distance".to_owned(),
        message: format!(
            "distances of {limit} items and more were not told apart: such accesses count as first touches, and \
             miss ratios hold for caches of up to {limit} items"
        ),
        hint: "raise --max-distance, or leave it out to count all distances".to_owned(),
    }
}

fn cells(tables: &Tables, keyed: &KeyedHistograms, more: Option<&KeyedHistograms>) -> Vec<Cell> {
    let forward = |index| more.and_then(|forward| forward.get(index));
    let cell = |(index, key): (usize, &reuselens_attribute::CellKey)| {
        let (histogram, distance_sum, distance_max) = keyed.get(index as u32)?;
        Some(Cell {
            site: key.site,
            object: key.object,
            context: key.context,
            thread: key.thread,
            histogram,
            distance_sum,
            distance_max,
            forward: forward(index as u32).unwrap_or_default().0,
        })
    };
    tables.cells.iter().enumerate().filter_map(cell).collect()
}

/// Gives the elements of the tables' objects, which so far have their accesses, their distances.
fn add_distances(tables: &mut Tables, mut histograms: ElementHistograms) {
    // Number 0 is no element.
    for (number, key) in (0..).zip(&tables.elements).skip(1) {
        let object = tables.objects.get_mut(key.object as usize);
        let element = object.and_then(|object| object.element_mut(key.index));
        if let (Some(element), Some((histogram, distance_sum, distance_max))) =
            (element, histograms.take(number))
        {
            // The accesses are there already; two numbers may be of one element.
            element.merge(&Element {
                histogram,
                distance_sum,
                distance_max,
                ..Element::default()
            });
        }
    }
}
