//! [`LineSharing`]: lines that threads take away from each other, by true and by false sharing.
//!
//! Each thread has a private cache that is as large as needed and coherent: a thread has a line
//! from its first access to it until another thread stores to the line. An access that finds its
//! line lost so is an *invalidation*. It is one by *true sharing* if the thread, until it loses the
//! line again or the trace ends, accesses some byte that other threads wrote between the loss and
//! the invalidation; else one by *false sharing*: with each thread's data in lines of its own it
//! would not have been. Source: Dubois, Skeppstedt, Ricciulli, Ramamurthy and Stenström, *The
//! detection and elimination of useless misses in multiprocessors*, ISCA 1993.
//!
//! Cost: nothing with one thread; 9 ns per access beside the look-up of its item with four threads
//! of which 3 in 8 accesses are to shared lines.
//!
//! Thread 1 uses the first eight bytes of a line, thread 2 writes the next ones and then the first:
//!
//! ```
//! use reuselens_causes::{CauseCell, CauseCounts, CauseOptions, CellPlace, MissColumns, NO_OFFSET};
//! use reuselens_units::Distance;
//!
//! let mut counts = CauseCounts::new(CauseOptions { sharing: true, ..CauseOptions::default() });
//! counts.add_cells([0, 1].map(|site| CauseCell { site, ..CauseCell::default() }));
//! let (first, second) = (0x00ff, 0xff00);
//! for (thread, bytes, store) in [
//!     (1, first, false),
//!     (2, second, true),
//!     (1, first, false), // invalidated: false sharing
//!     (2, first, true),
//!     (1, first, false), // invalidated: true sharing
//! ] {
//!     counts.process(&MissColumns {
//!         thread,
//!         items: &[7],
//!         distances: &[Distance::ZERO],
//!         cells: &[thread - 1],
//!         bytes: &[bytes],
//!         stores: &[store],
//!         offsets: &[NO_OFFSET],
//!     });
//! }
//! let places = [0, 1].map(|site| CellPlace { site, object: 0 });
//! let (cells, causes) = counts.finish(&places);
//! assert_eq!((cells[0].true_sharing, cells[0].false_sharing), (1, 1));
//! let pair = causes.shared[0];
//! assert_eq!((pair.writer.site, pair.victim.site, pair.lines), (1, 0, 1));
//! ```

use std::collections::HashMap;

use reuselens_distance::growth::vec_growth;
use reuselens_hugepages::{prefetch, reserve};
use reuselens_profile::{CellCauses, SharedData, UnlistedPairs};

use crate::chunk::PreparedChunk;
use crate::shared_pairs::{AccessPlace, NO_PAIR, SharedPairs};
use crate::table_memory::table_memory;
use crate::{CauseCell, CellPlace, MissColumns};

/// The state of a line that no thread has accessed.
const UNUSED: u32 = u32::MAX;
/// A bit of the state of a line that several threads have accessed.
const SHARED: u32 = 1 << 31;
/// The thread of an empty slot.
const NO_THREAD: u32 = u32::MAX >> 1;
/// A bit beside the thread: it has lost the line.
const LOST: u32 = 1 << 31;

/// A line that several threads have accessed.
#[derive(Clone, Copy, Debug)]
struct SharedLine {
    /// Where its slots begin.
    begin: u32,
    /// Its slots, a power of two.
    slots: u32,
    /// The last store.
    writer: AccessPlace,
}

/// What a thread has of a line.
#[derive(Clone, Copy, Debug)]
struct LineCopy {
    /// If the thread has lost the line: what others have written since. If not: what they had
    /// written when the thread got the line back, until the thread accesses some of it.
    bytes: u64,
    /// The thread, and whether it has lost the line.
    thread: u32,
    /// The pair of the thread's last invalidation, and the cell of its access.
    pair: u32,
    cell: u32,
}

impl LineCopy {
    const EMPTY: LineCopy = LineCopy {
        bytes: 0,
        thread: NO_THREAD,
        pair: NO_PAIR,
        cell: 0,
    };
}

/// Counts invalidations by the cells of the accesses that find them, and by pairs of accesses.
///
/// A line that one thread accesses costs a look at its state, and with one thread there is nothing
/// to look at. A store to a line that several threads have accessed visits each of them.
///
/// Memory: 4 bytes per distinct item once there are two threads; 16 to 20 bytes for each line that
/// several threads access, and 24 to 72 for each of these that runs; a byte per thread; and that of
/// the pairs.
pub(crate) struct LineSharing {
    /// Numbers from 0 for the threads.
    threads: HashMap<u32, u32>,
    /// By number, whether the thread has ended: it gives its slots up when their line needs more.
    ended: Vec<bool>,
    /// By item: its only thread, or [`SHARED`] and its index among the shared lines.
    states: Vec<u32>,
    lines: Vec<SharedLine>,
    /// The slots of all shared lines. The slots of a line are a hash table, with open addressing by
    /// the number of the thread.
    slots: Vec<LineCopy>,
    /// By log2 of its slots, places that lines have left for larger ones.
    free: [Vec<u32>; 32],
    pairs: SharedPairs,
}

impl LineSharing {
    pub fn new() -> Self {
        LineSharing {
            threads: HashMap::new(),
            ended: Vec::new(),
            states: Vec::new(),
            lines: Vec::new(),
            slots: Vec::new(),
            free: Default::default(),
            pairs: SharedPairs::new(),
        }
    }

    pub fn add_cell(&mut self, cell: CauseCell) {
        self.pairs.add_cell(cell);
    }

    pub fn process(&mut self, chunk: &PreparedChunk) {
        let next = self.ended.len() as u32;
        let thread = *self.threads.entry(chunk.columns.thread).or_insert(next);
        if thread == next {
            self.ended.push(false);
        }
        if self.ended.len() < 2 {
            return;
        }
        // All lines before the second thread are the first one's.
        let first = if self.states.is_empty() { 0 } else { UNUSED };
        let known = chunk.known.start.max(self.states.len());
        let new = chunk.known.end - self.states.len();
        reserve(&mut self.states, new);
        self.states.resize(known, first);
        self.states.resize(chunk.known.end, UNUSED);
        for &number in chunk.numbers {
            prefetch(&self.states, number as usize);
        }
        for (at, &run) in chunk.runs.iter().enumerate() {
            let number = chunk.numbers[run as usize];
            let state = self.states[number as usize];
            if state == thread {
                continue;
            }
            if state == UNUSED {
                self.states[number as usize] = thread;
                continue;
            }
            let line = match state & SHARED {
                0 => self.share(number, state),
                _ => state ^ SHARED,
            };
            self.access(line, number, thread, &chunk.columns, at);
        }
    }

    /// A thread has ended. Its number may be that of another thread from now on.
    pub fn thread_ended(&mut self, thread: u32) {
        // Numbers of threads stay dense: the map forgets the thread, and its number is not used
        // again.
        if let Some(number) = self.threads.remove(&thread) {
            self.ended[number as usize] = true;
        }
    }

    /// Makes a line a shared one, which only `thread` has accessed.
    #[cold]
    fn share(&mut self, number: u32, thread: u32) -> u32 {
        let line = self.lines.len() as u32;
        self.states[number as usize] = SHARED | line;
        let begin = self.take_slots(2);
        reserve(&mut self.lines, 1);
        self.lines.push(SharedLine {
            begin,
            slots: 2,
            writer: AccessPlace::default(),
        });
        self.slot_of(line, thread);
        line
    }

    #[inline]
    fn access(&mut self, line: u32, number: u32, thread: u32, columns: &MissColumns, at: usize) {
        let (bytes, cell) = (columns.bytes[at], columns.cells[at]);
        let here = AccessPlace {
            cell,
            offset: columns.offsets[at],
        };
        let place = self.slot_of(line, thread);
        let slot = &mut self.slots[place];
        if slot.thread & LOST != 0 {
            let writer = self.lines[line as usize].writer;
            slot.pair = self.pairs.invalidated(slot.pair, writer, here, number);
            slot.cell = cell;
            slot.thread = thread;
        }
        if slot.bytes & bytes != 0 {
            self.pairs.count_true(slot.pair, slot.cell);
            slot.bytes = 0;
        }
        if columns.stores[at] {
            self.store(line, place, bytes, here);
        }
    }

    /// All other threads lose the line.
    fn store(&mut self, line: u32, place: usize, bytes: u64, writer: AccessPlace) {
        let line = &mut self.lines[line as usize];
        line.writer = writer;
        let range = line.begin as usize..(line.begin + line.slots) as usize;
        for (at, slot) in self.slots[range.clone()].iter_mut().enumerate() {
            if range.start + at == place || slot.thread == NO_THREAD {
                continue;
            }
            if slot.thread & LOST != 0 {
                slot.bytes |= bytes;
                continue;
            }
            if slot.bytes != 0 {
                self.pairs.count_false(slot.pair, slot.cell);
            }
            slot.thread |= LOST;
            slot.bytes = bytes;
        }
    }

    /// The slot of a thread, which is made if it has none.
    #[inline(always)]
    fn slot_of(&mut self, line: u32, thread: u32) -> usize {
        loop {
            let SharedLine { begin, slots, .. } = self.lines[line as usize];
            for step in 0..slots {
                let place = (begin + (thread.wrapping_add(step) & (slots - 1))) as usize;
                let slot = &mut self.slots[place];
                if slot.thread & !LOST == thread {
                    return place;
                }
                if slot.thread == NO_THREAD {
                    slot.thread = thread;
                    return place;
                }
            }
            self.enlarge(line);
        }
    }

    /// Makes room among the slots of a line: removes those of threads that have ended, and doubles
    /// the slots if that leaves more than half of them in use.
    #[cold]
    fn enlarge(&mut self, line: u32) {
        let SharedLine { begin, slots, .. } = self.lines[line as usize];
        let mut live = Vec::with_capacity(slots as usize);
        for slot in &mut self.slots[begin as usize..(begin + slots) as usize] {
            let old = std::mem::replace(slot, LineCopy::EMPTY);
            if !self.ended[(old.thread & !LOST) as usize] {
                live.push(old);
            } else if old.thread & LOST == 0 && old.bytes != 0 {
                self.pairs.count_false(old.pair, old.cell);
            }
        }
        if live.len() > slots as usize / 2 {
            self.free[slots.ilog2() as usize].push(begin);
            let larger = self.take_slots(2 * slots);
            let new = &mut self.lines[line as usize];
            (new.begin, new.slots) = (larger, 2 * slots);
        }
        for old in live {
            let place = self.slot_of(line, old.thread & !LOST);
            self.slots[place] = old;
        }
    }

    /// Empty slots. There are at most 2³² of all lines together.
    fn take_slots(&mut self, slots: u32) -> u32 {
        if let Some(begin) = self.free[slots.ilog2() as usize].pop() {
            return begin;
        }
        let begin = self.slots.len();
        reserve(&mut self.slots, slots as usize);
        self.slots.resize(begin + slots as usize, LineCopy::EMPTY);
        u32::try_from(self.slots.len()).expect("fewer than 2³² threads of shared lines");
        begin as u32
    }

    /// The memory held.
    pub fn memory(&self) -> u64 {
        let free = self.free.iter().map(Vec::capacity).sum::<usize>() * 4;
        let bytes = self.states.capacity() * 4
            + self.lines.capacity() * size_of::<SharedLine>()
            + self.slots.capacity() * size_of::<LineCopy>()
            + table_memory::<(u32, u32)>(self.threads.capacity())
            + self.ended.capacity()
            + free;
        bytes as u64 + self.pairs.memory()
    }

    /// Bytes beyond [`Self::memory`] that it takes until there are `more` more items. Each may be
    /// of a second thread, and a line that one more thread accesses may move to twice its slots.
    pub fn growth(&self, more: usize) -> u64 {
        let lines = vec_growth(&self.states, more) + vec_growth(&self.lines, more);
        (lines + vec_growth(&self.slots, 4 * more)) as u64
    }

    /// Adds the counts to those of the cells, and returns the pairs, the most invalidations first,
    /// and what is not listed by pair.
    pub fn finish(
        mut self,
        cells: &mut [CellCauses],
        places: &[CellPlace],
    ) -> (Vec<SharedData>, Option<UnlistedPairs>) {
        for slot in &self.slots {
            if slot.thread & LOST == 0 && slot.bytes != 0 {
                self.pairs.count_false(slot.pair, slot.cell);
            }
        }
        self.pairs.finish(cells, places)
    }
}

#[cfg(test)]
mod tests {
    use reuselens_units::Distance;

    use super::*;
    use crate::{CauseCounts, CauseOptions, NO_OFFSET};

    /// Threads one after the other, each with a store to one line; counts and memory.
    fn one_after_the_other(threads: u32, end: bool) -> (Vec<CellCauses>, u64) {
        let mut counts = CauseCounts::new(CauseOptions {
            sharing: true,
            ..CauseOptions::default()
        });
        counts.add_cells([CauseCell::default()]);
        for thread in 0..threads {
            for _ in 0..2 {
                counts.process(&MissColumns {
                    thread,
                    items: &[7],
                    distances: &[Distance::ZERO],
                    cells: &[0],
                    bytes: &[1 << (thread % 64)],
                    stores: &[true],
                    offsets: &[NO_OFFSET],
                });
                // The thread before accesses the line once more.
                if let Some(before) = thread.checked_sub(1) {
                    counts.process(&MissColumns {
                        thread: before,
                        items: &[7],
                        distances: &[Distance::ZERO],
                        cells: &[0],
                        bytes: &[1 << (before % 64)],
                        stores: &[false],
                        offsets: &[NO_OFFSET],
                    });
                }
            }
            if let Some(before) = thread.checked_sub(1).filter(|_| end) {
                counts.thread_ended(before);
            }
        }
        let memory = counts.memory().get();
        (counts.finish(&[CellPlace::default()]).0, memory)
    }

    #[test]
    fn threads_that_ended_take_no_slots_and_change_no_count() {
        let (kept, _) = one_after_the_other(500, false);
        let (ended, _) = one_after_the_other(500, true);
        assert_eq!(kept, ended);
        assert_eq!((ended[0].false_sharing, ended[0].true_sharing), (998, 0));
        let memory = |threads| one_after_the_other(threads, true).1;
        let grown = memory(9000) - memory(1000);
        assert!(grown < 8000 * 40, "{grown}");
    }
}
