//! A thread's way into the segment: its slot, its block, and how full blocks go out.

use core::sync::atomic::Ordering;

use reuselens_wire::{
    BLOCK_BYTES, BLOCKS, BlockHeader, NO_BLOCK, OTHERS, RECORD_BYTES, Record, Slot, SlotState,
    WireKind,
};

use super::segment::Segment;
use super::sys;

/// A thread's slot. Only its thread writes through it, or who ends the process on its behalf.
#[derive(Clone, Copy, Default)]
pub struct Channel {
    slot: Option<&'static Slot>,
    index: u32,
}

impl Channel {
    /// Claims a slot. `None` within if there is none, or nobody listens.
    pub fn claim(process: u32, stack_high: u64) -> Channel {
        let Some(segment) = Segment::get() else {
            return Channel::default();
        };
        let header = segment.header();
        let found = segment.claim_slot();
        let Some(index) = found.filter(|_| process <= u32::from(u16::MAX)) else {
            header.unrecorded_threads.fetch_add(1, Ordering::Relaxed);
            return Channel::default();
        };
        let slot = segment.slot(index);
        slot.process.store(process, Ordering::Relaxed);
        let thread = header.next_thread.fetch_add(1, Ordering::Relaxed);
        slot.thread.store(thread, Ordering::Relaxed);
        slot.pid.store(sys::pid(), Ordering::Relaxed);
        slot.stack_high.store(stack_high, Ordering::Relaxed);
        slot.outside.store(1, Ordering::Relaxed);
        if !take_block(segment, slot) {
            Segment::abandon();
            return Channel::default();
        }
        slot.state.store(SlotState::Live as u32, Ordering::Release);
        Channel {
            slot: Some(slot),
            index: index as u32,
        }
    }

    /// Whether nothing is recorded (any more).
    pub fn is_closed(&self) -> bool {
        self.slot.is_none()
    }

    /// First address above the thread's stack.
    pub fn stack_high(&self) -> u64 {
        self.slot
            .map_or(0, |slot| slot.stack_high.load(Ordering::Relaxed))
    }

    /// Where records go; `None` if the channel is closed. Room for `records` at least.
    #[inline]
    pub fn room(&mut self, records: usize) -> Option<*mut Record> {
        let slot = self.slot?;
        let cursor = slot.cursor.load(Ordering::Relaxed);
        let left = (cursor as usize).wrapping_neg() & (BLOCK_BYTES - 1);
        if left >= records * RECORD_BYTES {
            return Some(cursor as *mut Record);
        }
        self.publish(true);
        Some(self.slot?.cursor.load(Ordering::Relaxed) as *mut Record)
    }

    /// Where records go and for how many there is room, `records` at least; `None` if the channel
    /// is closed.
    pub fn free(&mut self, records: usize) -> Option<(*mut Record, usize)> {
        let at = self.room(records)?;
        let left = (at as usize).wrapping_neg() & (BLOCK_BYTES - 1);
        Some((at, left / RECORD_BYTES))
    }

    /// The records up to `end` are complete.
    #[inline]
    pub fn advance(&self, end: *mut Record) {
        if let Some(slot) = self.slot {
            slot.cursor.store(end as u64, Ordering::Release);
        }
    }

    /// Writes records that belong together.
    pub fn put(&mut self, records: &[Record]) {
        let Some(at) = self.room(records.len()) else {
            return;
        };
        // One by one: they are few, and a call for all of them takes longer.
        for (index, record) in records.iter().enumerate() {
            // SAFETY: `room` made room in this thread's block.
            unsafe { at.add(index).write_volatile(*record) };
        }
        self.advance(at.wrapping_add(records.len()));
    }

    /// Writes a control event with operands and a text.
    pub fn announce(&mut self, event: Record, operands: &[u64], text: &[u8]) {
        let operand = |number| Record::new(WireKind::Operand, 0, 0, number);
        let Some(mut at) = self.room(1 + operands.len() + text.len().div_ceil(8)) else {
            return;
        };
        let mut write = |record: Record| {
            // SAFETY: `room` made room in this thread's block.
            unsafe {
                at.write(record);
                at = at.add(1);
            }
        };
        write(event);
        operands.iter().for_each(|&number| write(operand(number)));
        for piece in text.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..piece.len()].copy_from_slice(piece);
            write(operand(u64::from_le_bytes(bytes)));
        }
        self.advance(at);
    }

    /// Hands the block over, so that what this thread did comes before what others do from here on.
    pub fn publish(&mut self, again: bool) {
        let (Some(slot), Some(segment)) = (self.slot, Segment::get()) else {
            self.slot = None;
            return;
        };
        if !publish(segment, slot, self.index) || (again && !take_block(segment, slot)) {
            Segment::abandon();
            self.slot = None;
        }
    }

    /// What was written so far was done before `stamp`, when the thread was about to synchronise.
    pub fn mark(&mut self, stamp: u64) {
        let (Some(slot), Some(segment)) = (self.slot, Segment::get()) else {
            return;
        };
        let block = slot.block.load(Ordering::Relaxed);
        let start = segment.block_address(block);
        let used = slot.cursor.load(Ordering::Relaxed).wrapping_sub(start);
        // A block that has been taken away is noticed when it is handed over.
        let marked = (block as usize) < BLOCKS
            && segment.block(block).mark(segment.marks(block), stamp, used);
        if !marked {
            self.publish(true);
        }
    }

    /// Says whether the thread may have notes that are not records yet: they would be lost if it
    /// were killed, and the analysing side says so.
    pub fn set_outside(&self, may_have: bool) {
        if let Some(slot) = self.slot {
            slot.outside.store(u32::from(may_have), Ordering::Release);
        }
    }

    /// Ends the thread's recording.
    pub fn end(&mut self) {
        self.announce(Record::new(WireKind::ThreadEnd, 0, 0, 0), &[], b"");
        self.publish(false);
        if let Some(slot) = self.slot.take() {
            slot.state.store(SlotState::Free as u32, Ordering::Release);
        }
    }

    /// Forgets the slot: it is the parent's.
    pub fn forget(&mut self) {
        self.slot = None;
    }
}

/// Takes an empty block for a slot that has none. False if there will be none.
fn take_block(segment: Segment, slot: &Slot) -> bool {
    let link = |block| &segment.block(block).next_free;
    let Some(block) = segment.header().take_block(link, sys::yield_now) else {
        return false;
    };
    let (address, header) = (segment.block_address(block), segment.block(block));
    slot.begin_block(block, address, header, sys::stamp());
    true
}

/// Hands the slot's block to the analysing side. False if that is gone.
fn publish(segment: Segment, slot: &Slot, index: u32) -> bool {
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
    note_others(segment, header, index as usize);
    if !push(segment, block, index) {
        return false;
    }
    slot.block.store(NO_BLOCK, Ordering::Release);
    slot.published.fetch_add(1, Ordering::Release);
    true
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

/// The consumer is woken only when so many blocks wait; it also looks by itself every millisecond.
const WAKE_EVERY: u32 = 8;

fn push(segment: Segment, block: u32, index: u32) -> bool {
    let header = segment.header();
    let queue = &header.queue;
    loop {
        let seen = queue.taken.load(Ordering::SeqCst);
        if queue.push(block, index).is_ok() {
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
        // Nothing was taken for so long: perhaps nobody is there any more.
        if queue.taken.load(Ordering::SeqCst) == seen
            && !sys::process_exists(header.consumer_pid.load(Ordering::Relaxed))
        {
            return false;
        }
    }
}
