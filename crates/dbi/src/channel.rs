//! A thread's way into the segment: its slot, its block, and how full blocks go out.

use core::sync::atomic::{AtomicU32, Ordering};

use reuselens_wire::{
    BLOCK_BYTES, BLOCKS, RECORD_BYTES, Record, Slot, SlotOwner, SlotState, SystemCalls, WireKind,
};

use super::segment;
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
        let Some(segment) = segment::get() else {
            return Channel::default();
        };
        let header = segment.header();
        let found = segment.claim_slot();
        let Some(index) = found.filter(|_| process <= u32::from(u16::MAX)) else {
            header.unrecorded_threads.fetch_add(1, Ordering::Relaxed);
            return Channel::default();
        };
        let slot = segment.slot(index);
        let owner = SlotOwner {
            process,
            thread: header.next_thread.fetch_add(1, Ordering::Relaxed),
            pid: sys::pid(),
            stack_high,
        };
        slot.outside.store(1, Ordering::Relaxed);
        if !segment.open_slot::<OwnCalls>(slot, &owner) {
            segment::abandon();
            return Channel::default();
        }
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
        let (Some(slot), Some(segment)) = (self.slot, segment::get()) else {
            self.slot = None;
            return;
        };
        let published = segment.publish::<OwnCalls>(slot, self.index);
        if !published || (again && !segment.take_block::<OwnCalls>(slot)) {
            segment::abandon();
            self.slot = None;
        }
    }

    /// What was written so far was done before `stamp`, when the thread was about to synchronise.
    pub fn mark(&mut self, stamp: u64) {
        let (Some(slot), Some(segment)) = (self.slot, segment::get()) else {
            return;
        };
        let has_block = (slot.block.load(Ordering::Relaxed) as usize) < BLOCKS;
        let marked = has_block && segment.mark(slot, || stamp);
        if !marked {
            self.publish(true);
        }
    }

    /// Says whether the thread may have notes that are not records yet: they would be lost if it
    /// were killed, and the analysing side warns of that.
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

/// The rewriter's system calls.
struct OwnCalls;

impl SystemCalls for OwnCalls {
    #[inline]
    fn stamp() -> u64 {
        sys::stamp()
    }

    fn yield_now() {
        sys::yield_now();
    }

    fn futex_wait(word: &AtomicU32, seen: u32) {
        sys::futex_wait(word, seen);
    }

    fn futex_wake(word: &AtomicU32) {
        sys::futex_wake(word);
    }

    fn is_consumer_there(pid: u32, _: u32) -> bool {
        sys::process_exists(pid)
    }
}
