//! [`WaitingBytes`]: bounds the decoded parts that wait for the reader, by their bytes.
//!
//! A decoder asks for room before it queues a part, and waits where there is none. *Invariant:* the
//! chunk that the reader takes from never waits for room that other chunks have: a part of a chunk
//! of which nothing waits has room, however many bytes wait of others. So the sum is at most the
//! bound and one part for each chunk that was begun.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

use reuselens_workers::{lock, wait};

/// The bytes of all parts that wait.
pub(super) struct WaitingBytes {
    most: usize,
    total: Mutex<usize>,
    /// Notified when parts are taken.
    changed: Condvar,
}

/// The bytes of a chunk's parts that wait. Changed only while [`WaitingBytes::total`] is locked.
#[derive(Default)]
pub(super) struct ChunkBytes {
    waiting: AtomicUsize,
    /// Whether nobody takes its parts any more.
    is_dropped: AtomicBool,
}

impl WaitingBytes {
    /// Nothing waits; at most `most` bytes may.
    pub(super) fn new(most: usize) -> WaitingBytes {
        WaitingBytes {
            most,
            total: Mutex::new(0),
            changed: Condvar::new(),
        }
    }

    /// Waits until there is room for another part of a chunk, and takes it. `false` if nobody takes
    /// the chunk's parts any more.
    pub(super) fn add(&self, chunk: &ChunkBytes, bytes: usize) -> bool {
        let mut total = lock(&self.total);
        loop {
            if chunk.is_dropped.load(Ordering::Relaxed) {
                return false;
            }
            let has_none = chunk.waiting.load(Ordering::Relaxed) == 0;
            if has_none || total.saturating_add(bytes) <= self.most {
                break;
            }
            total = wait(&self.changed, total);
        }
        *total += bytes;
        chunk.waiting.fetch_add(bytes, Ordering::Relaxed);
        true
    }

    /// The reader has taken a part of a chunk.
    pub(super) fn take(&self, chunk: &ChunkBytes, bytes: usize) {
        let mut total = lock(&self.total);
        *total -= bytes;
        chunk.waiting.fetch_sub(bytes, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Nobody takes the chunk's parts any more.
    pub(super) fn drop_chunk(&self, chunk: &ChunkBytes) {
        let mut total = lock(&self.total);
        *total -= chunk.waiting.swap(0, Ordering::Relaxed);
        chunk.is_dropped.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// The bytes that wait.
    #[cfg(test)]
    pub(super) fn total(&self) -> usize {
        *lock(&self.total)
    }
}
