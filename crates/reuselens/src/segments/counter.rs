//! One thread of a chain of stretches, each counted by a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use reuselens_distance::{Expected, Shard};
use reuselens_locality::ExactHistogram;
use reuselens_units::Bytes;

use crate::TalliedHistogram;
use crate::budget::LOOK_AT_MEMORY_EVERY;

/// Items taken at once: they and their distances stay in a processor's own cache.
const BLOCK: usize = 1 << 13;

/// Where a stretch hands on to the one before.
pub(crate) struct Before {
    sender: Sender<Vec<u64>>,
    waiting: Arc<AtomicU64>,
}

/// What a stretch is handed by the one behind it.
pub(crate) struct Behind {
    receiver: Receiver<Vec<u64>>,
    waiting: Arc<AtomicU64>,
}

/// The way from a stretch to the one before.
pub(crate) fn way() -> (Before, Behind) {
    let (sender, receiver) = channel();
    let waiting = Arc::default();
    let before = Before {
        sender,
        waiting: Arc::clone(&waiting),
    };
    (before, Behind { receiver, waiting })
}

impl Before {
    fn hand_on(&self, firsts: Vec<u64>) {
        self.waiting.fetch_add(bytes(&firsts), Ordering::Relaxed);
        // It is gone only if it broke off, and then nobody asks for what comes behind it.
        let _ = self.sender.send(firsts);
    }
}

impl Behind {
    /// What comes next, if it comes within that time.
    ///
    /// # Errors
    /// If it does not, or nothing comes any more.
    pub fn next_within(&self, time: Duration) -> Result<Vec<u64>, RecvTimeoutError> {
        self.receiver
            .recv_timeout(time)
            .map(|firsts| self.took(firsts))
    }

    /// What comes next, until nothing comes any more.
    pub fn wait(&self) -> Option<Vec<u64>> {
        self.receiver.recv().ok().map(|firsts| self.took(firsts))
    }

    fn took(&self, firsts: Vec<u64>) -> Vec<u64> {
        self.waiting.fetch_sub(bytes(&firsts), Ordering::Relaxed);
        firsts
    }

    /// The memory of what waits.
    pub fn memory(&self) -> Bytes {
        Bytes(self.waiting.load(Ordering::Relaxed))
    }
}

fn bytes(items: &Vec<u64>) -> u64 {
    8 * items.capacity() as u64
}

/// What counts a stretch, and then what the stretch behind it hands on: items that are met there
/// for the first time.
pub(crate) struct Link {
    shard: Shard,
    histogram: TalliedHistogram,
    /// The thread of the stretch before; none for the first.
    before: Option<Before>,
}

impl Link {
    /// For a stretch of which that much is known ([`Shard::expecting`]) that hands on to `before`.
    pub fn new(expected: Expected, before: Option<Before>) -> Self {
        Link {
            shard: Shard::expecting(expected),
            histogram: TalliedHistogram::new(),
            before,
        }
    }

    /// Counts items that come next, of the stretch or handed on by the one behind it. Those that
    /// are met for the first time are handed on when they are some.
    pub fn count(&mut self, items: &[u64]) {
        for block in items.chunks(BLOCK) {
            self.histogram.add(|tally| self.shard.tally(block, tally));
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
            before.hand_on(firsts);
        }
    }

    /// What a stretch like this one may be expected to be.
    pub fn learned(&self) -> Expected {
        self.shard.learned()
    }

    /// The memory held, and that which it takes if a table grows before the next look.
    pub fn memory(&self) -> Bytes {
        self.shard.memory_ahead(LOOK_AT_MEMORY_EVERY) + self.histogram.memory()
    }

    /// Hands on the rest; the accesses that were not handed on.
    pub fn finish(mut self) -> ExactHistogram {
        self.hand_on();
        let mut histogram = self.histogram.finish();
        if self.before.is_some() {
            // All of these were handed on.
            histogram.forget_cold();
        }
        histogram
    }
}
