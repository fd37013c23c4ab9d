//! Publishes blocks, takes new ones and marks them, by the functions of the crate `wire` with the
//! run time's system calls ([`OwnCalls`]). Also keeps whether other threads may record, because
//! only then blocks are marked.

use core::sync::atomic::{AtomicU32, Ordering};

use reuselens_guest::sys;
use reuselens_wire::{MappedSegment, Slot, SlotOwner, SystemCalls};

use crate::quiet;
use crate::segment;

/// The run time's system calls; none are made once the program has restricted itself.
struct OwnCalls;

/// How often a thread that must not make system calls looks whether a block was taken, before it
/// assumes that the consumer is dead: about a minute.
const LOOKS: u32 = 1 << 20;

impl SystemCalls for OwnCalls {
    #[inline]
    fn stamp() -> u64 {
        quiet::stamp()
    }

    fn yield_now() {
        quiet::yield_now();
    }

    fn futex_wait(word: &AtomicU32, seen: u32) {
        quiet::futex_wait(word, seen);
    }

    fn futex_wake(word: &AtomicU32) {
        quiet::futex_wake(word);
    }

    fn is_consumer_there(pid: u32, waits: u32) -> bool {
        if quiet::is_quiet() {
            waits < LOOKS
        } else {
            sys::process_exists(pid)
        }
    }
}

/// Gives a slot that was claimed its owner and its first block. False if there will be none.
pub fn open_slot(segment: MappedSegment, slot: &Slot, owner: &SlotOwner) -> bool {
    segment.open_slot::<OwnCalls>(slot, owner)
}

/// Publishes the slot's block and, with `again`, takes a new one. False if the analysing side is
/// gone.
pub fn publish(slot: &Slot, slot_index: u64, again: bool) -> bool {
    let Some(segment) = segment::get() else {
        return false;
    };
    segment.publish::<OwnCalls>(slot, slot_index as u32)
        && (!again || segment.take_block::<OwnCalls>(slot))
}

/// Marks the block of a slot, which must be the calling thread's: the events written so far
/// happened before now. False if the block has no room for one more mark.
#[inline]
pub fn mark(segment: MappedSegment, slot: &Slot) -> bool {
    segment.mark(slot, quiet::ordered_stamp)
}

/// Not 0 once this process has begun to start threads or processes.
static STARTED_OTHERS: AtomicU32 = AtomicU32::new(0);

/// The process is about to start a thread or another process: from here on blocks are marked, even
/// before that one has a slot.
pub fn start_others() {
    STARTED_OTHERS.store(1, Ordering::Relaxed);
}

/// Whether other threads record, too, or soon will.
#[inline]
pub fn others_run(segment: MappedSegment) -> bool {
    STARTED_OTHERS.load(Ordering::Relaxed) != 0
        || segment.header().slots_used.load(Ordering::Relaxed) > 1
}
