//! A segment on its way through an engine of its own.

use std::ops::Range;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use reuselens_distance::Expected;
use reuselens_units::{Accesses, Bytes};

use super::counter::{FirstsReceiver, FirstsSender, SegmentCounter, firsts_channel};
use super::scheduler::{CountedSegment, Divisible, REPORT_EVERY, Reading, Scheduler};
use crate::budget::LOOK_AT_MEMORY_EVERY;

/// Accesses per distinct item from which on a segment is worth splitting. The segment is passed an
/// access for each distinct item of the half, so with one access per item nothing is gained.
const PER_ITEM: u64 = 2;

/// A segment, what counts it, and its channels to its neighbours.
pub(super) struct SegmentWorker<S> {
    segment: S,
    counter: SegmentCounter,
    /// What the segment after it accesses for the first time.
    later: FirstsReceiver,
    /// Its place among all segments. The ranges of segments are disjoint, and in their order.
    order: Range<u128>,
    accesses: u64,
    /// Whether it may be long enough to be split: the scheduler counts the segments that may.
    pub(super) is_divisible: bool,
    /// Whether an end was asked for before all was read.
    stopped: bool,
    /// The position, accesses and memory that the scheduler knows of.
    position: u64,
    reported: u64,
    held: Bytes,
    /// The part of the memory that is the segment's own.
    own: Bytes,
    /// The number of accesses at which the next look is due, and the number at which the memory is
    /// looked at although the segment is not done with what it reads.
    next_look: u64,
    late_look: u64,
}

impl<S: Divisible> SegmentWorker<S> {
    /// For a segment of which `expected` is known. It sends to the segment before it, if it is not
    /// the first, and receives from the one after it.
    pub(super) fn new(
        segment: S,
        expected: Expected,
        (earlier, later): (Option<FirstsSender>, FirstsReceiver),
        order: Range<u128>,
    ) -> Self {
        SegmentWorker {
            position: segment.position(),
            segment,
            counter: SegmentCounter::new(expected, earlier),
            later,
            order,
            accesses: 0,
            is_divisible: true,
            stopped: false,
            reported: 0,
            held: Bytes(0),
            own: Bytes(0),
            next_look: 0,
            late_look: LOOK_AT_MEMORY_EVERY,
        }
    }

    /// Its place: the smaller, the earlier.
    pub(super) fn order(&self) -> u128 {
        self.order.start
    }

    /// Reads and counts the segment to its end, or until that is of no use any more.
    pub(super) fn read(&mut self, scheduler: &Scheduler<S>, report: &mut dyn FnMut()) {
        while !scheduler.is_given_up() {
            match self.read_on(scheduler) {
                Reading::More => {}
                Reading::End => break,
                Reading::Stopped => {
                    self.stopped = true;
                    break;
                }
                Reading::Failed => scheduler.give_up(),
            }
            if self.accesses >= self.next_look {
                self.look(scheduler);
                scheduler.split(self);
                report();
            }
        }
        self.counter.pass_on();
        self.look(scheduler);
        report();
    }

    /// Reads and counts the next items.
    fn read_on(&mut self, scheduler: &Scheduler<S>) -> Reading {
        let (counter, accesses) = (&mut self.counter, &mut self.accesses);
        let (held, late_look, own) = (&mut self.held, &mut self.late_look, self.own);
        self.segment.read(&mut |items| {
            if scheduler.is_given_up() {
                return;
            }
            counter.count(items);
            *accesses += items.len() as u64;
            // A single row may be any number of items: see `Looks::is_late`.
            if *accesses >= *late_look {
                *late_look = *accesses + LOOK_AT_MEMORY_EVERY;
                let memory = counter.memory() + own;
                scheduler.holds(memory, std::mem::replace(held, memory));
            }
        })
    }

    /// Reports to the scheduler how far it is and what it holds.
    fn look(&mut self, scheduler: &Scheduler<S>) {
        self.next_look = self.accesses + scheduler.look_every();
        self.late_look = self.next_look + LOOK_AT_MEMORY_EVERY;
        let position = self.segment.position().max(self.position);
        scheduler.advanced(self.accesses - self.reported, position - self.position);
        (self.reported, self.position) = (self.accesses, position);
        self.own = self.segment.memory();
        let memory = self.counter.memory() + self.own + self.later.memory();
        scheduler.holds(memory, std::mem::replace(&mut self.held, memory));
    }

    /// Takes off the later half of what is not read yet, and gives it the channel from the segment
    /// after this one. `None` if the halves would be too short to be worth it.
    pub(super) fn split_off(&mut self, shortest: Accesses) -> Option<Self> {
        let middle = self.order.start.midpoint(self.order.end);
        if middle == self.order.start {
            // There is no place left between this segment and the next one.
            return None;
        }
        // The half has tables to fill again, and passes its items on.
        let expected = self.counter.learned();
        let worth = PER_ITEM.saturating_mul(expected.distinct.get());
        let half = self.segment.split_off(shortest.max(Accesses(worth)))?;
        let (earlier, later) = firsts_channel();
        let later = std::mem::replace(&mut self.later, later);
        let order = middle..std::mem::replace(&mut self.order.end, middle);
        let channels = (Some(earlier), later);
        Some(SegmentWorker::new(half, expected, channels, order))
    }

    /// Counts what the segment after this one has passed on so far. To be called when this one was
    /// read.
    pub(super) fn count_arrived(&mut self, scheduler: &Scheduler<S>, report: &mut dyn FnMut()) {
        while let Ok(firsts) = self.receive(scheduler, Duration::ZERO) {
            self.count_firsts(&firsts, scheduler);
            report();
        }
    }

    /// Counts all that the segment after this one passes on.
    pub(super) fn finish(
        mut self,
        scheduler: &Scheduler<S>,
        report: &mut dyn FnMut(),
    ) -> CountedSegment<S> {
        loop {
            match self.receive(scheduler, REPORT_EVERY) {
                Ok(firsts) => self.count_firsts(&firsts, scheduler),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            report();
        }
        let histogram = self.counter.finish();
        scheduler.holds(histogram.memory() + self.segment.memory(), self.held);
        CountedSegment {
            segment: self.segment,
            histogram,
            accesses: self.accesses,
            order: self.order.start,
        }
    }

    fn count_firsts(&mut self, firsts: &[u64], scheduler: &Scheduler<S>) {
        self.counter.count(firsts);
        self.look(scheduler);
    }

    /// What the segment after this one passes on next; `Disconnected` also if that does not count:
    /// the trace ends in this segment, or all was given up.
    fn receive(
        &self,
        scheduler: &Scheduler<S>,
        time: Duration,
    ) -> Result<Vec<u64>, RecvTimeoutError> {
        if self.stopped || scheduler.is_given_up() {
            return Err(RecvTimeoutError::Disconnected);
        }
        self.later.next_within(time)
    }
}
