//! The producer's side of the segment, as methods of [`MappedSegment`]: a recording thread claims a
//! slot, takes blocks, marks them where it synchronises, and publishes full ones. The run time and
//! the rewriter both use these; they differ in how they make system calls ([`SystemCalls`]).
//!
//! Invariant: only the thread that claimed a slot changes it and its block, until the block is
//! published. The analysing side may take the block of a slot away once it takes the thread for
//! dead; [`MappedSegment::publish`] then returns false.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::{
    BLOCK_BYTES, BLOCK_HEADER_BYTES, BLOCKS, BlockHeader, MappedSegment, NO_BLOCK, OTHERS, SLOTS,
    Slot, SlotState,
};

/// The system calls that a producer needs.
pub trait SystemCalls {
    /// The time-stamp counter: one clock for all cores.
    fn stamp() -> u64;
    /// Lets another thread run.
    fn yield_now();
    /// Sleeps until `word` is woken or no longer `seen`, or for a tenth of a second at most.
    fn futex_wait(word: &AtomicU32, seen: u32);
    /// Wakes one sleeper on `word`.
    fn futex_wake(word: &AtomicU32);
    /// Whether the consumer, process `pid`, may still live. The caller has waited `waits` times in
    /// a row without the consumer taking a block.
    fn is_consumer_there(pid: u32, waits: u32) -> bool;
}

/// The thread that records through a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotOwner {
    /// Number of the process.
    pub process: u32,
    /// Number of the thread.
    pub thread: u32,
    /// The operating system's process id.
    pub pid: u32,
    /// First address above the thread's stack, 0 if unknown.
    pub stack_high: u64,
}

/// The consumer is woken once in this many blocks, so that waking is rare; it also looks by itself
/// every millisecond.
const WAKE_EVERY: u32 = 8;

impl MappedSegment {
    /// Claims a free slot and returns its number; `None` if all are in use. The analysing side
    /// ignores the slot until its state is [`SlotState::Live`]. A caller that does not open it must
    /// set its state to [`SlotState::Free`] again.
    pub fn claim_slot(self) -> Option<usize> {
        let claim = |index: &usize| {
            let state = &self.slot(*index).state;
            let (free, claimed) = (SlotState::Free as u32, SlotState::Claimed as u32);
            let (taken, seen) = (Ordering::Acquire, Ordering::Relaxed);
            state.load(seen) == free && state.compare_exchange(free, claimed, taken, seen).is_ok()
        };
        let index = (0..SLOTS).find(claim)?;
        let used = &self.header().slots_used;
        used.fetch_max(index as u32 + 1, Ordering::Release);
        Some(index)
    }

    /// Gives a claimed slot its owner and its first block, and makes it live. Returns false, and
    /// leaves it claimed, if there is no block.
    pub fn open_slot<S: SystemCalls>(self, slot: &Slot, owner: &SlotOwner) -> bool {
        slot.set_owner(owner);
        let has_block = self.take_block::<S>(slot);
        if has_block {
            slot.state.store(SlotState::Live as u32, Ordering::Release);
        }
        has_block
    }

    /// Takes an empty block for a slot without one, and waits for it if necessary. If there will be
    /// none (the analysing side is gone, or the pool was written over), counts a lost event and
    /// returns false; the slot then has no room.
    pub fn take_block<S: SystemCalls>(self, slot: &Slot) -> bool {
        let header = self.header();
        let link = |block| &self.block(block).next_free;
        let mut block = header.pool.take(link);
        while block == NO_BLOCK {
            if !header.pool.is_intact() || header.consumer_gone.load(Ordering::Relaxed) != 0 {
                header.lost_events.fetch_add(1, Ordering::Relaxed);
                slot.cursor.store(0, Ordering::Release);
                return false;
            }
            // Cannot happen while each slot has at most two blocks and the queue is bounded; wait
            // if it does.
            S::yield_now();
            block = header.pool.take(link);
        }
        slot.begin_block(
            block,
            self.block_address(block),
            self.block(block),
            S::stamp(),
        );
        true
    }

    /// Appends the block of `slot`, which is slot `index`, to the queue; the slot then has none.
    /// Returns false if the analysing side is gone, has stopped the recording, or has taken the
    /// block away because it took this process for dead.
    pub fn publish<S: SystemCalls>(self, slot: &Slot, index: u32) -> bool {
        let block = slot.block.load(Ordering::Relaxed);
        if self.header().control.is_stopped() || block as usize >= BLOCKS {
            return false;
        }
        let header = self.block(block);
        header
            .used_bytes
            .store(self.used_bytes(slot, block) as u32, Ordering::Relaxed);
        header.last_stamp.store(S::stamp(), Ordering::Relaxed);
        self.write_others(header, index as usize);
        if !self.push::<S>(block, index) {
            return false;
        }
        slot.block.store(NO_BLOCK, Ordering::Release);
        slot.published.fetch_add(1, Ordering::Release);
        true
    }

    /// Marks the block of a slot, which must be the calling thread's: the events that it has
    /// written so far happened before `stamp`. Returns false if the block has no room for one more
    /// mark.
    #[inline]
    pub fn mark(self, slot: &Slot, stamp: impl FnOnce() -> u64) -> bool {
        let block = slot.block.load(Ordering::Relaxed);
        if block as usize >= BLOCKS {
            // The block was taken away; `publish` will notice.
            return true;
        }
        let used = self.used_bytes(slot, block);
        self.block(block).mark(self.marks(block), stamp(), used)
    }

    /// Bytes used of the slot's block, header included.
    #[inline]
    fn used_bytes(self, slot: &Slot, block: u32) -> u64 {
        let cursor = slot.cursor.load(Ordering::Relaxed);
        cursor.wrapping_sub(self.block_address(block))
    }

    /// Writes into a block how far the other threads have come: what they did before now is read
    /// before this block.
    fn write_others(self, header: &BlockHeader, own: usize) {
        let used = self.header().slots_used.load(Ordering::Acquire) as usize;
        let filled = if used > 1 { used.min(OTHERS) } else { 0 };
        header.others_filled.store(filled as u32, Ordering::Relaxed);
        for (index, other) in header.others.iter().enumerate().take(filled) {
            let slot = self.slot(index);
            let published = slot.published.load(Ordering::Acquire);
            let block = slot.block.load(Ordering::Acquire);
            let start = slot.block_address.load(Ordering::Relaxed);
            // Both are addresses in the other thread's process: only their difference means
            // anything here.
            let used = slot.cursor.load(Ordering::Acquire).wrapping_sub(start);
            let stayed = slot.published.load(Ordering::Acquire) == published
                && slot.block.load(Ordering::Acquire) == block;
            let live = slot.state.load(Ordering::Acquire) == SlotState::Live as u32;
            let usable = index != own && live && stayed && used <= BLOCK_BYTES as u64;
            other.published.store(published, Ordering::Relaxed);
            other.used_bytes.store(used as u32, Ordering::Relaxed);
            other
                .block
                .store(if usable { block } else { NO_BLOCK }, Ordering::Relaxed);
        }
    }

    /// Appends a block to the queue, and sleeps while the queue is full. Returns false if the
    /// analysing side takes no more blocks.
    fn push<S: SystemCalls>(self, block: u32, slot: u32) -> bool {
        let header = self.header();
        let queue = &header.queue;
        let mut waits = 0;
        loop {
            let seen = queue.taken.load(Ordering::SeqCst);
            if queue.push(block, slot).is_ok() {
                let count = queue.published.fetch_add(1, Ordering::SeqCst);
                if count.is_multiple_of(WAKE_EVERY)
                    && queue.consumer_sleeps.load(Ordering::SeqCst) != 0
                {
                    S::futex_wake(&queue.published);
                }
                return true;
            }
            if header.consumer_gone.load(Ordering::Relaxed) != 0 || header.control.is_stopped() {
                return false;
            }
            queue.producers_sleep.fetch_add(1, Ordering::SeqCst);
            S::futex_wait(&queue.taken, seen);
            queue.producers_sleep.fetch_sub(1, Ordering::SeqCst);
            if queue.taken.load(Ordering::SeqCst) != seen {
                waits = 0;
                continue;
            }
            // Nothing was taken while this thread waited: the consumer may be dead.
            waits += 1;
            let pid = header.consumer_pid.load(Ordering::Relaxed);
            if !S::is_consumer_there(pid, waits) {
                return false;
            }
        }
    }
}

impl Slot {
    /// The thread that records through the slot.
    pub fn owner(&self) -> SlotOwner {
        SlotOwner {
            process: self.process.load(Ordering::Relaxed),
            thread: self.thread.load(Ordering::Relaxed),
            pid: self.pid.load(Ordering::Relaxed),
            stack_high: self.stack_high.load(Ordering::Relaxed),
        }
    }

    fn set_owner(&self, owner: &SlotOwner) {
        self.process.store(owner.process, Ordering::Relaxed);
        self.thread.store(owner.thread, Ordering::Relaxed);
        self.pid.store(owner.pid, Ordering::Relaxed);
        self.stack_high.store(owner.stack_high, Ordering::Relaxed);
    }

    /// Makes `block`, which was taken at `stamp`, the slot's block. `address` is its address in the
    /// producer's memory, `header` its header.
    fn begin_block(&self, block: u32, address: u64, header: &BlockHeader, stamp: u64) {
        let owner = self.owner();
        header.process.store(owner.process, Ordering::Relaxed);
        header.thread.store(owner.thread, Ordering::Relaxed);
        header.stack_high.store(owner.stack_high, Ordering::Relaxed);
        header.first_stamp.store(stamp, Ordering::Relaxed);
        header.marks.store(0, Ordering::Relaxed);
        self.first_stamp.store(stamp, Ordering::Relaxed);
        self.block_address.store(address, Ordering::Relaxed);
        self.cursor
            .store(address + BLOCK_HEADER_BYTES as u64, Ordering::Release);
        self.block.store(block, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
