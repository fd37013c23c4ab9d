//! Blocks change hands: full ones go to the analysing side, empty ones come from the pool.

use core::sync::atomic::{AtomicU32, Ordering};

use reuselens_wire::{BLOCK_BYTES, BLOCKS, BlockHeader, NO_BLOCK, OTHERS, Slot, SlotState};

use crate::segment::Segment;
use crate::sys;

/// Takes an empty block for a slot that has none. False if there will be none.
pub fn take_block(segment: Segment, slot: &Slot) -> bool {
    let link = |block| &segment.block(block).next_free;
    let Some(block) = segment.header().take_block(link, sys::yield_now) else {
        // No room: the hooks come to the slow path.
        slot.cursor.store(0, Ordering::Release);
        return false;
    };
    let (address, header) = (segment.block_address(block), segment.block(block));
    slot.begin_block(block, address, header, sys::stamp());
    true
}

/// Hands the slot's block to the analysing side and, with `again`, takes a new one. False if the
/// other side is gone.
pub fn publish(slot: &Slot, slot_index: u64, again: bool) -> bool {
    let Some(segment) = Segment::get() else {
        return false;
    };
    let block = slot.block.load(Ordering::Relaxed);
    if segment.header().control.is_stopped() {
        return false;
    }
    if block as usize >= BLOCKS {
        // The other side has taken it away: it took this process for dead.
        return false;
    }
    let start = segment.block_address(block);
    let used = slot.cursor.load(Ordering::Relaxed).wrapping_sub(start);
    let header = segment.block(block);
    header.used_bytes.store(used as u32, Ordering::Relaxed);
    header.last_stamp.store(sys::stamp(), Ordering::Relaxed);
    note_others(segment, header, slot_index as usize);
    if !push(segment, block, slot_index as u32) {
        return false;
    }
    slot.block.store(NO_BLOCK, Ordering::Release);
    slot.published.fetch_add(1, Ordering::Release);
    !again || take_block(segment, slot)
}

/// Notes in a block how far the other threads have come: what they did before this moment is to be
/// read before this block.
fn note_others(segment: Segment, header: &BlockHeader, own: usize) {
    let used = segment.header().slots_used.load(Ordering::Acquire) as usize;
    let noted = if used > 1 { used.min(OTHERS) } else { 0 };
    header.others_noted.store(noted as u32, Ordering::Relaxed);
    for (index, other) in header.others.iter().enumerate().take(noted) {
        let slot = segment.slot(index);
        let published = slot.published.load(Ordering::Acquire);
        let block = slot.block.load(Ordering::Acquire);
        let start = slot.block_address.load(Ordering::Relaxed);
        // An address of the other thread's own process: only the difference counts.
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

/// Marks the block of a slot, which must be the calling thread's: what it has written so far was
/// done before now. False if the block has no room for one more mark.
#[inline]
pub fn mark(segment: Segment, slot: &Slot) -> bool {
    let block = slot.block.load(Ordering::Relaxed);
    if block as usize >= BLOCKS {
        // It has been taken away, which is noticed when it is to be handed over.
        return true;
    }
    let start = segment.block_address(block);
    let used = slot.cursor.load(Ordering::Relaxed).wrapping_sub(start);
    segment
        .block(block)
        .mark(segment.marks(block), sys::ordered_stamp(), used)
}

/// Not 0 once this process has begun to start threads or processes.
static STARTED_OTHERS: AtomicU32 = AtomicU32::new(0);

/// The process is about to start a thread or another process: what is done from here on may have to
/// be ordered, though that one has not shown itself yet.
pub fn start_others() {
    STARTED_OTHERS.store(1, Ordering::Relaxed);
}

/// Whether other threads record too, or soon will.
#[inline]
pub fn others_run(segment: Segment) -> bool {
    STARTED_OTHERS.load(Ordering::Relaxed) != 0
        || segment.header().slots_used.load(Ordering::Relaxed) > 1
}

/// The consumer is woken only when so many blocks wait, so that waking is rare; it also looks by
/// itself every millisecond.
const WAKE_EVERY: u32 = 8;

/// How often a thread that must not make system calls looks whether a block was taken, before it
/// assumes that the consumer is dead: about a minute.
const LOOKS: u32 = 1 << 20;

fn push(segment: Segment, block: u32, slot_index: u32) -> bool {
    let header = segment.header();
    let queue = &header.queue;
    let mut looks = 0;
    loop {
        let seen = queue.taken.load(Ordering::SeqCst);
        if queue.push(block, slot_index).is_ok() {
            let count = queue.published.fetch_add(1, Ordering::SeqCst);
            if count.is_multiple_of(WAKE_EVERY) && queue.consumer_sleeps.load(Ordering::SeqCst) != 0
            {
                sys::futex_wake(&queue.published);
            }
            return true;
        }
        if header.consumer_gone.load(Ordering::Relaxed) != 0 || header.control.is_stopped() {
            return false;
        }
        queue.producers_sleep.fetch_add(1, Ordering::SeqCst);
        sys::futex_wait(&queue.taken, seen);
        queue.producers_sleep.fetch_sub(1, Ordering::SeqCst);
        if queue.taken.load(Ordering::SeqCst) != seen {
            looks = 0;
            continue;
        }
        // Nothing was taken for so long: perhaps nobody is there any more.
        looks += 1;
        let is_there = if sys::is_quiet() {
            looks < LOOKS
        } else {
            sys::process_exists(header.consumer_pid.load(Ordering::Relaxed))
        };
        if !is_there {
            return false;
        }
    }
}
