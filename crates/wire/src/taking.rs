//! How a thread takes a block: what compiled-in code and the rewriter do alike.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::{BLOCK_HEADER_BYTES, BlockHeader, Header, NO_BLOCK, Slot};

impl Header {
    /// Takes an empty block, whose number is below [`BLOCKS`](crate::BLOCKS). `link` gives the
    /// `next_free` of a block. `None` if there will be none, which counts as a lost event: the
    /// other side is gone, or somebody has written over the pool.
    pub fn take_block<'a>(
        &self,
        link: impl Fn(u32) -> &'a AtomicU32,
        yield_now: impl Fn(),
    ) -> Option<u32> {
        let mut block = self.pool.take(&link);
        while block == NO_BLOCK {
            if !self.pool.is_intact() || self.consumer_gone.load(Ordering::Relaxed) != 0 {
                self.lost_events.fetch_add(1, Ordering::Relaxed);
                return None;
            }
            // Cannot happen while every slot holds one block and the queue is bounded; wait if it
            // does.
            yield_now();
            block = self.pool.take(&link);
        }
        Some(block)
    }
}

impl Slot {
    /// Records to a block from now on, which was taken at `stamp`. `address` is where the producer
    /// has it, `header` its beginning.
    pub fn begin_block(&self, block: u32, address: u64, header: &BlockHeader, stamp: u64) {
        let copy = |to: &AtomicU32, from: &AtomicU32| {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        };
        copy(&header.process, &self.process);
        copy(&header.thread, &self.thread);
        let stack_high = self.stack_high.load(Ordering::Relaxed);
        header.stack_high.store(stack_high, Ordering::Relaxed);
        header.first_stamp.store(stamp, Ordering::Relaxed);
        header.marks.store(0, Ordering::Relaxed);
        self.first_stamp.store(stamp, Ordering::Relaxed);
        self.block_address.store(address, Ordering::Relaxed);
        self.cursor
            .store(address + BLOCK_HEADER_BYTES as u64, Ordering::Release);
        self.block.store(block, Ordering::Release);
    }
}
