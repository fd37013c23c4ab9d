//! From columns of item accesses to counts of distances: one file per way of counting, and one per
//! observer of the distances.
//!
//! A [`CountMethod`] counts distances. What else is asked for is counted beside it by an
//! [`Observer`], which gets each piece of the trace with its distances. [`choice`] says which of
//! both the options ask for; [`Guarded`](guarded::Guarded) holds them, on the thread of the
//! analysis or, behind [`BackgroundCounts`](background::BackgroundCounts), on another one. Caches
//! of single threads ([`private::Private`]) are counted on threads of their own, without either.

mod background;
mod bursts;
mod causes;
mod choice;
mod chunks;
mod coherent;
mod exact;
mod gather;
mod guarded;
mod lanes;
mod late;
mod observed;
mod on_device;
mod paths;
mod previous;
mod private;
mod sampled;
mod sampled_causes;
mod shares;
mod totals;

use reuselens_attribute::Columns;
use reuselens_hugepages::OutOfMemory;
use reuselens_locality::{BoundedCurve, ElementHistograms, ExactHistogram, KeyedHistograms};
use reuselens_profile::{CodeScope, Warning};
use reuselens_trace::{ProcessId, Sampling, ThreadId};
use reuselens_units::{Bytes, Distance};

use crate::attribution::Uncounted;
use crate::engines::ENGINES;

pub(crate) use choice::{begin, merge_cells, sample_rate};
pub(crate) use chunks::{check as check_chunks, hp_rda_settings};
pub(crate) use late::{EngineTime, HP_RDA, LateEngine, engine_steps, hp_rda_on_processor};
pub(crate) use on_device::{DeviceFault, GPU, HP_RDA_GPU, INTERPRETED, OnDevice, device_blocks};
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

/// What whoever counts may have to know of the run, between two pieces of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RunEvent {
    /// What comes next is of this program thread. At least where that changes, at most once per
    /// block.
    Thread(ProcessId, ThreadId),
    /// A program thread has ended.
    ThreadEnded(ThreadId),
    /// How the run is sampled from here on.
    Sampling(Sampling),
}

/// Takes the item accesses of a trace in order and counts their distances: what an analysis
/// drives. A [`CountMethod`] does the work, on the thread of the analysis or on another one.
pub(crate) trait Counts: Send {
    /// As [`CountMethod::event`].
    fn event(&mut self, event: RunEvent);

    /// As [`CountMethod::by_thread`].
    fn by_thread(&self) -> bool;

    /// Counts a piece of the trace.
    fn add(&mut self, columns: &Columns);

    /// Counts a piece of the trace and leaves the columns empty, these or others.
    fn take(&mut self, columns: &mut Columns);

    /// The item accesses so far.
    fn accesses(&self) -> u64;

    /// As [`CountMethod::steps`].
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

/// A way of counting distances.
pub(crate) trait CountMethod: Send {
    /// What happens in the run before the next piece.
    fn event(&mut self, event: RunEvent);

    /// Whether it must know which program thread an access is of, and when one has ended. Where
    /// nobody must, a piece may be of several, and [`RunEvent::Thread`] and
    /// [`RunEvent::ThreadEnded`] do not come.
    fn by_thread(&self) -> bool;

    /// Counts a piece of the trace.
    fn add(&mut self, columns: &Columns);

    /// The distance of each access of the piece that was added last, empty before the first piece;
    /// always `None` from who does not tell them.
    fn distances(&self) -> Option<&[Distance]>;

    /// The item accesses so far.
    fn accesses(&self) -> u64;

    /// What the time of the next look at the memory is measured by: accesses, and [`THREAD_STEPS`]
    /// for each program thread that gets tables of its own.
    fn steps(&self) -> u64;

    /// The memory held, and that which it takes if a table grows before the next look.
    fn memory(&self) -> Bytes;

    /// Gives memory up, to hold at most `limit` from now on, where that is possible without losing
    /// the rest of the trace. The whole analysis may have `whole`. False if it is not: nothing is
    /// given up then, or not enough.
    fn shrink(&mut self, limit: Bytes, whole: Bytes) -> bool;

    /// What was counted.
    fn finish(self: Box<Self>) -> Counted;
}

/// What is counted beside the distances.
pub(crate) trait Observer: Send {
    /// As [`CountMethod::event`].
    fn event(&mut self, event: RunEvent);

    /// As [`CountMethod::by_thread`].
    fn by_thread(&self) -> bool;

    /// Counts a piece of the trace. The distances are those of its accesses; there are none if the
    /// way of counting does not tell them: who needs them refuses that ([`choice`]).
    fn add(&mut self, columns: &Columns, distances: &[Distance]);

    /// As [`CountMethod::memory`].
    fn memory(&self) -> Bytes;

    /// Gives memory up, to hold at most `limit` from now on. False if that is not possible.
    fn shrink(&mut self, limit: Bytes) -> bool;

    /// Puts what was counted beside the distances.
    fn finish(self: Box<Self>, counted: &mut Counted);
}

/// Something that was counted beside the distances.
pub(crate) trait Addition: Send {
    /// Writes it into a profile that has the counts of all accesses, and whose cells are in the
    /// order of their numbers.
    fn write(self: Box<Self>, into: &mut Uncounted);
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
    pub additions: Vec<Box<dyn Addition>>,
    /// Scopes that what else was counted names.
    pub scopes: Vec<CodeScope>,
    /// What the reader of the report must know.
    pub warnings: Vec<Warning>,
}

impl Counted {
    /// A histogram that an exact engine has counted, and nothing else.
    pub fn exactly(engine: &str, histogram: ExactHistogram) -> Counted {
        Counted::of(engine, true, histogram)
    }

    /// A histogram, and nothing else.
    pub fn of(engine: &str, exact: bool, histogram: ExactHistogram) -> Counted {
        Counted {
            engine: engine.to_owned(),
            exact,
            error_bound: None,
            error_bounds: None,
            histogram,
            keyed: KeyedHistograms::new(),
            elements: ElementHistograms::new(),
            additions: Vec::new(),
            scopes: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Adds something that was counted beside the distances.
    pub fn add(&mut self, addition: impl Addition + 'static) {
        self.additions.push(Box::new(addition));
    }
}
