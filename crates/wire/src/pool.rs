//! The pool of empty blocks: a lock-free stack of block numbers, last in first out so that the
//! blocks in use stay in cache.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::{BLOCKS, NO_BLOCK};

/// The stack's head and the count of blocks that were never used. The links live in the blocks'
/// headers, so callers pass a way to reach them.
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

    /// Whether the top of the stack is a block. Where it is none, a program has written over it, or
    /// over the link of a block that was on the stack.
    pub fn is_intact(&self) -> bool {
        self.head.load(Ordering::Acquire) as u32 as usize <= BLOCKS
    }

    /// Takes a block, whose number is below [`BLOCKS`] whatever is in the memory; [`NO_BLOCK`] if
    /// all are in use, or the pool is not intact. `link` gives the `next_free` of a block.
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

    /// Gives a block back.
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
    fn pool_hands_out_no_number_that_is_no_block() {
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
    fn every_block_once_then_none_then_again() {
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
