//! Tests of the producer's side, with system calls that do nothing: waits end at once, and the
//! consumer is dead after the third.

use super::*;
use crate::mapped::tests::segment;
use crate::{MARKS_MOST, QUEUE_CELLS, Tail};
extern crate std;
use std::cell::Cell;
use std::vec::Vec;

std::thread_local! {
    /// How often this thread has waited, and how often it has woken the consumer.
    static CALLS: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// System calls by which the consumer, process 5, lives for three waits.
struct Patient;

impl SystemCalls for Patient {
    fn stamp() -> u64 {
        77
    }

    fn yield_now() {}

    fn futex_wait(_: &AtomicU32, _: u32) {
        CALLS.with(|calls| calls.set((calls.get().0 + 1, calls.get().1)));
    }

    fn futex_wake(_: &AtomicU32) {
        CALLS.with(|calls| calls.set((calls.get().0, calls.get().1 + 1)));
    }

    fn is_consumer_there(pid: u32, waits: u32) -> bool {
        pid == 5 && waits < 3
    }
}

fn owner(thread: u32) -> SlotOwner {
    SlotOwner {
        process: 2,
        thread,
        pid: 900,
        stack_high: 0x7000,
    }
}

/// A segment with an open slot.
fn opened() -> (MappedSegment, &'static Slot, u32) {
    let segment = segment();
    segment.header().consumer_pid.store(5, Ordering::Relaxed);
    let index = segment.claim_slot().unwrap();
    let slot = segment.slot(index);
    assert!(segment.open_slot::<Patient>(slot, &owner(3)));
    (segment, slot, index as u32)
}

#[test]
#[cfg_attr(
    miri,
    ignore = "half a million steps, of a loop that other tests run too"
)]
fn claim_returns_each_slot_once_and_freed_ones_again() {
    let segment = segment();
    let claimed: Vec<usize> = std::iter::from_fn(|| segment.claim_slot()).collect();
    assert_eq!(claimed, (0..SLOTS).collect::<Vec<_>>());
    let used = segment.header().slots_used.load(Ordering::Relaxed);
    assert_eq!(used as usize, SLOTS);
    let free = SlotState::Free as u32;
    segment.slot(9).state.store(free, Ordering::Relaxed);
    assert_eq!(segment.claim_slot(), Some(9));
}

#[test]
fn published_block_has_its_owner_and_length() {
    let (segment, slot, index) = opened();
    assert_eq!(slot.owner(), owner(3));
    let block = slot.block.load(Ordering::Relaxed);
    slot.cursor.fetch_add(48, Ordering::Relaxed);
    assert!(segment.publish::<Patient>(slot, index));
    let header = segment.block(block);
    let used = header.used_bytes.load(Ordering::Relaxed) as usize;
    assert_eq!(used, BLOCK_HEADER_BYTES + 48);
    assert_eq!(header.thread.load(Ordering::Relaxed), 3);
    assert_eq!(header.stack_high.load(Ordering::Relaxed), 0x7000);
    assert_eq!(slot.block.load(Ordering::Relaxed), NO_BLOCK);
    let found = segment.header().queue.pop(&mut Tail::default()).unwrap();
    assert_eq!((found.block, found.slot), (block, index));
}

#[test]
fn published_block_has_the_progress_of_live_threads_only() {
    let (segment, slot, index) = opened();
    let second = segment.slot(segment.claim_slot().unwrap());
    assert!(segment.open_slot::<Patient>(second, &owner(4)));
    segment.claim_slot().unwrap();
    second.cursor.fetch_add(16, Ordering::Relaxed);
    let block = slot.block.load(Ordering::Relaxed);
    assert!(segment.publish::<Patient>(slot, index));
    let header = segment.block(block);
    assert_eq!(header.others_filled.load(Ordering::Relaxed), 3);
    let blocks: Vec<u32> = (0..3)
        .map(|other| header.others[other].block.load(Ordering::Relaxed))
        .collect();
    let second_block = second.block.load(Ordering::Relaxed);
    assert_eq!(blocks, [NO_BLOCK, second_block, NO_BLOCK]);
    let used = header.others[1].used_bytes.load(Ordering::Relaxed) as usize;
    assert_eq!(used, BLOCK_HEADER_BYTES + 16);
}

#[test]
fn publish_to_a_full_queue_fails_when_the_consumer_is_gone() {
    let (segment, slot, index) = opened();
    for _ in 0..QUEUE_CELLS {
        assert!(segment.publish::<Patient>(slot, index));
        assert!(segment.take_block::<Patient>(slot));
    }
    CALLS.set((0, 0));
    assert!(!segment.publish::<Patient>(slot, index));
    assert_eq!(CALLS.get().0, 3, "waits");
    let queue = &segment.header().queue;
    assert_eq!(queue.producers_sleep.load(Ordering::Relaxed), 0);
    // The consumer has announced its end: not even one wait.
    segment.header().consumer_gone.store(1, Ordering::Relaxed);
    assert!(!segment.publish::<Patient>(slot, index));
    assert_eq!(CALLS.get().0, 3, "waits");
    // There is room again.
    assert!(queue.pop(&mut Tail::default()).is_some());
    assert!(segment.publish::<Patient>(slot, index));
}

#[test]
fn sleeping_consumer_is_woken_at_every_eighth_block() {
    let (segment, slot, index) = opened();
    let sleeps = &segment.header().queue.consumer_sleeps;
    sleeps.store(1, Ordering::Relaxed);
    CALLS.set((0, 0));
    for _ in 0..3 * WAKE_EVERY {
        assert!(segment.publish::<Patient>(slot, index));
        assert!(segment.take_block::<Patient>(slot));
    }
    assert_eq!(CALLS.get(), (0, 3));
}

#[test]
fn block_that_was_taken_away_is_not_published() {
    let (segment, slot, index) = opened();
    slot.block.store(NO_BLOCK, Ordering::Relaxed);
    assert!(!segment.publish::<Patient>(slot, index));
    assert!(segment.mark(slot, || unreachable!("there is no block to mark")));
    assert!(segment.header().queue.pop(&mut Tail::default()).is_none());
}

#[test]
fn slot_without_a_block_has_no_room() {
    let (segment, slot, index) = opened();
    assert!(segment.publish::<Patient>(slot, index));
    let mut taken = 0;
    segment.header().consumer_gone.store(1, Ordering::Relaxed);
    while segment.take_block::<Patient>(slot) {
        taken += 1;
    }
    // All but the one that is in the queue.
    assert_eq!(taken, BLOCKS - 1);
    assert_eq!(slot.cursor.load(Ordering::Relaxed), 0);
    assert_eq!(segment.header().lost_events.load(Ordering::Relaxed), 1);
}

#[test]
fn mark_beyond_the_last_is_refused() {
    let (segment, slot, _) = opened();
    for number in 0..MARKS_MOST as u64 {
        assert!(segment.mark(slot, || number));
    }
    assert!(!segment.mark(slot, || 0));
    let block = slot.block.load(Ordering::Relaxed);
    let last = &segment.marks(block)[MARKS_MOST - 1];
    assert_eq!(last.stamp.load(Ordering::Relaxed), MARKS_MOST as u64 - 1);
    let used = last.used_bytes.load(Ordering::Relaxed) as usize;
    assert_eq!(used, BLOCK_HEADER_BYTES);
}
