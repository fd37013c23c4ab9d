//! Groups of accesses that have no cell of their own.
//!
//! A program can have more groups than there is room for: an interpreter reaches each of its
//! functions on ten thousands of paths. Where cells are merged ([`crate::merging`]), it is told
//! there when a group gets one. Where the consumer remembers numbers of cells, none can be merged.
//! The first [`Options::max_cells`] groups get a cell each. From then on new groups of threads
//! after the first 16 count for one thread that is not named, and instructions without a line count
//! for their function ([`function_sites`]): short threads, one after the other, may be any number,
//! and have the same lines. Beyond that, [`Candidates`] counts the accesses of groups without a
//! cell, and a group gets one when its count reaches a threshold. Until then its accesses count for
//! the finest coarser group that has a cell. Coarser is, step by step: the calling context further
//! up on the path, at the next power of two of depths; at the first function, the other objects. A
//! coarser group counts what finer ones leave to it, and gets its cell at the same threshold. The
//! threshold doubles as room is used up, so frequent groups get cells however late they come.
//!
//! Each access counts once, so sums are exact. Which groups have cells depends on the accesses
//! alone, so equal traces give equal profiles.
//!
//! Of the 7.7 million accesses of Python's start, 24.5 % count for a coarser context; of 114
//! million with numpy, 28 %: `record/2026-11-25-epyc-2c-folding`.
//!
//! Source: Estan & Varghese 2002, "New directions in traffic measurement and accounting", section
//! 3.1 (sample and hold); the steps are those of Cormode, Korn, Muthukrishnan & Srivastava 2003,
//! "Finding hierarchical heavy hitters in data streams".
//!
//! [`function_sites`]: crate::function_sites
//! [`Options::max_cells`]: crate::Options::max_cells

use std::fmt;

use reuselens_hugepages::Huge;

use crate::cells::{COARSE, CellKey, OTHER_THREADS, PackedKey};
use crate::objects::Objects;
use crate::shared::{FoldWarning, Shared};

/// Where an access counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellChoice {
    /// The number of the cell.
    pub cell: u32,
    /// Whether all later accesses with the same key count there, so that the number may be
    /// remembered.
    pub lasts: bool,
}

/// Cells that frequent groups get, for each of the cells that are made as groups come.
const FREQUENT: usize = 4;
/// The accesses at which a group gets a cell while the first twelfth of that room is free.
const LEAST: u32 = 2;
/// How often that number doubles: each time another twelfth of the room is used.
const DOUBLINGS: usize = 12;

/// Threads that are broken down by however many groups there are: with this many, a program has
/// about as many groups as its lines, objects and contexts have.
const KEPT_THREADS: u32 = 16;

/// Groups whose accesses are counted at a time (4 MiB).
const CANDIDATES: usize = 1 << 18;
/// Sites that follow each other have one hash: their groups are beside each other.
const BESIDE: usize = 4;

/// A group, as [`PackedKey::words`], with its accesses so far in the lower half of the second word.
/// The count of a group is forgotten when another one needs its place.
type Candidate = [u64; 2];

/// Counts accesses of groups without a cell.
#[derive(Default)]
pub(crate) struct Candidates {
    /// By the group's hash, without a random key: which groups displace each other decides where
    /// accesses count. Empty before the first.
    counts: Huge<Candidate>,
    /// Cells made so far for frequent groups, without those that may be merged.
    made: usize,
}

impl fmt::Debug for Candidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidates")
            .field("made", &self.made)
            .finish_non_exhaustive()
    }
}

impl Candidates {
    /// Memory held.
    pub fn memory(&self) -> u64 {
        self.counts.bytes() as u64
    }

    /// Asks for the counts of groups with this hash ahead of their use.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        if !self.counts.is_empty() {
            reuselens_hugepages::prefetch(&self.counts, first_place(hash));
        }
    }

    /// Counts an access of a group; the accesses of it that are remembered.
    fn count(&mut self, group: PackedKey) -> u32 {
        if self.counts.is_empty() {
            self.counts = Huge::new(CANDIDATES);
        }
        let beside = group.key().site as usize % BESIDE;
        let candidate = &mut self.counts[first_place(group.hash()) + beside];
        let [word, rest] = group.words();
        let known = candidate[0] == word && candidate[1] >> 32 == rest >> 32;
        let accesses = if known { candidate[1] as u32 } else { 0 };
        let accesses = accesses.saturating_add(1);
        *candidate = [word, rest | u64::from(accesses)];
        accesses
    }

    /// The accesses at which a group gets a cell, if `room` is for all; `None` if none is left.
    fn threshold(&self, room: usize) -> Option<u32> {
        (self.made < room).then(|| LEAST << (DOUBLINGS * self.made / room))
    }
}

/// The first of the places of groups with a hash.
#[inline(always)]
fn first_place(hash: u64) -> usize {
    hash as usize % (CANDIDATES / BESIDE) * BESIDE
}

impl Shared {
    /// As [`cell`](Self::cell), of a key that is known to have none. Counts an access of the key.
    #[inline(never)]
    pub fn new_cell(&mut self, packed: PackedKey) -> CellChoice {
        let key = packed.key();
        if self.cells.has_room() {
            return CellChoice {
                cell: self.cells.add(key),
                lasts: true,
            };
        }
        let key = CellKey {
            site: self.function_site(key.site),
            thread: self.merged_thread(key.thread),
            ..key
        };
        if let Some(cell) = self.cells.get(key) {
            return CellChoice { cell, lasts: true };
        }
        // The threads that stay have fewer groups than those that were merged.
        let is_after_merging = self.has_given(FoldWarning::Threads)
            && (key.thread == OTHER_THREADS || key.thread < KEPT_THREADS)
            && self.cells.has_room_for_threads();
        if is_after_merging || self.has_room() {
            return CellChoice {
                cell: self.cells.add(key),
                lasts: true,
            };
        }
        self.frequent_or_coarser(key)
    }

    /// The cell of a group that gets one of its own when it is frequent: a new one if it is by now,
    /// else that of the finest coarser group that has one, or is frequent.
    fn frequent_or_coarser(&mut self, key: CellKey) -> CellChoice {
        let admission = self.merging.admission(&self.cells);
        let room = FREQUENT * self.cells.max();
        let threshold = admission.or_else(|| self.candidates.threshold(room));
        let left_to = |cell| CellChoice { cell, lasts: false };
        let mut group = key;
        loop {
            if group.object == Objects::OTHER {
                return left_to(self.coarsest(group));
            }
            if self.is_frequent(group, threshold) {
                let cell = self.cells.add(group);
                self.candidates.made += usize::from(admission.is_none());
                return CellChoice {
                    cell,
                    lasts: group == key,
                };
            }
            // Merges may have made a cell for the other objects in the same context.
            let others = group.of_other_objects();
            if admission.is_some()
                && group == key
                && let Some(cell) = self.cells.get(others)
            {
                return left_to(cell);
            }
            group = self.coarser(group);
            if let Some(cell) = self.cells.get(group) {
                return left_to(cell);
            }
        }
    }

    /// The thread that a new group of a thread counts for, once there is no room for all groups.
    fn merged_thread(&mut self, thread: u32) -> u32 {
        if thread < KEPT_THREADS || !self.merging.gives_up_threads(&self.cells) {
            return thread;
        }
        self.once(
            FoldWarning::Threads,
            "threads-merged",
            "the program has more threads than are kept separately; what threads after the first 16 did where they had not \
             accessed memory before counts for (other threads), and by line, object and context nothing is missing",
            "for all threads by themselves measure a part of the run (--after, --function), or leave out contexts \
             (--no-contexts)",
        );
        OTHER_THREADS
    }

    /// Counts an access of a group without a cell, and whether it gets one: it does at `threshold`
    /// accesses; none does at `None`.
    fn is_frequent(&mut self, group: CellKey, threshold: Option<u32>) -> bool {
        let accesses = self.candidates.count(PackedKey::from(group));
        let is_frequent = threshold.is_some_and(|threshold| accesses >= threshold);
        if !is_frequent {
            self.warn_of_contexts();
        }
        is_frequent
    }

    /// Warns that accesses count for contexts further up.
    pub fn warn_of_contexts(&mut self) {
        if self.with_contexts {
            self.once(
                FoldWarning::Contexts,
                "contexts-folded",
                "there are more groups of accesses than are kept; those of few accesses count for a function further up on the \
                 path that led to them, as (other contexts), and instructions without a line for their function",
                "leave out contexts (--no-contexts), or measure a smaller part of the program",
            );
        }
    }

    /// The next coarser key, of accesses from anywhere below a context: further up, and for all
    /// other objects where there is nothing further up.
    pub fn coarser(&self, key: CellKey) -> CellKey {
        let context = key.context & !COARSE;
        match self.contexts.coarser(context) {
            0 => CellKey {
                object: Objects::OTHER,
                context: context | COARSE,
                ..key
            },
            above => CellKey {
                context: above | COARSE,
                ..key
            },
        }
    }

    /// Warns that accesses count for the other objects.
    pub fn warn_of_objects(&mut self) {
        self.once(
            FoldWarning::Objects,
            "groups-folded",
            "there are more groups of accesses than are kept; those of few accesses keep their lines, but count as (other \
             objects)",
            "keep some data only (--data heap), or measure a part of the run (--after, --function)",
        );
    }

    /// Makes the cell for all other objects. There are at most as many lines as the program has
    /// code, so lines keep their names longer than objects.
    #[cold]
    fn coarsest(&mut self, key: CellKey) -> u32 {
        self.warn_of_objects();
        if self.cells.has_room_for_lines() {
            self.cells.get_or_add(CellKey {
                context: key.context | COARSE,
                ..key
            })
        } else {
            self.once(
                FoldWarning::Lines,
                "lines-folded",
                "there are more lines than are kept; new ones count as unknown",
                "measure a part of the run (--after, --function)",
            );
            let context = if self.with_contexts {
                self.contexts.other()
            } else {
                0
            };
            self.cells.get_or_add(CellKey {
                site: 0,
                object: Objects::OTHER,
                context: context | COARSE,
                thread: 0,
            })
        }
    }
}
