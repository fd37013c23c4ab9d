//! What waited to be sorted when its thread died or came to rest.

use std::sync::atomic::Ordering;

use reuselens_wire::{BLOCK_BYTES, BLOCK_HEADER_BYTES, NO_BLOCK, SlotState};

use super::{Consumer, RawBlock, raw_of};

impl Consumer {
    /// What of a dead or resting thread's stage is wanted; `report` if nobody else will tell what
    /// of it is not.
    pub(super) fn staged(&self, index: usize, report: bool) -> Option<RawBlock> {
        let (slot, mut gate, sorting) = self.segment.stage(index)?;
        if slot.state.load(Ordering::Acquire) != SlotState::Live as u32 || sorting {
            // While it is sorted it is in parts in the thread's own block already.
            return None;
        }
        let block = slot.block.load(Ordering::Acquire);
        let mut raw = raw_of(self.segment.block(block)?);
        let start = slot.block_address.load(Ordering::Relaxed);
        let used = slot.cursor.load(Ordering::Acquire).wrapping_sub(start) as usize;
        if used > BLOCK_BYTES {
            return None;
        }
        let mut all = Vec::new();
        self.segment
            .copy_records(block, BLOCK_HEADER_BYTES, used, &mut all);
        let control = &self.segment.header().control;
        gate.sort(control, raw.stack_high, &all, &mut |records| {
            raw.records.extend_from_slice(records);
        });
        if report {
            gate.report(control);
        }
        Some(raw)
    }

    pub(super) fn free_stage(&self, index: usize) {
        if let Some((slot, ..)) = self.segment.stage(index)
            && slot.state.load(Ordering::Acquire) == SlotState::Live as u32
        {
            slot.state.store(SlotState::Free as u32, Ordering::Relaxed);
            let block = slot.block.swap(NO_BLOCK, Ordering::Relaxed);
            self.segment.give_block(block);
        }
    }
}
