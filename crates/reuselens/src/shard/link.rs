//! One thread of a chain of stretches, each counted by a thread of its own.

use std::sync::mpsc::Sender;

use reuselens_distance::Shard;
use reuselens_locality::ExactHistogram;
use reuselens_units::{Bytes, Distance, Items};

use crate::analysis::LOOK_AT_MEMORY_EVERY;

/// Items taken at once: they and their distances stay in a processor's own cache.
const BLOCK: usize = 1 << 13;

/// What counts a stretch, and then what the stretch behind it hands on: items that are met there for the first time.
pub(crate) struct Link {
    shard: Shard,
    histogram: ExactHistogram,
    distances: Vec<Distance>,
    /// The thread of the stretch before; none for the first.
    before: Option<Sender<Vec<u64>>>,
    /// Items handed to it.
    handed_on: u64,
}

impl Link {
    /// For a stretch of about so many distinct items ([`Shard::expecting`]) that hands on to `before`.
    pub fn new(distinct: Items, before: Option<Sender<Vec<u64>>>) -> Self {
        Link {
            shard: Shard::expecting(distinct),
            histogram: ExactHistogram::new(),
            distances: vec![Distance::COLD; BLOCK],
            before,
            handed_on: 0,
        }
    }

    /// Counts items that come next, of the stretch or handed on by the one behind it. Those that are met for the first time are handed
    /// on when they are some.
    pub fn count(&mut self, items: &[u64]) {
        for block in items.chunks(BLOCK) {
            let distances = &mut self.distances[..block.len()];
            self.shard.process(block, distances);
            self.histogram.add_column(distances);
            if self.shard.firsts() >= BLOCK {
                self.hand_on();
            }
        }
    }

    /// Gives the thread before what there is. The first of all knows itself.
    pub fn hand_on(&mut self) {
        if self.shard.firsts() == 0 {
            return;
        }
        let firsts = self.shard.take_firsts();
        if let Some(before) = &self.before {
            self.handed_on += firsts.len() as u64;
            // It is gone only if it broke off, and then nobody asks for what comes behind it.
            let _ = before.send(firsts);
        }
    }

    /// The distinct items so far.
    pub fn distinct(&self) -> Items {
        self.shard.distinct()
    }

    /// The memory held, with what waits for the thread before, and that which it takes if a table grows before the next look.
    pub fn memory(&self) -> Bytes {
        let waiting = Bytes(8 * self.handed_on);
        self.shard.memory_ahead(LOOK_AT_MEMORY_EVERY) + self.histogram.memory() + waiting
    }

    /// Hands on the rest; the accesses that were not handed on.
    pub fn finish(mut self) -> ExactHistogram {
        self.hand_on();
        if self.before.is_some() {
            // All of these were handed on.
            self.histogram.forget_cold();
        }
        self.histogram
    }
}
