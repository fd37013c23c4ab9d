//! A stretch on its way through an engine of its own.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

use reuselens_attribute::Columns;
use reuselens_locality::ExactHistogram;
use reuselens_trace::{AnyStretch, Block, Source, Step, Stretch, TraceError};
use reuselens_units::{Accesses, Bytes, Items};

use super::crew::{Crew, TELL_EVERY};
use crate::attribution::Attribution;
use crate::shard::Link;

/// Touches that are counted together: they stay in a processor's own cache from one to the other.
const TOGETHER: usize = 1 << 13;

/// Accesses per distinct item so far for which it is worth to split a stretch.
const PER_ITEM: u64 = 2;

/// A stretch, and what counts it.
pub(super) struct Runner {
    source: AnyStretch,
    attribution: Attribution,
    link: Link,
    /// What the stretch behind meets for the first time.
    behind: Receiver<Vec<u64>>,
    /// Where it begins in the source, which says what order stretches are in, and how far it was when the crew was last told.
    start: u64,
    place: u64,
    accesses: u64,
    begun: bool,
    /// Whether it may be long enough to be split.
    splits: bool,
    /// The accesses and the memory when the crew was last told, and when that is due again.
    told: u64,
    held: Bytes,
    next_look: u64,
    error: Option<TraceError>,
}

/// What a stretch comes to.
pub(super) struct Ended {
    pub attribution: Attribution,
    /// All but what was handed to the stretch before.
    pub histogram: ExactHistogram,
    pub accesses: u64,
    /// Whether there was a block.
    pub begun: bool,
    /// Why it breaks off.
    pub error: Option<TraceError>,
    /// Where it begins in the source.
    pub start: u64,
}

impl Runner {
    /// For a stretch with one before it, if it is not the first, and one `behind`.
    pub(super) fn new(
        source: AnyStretch,
        attribution: Attribution,
        before: Option<Sender<Vec<u64>>>,
        behind: Receiver<Vec<u64>>,
    ) -> Runner {
        let start = place(&source);
        Runner {
            source,
            attribution,
            link: Link::new(Items(0), before),
            behind,
            start,
            place: start,
            accesses: 0,
            begun: false,
            splits: true,
            told: 0,
            held: Bytes(0),
            next_look: 0,
            error: None,
        }
    }

    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Reads the stretch to its end, or until it is of no more use, and counts it.
    pub(super) fn read(&mut self, crew: &Crew<'_>, tell: &mut dyn FnMut()) {
        let (mut block, mut columns) = (Block::new(), Columns::new());
        while !crew.is_given_up() {
            match self.source.next(&mut block) {
                Ok(Step::Block) => self.block(&mut block, &mut columns, crew),
                Ok(Step::Event(event)) => self.attribution.event(event),
                Ok(Step::End) => break,
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
            if self.accesses >= self.next_look {
                self.look(crew);
                self.splits = self.splits && crew.split(self);
                tell();
            }
        }
        self.count(&mut columns);
        self.link.hand_on();
        self.look(crew);
    }

    fn block(&mut self, block: &mut Block, columns: &mut Columns, crew: &Crew<'_>) {
        self.begun = true;
        if block.touches.uneven {
            crew.give_up();
        }
        let (accesses, link) = (&mut self.accesses, &mut self.link);
        self.attribution.gather(block, columns, |piece| {
            *accesses += piece.len() as u64;
            link.count(&piece.items);
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

    /// Tells the crew how far it is and what it holds.
    fn look(&mut self, crew: &Crew<'_>) {
        self.next_look = self.accesses + crew.look_every();
        let place = place(&self.source).max(self.place);
        crew.counted(self.accesses - self.told, place - self.place);
        (self.told, self.place) = (self.accesses, place);
        let memory = self.link.memory() + self.attribution.memory();
        crew.holds(memory, self.held);
        self.held = memory;
    }

    /// Takes off the later half of what is left, with the stretch behind it.
    pub(super) fn split_off(
        &mut self,
        shortest: Accesses,
        attribution: impl FnOnce(&dyn Source) -> Attribution,
    ) -> Option<Runner> {
        // The half has tables to fill again, and hands its items on.
        let worth = PER_ITEM.saturating_mul(self.link.distinct().get());
        // If it cannot be read it will not be later, and then that is said.
        let half = self.source.split_off(shortest.max(Accesses(worth)));
        let half = half.ok().flatten()?;
        let (send, behind) = channel();
        let behind = std::mem::replace(&mut self.behind, behind);
        let attribution = attribution(&half);
        Some(Runner::new(half, attribution, Some(send), behind))
    }

    /// Counts what the stretch behind has handed on so far. To be called when this one was read.
    pub(super) fn count_what_is_there(&mut self, crew: &Crew<'_>) {
        // What comes behind where the trace breaks off is not looked at.
        while self.error.is_none()
            && !crew.is_given_up()
            && let Ok(firsts) = self.behind.try_recv()
        {
            self.link.count(&firsts);
        }
        self.look(crew);
    }

    /// Counts all that the stretch behind hands on.
    pub(super) fn finish(mut self, crew: &Crew<'_>, tell: &mut dyn FnMut()) -> Ended {
        while self.error.is_none() && !crew.is_given_up() {
            let firsts = self.behind.recv_timeout(TELL_EVERY);
            tell();
            match firsts {
                Ok(firsts) => self.link.count(&firsts),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.look(crew);
        }
        Ended {
            attribution: self.attribution,
            histogram: self.link.finish(),
            accesses: self.accesses,
            begun: self.begun,
            error: self.error,
            start: self.start,
        }
    }
}

/// How far a source is, in bytes.
fn place(source: &dyn Source) -> u64 {
    source.progress().map_or(0, |(place, _)| place)
}
