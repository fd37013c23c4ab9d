//! Takes blocks out of the segment in the order of their completion, and at the end of a process
//! those that it could not complete.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use reuselens_wire::{BLOCK_BYTES, NO_BLOCK, QUEUE_CELLS, Record, SLOTS, SlotState};

use crate::segment::{Segment, futex_wait, futex_wake_all, process_exists};

/// The records of one block.
#[derive(Default)]
pub struct RawBlock {
    pub process: u32,
    pub thread: u32,
    pub first_stamp: u64,
    pub last_stamp: u64,
    pub stack_high: u64,
    pub records: Vec<Record>,
}

/// The reading end of a segment.
pub struct Consumer {
    segment: Segment,
    /// Per slot: the last block taken from the queue and when it was begun, so that a block is
    /// never read twice when its program died just after publishing it.
    taken: Vec<(u32, u64)>,
    next_reap: Instant,
}

/// Producers that sleep are woken when the queue is this empty, not at every block.
const WAKE_AT: u32 = QUEUE_CELLS as u32 / 2;
/// How long to sleep at most before looking again.
const NAP: Duration = Duration::from_millis(1);
/// How often to look for processes that have died.
const REAP_EVERY: Duration = Duration::from_millis(20);

impl Consumer {
    pub fn new(segment: Segment) -> Self {
        Consumer {
            segment,
            taken: vec![(NO_BLOCK, 0); SLOTS],
            next_reap: Instant::now(),
        }
    }

    /// What got lost: threads that found no slot, and single events.
    pub fn losses(&self) -> (u32, u64) {
        let header = self.segment.header();
        (
            header.unrecorded_threads.load(Ordering::Relaxed),
            header.lost_events.load(Ordering::Relaxed),
        )
    }

    /// The next full block, if one waits.
    pub fn next(&mut self, raw: &mut RawBlock) -> bool {
        let queue = &self.segment.header().queue;
        let Some(found) = queue.pop() else {
            return false;
        };
        let count = queue.taken.fetch_add(1, Ordering::SeqCst);
        if queue.producers_sleep.load(Ordering::SeqCst) != 0 && count.is_multiple_of(WAKE_AT) {
            futex_wake_all(&queue.taken);
        }
        let slot = found.slot as usize;
        let (Some(state), Some(header)) =
            (self.segment.slot(slot), self.segment.block(found.block))
        else {
            raw.records.clear();
            return true;
        };
        raw.process = header.process.load(Ordering::Relaxed);
        raw.thread = header.thread.load(Ordering::Relaxed);
        raw.first_stamp = header.first_stamp.load(Ordering::Relaxed);
        raw.last_stamp = header.last_stamp.load(Ordering::Relaxed);
        raw.stack_high = state.stack_high.load(Ordering::Relaxed);
        let used = header.used_bytes.load(Ordering::Relaxed) as usize;
        self.segment
            .copy_records(found.block, used, &mut raw.records);
        self.taken[slot] = (found.block, raw.first_stamp);
        self.segment.give_block(found.block);
        true
    }

    /// Sleeps until a block may wait.
    pub fn nap(&self) {
        let queue = &self.segment.header().queue;
        if queue.producers_sleep.load(Ordering::SeqCst) != 0 {
            futex_wake_all(&queue.taken);
        }
        let seen = queue.published.load(Ordering::SeqCst);
        queue.consumer_sleeps.store(1, Ordering::SeqCst);
        if queue.published.load(Ordering::SeqCst) == seen {
            futex_wait(&queue.published, seen, NAP);
        }
        queue.consumer_sleeps.store(0, Ordering::SeqCst);
    }

    /// The unfinished blocks of processes that have died, oldest first; call when no block waits.
    /// `everyone` also takes those of the living (at the end).
    pub fn reap(&mut self, everyone: bool) -> Vec<RawBlock> {
        if !everyone && Instant::now() < self.next_reap {
            return Vec::new();
        }
        self.next_reap = Instant::now() + REAP_EVERY;
        self.take_unfinished(|pid, _| everyone || !process_exists(pid))
    }

    /// The unfinished blocks of what process `pid` was before it became `process` (exec).
    pub fn replaced(&mut self, pid: u32, process: u32) -> Vec<RawBlock> {
        self.take_unfinished(|of, number| of == pid && number < process)
    }

    /// Ids of the living processes that still hold slots.
    pub fn still_running(&self) -> Vec<u32> {
        let mut pids: Vec<u32> = self
            .live_slots()
            .filter_map(|index| self.segment.slot(index))
            .map(|slot| slot.pid.load(Ordering::Relaxed))
            .filter(|pid| process_exists(*pid))
            .collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// Tells programs that nobody reads any more.
    pub fn close(&self) {
        self.segment
            .header()
            .consumer_gone
            .store(1, Ordering::Release);
        futex_wake_all(&self.segment.header().queue.taken);
    }

    /// Passes a queue cell whose producer died before it filled it.
    pub fn skip(&self) -> bool {
        self.segment.header().queue.skip()
    }

    fn live_slots(&self) -> impl Iterator<Item = usize> + '_ {
        (0..SLOTS).filter(|&index| {
            self.segment
                .slot(index)
                .is_some_and(|slot| slot.state.load(Ordering::Acquire) == SlotState::Live as u32)
        })
    }

    fn take_unfinished(&mut self, wanted: impl Fn(u32, u32) -> bool) -> Vec<RawBlock> {
        let slots: Vec<usize> = self.live_slots().collect();
        let mut blocks: Vec<RawBlock> = slots
            .into_iter()
            .filter_map(|index| self.take_slot(index, &wanted))
            .collect();
        blocks.sort_by_key(|block| block.first_stamp);
        blocks
    }

    fn take_slot(&mut self, index: usize, wanted: impl Fn(u32, u32) -> bool) -> Option<RawBlock> {
        let slot = self.segment.slot(index)?;
        let process = slot.process.load(Ordering::Relaxed);
        if !wanted(slot.pid.load(Ordering::Relaxed), process) {
            return None;
        }
        let block = slot.block.load(Ordering::Acquire);
        let first_stamp = slot.first_stamp.load(Ordering::Relaxed);
        let cursor = slot.cursor.load(Ordering::Acquire);
        let used = cursor.wrapping_sub(slot.block_address.load(Ordering::Relaxed)) as usize;
        let mut raw = RawBlock {
            process,
            thread: slot.thread.load(Ordering::Relaxed),
            first_stamp,
            last_stamp: first_stamp,
            stack_high: slot.stack_high.load(Ordering::Relaxed),
            records: Vec::new(),
        };
        let fresh = block != NO_BLOCK && self.taken[index] != (block, first_stamp);
        if fresh && used <= BLOCK_BYTES {
            self.segment.copy_records(block, used, &mut raw.records);
        }
        slot.block.store(NO_BLOCK, Ordering::Relaxed);
        slot.state.store(SlotState::Free as u32, Ordering::Release);
        if fresh {
            self.segment.give_block(block);
        }
        fresh.then_some(raw)
    }
}
