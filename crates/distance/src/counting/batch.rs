//! Some consecutive accesses, taken through the stages of the engine together.

use reuselens_units::Distance;

use super::last_access::{LastAccess, NEVER};
use super::live_bits::LiveBits;

/// The accesses of a batch at most: a word of the time axis.
pub(super) const BATCH: usize = 64;

/// A batch between two stages: its items, where the table has them, where their distances go.
pub(super) struct Batch {
    len: usize,
    items: [u64; BATCH],
    homes: [usize; BATCH],
    /// Indices into the caller's block.
    outputs: [usize; BATCH],
    /// The step of the previous access to the item.
    previous: [u64; BATCH],
}

impl Batch {
    pub(super) fn new() -> Self {
        Batch {
            len: 0,
            items: [0; BATCH],
            homes: [0; BATCH],
            outputs: [0; BATCH],
            previous: [0; BATCH],
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Stage 1: takes items from `items[from..]` until there are `room` or the block ends, and returns
    /// where it stopped. Immediate repetitions of `last` get their distance of 0 here and go no further.
    #[inline(always)]
    pub(super) fn gather(
        &mut self,
        items: &[u64],
        from: usize,
        room: usize,
        last: &mut u64,
        distances: &mut [Distance],
    ) -> usize {
        let mut len = 0;
        let mut at = from;
        for (&item, distance) in items[from..].iter().zip(&mut distances[from..]) {
            if len == room {
                break;
            }
            *distance = Distance::ZERO;
            self.items[len % BATCH] = item;
            self.outputs[len % BATCH] = at;
            len += usize::from(item != *last);
            *last = item;
            at += 1;
        }
        self.len = len;
        at
    }

    /// Stage 2: finds where the table may have the items. That memory is asked for bit by bit while the
    /// batch before is counted: asking for all of it at once would fill the processor's queue of misses.
    #[inline(always)]
    pub(super) fn locate(&mut self, table: &LastAccess) {
        for (&item, home) in self.items[..self.len].iter().zip(&mut self.homes) {
            *home = table.home(item);
        }
    }

    /// Stage 2 for a batch with none before it: asks for the memory at once.
    #[inline(always)]
    pub(super) fn locate_now(&mut self, table: &LastAccess) {
        self.locate(table);
        for &home in &self.homes[..self.len] {
            table.prefetch(home);
        }
    }

    /// Stage 3: notes and replaces the last step of each item, and asks for the bits there.
    #[inline(always)]
    pub(super) fn look_up(&mut self, table: &mut LastAccess, bits: &LiveBits) {
        let known = self.items[..self.len]
            .iter()
            .zip(&self.homes)
            .zip(&mut self.previous);
        for (step, ((&item, &home), previous)) in (bits.now()..).zip(known) {
            *previous = table.replace(item, home, step);
            bits.prefetch(*previous);
        }
    }

    /// Stage 4: the distances, and the new state of the bits, one access after the other. Meanwhile the
    /// slots of the `next` batch are asked for.
    #[inline(always)]
    pub(super) fn count(
        &self,
        bits: &mut LiveBits,
        distances: &mut [Distance],
        next: &Batch,
        table: &LastAccess,
    ) {
        bits.begin(self.len as u64);
        let mut live = bits.live();
        for index in 0..self.len {
            table.prefetch(next.homes[index]);
            let step = self.previous[index];
            distances[self.outputs[index]] = if step == NEVER {
                live += 1;
                Distance::COLD
            } else {
                Distance::new(live - 1 - bits.take(step))
            };
        }
        bits.end(self.len as u64, bits.live() + self.len as u64 - live);
    }
}
