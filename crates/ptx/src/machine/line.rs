//! Blocks that run at the same time are delivered one after the other.

use std::sync::atomic::AtomicU32;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::sink::Sink;

use super::launch::{Ended, Wave, WaveResult};

/// Blocks on their way from the threads that ran them to the sink, in order.
pub(super) struct BlockQueue<'s, S: Sink> {
    pub(super) next: AtomicU32,
    pub(super) end: u32,
    pub(super) state: Mutex<QueueState<'s, S>>,
    pub(super) moved: Condvar,
    pub(super) ahead: u32,
}

pub(super) struct QueueState<'s, S: Sink> {
    pub(super) sink: &'s mut S,
    /// Blocks that wait for one before them.
    pub(super) ended: Vec<(u32, Ended<S::Block>)>,
    /// The next one to be delivered.
    pub(super) delivered: u32,
    pub(super) sum: WaveResult,
}

impl<S: Sink> BlockQueue<'_, S> {
    /// A sink for a block, when it is not too far ahead; none once a block has failed.
    pub(super) fn open(&self, index: u32, block: u32) -> Option<S::Block> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |state: &mut QueueState<'_, S>| {
            state.sum.2.is_ok() && index >= state.delivered.saturating_add(self.ahead)
        };
        let mut state = self
            .moved
            .wait_while(state, waits)
            .unwrap_or_else(PoisonError::into_inner);
        state.sum.2.is_ok().then(|| state.sink.open(block))
    }

    /// Lets the sink take what the block whose turn it is has collected.
    pub(super) fn drain(&self, index: u32, block: u32, sink: &mut S::Block) {
        if let Ok(mut state) = self.state.try_lock()
            && state.delivered == index
            && state.sum.2.is_ok()
        {
            state.sink.drain(block, sink);
        }
    }

    /// Delivers a block, and those that have waited for it.
    pub(super) fn put(&self, wave: &Wave<'_>, index: u32, ended: Ended<S::Block>) {
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        state.ended.push((index, ended));
        while state.sum.2.is_ok()
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
}
