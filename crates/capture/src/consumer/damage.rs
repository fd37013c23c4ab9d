//! Finds that a program has written over the segment.

use std::sync::atomic::Ordering;

use reuselens_wire::{BLOCK_BYTES, BLOCK_HEADER_BYTES, BlockHeader};

use super::Consumer;

/// A count of threads above this one is none: more than Linux gives numbers to at one time.
const THREADS_MOST: u32 = 1 << 22;
/// The same for events: two years of one each nanosecond.
const EVENTS_MOST: u64 = 1 << 56;

impl Consumer {
    /// Whether a program has written over the segment. From where that is found on nothing is read
    /// from it, and programs are told that nobody reads: who waits for room in the queue would wait
    /// for ever.
    pub fn check(&mut self) -> bool {
        let intact = self.segment.is_header_intact(self.closed)
            && self.segment.header().queue.is_intact(&self.tail)
            && self.segment.header().pool.is_intact()
            && self.has_credible_counts();
        if !intact {
            self.damage();
        }
        self.damaged
    }

    /// Whether that has been found.
    pub fn is_damaged(&self) -> bool {
        self.damaged
    }

    pub(super) fn damage(&mut self) {
        self.damaged = true;
        self.close();
    }

    /// Whether programs can have counted that far.
    fn has_credible_counts(&self) -> bool {
        let header = self.segment.header();
        let threads = [
            &header.unrecorded_threads,
            &header.left,
            &header.left_for_filter,
        ];
        let (_, events) = self.losses();
        let left_out = header.control.left_out.load(Ordering::Relaxed);
        threads
            .iter()
            .all(|count| count.load(Ordering::Relaxed) <= THREADS_MOST)
            && events.max(left_out) <= EVENTS_MOST
    }
}

/// Whether a block's header is one that a thread has published.
pub(super) fn is_published(header: &BlockHeader) -> bool {
    let used = header.used_bytes.load(Ordering::Relaxed) as usize;
    let process = header.process.load(Ordering::Relaxed);
    (BLOCK_HEADER_BYTES..=BLOCK_BYTES).contains(&used) && process <= u32::from(u16::MAX)
}
