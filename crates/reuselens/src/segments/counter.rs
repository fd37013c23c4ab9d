//! What counts one segment, and the channel by which it passes on what it cannot know.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use reuselens_distance::{Expected, Shard};
use reuselens_locality::ExactHistogram;
use reuselens_units::Bytes;

use crate::TalliedHistogram;
use crate::budget::LOOK_AT_MEMORY_EVERY;

/// Items that are counted together: they and their distances stay in a processor's own cache.
const BLOCK: usize = 1 << 13;

/// The end of a channel at which a segment passes items to the segment before it.
pub(super) struct FirstsSender {
    sender: Sender<Vec<u64>>,
    queued: Arc<AtomicU64>,
}

/// The end of a channel at which a segment gets items from the segment after it.
pub(super) struct FirstsReceiver {
    receiver: Receiver<Vec<u64>>,
    queued: Arc<AtomicU64>,
}

/// The channel between two neighbouring segments. It carries the items that the later segment
/// accesses for the first time, in that order, and closes when the sender is dropped. It is not
/// bounded: the earlier segment counts them only when it has read its own items.
pub(super) fn firsts_channel() -> (FirstsSender, FirstsReceiver) {
    let (sender, receiver) = channel();
    let queued = Arc::default();
    let first = FirstsSender {
        sender,
        queued: Arc::clone(&queued),
    };
    (first, FirstsReceiver { receiver, queued })
}

impl FirstsSender {
    fn send(&self, firsts: Vec<u64>) {
        self.queued.fetch_add(bytes(&firsts), Ordering::Relaxed);
        // The receiver is dropped only when the earlier segment was given up, or ended early. In
        // both cases these items do not count.
        let _ = self.sender.send(firsts);
    }
}

impl FirstsReceiver {
    /// The next items, if they arrive within `time`.
    ///
    /// # Errors
    /// `Timeout` if they do not, `Disconnected` if no more can arrive.
    pub fn next_within(&self, time: Duration) -> Result<Vec<u64>, RecvTimeoutError> {
        let firsts = self.receiver.recv_timeout(time)?;
        self.queued.fetch_sub(bytes(&firsts), Ordering::Relaxed);
        Ok(firsts)
    }

    /// The memory of the items that were sent and not received yet.
    pub fn memory(&self) -> Bytes {
        Bytes(self.queued.load(Ordering::Relaxed))
    }
}

fn bytes(items: &Vec<u64>) -> u64 {
    8 * items.capacity() as u64
}

/// Counts a segment, and then what the segment after it passes on: the items that are accessed
/// there for the first time.
pub(super) struct SegmentCounter {
    shard: Shard,
    histogram: TalliedHistogram,
    /// Where first accesses go; `None` for the first segment.
    earlier: Option<FirstsSender>,
}

impl SegmentCounter {
    /// A counter for a segment of which that much is known ([`Shard::expecting`]), and which passes
    /// its first accesses to `earlier`.
    pub fn new(expected: Expected, earlier: Option<FirstsSender>) -> Self {
        SegmentCounter {
            shard: Shard::expecting(expected),
            histogram: TalliedHistogram::new(),
            earlier,
        }
    }

    /// Counts the next items, of the segment itself or from the segment after it. First accesses
    /// are passed on as soon as there are [`BLOCK`] of them.
    pub fn count(&mut self, items: &[u64]) {
        for block in items.chunks(BLOCK) {
            self.histogram.add(|tally| self.shard.tally(block, tally));
            if self.shard.firsts() >= BLOCK {
                self.pass_on();
            }
        }
    }

    /// Passes on the first accesses so far. Those of the first segment are cold.
    pub fn pass_on(&mut self) {
        if self.shard.firsts() == 0 {
            return;
        }
        let firsts = self.shard.take_firsts();
        if let Some(earlier) = &self.earlier {
            earlier.send(firsts);
        }
    }

    /// What a segment like this one is expected to be.
    pub fn learned(&self) -> Expected {
        self.shard.learned()
    }

    /// The memory held, and the memory that a table takes if it grows before the next look.
    pub fn memory(&self) -> Bytes {
        self.shard.memory_ahead(LOOK_AT_MEMORY_EVERY) + self.histogram.memory()
    }

    /// Passes on the rest, and returns the accesses that were not passed on.
    pub fn finish(mut self) -> ExactHistogram {
        self.pass_on();
        let mut histogram = self.histogram.finish();
        if self.earlier.is_some() {
            // All cold accesses were passed on.
            histogram.forget_cold();
        }
        histogram
    }
}
