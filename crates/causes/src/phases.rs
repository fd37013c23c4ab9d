//! [`Phases`]: misses and footprint over time.
//!
//! A run has at most 256 intervals of equally many accesses. When another one would begin, each two
//! neighbours become one. The footprints of the larger intervals are exact: an access that is an
//! item's first in its interval is counted by the levels at which it is so. At level `l` each 2^l
//! intervals are one, and the access is a first one as long as the item's access before is in
//! another one. The interval of that access is a byte for each item.
//!
//! Cost: 1 to 2 ns per access beside the look-up of its item, 10 ns where items are anywhere in
//! memory.
//!
//! Two items in turns, then two others. The intervals of so short a run have an access each:
//!
//! ```
//! use reuselens_causes::{CauseCell, CauseCounts, CauseOptions, CellPlace, MissColumns, NO_OFFSET};
//! use reuselens_units::{Bytes, Distance};
//!
//! let cache = Bytes(4 << 10);
//! let options = CauseOptions { phases: true, cache, ..CauseOptions::default() };
//! let mut counts = CauseCounts::new(options);
//! counts.add_cells([CauseCell::default()]);
//! let items: Vec<u64> = (0..1000).map(|at| at / 500 * 2 + at % 2).collect();
//! let first = |at: &usize| matches!(at, 0 | 1 | 500 | 501);
//! let distance = |at| if first(&at) { Distance::COLD } else { Distance::new(1) };
//! counts.process(&MissColumns {
//!     thread: 1,
//!     items: &items,
//!     distances: &(0..1000).map(distance).collect::<Vec<_>>(),
//!     cells: &[0; 1000],
//!     bytes: &[1; 1000],
//!     stores: &[false; 1000],
//!     offsets: &[NO_OFFSET; 1000],
//! });
//! let (_, causes) = counts.finish(&[CellPlace::default()]);
//! // The smallest power of two of which 1000 has at most 256.
//! let intervals = causes.phases.intervals;
//! assert_eq!((intervals.len(), intervals[0].accesses), (250, 4));
//! assert!(intervals.iter().all(|interval| interval.footprint == 2));
//! assert_eq!((intervals[125].misses, intervals[125].first_touches), (2, 2));
//! ```

use std::collections::HashMap;

use reuselens_distance::growth::vec_growth;
use reuselens_hugepages::{prefetch, reserve};
use reuselens_profile::{RunInterval, RunPhases};

use crate::chunk::PreparedChunk;
use crate::phase_clusters::{MissVector, clusters};
use crate::{CauseCell, CellPlace};

/// Most intervals, as a power of two: their numbers are bytes.
const MOST_LOG2: u32 = 8;
/// Most intervals.
const MOST: usize = 1 << MOST_LOG2;

/// What is counted of an interval.
#[derive(Clone, Debug, Default)]
struct Interval {
    misses: MissVector,
    first_touches: u64,
    /// The other accesses that are the first of their item in the interval: at `l`, those that are
    /// no more so at level `l + 1`, because the access before is in the same interval there.
    returns: [u64; MOST_LOG2 as usize],
}

impl Interval {
    /// The distinct items.
    fn footprint(&self) -> u64 {
        self.first_touches + self.returns.iter().sum::<u64>()
    }

    /// Adds the next interval, which makes one of the next level with this one.
    fn append(&mut self, next: &Interval) {
        self.misses.add(&next.misses);
        self.first_touches += next.first_touches;
        for (one, other) in self.returns.iter_mut().zip(next.returns) {
            *one += other;
        }
        // What was counted up to level 0 counts no more; level 1 is level 0 now, and so on.
        self.returns.rotate_left(1);
        self.returns[MOST_LOG2 as usize - 1] = 0;
    }
}

/// Counts accesses, misses, first touches and distinct items by interval, and misses by object.
///
/// Memory: a byte per distinct item, 4 bytes per cell, 8 bytes per object, and at most 256 times 16
/// bytes for each object that misses.
pub(crate) struct Phases {
    /// log2 of the accesses of an interval.
    length: u32,
    /// The last one is not complete.
    intervals: Vec<Interval>,
    /// By item, the interval of its last access.
    last: Vec<u8>,
    /// By cell, its object in `current`.
    objects: Vec<u32>,
    /// By number of an object, its index in `current`.
    indices: HashMap<u32, u32>,
    /// By index of an object, a cell of it, and its misses in the last interval.
    current: Vec<(u32, u64)>,
    /// The objects that have some.
    missing: Vec<u32>,
}

impl Phases {
    pub fn new() -> Self {
        Phases {
            length: 0,
            intervals: vec![Interval::default()],
            last: Vec::new(),
            objects: Vec::new(),
            indices: HashMap::new(),
            current: Vec::new(),
            missing: Vec::new(),
        }
    }

    pub fn add_cell(&mut self, cell: CauseCell) {
        let new = self.current.len() as u32;
        let index = *self.indices.entry(cell.object).or_insert(new);
        if index == new {
            self.current.push((self.objects.len() as u32, 0));
        }
        self.objects.push(index);
    }

    /// Accesses that a chunk may have: those up to the end of the interval. Begins a new interval
    /// if the last one is complete.
    pub fn room(&mut self) -> u64 {
        let length = 1 << self.length;
        let accesses = self
            .intervals
            .last()
            .map_or(0, |interval| interval.misses.accesses);
        if accesses < length {
            return length - accesses;
        }
        self.complete();
        if self.intervals.len() == MOST {
            self.halve();
        }
        self.intervals.push(Interval::default());
        1 << self.length
    }

    /// Counts a chunk, for which there is [room](Self::room).
    pub fn process(&mut self, chunk: &PreparedChunk) {
        let new = chunk.known.len();
        reserve(&mut self.last, new);
        for &number in chunk.numbers {
            prefetch(&self.last, number as usize);
        }
        let now = self.intervals.len() - 1;
        let interval = &mut self.intervals[now];
        interval.misses.accesses += chunk.columns.len() as u64;
        interval.misses.misses += chunk.misses.len() as u64;
        interval.first_touches += new as u64;
        self.last.resize(chunk.known.end, now as u8);
        for &number in chunk.numbers {
            let last = &mut self.last[number as usize];
            let differ = *last ^ now as u8;
            if differ != 0 {
                interval.returns[differ.ilog2() as usize] += 1;
                *last = now as u8;
            }
        }
        for &at in chunk.misses {
            let object = self.objects[chunk.columns.cells[at as usize] as usize];
            let misses = &mut self.current[object as usize].1;
            if *misses == 0 {
                self.missing.push(object);
            }
            *misses += 1;
        }
    }

    /// Gives the last interval its misses by object.
    fn complete(&mut self) {
        let current = &mut self.current;
        let take = |object: u32| (object, std::mem::take(&mut current[object as usize].1));
        if let Some(interval) = self.intervals.last_mut() {
            interval.misses.objects = self.missing.drain(..).map(take).collect();
            interval.misses.unite();
        }
    }

    /// Makes one interval of each two. All are complete.
    #[cold]
    fn halve(&mut self) {
        let mut old = std::mem::take(&mut self.intervals).into_iter();
        while let (Some(mut interval), Some(next)) = (old.next(), old.next()) {
            interval.append(&next);
            self.intervals.push(interval);
        }
        self.length += 1;
        for last in &mut self.last {
            *last /= 2;
        }
    }

    /// The memory held.
    pub fn memory(&self) -> u64 {
        let lists = self.intervals.iter().map(|it| it.misses.objects.capacity());
        let bytes = lists.sum::<usize>() * size_of::<(u32, u64)>()
            + self.intervals.capacity() * size_of::<Interval>()
            + self.last.capacity()
            + (self.objects.capacity() + self.missing.capacity()) * 4
            + self.current.capacity() * size_of::<(u32, u64)>()
            // A slot of the map: key, value, a byte; at least half of them are used.
            + self.indices.capacity() * 18;
        bytes as u64
    }

    /// Bytes beyond [`Self::memory`] that it takes until there are `more` more items.
    pub fn growth(&self, more: usize) -> u64 {
        vec_growth(&self.last, more) as u64
    }

    /// The intervals and their phases.
    pub fn finish(mut self, places: &[CellPlace]) -> RunPhases {
        self.complete();
        self.intervals.retain(|it| it.misses.accesses > 0);
        let named = |interval: &Interval| {
            let mut misses = interval.misses.clone();
            for (object, _) in &mut misses.objects {
                *object = places[self.current[*object as usize].0 as usize].object;
            }
            misses.unite();
            misses
        };
        let vectors: Vec<MissVector> = self.intervals.iter().map(named).collect();
        let (numbers, phases) = clusters(&vectors);
        let intervals = self.intervals.iter().zip(numbers);
        let run_interval = |(interval, phase): (&Interval, u32)| RunInterval {
            accesses: interval.misses.accesses,
            misses: interval.misses.misses,
            first_touches: interval.first_touches,
            footprint: interval.footprint(),
            phase,
        };
        RunPhases {
            intervals: intervals.map(run_interval).collect(),
            phases,
        }
    }
}
