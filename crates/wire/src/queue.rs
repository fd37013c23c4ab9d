//! [`Queue`]: a bounded queue of full blocks in shared memory, with many producers (threads of the
//! measured programs) and one consumer (the analysing side). It has no locks.
//!
//! Each cell has a sequence number by which producers and consumer see whose turn it is (the
//! bounded queue of D. Vyukov). A producer that is killed between claiming a cell and filling it
//! leaves that cell unready; [`Queue::skip`] lets the consumer pass it once the producer is known
//! to be dead.
//!
//! The consumer's position is not in shared memory, and the consumer trusts the producers' position
//! only if it is at most [`QUEUE_CELLS`] ahead of its own. So a program that writes over the queue
//! cannot make the consumer take or pass more cells than there are.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Cells of the queue, a power of two. 64 blocks of 64 KiB are 4 MiB in flight: enough to hide
/// scheduling, small enough to stay in cache.
pub const QUEUE_CELLS: usize = 64;

/// The queue has no room; wait for the consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The consumer's position in the queue: how many cells it has taken or skipped. It is in the
/// consumer's own memory.
#[derive(Debug, Default)]
pub struct Tail(u64);

/// A block that was taken out of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedBlock {
    /// Number of the block.
    pub block: u32,
    /// Slot that published it.
    pub slot: u32,
}

#[repr(C)]
struct Cell {
    turn: AtomicU64,
    block: AtomicU32,
    slot: AtomicU32,
}

/// The queue; all-zero memory is not valid before [`Queue::init`].
#[repr(C, align(128))]
pub struct Queue {
    head: Padded,
    /// Futex: counts publications; the consumer sleeps on it.
    pub published: AtomicU32,
    /// Futex: counts removals; producers sleep on it.
    pub taken: AtomicU32,
    /// Whether the consumer sleeps.
    pub consumer_sleeps: AtomicU32,
    /// How many producers sleep.
    pub producers_sleep: AtomicU32,
    cells: [Cell; QUEUE_CELLS],
}

#[repr(C, align(128))]
struct Padded(AtomicU64);

impl Queue {
    /// An empty queue.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Queue {
            head: Padded(AtomicU64::new(0)),
            published: AtomicU32::new(0),
            taken: AtomicU32::new(0),
            consumer_sleeps: AtomicU32::new(0),
            producers_sleep: AtomicU32::new(0),
            cells: [const {
                Cell {
                    turn: AtomicU64::new(0),
                    block: AtomicU32::new(0),
                    slot: AtomicU32::new(0),
                }
            }; QUEUE_CELLS],
        }
    }

    /// Makes the queue usable; call once, before another thread or process can see the memory.
    pub fn init(&self) {
        for (index, cell) in self.cells.iter().enumerate() {
            cell.turn.store(index as u64, Ordering::Relaxed);
        }
    }

    fn cell(&self, position: u64) -> &Cell {
        &self.cells[(position % QUEUE_CELLS as u64) as usize]
    }

    /// Appends a block.
    ///
    /// # Errors
    /// [`Full`] if [`QUEUE_CELLS`] blocks are waiting for the consumer, or the queue was written
    /// over.
    pub fn push(&self, block: u32, slot: u32) -> Result<(), Full> {
        let mut position = self.head.0.load(Ordering::Relaxed);
        loop {
            let cell = self.cell(position);
            let turn = cell.turn.load(Ordering::Acquire);
            if turn == position {
                match self.head.0.compare_exchange_weak(
                    position,
                    position.wrapping_add(1),
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => {
                        cell.block.store(block, Ordering::Relaxed);
                        cell.slot.store(slot, Ordering::Relaxed);
                        cell.turn.store(position.wrapping_add(1), Ordering::Release);
                        return Ok(());
                    }
                    Err(now) => position = now,
                }
            } else if turn < position {
                return Err(Full);
            } else {
                // Another producer has taken the cell, and has moved the head for that. If the head
                // has not moved, the cell was written over, and this loop would not end.
                let before = core::mem::replace(&mut position, self.head.0.load(Ordering::Relaxed));
                if position == before {
                    return Err(Full);
                }
            }
        }
    }

    /// Takes the oldest block, if there is one. Only the one consumer may call this.
    pub fn pop(&self, tail: &mut Tail) -> Option<PublishedBlock> {
        let cell = self.cell(tail.0);
        if cell.turn.load(Ordering::Acquire) != tail.0.wrapping_add(1) {
            return None;
        }
        let found = PublishedBlock {
            block: cell.block.load(Ordering::Relaxed),
            slot: cell.slot.load(Ordering::Relaxed),
        };
        self.release(tail);
        Some(found)
    }

    /// Skips a cell that was claimed and never filled. Call it only when all producers are dead.
    /// Returns whether there was one; false if the queue was written over.
    pub fn skip(&self, tail: &mut Tail) -> bool {
        let skips = self.is_intact(tail) && self.claimed(tail) > 0;
        if skips {
            self.release(tail);
        }
        skips
    }

    /// Whether producers can have left the queue in this state. If not, a program has written over
    /// it.
    pub fn is_intact(&self, tail: &Tail) -> bool {
        let turn = self.cell(tail.0).turn.load(Ordering::Acquire);
        // The next cell is free or claimed, or filled.
        let is_next = turn == tail.0 || turn == tail.0.wrapping_add(1);
        is_next && self.claimed(tail) <= QUEUE_CELLS as u64
    }

    /// Cells that producers have claimed and the consumer has not taken.
    fn claimed(&self, tail: &Tail) -> u64 {
        self.head.0.load(Ordering::Acquire).wrapping_sub(tail.0)
    }

    fn release(&self, tail: &mut Tail) {
        let next = tail.0.wrapping_add(QUEUE_CELLS as u64);
        self.cell(tail.0).turn.store(next, Ordering::Release);
        tail.0 = tail.0.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    fn queue() -> Queue {
        let queue = Queue::new();
        queue.init();
        queue
    }

    #[test]
    fn keeps_order_and_reports_full() {
        let (queue, mut tail) = (queue(), Tail::default());
        for round in 0..3 {
            for block in 0..QUEUE_CELLS as u32 {
                assert_eq!(queue.push(block, round), Ok(()));
            }
            assert_eq!(queue.push(99, 0), Err(Full));
            for block in 0..QUEUE_CELLS as u32 {
                let found = queue.pop(&mut tail);
                assert_eq!(found, Some(PublishedBlock { block, slot: round }));
            }
            assert_eq!(queue.pop(&mut tail), None);
            assert!(queue.is_intact(&tail));
        }
    }

    #[test]
    fn skip_passes_claimed_cell_of_dead_producer() {
        let (queue, mut tail) = (queue(), Tail::default());
        queue.head.0.store(1, Ordering::Relaxed);
        assert_eq!(queue.push(7, 1), Ok(()));
        assert_eq!(queue.pop(&mut tail), None);
        assert!(queue.skip(&mut tail));
        let found = queue.pop(&mut tail);
        assert_eq!(found, Some(PublishedBlock { block: 7, slot: 1 }));
        assert!(!queue.skip(&mut tail));
    }

    #[test]
    fn skip_refuses_a_head_that_is_too_far_ahead() {
        for head in [QUEUE_CELLS as u64 + 1, 1 << 40, u64::MAX] {
            let (queue, mut tail) = (queue(), Tail::default());
            queue.head.0.store(head, Ordering::Relaxed);
            assert!(!queue.is_intact(&tail), "{head}");
            assert!(!queue.skip(&mut tail), "{head}");
        }
    }

    #[test]
    fn push_to_an_overwritten_cell_returns_full() {
        for turn in [5, u64::MAX] {
            let (queue, mut tail) = (queue(), Tail::default());
            queue.cells[0].turn.store(turn, Ordering::Relaxed);
            assert_eq!(queue.push(7, 1), Err(Full));
            assert_eq!(queue.pop(&mut tail), None);
            assert!(!queue.is_intact(&tail));
        }
    }

    #[test]
    fn many_producers_lose_no_block() {
        const EACH: u32 = if cfg!(miri) { 50 } else { 20_000 };
        let queue = queue();
        std::thread::scope(|scope| {
            for slot in 0..3 {
                let queue = &queue;
                scope.spawn(move || {
                    for block in 0..EACH {
                        while queue.push(block, slot).is_err() {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            let (mut next, mut tail) = ([0_u32; 3].to_vec(), Tail::default());
            while next != [EACH; 3].as_slice() {
                match queue.pop(&mut tail) {
                    Some(found) => {
                        assert_eq!(found.block, next[found.slot as usize]);
                        next[found.slot as usize] += 1;
                    }
                    None => std::thread::yield_now(),
                }
            }
            let rest: Vec<_> = core::iter::from_fn(|| queue.pop(&mut tail)).collect();
            assert!(rest.is_empty());
        });
    }
}
