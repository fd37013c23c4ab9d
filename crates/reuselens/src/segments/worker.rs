//! A stretch on its way through an engine of its own.

use std::ops::Range;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use reuselens_attribute::Columns;
use reuselens_distance::Expected;
use reuselens_locality::ExactHistogram;
use reuselens_trace::{AnySegment, Block, Source, Step, TraceError, TraceSegment};
use reuselens_units::{Accesses, Bytes};

use super::counter::{Before, Behind, Link, way};
use super::scheduler::{SegmentPool, TELL_EVERY};
use crate::attribution::Attribution;
use crate::budget::LOOK_AT_MEMORY_EVERY;

/// Item accesses that are counted together: they stay in a processor's own cache from one to the
/// other.
const TOGETHER: usize = 1 << 13;

/// Accesses per distinct item so far for which it is worth to split a stretch.
const PER_ITEM: u64 = 2;

/// A stretch, and what counts it.
pub(super) struct SegmentWorker {
    source: AnySegment,
    attribution: Attribution,
    link: Link,
    /// What the stretch behind meets for the first time.
    behind: Behind,
    /// Its place among all stretches: theirs have nothing in common, and are in their order.
    order: Range<u128>,
    /// How far the source was when the pool was last told.
    place: u64,
    accesses: u64,
    begun: bool,
    /// Whether it may be long enough to be split.
    splits: bool,
    /// The accesses and the memory when the pool was last told, and when that is due again.
    told: u64,
    held: Bytes,
    /// The part of the memory that is the attribution's and the source's.
    names: Bytes,
    next_look: u64,
    asked: Option<i32>,
}

/// What a stretch comes to.
pub(super) struct Ended {
    pub attribution: Attribution,
    /// All but what was handed to the stretch before.
    pub histogram: ExactHistogram,
    pub accesses: u64,
    /// Whether there was a block.
    pub begun: bool,
    /// The signal by which an end was asked for before it was read.
    pub asked: Option<i32>,
    /// The smaller, the earlier.
    pub order: u128,
}

impl SegmentWorker {
    /// For a stretch with one before it, if it is not the first, and one `behind`.
    pub(super) fn new(
        source: AnySegment,
        attribution: Attribution,
        (before, behind): (Option<Before>, Behind),
        order: Range<u128>,
    ) -> SegmentWorker {
        SegmentWorker {
            place: place(&source),
            source,
            attribution,
            link: Link::new(Expected::default(), before),
            behind,
            order,
            accesses: 0,
            begun: false,
            splits: true,
            told: 0,
            held: Bytes(0),
            names: Bytes(0),
            next_look: 0,
            asked: None,
        }
    }

    /// The smaller, the earlier.
    pub(super) fn order(&self) -> u128 {
        self.order.start
    }

    /// Reads the stretch to its end, or until it is of no more use, and counts it.
    pub(super) fn read(&mut self, pool: &SegmentPool<'_>, tell: &mut dyn FnMut()) {
        let (mut block, mut columns) = (Block::new(), Columns::new());
        while !pool.is_given_up() {
            match self.source.next(&mut block) {
                Ok(Step::Block) => self.block(&mut block, &mut columns, pool),
                Ok(Step::Event(event)) => self.attribution.event(event),
                Ok(Step::End) => break,
                Err(TraceError::Stopped { signal }) => {
                    self.asked = Some(signal);
                    break;
                }
                // What is there, and what is said of it, only who reads it in one go can tell.
                Err(_) => pool.give_up(),
            }
            if self.accesses >= self.next_look {
                self.look(pool);
                self.splits = self.splits && pool.split(self);
                tell();
            }
        }
        self.count(&mut columns);
        self.link.hand_on();
        self.look(pool);
        tell();
    }

    fn block(&mut self, block: &mut Block, columns: &mut Columns, pool: &SegmentPool<'_>) {
        self.begun = true;
        if block.item_batch.elements_straddle {
            pool.give_up();
        }
        let SegmentWorker {
            accesses,
            link,
            held,
            names,
            next_look,
            ..
        } = self;
        self.attribution.gather(block, columns, |piece| {
            if pool.is_given_up() {
                return;
            }
            *accesses += piece.len() as u64;
            link.count(&piece.items);
            // Within a block too, for the reason at `Looks::is_late`.
            if *accesses >= *next_look {
                *next_look = *accesses + LOOK_AT_MEMORY_EVERY;
                let memory = link.memory() + *names;
                pool.holds(memory, std::mem::replace(held, memory));
            }
        });
        if columns.len() >= TOGETHER {
            self.count(columns);
        }
    }

    fn count(&mut self, columns: &mut Columns) {
        self.accesses += columns.len() as u64;
        self.link.count(&columns.items);
        columns.clear();
    }

    /// Tells the pool how far it is and what it holds.
    fn look(&mut self, pool: &SegmentPool<'_>) {
        self.next_look = self.accesses + pool.look_every();
        let place = place(&self.source).max(self.place);
        pool.counted(self.accesses - self.told, place - self.place);
        (self.told, self.place) = (self.accesses, place);
        self.names = self.attribution.memory() + self.source.buffers();
        let memory = self.link.memory() + self.names + self.behind.memory();
        pool.holds(memory, std::mem::replace(&mut self.held, memory));
    }

    /// Takes off the later half of what is left, with the stretch behind it.
    pub(super) fn split_off(
        &mut self,
        shortest: Accesses,
        attribution: impl FnOnce(&dyn Source) -> Attribution,
    ) -> Option<SegmentWorker> {
        // The half has tables to fill again, and hands its items on.
        let worth = PER_ITEM.saturating_mul(self.link.learned().distinct.get());
        // If it cannot be read it will not be later, and then that is said.
        let half = self.source.split_off(shortest.max(Accesses(worth)));
        let half = half.ok().flatten()?;
        let (before, behind) = way();
        let behind = std::mem::replace(&mut self.behind, behind);
        let middle = self.order.start.midpoint(self.order.end);
        let order = middle..std::mem::replace(&mut self.order.end, middle);
        let attribution = attribution(&half);
        Some(SegmentWorker::new(
            half,
            attribution,
            (Some(before), behind),
            order,
        ))
    }

    /// Counts what the stretch behind has handed on so far. To be called when this one was read.
    pub(super) fn count_what_is_there(&mut self, pool: &SegmentPool<'_>, tell: &mut dyn FnMut()) {
        while let Ok(firsts) = self.handed_on(pool, Duration::ZERO) {
            self.link.count(&firsts);
            self.look(pool);
            tell();
        }
    }

    /// Counts all that the stretch behind hands on.
    pub(super) fn finish(mut self, pool: &SegmentPool<'_>, tell: &mut dyn FnMut()) -> Ended {
        loop {
            match self.handed_on(pool, TELL_EVERY) {
                Ok(firsts) => {
                    self.link.count(&firsts);
                    self.look(pool);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            tell();
        }
        let histogram = self.link.finish();
        pool.holds(histogram.memory(), self.held);
        Ended {
            attribution: self.attribution,
            histogram,
            accesses: self.accesses,
            begun: self.begun,
            asked: self.asked,
            order: self.order.start,
        }
    }

    /// What the stretch behind hands on next. Nothing if that is not wanted any more, or was left
    /// out itself.
    fn handed_on(
        &self,
        pool: &SegmentPool<'_>,
        time: Duration,
    ) -> Result<Vec<u64>, RecvTimeoutError> {
        if self.asked.is_some() || pool.is_given_up() {
            return Err(RecvTimeoutError::Disconnected);
        }
        self.behind.next_within(time)
    }
}

/// How far a source is, in bytes.
fn place(source: &dyn Source) -> u64 {
    source.progress().map_or(0, |(place, _)| place)
}
