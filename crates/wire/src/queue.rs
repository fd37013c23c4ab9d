//! A bounded queue of full blocks: many producers, one consumer, in shared memory.
//!
//! Each cell carries a sequence number that says whose turn it is (the bounded queue of
//! D. Vyukov). A producer that is killed between claiming a cell and filling it leaves that cell
//! unready; [`Queue::skip`] lets the consumer pass it once the producer is known to be dead.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Cells of the queue, a power of two. 64 blocks of 64 KiB are 4 MiB in flight: enough to hide
/// scheduling, small enough to stay in cache.
pub const QUEUE_CELLS: usize = 64;

/// There is no room; wait for the consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

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
    tail: Padded,
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
            tail: Padded(AtomicU64::new(0)),
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

    /// Makes the queue usable; call once, before anyone else sees the memory.
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
    /// [`Full`] if the consumer is [`QUEUE_CELLS`] blocks behind.
    pub fn push(&self, block: u32, slot: u32) -> Result<(), Full> {
        let mut position = self.head.0.load(Ordering::Relaxed);
        loop {
            let cell = self.cell(position);
            let turn = cell.turn.load(Ordering::Acquire);
            if turn == position {
                match self.head.0.compare_exchange_weak(
                    position,
                    position + 1,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => {
                        cell.block.store(block, Ordering::Relaxed);
                        cell.slot.store(slot, Ordering::Relaxed);
                        cell.turn.store(position + 1, Ordering::Release);
                        return Ok(());
                    }
                    Err(now) => position = now,
                }
            } else if turn < position {
                return Err(Full);
            } else {
                position = self.head.0.load(Ordering::Relaxed);
            }
        }
    }

    /// Takes the oldest block, if there is one. One consumer only.
    pub fn pop(&self) -> Option<PublishedBlock> {
        let position = self.tail.0.load(Ordering::Relaxed);
        let cell = self.cell(position);
        if cell.turn.load(Ordering::Acquire) != position + 1 {
            return None;
        }
        let found = PublishedBlock {
            block: cell.block.load(Ordering::Relaxed),
            slot: cell.slot.load(Ordering::Relaxed),
        };
        self.release(position);
        Some(found)
    }

    /// Passes a cell that was claimed and never filled. Only when every producer is dead.
    /// Returns whether there was one.
    pub fn skip(&self) -> bool {
        let position = self.tail.0.load(Ordering::Relaxed);
        let claimed = position < self.head.0.load(Ordering::Acquire);
        if claimed {
            self.release(position);
        }
        claimed
    }

    fn release(&self, position: u64) {
        self.cell(position)
            .turn
            .store(position + QUEUE_CELLS as u64, Ordering::Release);
        self.tail.0.store(position + 1, Ordering::Relaxed);
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
        let queue = queue();
        for round in 0..3 {
            for block in 0..QUEUE_CELLS as u32 {
                assert_eq!(queue.push(block, round), Ok(()));
            }
            assert_eq!(queue.push(99, 0), Err(Full));
            for block in 0..QUEUE_CELLS as u32 {
                assert_eq!(queue.pop(), Some(PublishedBlock { block, slot: round }));
            }
            assert_eq!(queue.pop(), None);
        }
    }

    #[test]
    fn a_claimed_cell_of_a_dead_producer_is_passed() {
        let queue = queue();
        queue.head.0.store(1, Ordering::Relaxed);
        assert_eq!(queue.push(7, 1), Ok(()));
        assert_eq!(queue.pop(), None);
        assert!(queue.skip());
        assert_eq!(queue.pop(), Some(PublishedBlock { block: 7, slot: 1 }));
        assert!(!queue.skip());
    }

    #[test]
    fn many_producers_lose_nothing() {
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
            let mut next = [0_u32; 3].to_vec();
            while next != [EACH; 3].as_slice() {
                match queue.pop() {
                    Some(found) => {
                        assert_eq!(found.block, next[found.slot as usize]);
                        next[found.slot as usize] += 1;
                    }
                    None => std::thread::yield_now(),
                }
            }
            let rest: Vec<_> = core::iter::from_fn(|| queue.pop()).collect();
            assert!(rest.is_empty());
        });
    }
}
