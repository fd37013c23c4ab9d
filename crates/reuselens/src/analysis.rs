//! From a source to a profile, in one pass.

use std::num::NonZeroUsize;

use reuselens_attribute::Columns;
use reuselens_hugepages::{catch, out_of_memory};
use reuselens_profile::{Machine, Profile, Warning};
use reuselens_trace::{Block, Event, Projection, Segmented, Source, Step};
use reuselens_units::{Accesses, Bytes};

use crate::attribution::{self, Attribution, no_accesses};
use crate::budget::{Budget, Looks};
use crate::counts::{self, Counted, Counts, DeviceFault, RunEvent};
use crate::line_statements::{marks_lines, with_lines};
use crate::stopping::EarlyEnd;
use crate::{AnalysisOptions, Error, this_machine};
use crate::{segments, weighed};

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
/// `command` is what was measured, for the head of the report. `progress` is called again and
/// again, at the latest after some hundred thousand accesses. Where the source breaks off, or the
/// analysis would need more memory than it may have, the profile holds everything before that and
/// a warning.
///
/// In statement mode ([`NamesMode::Statement`](crate::attribute::NamesMode)), the source lines of a
/// program that marks no statements are its statements, where they are known.
///
/// Cost: one pass; per access one look-up of its instruction, object and item. Memory: by the
/// engine's bytes per distinct item, and the histograms. [`analyze_segmented`] makes the same
/// profile of a file faster.
///
/// # Errors
/// If there is no such engine, or the source cannot be read at all: also if it breaks off before
/// there was anything to analyse. [`Error::Memory`] if the system refuses memory without which
/// there is no profile.
pub fn analyze(
    source: &mut dyn Source,
    command: Vec<String>,
    options: &AnalysisOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Profile, Error> {
    check_source(source, options)?;
    let analyzed = catch(|| {
        with_lines(source, options, |source| {
            analyze_marked(Readable::Plain(source), command, options, progress)
        })
    });
    analyzed?
}

/// [`analyze`] on several threads, where only items are asked for and the source can be cut: each
/// thread reads a segment of it and has an engine. The profile is the same.
///
/// Where that needs more memory than there may be, or something is wrong with the trace, the source
/// is read in a second pass, as [`analyze`] does.
///
/// # Errors
/// Those of [`analyze`].
pub fn analyze_segmented(
    source: &mut dyn Segmented,
    command: Vec<String>,
    options: &AnalysisOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Profile, Error> {
    if marks_lines(source, options) {
        return analyze(source, command, options, progress);
    }
    check_source(source, options)?;
    catch(|| analyze_marked(Readable::Segmented(source), command, options, progress))?
}

/// Refuses options that are none for the source.
fn check_source(source: &mut dyn Source, options: &AnalysisOptions) -> Result<(), Error> {
    attribution::check(source, options)?;
    if options.weigh_bytes {
        weighed::check(source, options)
    } else {
        Ok(())
    }
}

/// A source, and whether it may be read in segments.
enum Readable<'a> {
    Plain(&'a mut dyn Source),
    Segmented(&'a mut dyn Segmented),
}

impl Readable<'_> {
    fn plain(&mut self) -> &mut dyn Source {
        match self {
            Readable::Plain(source) => &mut **source,
            Readable::Segmented(source) => &mut **source,
        }
    }
}

/// [`analyze`], of a source that has all marks that there are to be.
fn analyze_marked(
    mut source: Readable<'_>,
    command: Vec<String>,
    options: &AnalysisOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Profile, Error> {
    let machine = this_machine();
    let to_count = options.to_count(source.plain());
    let mut told = Accesses(0);
    let mut tell = |now: Progress| {
        // Who begins anew says nothing until that is news.
        if now.accesses >= told {
            told = now.accesses;
            progress(now);
        }
    };
    let pass = if options.weigh_bytes {
        weighed::count(source.plain(), &machine, &to_count, &mut tell)?
    } else {
        count(&mut source, &machine, &to_count, &mut tell)?
    };
    Ok(profile(pass, source.plain(), command, machine, options))
}

/// Counts all of `source`: in segments by several threads where that can be, else in one pass.
fn count(
    source: &mut Readable<'_>,
    machine: &Machine,
    options: &AnalysisOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Pass, Error> {
    // Before anything is read: options that do not go together are refused.
    let merges = counts::merge_cells(options);
    let attribution = Attribution::merging(source.plain(), machine, options, merges);
    let attribution = attribution.reading_ahead(options);
    let analysis = Analysis::new(attribution, options)?;
    if let Readable::Segmented(source) = source {
        // Where the system has too little memory for several engines, it may have enough for one.
        let pass = catch(|| segments::count(*source, machine, options, progress));
        if let Some(pass) = pass.unwrap_or(Ok(None))? {
            return Ok(pass);
        }
    }
    analysis.run(source.plain(), progress)
}

/// The profile of what a pass over `source` has found.
pub(crate) fn profile(
    pass: Pass,
    source: &dyn Source,
    command: Vec<String>,
    machine: Machine,
    options: &AnalysisOptions,
) -> Profile {
    let (accesses, whole) = (pass.accesses, pass.stop.is_none());
    let (mut attribution, mut counted) = (pass.attribution, pass.counted);
    if let Some(stop) = pass.stop {
        stop.note(accesses, &mut attribution);
    }
    attribution.scopes = counted.scopes;
    let mut uncounted = attribution.finish(source, command, machine, options);
    let profile = &mut uncounted.profile;
    profile.method.engine = counted.engine;
    profile.method.exact = counted.exact;
    profile.method.error_bound = counted.error_bound;
    profile.method.error_bounds = counted.error_bounds;
    profile.histogram = counted.histogram;
    profile.warnings.append(&mut counted.warnings);
    if accesses == 0 && whole {
        explain_nothing(profile);
    }
    (profile.warnings).extend(options.max_distance.map(bounded_history));
    for addition in counted.additions {
        addition.write(&mut uncounted);
    }
    if options.weigh_bytes || options.is_totals_only() {
        return uncounted.whole();
    }
    if options.has_one_cell(source) {
        return uncounted.one_cell();
    }
    let (keyed, mut elements) = (counted.keyed, counted.elements);
    uncounted.counted(keyed.iter(), |element| elements.take(element))
}

/// Warns that there are no accesses, unless it is known already why.
fn explain_nothing(profile: &mut Profile) {
    let mut warnings = profile.warnings.iter();
    if !warnings.any(|warning| warning.code == "never-entered") {
        profile.warnings.push(no_accesses(profile.method.ids));
    }
}

/// Whether an analysis with these options can be: for who wants to know before a program is
/// started.
///
/// # Errors
/// What [`analyze`] would say of them. What depends on the trace is known only then.
pub fn check(options: &AnalysisOptions) -> Result<(), Error> {
    if options.weigh_bytes {
        weighed::check_options(options)?;
    }
    if options.placement.is_some() && options.elements {
        return Err(Error::Together {
            one: "--placement",
            other: "--elements",
            why: "the one splits arrays into chunks, the other into elements",
        });
    }
    // No thread is begun for nothing.
    let alone = AnalysisOptions {
        threads: Some(NonZeroUsize::MIN),
        ..options.clone()
    };
    counts::begin(&alone).map(drop)
}

/// A pass that is over, over all of the trace or a part.
pub(crate) struct Pass {
    pub attribution: Attribution,
    pub counted: Counted,
    /// The accesses (item touches) that were counted.
    pub accesses: u64,
    /// Why it ended before the trace did.
    pub stop: Option<EarlyEnd>,
}

/// The state of one pass.
struct Analysis {
    attribution: Attribution,
    /// Whether touches of several blocks may be counted together: whoever counts need not know
    /// which thread they are of.
    gathers: bool,
    /// Item accesses that are not counted yet; memory for those of a block where they are not
    /// gathered.
    gathered: Columns,
    counts: Box<dyn Counts>,
    fault: DeviceFault,
    budget: Budget,
    /// Bytes that the source may read ahead.
    ahead: Bytes,
}

/// Item accesses that are counted together where they may be: enough that handing them over costs
/// nothing, few enough to stay in the cache.
const TOGETHER: usize = 1 << 15;

impl Analysis {
    fn new(attribution: Attribution, options: &AnalysisOptions) -> Result<Self, Error> {
        let counts = counts::begin(options)?;
        Ok(Analysis {
            attribution,
            gathers: !counts.by_thread(),
            gathered: Columns::new(),
            fault: counts.fault(),
            counts,
            budget: Budget {
                limit: options.memory_limit(),
                looks: Looks::new(),
                others: Bytes(0),
            },
            ahead: options.memory_ahead(),
        })
    }

    fn run(
        mut self,
        source: &mut dyn Source,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Pass, Error> {
        let read = catch(|| self.read(source, progress));
        let stop = read.unwrap_or_else(|refused| Ok(Some(EarlyEnd::Refused(refused))))?;
        if !matches!(
            stop,
            Some(EarlyEnd::LimitReached { .. } | EarlyEnd::Refused(_))
        ) {
            self.count_gathered();
            self.counts.drain();
        }
        let stop = stop.or_else(|| self.counts.refused().map(EarlyEnd::Refused));
        let accesses = self.counts.accesses();
        let counted = self.counts.finish();
        // The last distances of a device come now.
        if let Some(fault) = self.fault.get() {
            return Err(fault.clone().into());
        }
        Ok(Pass {
            accesses,
            counted,
            attribution: self.attribution,
            stop,
        })
    }

    fn read(
        &mut self,
        source: &mut dyn Source,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Option<EarlyEnd>, Error> {
        if let Some(projection) = self.attribution.projection().filter(|_| self.gathers) {
            source.project(Projection::Items(projection));
        } else if self.attribution.folds() {
            source.project(Projection::Repeats);
        }
        source.read_ahead_within(self.ahead);
        let mut block = Block::new();
        let mut begun = false;
        loop {
            match source.next(&mut block) {
                Ok(Step::Block) => {
                    let full = self.block(&mut block);
                    progress(Progress {
                        accesses: Accesses(self.accesses()),
                        source_bytes: source.progress(),
                    });
                    begun = true;
                    if let Some(fault) = self.fault.get() {
                        return Err(fault.clone().into());
                    }
                    if let Some(refused) = self.counts.refused().or_else(out_of_memory) {
                        return Ok(Some(EarlyEnd::Refused(refused)));
                    }
                    let of_source = source.memory();
                    if let Some(needed) = full.or_else(|| self.too_much_memory(of_source)) {
                        let limit = self.budget.limit;
                        return Ok(Some(EarlyEnd::LimitReached { needed, limit }));
                    }
                }
                Ok(Step::Event(event)) => {
                    match event {
                        Event::ThreadEnded(thread) => {
                            self.counts.event(RunEvent::ThreadEnded(thread));
                        }
                        Event::Sampling(sampling) => {
                            self.count_gathered();
                            self.counts.event(RunEvent::Sampling(sampling));
                        }
                        _ => {}
                    }
                    self.attribution.event(event);
                }
                Ok(Step::End) => return Ok(None),
                Err(error) => return EarlyEnd::because(error, begun).map(Some),
            }
        }
    }

    /// Counts a block. The memory held, if one of its rows touches more than there is memory for.
    fn block(&mut self, block: &mut Block) -> Option<Bytes> {
        let (counts, budget) = (&mut *self.counts, &mut self.budget);
        counts.event(RunEvent::Thread(block.process, block.thread));
        let mut full = None;
        let count = |piece: &Columns| {
            if full.is_some() {
                return;
            }
            counts.add(piece);
            // Within a block too: see `Looks::is_late`.
            if budget.looks.is_late(counts.steps()) {
                full = budget.look(counts);
            }
        };
        if self.gathers {
            self.attribution.gather(block, &mut self.gathered, count);
        } else {
            self.attribution.block(block, &mut self.gathered, count);
            self.gathered.clear();
        }
        // What is a batch already is not copied to be a larger one.
        let enough = if block.item_batch.is_used() {
            TOGETHER / 4
        } else {
            TOGETHER
        };
        let steps = self.counts.steps() + self.gathered.len() as u64;
        let due = self.gathered.len() >= enough || self.budget.looks.is_due(steps);
        if due && full.is_none() {
            self.count_gathered();
        }
        full
    }

    fn count_gathered(&mut self) {
        if !self.gathered.has_nothing() {
            self.counts.take(&mut self.gathered);
        }
    }

    /// The accesses so far, counted or not.
    fn accesses(&self) -> u64 {
        self.counts.accesses() + self.gathered.len() as u64
    }

    /// The memory held, `of_source` by the source, if it is time to look, and it is more than it
    /// may be and nothing can be given up.
    fn too_much_memory(&mut self, of_source: Bytes) -> Option<Bytes> {
        let budget = &mut self.budget;
        let cells = self.attribution.cells();
        let ahead = budget.looks.ahead(self.counts.steps(), of_source, cells)?;
        budget.others = self.attribution.memory() + of_source + ahead;
        budget.look(&mut *self.counts)
    }
}

fn bounded_history(limit: u64) -> Warning {
    Warning {
        code: "max-distance".to_owned(),
        message: format!(
            "distances of {limit} items and more were not measured: such accesses count as first touches, and \
             miss ratios hold for caches of up to {limit} items"
        ),
        hint: "raise --max-distance, or leave it out to count all distances".to_owned(),
    }
}
