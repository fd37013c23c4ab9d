//! [`BlockPool`]: the empty blocks of a segment, a lock-free stack of block numbers. The block that
//! was given back last is taken first, so that the blocks in use stay in cache.
//!
//! Producers take blocks, the consumer gives them back after reading. Blocks that were never used
//! are not on the stack; the pool counts them, so that their memory is not touched before.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::{BLOCKS, NO_BLOCK};

/// The stack's head, and how many blocks were ever used. The links between the stack's blocks are
/// in the blocks' headers ([`next_free`](crate::BlockHeader::next_free)): callers pass a function
/// that returns a block's link.
#[repr(C, align(128))]
pub struct BlockPool {
    /// Tag (upper half, against ABA) and number + 1 of the top block (lower half).
    head: AtomicU64,
    /// Blocks handed out for the first time so far.
    fresh: AtomicU32,
}

impl BlockPool {
    /// A pool in which no block was used yet.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        BlockPool {
            head: AtomicU64::new(0),
            fresh: AtomicU32::new(0),
        }
    }

    /// Whether the top of the stack is a block or the stack is empty. If not, a program has written
    /// over the pool, or over the link of a block that was on the stack.
    pub fn is_intact(&self) -> bool {
        self.head.load(Ordering::Acquire) as u32 as usize <= BLOCKS
    }

    /// Takes a block and returns its number, which is below [`BLOCKS`] whatever is in the memory;
    /// [`NO_BLOCK`] if all are in use, or the pool is not intact. `link` returns the `next_free` of
    /// a block.
    pub fn take<'a>(&self, link: impl Fn(u32) -> &'a AtomicU32) -> u32 {
        let mut head = self.head.load(Ordering::Acquire);
        while head as u32 != 0 {
            let block = head as u32 - 1;
            if block as usize >= BLOCKS {
                return NO_BLOCK;
            }
            let next = link(block).load(Ordering::Relaxed);
            let new = (head >> 32).wrapping_add(1) << 32 | u64::from(next);
            match self
                .head
                .compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return block,
                Err(now) => head = now,
            }
        }
        let fresh = self.fresh.fetch_add(1, Ordering::Relaxed);
        if (fresh as usize) < BLOCKS {
            fresh
        } else {
            self.fresh.fetch_sub(1, Ordering::Relaxed);
            NO_BLOCK
        }
    }

    /// Gives a block back, which must be one that was taken. `link` as for [`Self::take`].
    pub fn give<'a>(&self, block: u32, link: impl Fn(u32) -> &'a AtomicU32) {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            link(block).store(head as u32, Ordering::Relaxed);
            let new = (head >> 32).wrapping_add(1) << 32 | u64::from(block + 1);
            match self
                .head
                .compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    #[test]
    fn take_returns_no_block_from_an_overwritten_pool() {
        let links: Vec<AtomicU32> = (0..BLOCKS).map(|_| AtomicU32::new(0)).collect();
        let link = |block: u32| &links[block as usize];
        for beyond in [BLOCKS as u32 + 1, u32::MAX] {
            let pool = BlockPool::new();
            pool.head.store(u64::from(beyond), Ordering::Relaxed);
            assert_eq!(pool.take(link), NO_BLOCK);
            assert!(!pool.is_intact());
            // The link of a block that is taken.
            let pool = BlockPool::new();
            pool.give(7, link);
            links[7].store(beyond, Ordering::Relaxed);
            assert_eq!(pool.take(link), 7);
            assert_eq!(pool.take(link), NO_BLOCK);
            assert!(!pool.is_intact());
        }
    }

    #[test]
    fn take_returns_each_block_once_and_returned_ones_again() {
        let links: Vec<AtomicU32> = (0..BLOCKS).map(|_| AtomicU32::new(0)).collect();
        let pool = BlockPool::new();
        let link = |block: u32| &links[block as usize];
        let mut taken: Vec<u32> = (0..BLOCKS).map(|_| pool.take(link)).collect();
        assert_eq!(pool.take(link), NO_BLOCK);
        taken.sort_unstable();
        assert!(
            taken
                .iter()
                .enumerate()
                .all(|(index, block)| index == *block as usize)
        );
        pool.give(5, link);
        pool.give(9, link);
        assert_eq!(pool.take(link), 9, "last in, first out");
        assert_eq!(pool.take(link), 5);
        assert_eq!(pool.take(link), NO_BLOCK);
    }
}
