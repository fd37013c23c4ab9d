//! [`Consumer`]: the reading end of a segment. It takes published blocks in their order, and with
//! each the parts of other threads' blocks that must be read before it (`merge`). When a process
//! has died it takes the blocks that the process could not publish.
//!
//! Programs may write anywhere in the segment, so all that is read there is checked. Once something
//! impossible is found ([`Consumer::check`]), nothing more is read. `running` drives the consumer.

mod merge;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use reuselens_wire::{
    BLOCK_BYTES, BLOCK_HEADER_BYTES, BlockHeader, Control, Header, NO_BLOCK, QUEUE_CELLS, SLOTS,
    SlotState, Tail,
};

use crate::follow::{Followed, Follower};
use crate::segment::{RawBlock, Segment, StageCopy, futex_wait, futex_wake_all, process_exists};
use merge::{Remains, Unread};

/// The reading end of a segment.
pub struct Consumer {
    segment: Arc<Segment>,
    /// How far the queue has been taken.
    tail: Tail,
    /// Whether the end of the reading was announced.
    closed: bool,
    /// Whether a program has written over the segment: nothing more is read from it.
    damaged: bool,
    /// What has been read through each slot.
    read: Vec<Read>,
    next_reap: Instant,
    /// Records to be delivered before the block last taken.
    overtaken: Vec<RawBlock>,
    /// Threads that were killed with events that were not in the segment yet.
    cut_short: u32,
    follower: Follower,
}

/// What could not be recorded.
#[derive(Clone, Copy, Debug)]
pub struct Losses {
    /// Threads that got no slot.
    pub threads: u32,
    /// Single events.
    pub events: u64,
}

/// What has been read through a slot, so that nothing is read twice.
#[derive(Clone, Copy)]
struct Read {
    /// Blocks taken from the queue.
    blocks: u32,
    /// The last of them.
    last: BlockId,
    /// Bytes of the next one that were read before it was finished, header included.
    part_bytes: usize,
    /// A time before which all is read that was written through the slot.
    part_stamp: u64,
}

/// A use of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
struct BlockId {
    block: u32,
    /// When it was taken (time-stamp counter).
    begun: u64,
}

const NOTHING_READ: Read = Read {
    blocks: 0,
    last: BlockId {
        block: NO_BLOCK,
        begun: 0,
    },
    part_bytes: BLOCK_HEADER_BYTES,
    part_stamp: 0,
};

/// Producers that sleep are woken when the queue is this empty, not at every block.
const WAKE_AT: u32 = QUEUE_CELLS as u32 / 2;
/// How long to sleep at most before looking again.
const NAP: Duration = Duration::from_millis(1);
/// How often to look for processes that have died.
const REAP_EVERY: Duration = Duration::from_millis(20);

/// A larger count of threads is not credible: Linux has no more numbers for threads.
const THREADS_MOST: u32 = 1 << 22;
/// A larger count of events is not credible: two years with one each nanosecond.
const EVENTS_MOST: u64 = 1 << 56;

impl Consumer {
    pub fn new(segment: Arc<Segment>) -> Self {
        Consumer {
            segment,
            tail: Tail::default(),
            closed: false,
            damaged: false,
            read: vec![NOTHING_READ; SLOTS],
            next_reap: Instant::now(),
            overtaken: Vec::new(),
            cut_short: 0,
            follower: Follower::default(),
        }
    }

    /// What could not be recorded so far.
    pub fn losses(&self) -> Losses {
        let header = self.segment.header();
        Losses {
            threads: header.unrecorded_threads.load(Ordering::Relaxed),
            events: header.lost_events.load(Ordering::Relaxed),
        }
    }

    /// Threads that were killed with events that were not in the segment yet.
    pub fn cut_short(&self) -> u32 {
        self.cut_short
    }

    /// What is to be recorded.
    pub fn control(&self) -> &Control {
        &self.segment.header().control
    }

    /// The segment's header.
    pub fn header(&self) -> &Header {
        self.segment.header()
    }

    /// Handles a process that is about to call `exec`, or has called it; see [`Follower::follow`].
    pub fn follow(&mut self) -> Option<Followed> {
        self.follower.follow(&self.segment, !self.damaged)
    }

    /// Reads the next published block into `raw`. False if there is none.
    pub fn next(&mut self, raw: &mut RawBlock) -> bool {
        let queue = &self.segment.header().queue;
        if self.damaged {
            return false;
        }
        let Some(found) = queue.pop(&mut self.tail) else {
            return false;
        };
        let count = queue.taken.fetch_add(1, Ordering::SeqCst);
        if queue.producers_sleep.load(Ordering::SeqCst) != 0 && count.is_multiple_of(WAKE_AT) {
            futex_wake_all(&queue.taken);
        }
        let slot = found.slot as usize;
        let Some(header) = self
            .segment
            .block(found.block)
            .filter(|header| slot < SLOTS && is_published(header))
        else {
            self.damage();
            return false;
        };
        let records = std::mem::take(&mut raw.records);
        *raw = RawBlock {
            records,
            ..raw_of(header)
        };
        raw.last_stamp = header.last_stamp.load(Ordering::Relaxed);
        let used = header.used_bytes.load(Ordering::Relaxed) as usize;
        let read = &mut self.read[slot];
        let from = std::mem::replace(&mut read.part_bytes, BLOCK_HEADER_BYTES);
        read.blocks = read.blocks.wrapping_add(1);
        read.last = BlockId {
            block: found.block,
            begun: raw.first_stamp,
        };
        let mut own = Unread {
            block: found.block,
            from,
            to: used,
            begin: read.part_stamp.max(raw.first_stamp),
            end: raw.last_stamp,
        };
        read.part_stamp = own.end;
        let mut parts = self.others(found.block, slot, own.end);
        if !parts.is_empty() {
            parts.push(own);
            let tail = merge::cut(&self.segment, &parts, &mut self.overtaken);
            (own.from, own.begin) = (tail.from, tail.begin);
        }
        raw.first_stamp = own.begin;
        self.segment
            .copy_records(found.block, own.from, used, &mut raw.records);
        self.segment.give_block(found.block);
        true
    }

    /// The records that must be delivered before the block just taken: what other threads had
    /// written when it was published, and the parts of the block itself that come before or between
    /// those. Empty as long as one thread records.
    pub fn overtaken(&mut self) -> std::vec::Drain<'_, RawBlock> {
        self.overtaken.drain(..)
    }

    /// Sleeps until a block may wait.
    pub fn nap(&mut self) {
        if self.check() {
            return std::thread::sleep(NAP);
        }
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

    /// Ids of the processes that have died and still hold slots. Looks at most every 20
    /// milliseconds; in between it returns none.
    pub fn dead(&mut self) -> Vec<u32> {
        if Instant::now() < self.next_reap {
            return Vec::new();
        }
        self.next_reap = Instant::now() + REAP_EVERY;
        let mut pids = self.processes();
        pids.retain(|pid| !process_exists(*pid));
        pids
    }

    /// Takes the unfinished blocks of these dead processes, in the order in which their threads
    /// synchronised. To be called once all blocks that they published are taken.
    pub fn reap(&mut self, dead: &[u32]) -> Vec<RawBlock> {
        if self.check() {
            return Vec::new();
        }
        self.take_unfinished(|pid, _| dead.contains(&pid))
    }

    /// The unfinished blocks of all processes, at the end. Processes that live keep their slots,
    /// for they still write.
    pub fn rest(&mut self) -> Vec<RawBlock> {
        if self.damaged {
            return Vec::new();
        }
        let living = self.still_running();
        let mut remains = self.take_remains(|pid, _| living.binary_search(&pid).is_err());
        let slots: Vec<usize> = self.live_slots().collect();
        remains.extend(slots.into_iter().filter_map(|index| self.look_at(index)));
        merge::cut_remains(remains)
    }

    /// What is in a slot's block and was not read. Does not change the slot.
    fn look_at(&self, index: usize) -> Option<Remains> {
        let slot = self.segment.slot(index)?;
        let block = slot.block.load(Ordering::Acquire);
        let cursor = slot.cursor.load(Ordering::Acquire);
        let used = cursor.wrapping_sub(slot.block_address.load(Ordering::Relaxed)) as usize;
        if slot.block.load(Ordering::Acquire) != block {
            // The thread has published the block meanwhile: the cursor may be that of its next one.
            return None;
        }
        let mut raw = raw_of(self.segment.block(block)?);
        let read = &self.read[index];
        let unread = read.last
            != (BlockId {
                block,
                begun: raw.first_stamp,
            })
            && used <= BLOCK_BYTES;
        let mut marks = Vec::new();
        if unread {
            self.segment
                .copy_records(block, read.part_bytes, used, &mut raw.records);
            marks = merge::marked_records(&self.segment, block, read.part_bytes, used);
        }
        raw.first_stamp = raw.first_stamp.max(read.part_stamp);
        raw.last_stamp = raw.first_stamp;
        // A thread that lives reports itself what it has left out.
        let staged = self.staged(index, false);
        let more = staged.is_some_and(|staged| {
            raw.records.extend(staged.records);
            true
        });
        (unread || more).then_some(Remains { raw, marks })
    }

    /// Takes the unfinished blocks of process `pid` from before its `exec`, after which its number
    /// is `process`.
    pub fn replaced(&mut self, pid: u32, process: u32) -> Vec<RawBlock> {
        if self.damaged {
            return Vec::new();
        }
        self.take_unfinished(|of, number| of == pid && number < process)
    }

    /// Ids of the living processes that still hold slots, in order.
    pub fn still_running(&self) -> Vec<u32> {
        let mut pids = self.processes();
        pids.retain(|pid| process_exists(*pid));
        pids
    }

    /// Ids of all processes that hold slots, in order.
    fn processes(&self) -> Vec<u32> {
        let slots = self
            .live_slots()
            .filter_map(|index| self.segment.slot(index));
        let mut pids: Vec<u32> = slots.map(|slot| slot.pid.load(Ordering::Relaxed)).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// Announces to programs that no more blocks are taken.
    pub fn close(&mut self) {
        self.closed = true;
        self.segment
            .header()
            .consumer_gone
            .store(1, Ordering::Release);
        futex_wake_all(&self.segment.header().queue.taken);
    }

    /// Skips a queue cell whose producer died before it filled it. Returns whether there was one.
    pub fn skip(&mut self) -> bool {
        !self.damaged && self.segment.header().queue.skip(&mut self.tail)
    }

    /// Checks whether a program has written over the segment, and returns that. Once it is found,
    /// nothing more is read, and that is announced to programs: a thread that waits for room in the
    /// queue would wait forever.
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

    /// Whether damage has been found before.
    pub fn is_damaged(&self) -> bool {
        self.damaged
    }

    fn damage(&mut self) {
        self.damaged = true;
        self.close();
    }

    /// Whether programs can have made the counts in the header.
    fn has_credible_counts(&self) -> bool {
        let header = self.segment.header();
        let threads = [
            &header.unrecorded_threads,
            &header.detached,
            &header.detached_for_filter,
        ];
        let events = self.losses().events;
        let left_out = header.control.left_out.load(Ordering::Relaxed);
        threads
            .iter()
            .all(|count| count.load(Ordering::Relaxed) <= THREADS_MOST)
            && events.max(left_out) <= EVENTS_MOST
    }

    /// The wanted records in the stage of a thread that is dead or does not write now. With
    /// `report`, the others are counted as left out: the thread cannot do that any more.
    fn staged(&self, index: usize, report: bool) -> Option<RawBlock> {
        let StageCopy {
            slot,
            mut gate,
            sorting,
        } = self.segment.stage(index)?;
        if slot.state.load(Ordering::Acquire) != SlotState::Live as u32 || sorting {
            // It is being sorted: a part of it is in the thread's own block already.
            return None;
        }
        let block = slot.block.load(Ordering::Acquire);
        let mut raw = raw_of(self.segment.block(block)?);
        let start = slot.block_address.load(Ordering::Relaxed);
        let used = slot.cursor.load(Ordering::Acquire).wrapping_sub(start) as usize;
        if used > BLOCK_BYTES {
            return None;
        }
        let mut all = Vec::new();
        self.segment
            .copy_records(block, BLOCK_HEADER_BYTES, used, &mut all);
        let control = &self.segment.header().control;
        gate.sort(control, raw.stack_high, &all, &mut |records| {
            raw.records.extend_from_slice(records);
        });
        if report {
            gate.report(control);
        }
        Some(raw)
    }

    fn free_stage(&self, index: usize) {
        if let Some(StageCopy { slot, .. }) = self.segment.stage(index)
            && slot.state.load(Ordering::Acquire) == SlotState::Live as u32
        {
            slot.state.store(SlotState::Free as u32, Ordering::Relaxed);
            let block = slot.block.swap(NO_BLOCK, Ordering::Relaxed);
            self.segment.give_block(block);
        }
    }

    fn live_slots(&self) -> impl Iterator<Item = usize> + '_ {
        (0..SLOTS).filter(|&index| {
            self.segment
                .slot(index)
                .is_some_and(|slot| slot.state.load(Ordering::Acquire) == SlotState::Live as u32)
        })
    }

    fn take_unfinished(&mut self, wanted: impl Fn(u32, u32) -> bool) -> Vec<RawBlock> {
        merge::cut_remains(self.take_remains(wanted))
    }

    fn take_remains(&mut self, wanted: impl Fn(u32, u32) -> bool) -> Vec<Remains> {
        let slots: Vec<usize> = self.live_slots().collect();
        let taken = slots.into_iter();
        taken
            .filter_map(|index| self.take_slot(index, &wanted))
            .collect()
    }

    fn take_slot(&mut self, index: usize, wanted: impl Fn(u32, u32) -> bool) -> Option<Remains> {
        let slot = self.segment.slot(index)?;
        let process = slot.process.load(Ordering::Relaxed);
        if !wanted(slot.pid.load(Ordering::Relaxed), process) {
            return None;
        }
        let block = slot.block.load(Ordering::Acquire);
        let first_stamp = slot.first_stamp.load(Ordering::Relaxed);
        let cursor = slot.cursor.load(Ordering::Acquire);
        let used = cursor.wrapping_sub(slot.block_address.load(Ordering::Relaxed)) as usize;
        let mut raw = self.segment.block(block).map(raw_of);
        self.cut_short += u32::from(slot.outside.load(Ordering::Acquire) != 0);
        let read = &mut self.read[index];
        let from = std::mem::replace(&mut read.part_bytes, BLOCK_HEADER_BYTES);
        let begin = first_stamp.max(read.part_stamp);
        let mut marks = Vec::new();
        if read.last
            == (BlockId {
                block,
                begun: first_stamp,
            })
        {
            // It died just after it had published the block.
            raw = None;
        }
        if let Some(raw) = raw.as_mut().filter(|_| used <= BLOCK_BYTES) {
            self.segment
                .copy_records(block, from, used, &mut raw.records);
            marks = merge::marked_records(&self.segment, block, from, used);
            (raw.first_stamp, raw.last_stamp) = (begin, begin);
        }
        // The block counts as published, so that the progress of this slot in blocks that wait in
        // the queue is out of date. That also corrects a block that was counted and not queued, or
        // queued and not counted.
        read.blocks = slot
            .published
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_add(1);
        slot.block.store(NO_BLOCK, Ordering::Relaxed);
        if raw.is_some() {
            self.segment.give_block(block);
        }
        if let Some(staged) = self.staged(index, true) {
            match raw.as_mut() {
                Some(raw) => raw.records.extend(staged.records),
                None => raw = Some(staged),
            }
        }
        self.free_stage(index);
        slot.state.store(SlotState::Free as u32, Ordering::Release);
        raw.map(|raw| Remains { raw, marks })
    }
}

/// A raw block with a block's process, thread and stamps, and no records.
fn raw_of(header: &BlockHeader) -> RawBlock {
    let first_stamp = header.first_stamp.load(Ordering::Relaxed);
    RawBlock {
        process: header.process.load(Ordering::Relaxed),
        thread: header.thread.load(Ordering::Relaxed),
        first_stamp,
        last_stamp: first_stamp,
        stack_high: header.stack_high.load(Ordering::Relaxed),
        records: Vec::new(),
    }
}

/// Whether a thread can have published a block with this header.
fn is_published(header: &BlockHeader) -> bool {
    let used = header.used_bytes.load(Ordering::Relaxed) as usize;
    let process = header.process.load(Ordering::Relaxed);
    (BLOCK_HEADER_BYTES..=BLOCK_BYTES).contains(&used) && process <= u32::from(u16::MAX)
}
