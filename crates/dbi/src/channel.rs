//! [`Channel`]: through which a thread writes records into the segment. It holds the thread's slot,
//! writes into the slot's block, and publishes full blocks. The rules are those of the crate `wire`
//! (`producer`); this adds the rewriter's system calls ([`OwnCalls`]).
//!
//! A closed channel has no slot: writing does nothing, so that the program runs on unrecorded.

use core::sync::atomic::{AtomicU32, Ordering};

use reuselens_guest::{clock, sys};
#[cfg(test)]
use reuselens_wire::BLOCK_HEADER_BYTES;
use reuselens_wire::{
    BLOCK_BYTES, BLOCKS, MappedSegment, RECORD_BYTES, Record, Slot, SlotOwner, SlotState,
    SystemCalls, WireKind,
};

use super::segment;

/// A thread's slot, or none. Only the thread itself writes through it, or the thread that ends the
/// process and empties the buffers of the others (see `final_drain`).
#[derive(Clone, Copy, Default)]
pub struct Channel {
    slot: Option<&'static Slot>,
    index: u32,
}

impl Channel {
    /// Claims a slot for a thread of process number `process`. The channel is closed if no slot is
    /// free, the number is too large, or recording has ended.
    pub fn claim(process: u32, stack_high: u64) -> Channel {
        segment::get().map_or_else(Channel::default, |segment| {
            Channel::claim_in(segment, process, stack_high)
        })
    }

    /// [`Self::claim`] in this segment.
    fn claim_in(segment: MappedSegment, process: u32, stack_high: u64) -> Channel {
        let header = segment.header();
        // Items carry their process in sixteen bits. Checked first: a slot that is claimed and not
        // opened is lost to all others.
        let may_record = process <= u32::from(u16::MAX);
        let Some(index) = may_record.then(|| segment.claim_slot()).flatten() else {
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

    /// Whether the channel has no slot: nothing is recorded through it.
    pub fn is_closed(&self) -> bool {
        self.slot.is_none()
    }

    /// First address above the thread's stack.
    pub fn stack_high(&self) -> u64 {
        self.slot
            .map_or(0, |slot| slot.stack_high.load(Ordering::Relaxed))
    }

    /// Where the next records go, with room for `records` at least; `None` if the channel is
    /// closed.
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

    /// Where the next records go and how many have room there, `records` at least; `None` if the
    /// channel is closed.
    pub fn free(&mut self, records: usize) -> Option<(*mut Record, usize)> {
        let at = self.room(records)?;
        let left = (at as usize).wrapping_neg() & (BLOCK_BYTES - 1);
        Some((at, left / RECORD_BYTES))
    }

    /// Makes the records up to `end` visible to the analysing side.
    #[inline]
    pub fn advance(&self, end: *mut Record) {
        if let Some(slot) = self.slot {
            slot.cursor.store(end as u64, Ordering::Release);
        }
    }

    /// Writes records that belong together, all into one block.
    pub fn put(&mut self, records: &[Record]) {
        let Some(at) = self.room(records.len()) else {
            return;
        };
        // One by one: they are few, and one call of `memcpy` takes longer.
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

    /// Publishes the thread's block, so that what it did before is read before what other threads
    /// do from now on. With `again`, takes a new block. If either fails, the channel is closed.
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

    /// Marks that the events written so far happened before `stamp`, at which the thread was about
    /// to synchronise with others. If the block has no room for a mark, publishes it.
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

    /// Sets whether the thread may have block records that are not in the segment yet. They are
    /// lost if it is killed, and then the analysing side warns of that.
    pub fn set_outside(&self, may_have: bool) {
        if let Some(slot) = self.slot {
            slot.outside.store(u32::from(may_have), Ordering::Release);
        }
    }

    /// Ends the thread's recording: publishes its last block and frees its slot.
    pub fn end(&mut self) {
        self.announce(Record::new(WireKind::ThreadEnd, 0, 0, 0), &[], b"");
        self.publish(false);
        if let Some(slot) = self.slot.take() {
            slot.state.store(SlotState::Free as u32, Ordering::Release);
        }
    }

    /// Closes the channel without a word to the analysing side: the slot belongs to the parent
    /// process, or recording has stopped.
    pub fn forget(&mut self) {
        self.slot = None;
    }
}

#[cfg(test)]
impl Channel {
    /// Takes what was written and not published out of the block.
    pub fn take_written(&self) -> alloc::vec::Vec<Record> {
        let Some(slot) = self.slot else {
            return alloc::vec::Vec::new();
        };
        let start = slot.block_address.load(Ordering::Relaxed) + BLOCK_HEADER_BYTES as u64;
        let end = slot.cursor.swap(start, Ordering::Relaxed);
        let count = (end - start) as usize / RECORD_BYTES;
        // SAFETY: the records between the block's header and the cursor were written.
        unsafe { core::slice::from_raw_parts(start as *const Record, count).to_vec() }
    }
}

/// The rewriter's system calls.
struct OwnCalls;

impl SystemCalls for OwnCalls {
    #[inline]
    fn stamp() -> u64 {
        clock::ordered_stamp()
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use core::ptr::NonNull;

    use reuselens_wire::SEGMENT_BYTES;

    #[test]
    fn claim_with_a_too_large_process_number_keeps_no_slot() {
        // Zeros are a segment in which nothing has happened yet.
        let memory: &'static mut [u8] = vec![0_u8; SEGMENT_BYTES + BLOCK_BYTES].leak();
        let start = memory.as_ptr().align_offset(BLOCK_BYTES);
        // SAFETY: as long as a segment, all zero, aligned, and never freed.
        let segment = unsafe { MappedSegment::new(NonNull::from(&mut memory[start..]).cast()) };
        let too_large = u32::from(u16::MAX) + 1;
        assert!(Channel::claim_in(segment, too_large, 0).is_closed());
        let header = segment.header();
        assert_eq!(header.unrecorded_threads.load(Ordering::Relaxed), 1);
        let state = segment.slot(0).state.load(Ordering::Relaxed);
        assert_eq!(state, SlotState::Free as u32);
        let channel = Channel::claim_in(segment, too_large - 1, 0);
        assert!(!channel.is_closed());
        assert_eq!(channel.index, 0);
    }
}
