//! [`BlockQueue`]: blocks that run on several threads at the same time, and are delivered to the
//! sink one after the other, in the order in which they were handed out.
//!
//! A thread that is too many blocks ahead of the last one delivered waits. After a block has
//! failed, or a thread has panicked, no further block begins.

use std::sync::atomic::AtomicU32;
use std::sync::{Condvar, Mutex};

use reuselens_workers::{lock, wait};

use crate::sink::LaunchSink;

use super::launch::{Ended, Wave, WaveResult};

/// Blocks on their way from the threads that ran them to the sink, in order.
pub(super) struct BlockQueue<'s, S: LaunchSink> {
    pub(super) next: AtomicU32,
    pub(super) end: u32,
    pub(super) state: Mutex<QueueState<'s, S>>,
    pub(super) moved: Condvar,
    pub(super) ahead: u32,
}

pub(super) struct QueueState<'s, S: LaunchSink> {
    pub(super) sink: &'s mut S,
    /// Blocks that wait for one before them.
    pub(super) ended: Vec<(u32, Ended<S::Block>)>,
    /// The next one to be delivered.
    pub(super) delivered: u32,
    pub(super) sum: WaveResult,
    /// Whether a thread panicked: a block that it ran is never delivered.
    pub(super) is_abandoned: bool,
}

impl<S: LaunchSink> QueueState<'_, S> {
    /// Whether more blocks are to be run: none has failed, and no thread has panicked.
    fn is_going_on(&self) -> bool {
        self.sum.result.is_ok() && !self.is_abandoned
    }
}

impl<S: LaunchSink> BlockQueue<'_, S> {
    /// A sink for a block, when it is not too far ahead; none once a block has failed.
    pub(super) fn open(&self, index: u32, block: u32) -> Option<S::Block> {
        let mut state = lock(&self.state);
        while state.is_going_on() && index >= state.delivered.saturating_add(self.ahead) {
            state = wait(&self.moved, state);
        }
        state.is_going_on().then(|| state.sink.open(block))
    }

    /// Lets the sink take what the block whose turn it is has collected.
    pub(super) fn drain(&self, index: u32, block: u32, sink: &mut S::Block) {
        if let Ok(mut state) = self.state.try_lock()
            && state.delivered == index
            && state.is_going_on()
        {
            state.sink.drain(block, sink);
        }
    }

    /// Delivers a block, and those that have waited for it.
    pub(super) fn put(&self, wave: &Wave<'_>, index: u32, ended: Ended<S::Block>) {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        state.ended.push((index, ended));
        while state.is_going_on()
            && let Some(place) = state
                .ended
                .iter()
                .position(|ended| ended.0 == state.delivered)
        {
            let (index, ended) = state.ended.swap_remove(place);
            state.delivered += 1;
            wave.add(wave.number(index), ended, &mut state.sum, state.sink);
        }
        self.moved.notify_all();
    }

    /// Wakes the threads that wait for a block of a thread that panicked, and lets them end.
    pub(super) fn abandon(&self) {
        lock(&self.state).is_abandoned = true;
        self.moved.notify_all();
    }
}
