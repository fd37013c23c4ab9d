//! The part of an analysis that is not counting: whose accesses they are, and what else the trace
//! says.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use reuselens_attribute::{Attributor, CellKey, Columns, DataFilter, Options};
use reuselens_locality::{ExactHistogram, FineHistogram};
use reuselens_profile::{
    Causes, Cell, CodeScope, Element, ElementTypes, Machine, Method, Outcome, Profile,
    ProfiledThread, Sharing, Warning,
};
use reuselens_symbols::Loader;
use reuselens_trace::{
    Block, Event, ItemProjection, Module, ProcessEnd, ProcessId, Source, ThreadId,
};
use reuselens_units::{Bytes, Granularity, hexadecimal};

use crate::{AnalysisOptions, Error};

/// The bytes per item that an analysis has.
pub(crate) fn granularity(
    source: &dyn Source,
    machine: &Machine,
    options: &AnalysisOptions,
) -> Granularity {
    if !source.has_addresses() {
        return Granularity::BYTE;
    }
    line_granularity(machine, options)
}

/// The bytes per item of a trace with addresses: those that were asked for, or a line.
pub(crate) fn line_granularity(machine: &Machine, options: &AnalysisOptions) -> Granularity {
    let automatic = options.granularity.or_else(|| machine.line());
    automatic.unwrap_or(Granularity::LINE_64)
}

/// Refuses a choice of data, a placement, and causes of misses, of a trace without addresses.
///
/// # Errors
/// [`Error::NoPlaces`], [`Error::NothingToPlace`] and [`Error::NoLines`] for traces of ids.
pub(crate) fn check(source: &dyn Source, options: &AnalysisOptions) -> Result<(), Error> {
    if source.has_addresses() {
        return Ok(());
    }
    match options.placement {
        Some(_) => Err(Error::NothingToPlace),
        None if options.causes.is_some() => Err(Error::NoLines),
        None if options.data != DataFilter::All => Err(Error::NoPlaces),
        None => Ok(()),
    }
}

/// Bytes that a cell takes in a profile and its report: its distances, its instruction with a name,
/// and the tables by which these are found; measured.
const PROFILE_CELL: u64 = 384;

/// Takes in the blocks and events of a trace in order.
pub(crate) struct Attribution {
    granularity: Granularity,
    /// Whether items have no addresses.
    pub ids: bool,
    attributor: Attributor,
    loader: Loader,
    threads: BTreeSet<ThreadId>,
    /// Build ids by file name, of the first module of that name.
    builds: BTreeMap<String, String>,
    pub outcome: Option<Outcome>,
    pub warnings: Vec<Warning>,
    /// Scopes that the profile is to name.
    pub scopes: Vec<CodeScope>,
    /// Within how many accesses the order between threads is a guess; `None` if the trace does not
    /// say that its threads are in the order in which they synchronised.
    order_guessed_within: Option<u64>,
}

impl Attribution {
    /// For a consumer that merges no cells.
    pub fn new(source: &dyn Source, machine: &Machine, options: &AnalysisOptions) -> Self {
        Self::merging(source, machine, options, false)
    }

    /// `merges`: whether the consumer merges the pairs of cells in [`Columns::merged`].
    pub fn merging(
        source: &dyn Source,
        machine: &Machine,
        options: &AnalysisOptions,
        merges: bool,
    ) -> Self {
        let granularity = granularity(source, machine, options);
        let options = Options {
            granularity,
            kinds: options.kinds,
            data: options.data,
            names: options.names,
            contexts: options.contexts,
            totals_only: options.totals_only,
            elements: options.elements,
            stores: options.sharing == Sharing::Coherent || options.causes.is_some(),
            bytes: options.causes.is_some(),
            offsets: options.causes.is_some(),
            merges,
            basic_blocks: options.paths || options.needs_scopes(),
            placement: options.placement_options(),
            ids: !source.has_addresses(),
            ..Options::default()
        };
        Attribution {
            granularity,
            ids: options.ids,
            attributor: Attributor::new(options),
            loader: Loader::new(),
            threads: BTreeSet::new(),
            builds: BTreeMap::new(),
            outcome: None,
            warnings: Vec::new(),
            scopes: Vec::new(),
            order_guessed_within: None,
        }
    }

    /// Reads symbols while the trace is read, as far as there is memory for them, unless the
    /// analysis is to have one thread, or needs no names. (With one thread the same memory is
    /// counted: an analysis ends at the same access with any number.)
    pub fn reading_ahead(mut self, options: &AnalysisOptions) -> Self {
        if !options.is_totals_only() {
            let has_threads = options.threads != Some(NonZeroUsize::MIN);
            self.loader = Loader::reading_ahead(has_threads, options.memory_ahead());
        }
        self
    }

    /// Remembers which build of a file was mapped: as the trace says, or as the file does now.
    fn mapped(&mut self, module: &Module) {
        let name = module.path.rsplit('/').next().unwrap_or_default();
        let id = if module.build_id.is_empty() {
            self.loader.build_id(module)
        } else {
            module.build_id.clone()
        };
        if !id.is_empty() && !name.is_empty() {
            let digits = || hexadecimal(&id);
            self.builds.entry(name.to_owned()).or_insert_with(digits);
        }
    }

    /// The touches of a block, in pieces of bounded length.
    pub fn block(&mut self, block: &Block, columns: &mut Columns, consume: impl FnMut(&Columns)) {
        self.attributor.pieces(block, columns, consume);
    }

    /// Adds the touches of a block to `columns`; `consume` gets them where a block touches more
    /// than is good to hold.
    pub fn gather(
        &mut self,
        block: &mut Block,
        columns: &mut Columns,
        consume: impl FnMut(&Columns),
    ) {
        self.attributor.gather(block, columns, consume);
    }

    /// What has to be known of accesses, if it is no more than their items.
    pub fn projection(&self) -> Option<ItemProjection> {
        self.attributor.projection()
    }

    /// Whether rows that come again may be left out.
    pub fn folds(&self) -> bool {
        self.attributor.folds()
    }

    /// Puts it behind that of the segment before: see [`Attributor::put_behind`].
    pub fn put_behind(&mut self, earlier: Attribution) {
        // Some notes come with the first access that they are about.
        let notes = earlier.warnings.into_iter();
        let missing: Vec<_> = notes.filter(|note| !self.warnings.contains(note)).collect();
        self.warnings.splice(0..0, missing);
        self.attributor.put_behind(earlier.attributor);
    }

    /// The cells so far.
    pub fn cells(&self) -> usize {
        self.attributor.cells()
    }

    /// What it holds, and what the profile will take, which is made beside it at the end.
    pub fn memory(&self) -> Bytes {
        let profile = self.cells() as u64 * PROFILE_CELL;
        self.attributor.memory() + Bytes(profile) + self.loader.memory()
    }

    pub fn event(&mut self, event: Event) {
        match &event {
            Event::ProcessEnded(ProcessId(0), end) => {
                self.outcome = match *end {
                    ProcessEnd::Exit(status) => Some(Outcome::Exit(status)),
                    ProcessEnd::Signal(signal) => Some(Outcome::Signal(signal)),
                    ProcessEnd::Unknown => None,
                };
            }
            Event::Thread(thread) => {
                self.threads.insert(thread.id);
            }
            Event::Module(module) => self.mapped(module),
            // Said below the histogram, and only where the order matters.
            Event::Note(note) if note.order_guessed_within().is_some() => {
                self.order_guessed_within = note.order_guessed_within();
            }
            Event::Note(note) => self.warnings.push(Warning {
                code: note.code.clone(),
                message: note.message.clone(),
                hint: note.hint.clone(),
            }),
            _ => {}
        }
        self.attributor.event(&event, &mut self.loader);
    }

    /// The profile that has all but the counts.
    pub fn finish(
        mut self,
        source: &dyn Source,
        command: Vec<String>,
        machine: Machine,
        options: &AnalysisOptions,
    ) -> Uncounted {
        let references = self.attributor.references();
        let synchronised = self.order_guessed_within.is_some();
        let mut method = method(source, self.threads.len(), synchronised, options);
        // The order of a thread's own accesses is all that these distances depend on.
        if options.sharing != Sharing::Private {
            method.order_guessed_below = self.order_guessed_within.filter(|within| *within > 0);
        }
        let (attributor, loader) = (self.attributor, &mut self.loader);
        let mut tables = attributor.finish_with_scopes(&self.scopes, loader);
        let mut builds = self.builds;
        let used: BTreeSet<&str> = tables.sites.iter().map(|site| &*site.module).collect();
        builds.retain(|module, _| used.contains(&**module));
        self.warnings.append(&mut tables.warnings);
        let types = options.causes.map(|_| tables.element_types);
        let elements = tables.elements.iter();
        Uncounted {
            elements: elements.map(|key| (key.object, key.index)).collect(),
            element_types: types.unwrap_or_default(),
            waiting_sites: tables.waiting,
            profile: Profile {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                command,
                machine,
                method,
                outcome: self.outcome.unwrap_or_default(),
                granularity: self.granularity,
                references,
                histogram: Default::default(),
                invalidated: 0,
                waiting: 0,
                reuse_times: None,
                requested_bytes: None,
                paths: None,
                causes: options.causes.map(|cache| Causes {
                    cache,
                    scopes: tables.scopes,
                    ..Causes::default()
                }),
                builds,
                cells: tables.cells.iter().map(uncounted_cell).collect(),
                sites: tables.sites,
                objects: tables.objects,
                contexts: tables.contexts,
                threads: tables.threads,
                warnings: self.warnings,
            },
        }
    }
}

/// A cell without counts.
fn uncounted_cell(key: &CellKey) -> Cell {
    Cell {
        site: key.site,
        object: key.object,
        context: key.context,
        thread: key.thread,
        ..Cell::default()
    }
}

/// How it was measured; the engine is named by whoever counts.
fn method(
    source: &dyn Source,
    threads: usize,
    synchronised: bool,
    options: &AnalysisOptions,
) -> Method {
    let order = if options.sharing == Sharing::Private {
        "each thread by itself, in program order"
    } else if threads > 1 && !synchronised {
        "threads interleaved in the order of the trace"
    } else if threads > 1 {
        "threads interleaved as they ran, in the order in which they synchronised (atomic \
         operations, system calls, locks); elsewhere block by block (up to 4060 events each), in \
         the order in which the blocks were completed; exact within each thread"
    } else {
        "program order"
    };
    Method {
        source: source.describe(),
        order: order.to_owned(),
        sharing: options.sharing,
        max_distance: options.max_distance,
        ids: !source.has_addresses(),
        totals_only: options.is_totals_only(),
        placement: options.placement.filter(|_| !options.is_totals_only()),
        kinds: format!("{:?}", options.kinds).to_lowercase(),
        data: format!("{:?}", options.data).to_lowercase(),
        ..Method::default()
    }
}

/// The counts of a cell or an element: histogram, sum of the finite distances, largest of them.
pub(crate) type Group = (FineHistogram, u128, u64);

/// A profile without its counts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Uncounted {
    /// Its cells are in the order of their numbers, and have no accesses yet.
    pub profile: Profile,
    /// The elements by number: object and index; the first is none.
    pub elements: Vec<(u32, u64)>,
    /// What the elements of objects are, if causes are recorded.
    pub element_types: ElementTypes,
    /// By site, whether it is a load that waits for another thread.
    pub waiting_sites: Vec<bool>,
}

impl Uncounted {
    /// The profile in which all accesses are of one cell, of which nothing is known.
    pub fn whole(mut self) -> Profile {
        let mut cell = self.profile.cells.pop().unwrap_or_default();
        count_all(&mut cell, &self.profile.histogram);
        cell.invalidated = self.profile.invalidated;
        self.profile.cells = vec![cell];
        self.profile.threads = vec![ProfiledThread {
            name: "all threads".to_owned(),
            ..ProfiledThread::default()
        }];
        self.profile.canonicalise();
        self.profile
    }

    /// The profile in which all accesses are of the only cell; there is none if there were no
    /// accesses.
    pub fn one_cell(mut self) -> Profile {
        if let Some(cell) = self.profile.cells.first_mut() {
            count_all(cell, &self.profile.histogram);
        }
        self.profile.canonicalise();
        self.profile
    }

    /// The profile with the counts of its cells, in their order, and of its elements, by their
    /// numbers, in canonical form.
    pub fn counted(
        self,
        cells: impl Iterator<Item = Group>,
        mut element: impl FnMut(u32) -> Option<Group>,
    ) -> Profile {
        let mut profile = self.profile;
        for (into, group) in profile.cells.iter_mut().zip(cells) {
            (into.histogram, into.distance_sum, into.distance_max) = group;
        }
        // Number 0 is no element.
        for (number, (object, index)) in (0..).zip(&self.elements).skip(1) {
            let object = profile.objects.get_mut(*object as usize);
            let known = object.and_then(|object| object.element_mut(*index));
            if let (Some(known), Some((histogram, distance_sum, distance_max))) =
                (known, element(number))
            {
                // The accesses are there already; two numbers may be of one element.
                known.merge(&Element {
                    histogram,
                    distance_sum,
                    distance_max,
                    ..Element::default()
                });
            }
        }
        profile.leave_out_waiting(&self.waiting_sites);
        profile.canonicalise();
        profile
    }
}

/// Counts all accesses for a cell.
fn count_all(cell: &mut Cell, all: &ExactHistogram) {
    cell.histogram.add_exact(all);
    for (items, accesses) in all.iter() {
        let sum = u128::from(items) * u128::from(accesses);
        cell.distance_sum = cell.distance_sum.saturating_add(sum);
        cell.distance_max = items;
    }
}

/// There is nothing to show, and why that may be.
pub(crate) fn no_accesses(ids: bool) -> Warning {
    let hint = if ids {
        "the trace has no rows behind its head, or none of the --kind: is it the right file?"
    } else {
        "widen --kind and --data; of a program built with reuselens cc only what was compiled with it is seen"
    };
    Warning {
        code: "no-accesses".to_owned(),
        message: "no access was seen: there is nothing to show".to_owned(),
        hint: hint.to_owned(),
    }
}
