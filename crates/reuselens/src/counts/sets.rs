//! Beside the distances: the sets of the first cache, as they are.
//!
//! # What it is
//! The model of sets that a report has ([`SetAssociative`](reuselens_locality::SetAssociative)) lets lines fall on them at
//! random. Data that lie a power of two apart do not: a walk down a column of a matrix with rows of 4096 bytes stays in one set. Which
//! set of a first cache a line falls into is known from its virtual address, since sets times line is a page. So the cache is simulated
//! with its sets, and what it says is counted for each cell: how often it misses, how many sets its misses are in at a time, and how far apart.
//!
//! # A sample
//! Not all of a long trace: the beginning, and then one burst of each period, at a place in it that a hash of the period's number
//! says, so that no loop can keep step with it. The first accesses of a burst only bring the cache up to date: what
//! was there at the end of the burst before is replaced where much is replaced, and mostly still there where little is. A sample of *sets*
//! instead, which is what is usual, would be blind to data that crowd into those that are not taken.
//!
//! # Cost
//! In a burst, a word to look at per access, the search of a set for accesses to lines that are not the last of
//! their sets, and a counter of the cell. Memory: some 100 bytes for each cell, and 9 KiB for the cache. The result depends on the stream of
//! touches alone, not on how it is cut or on the threads that work.

use std::collections::HashMap;

use reuselens_attribute::Columns;
use reuselens_distance::RealSets;
use reuselens_locality::{MISSES_AT_A_TIME, SetUse};
use reuselens_trace::{ProcessId, ThreadId};
use reuselens_units::{Bytes, Distance};

use super::{Counted, Counts};

/// Accesses at the beginning of a trace that are all simulated.
const ALL_OF_THE_FIRST: u64 = 1 << 20;
/// Accesses of a burst that bring the cache up to date. A walk along an array fills a cache of 48 KiB in that time.
const WARM_UP: u64 = 1 << 13;
/// Accesses of a burst, those among them.
const BURST: u64 = WARM_UP + (1 << 15);
/// Accesses of which one burst is simulated.
const PERIOD: u64 = 1 << 20;

/// What is known of a cell so far.
#[derive(Clone, Debug, Default)]
struct Tally {
    accesses: u64,
    misses: u64,
    /// The line that missed last.
    last: u64,
    /// The sets of this stretch, a bit each, and its misses so far.
    stretch: u64,
    in_stretch: u32,
    stretches: u64,
    sets: u64,
    /// A stride that most misses may have, the votes for it, and how often it was seen since it was put up.
    stride: u64,
    votes: u64,
    seen: u64,
}

impl Tally {
    /// A miss. `set` is below 64.
    #[cold]
    fn miss(&mut self, line: u64, set: usize) {
        self.misses += 1;
        self.stretch |= 1 << set;
        self.in_stretch += 1;
        if self.in_stretch == MISSES_AT_A_TIME {
            self.stretches += 1;
            self.sets += u64::from(self.stretch.count_ones());
            (self.stretch, self.in_stretch) = (0, 0);
        }
        let stride = line.abs_diff(std::mem::replace(&mut self.last, line));
        // Boyer and Moore's vote.
        if stride == self.stride {
            self.votes += 1;
            self.seen += 1;
        } else if self.votes > 0 {
            self.votes -= 1;
        } else {
            (self.stride, self.votes, self.seen) = (stride, 1, 1);
        }
    }

    /// What is kept of it: nothing without a whole stretch of misses.
    fn kept(&self) -> SetUse {
        if self.stretches == 0 {
            return SetUse::default();
        }
        let most = self.seen * 2 >= self.misses;
        SetUse {
            accesses: self.accesses,
            misses: self.misses,
            stretches: self.stretches,
            sets: self.sets,
            strides: Vec::from_iter(most.then_some((self.stride, self.seen))),
        }
    }
}

/// What is done with accesses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Skip,
    /// They are simulated, and their outcomes not counted.
    WarmUp,
    Count,
}

/// A cache, and how far its stream has come.
struct Stream {
    cache: RealSets,
    at: u64,
}

impl Stream {
    /// Takes a piece in.
    fn add(&mut self, tallies: &mut Vec<Tally>, columns: &Columns) {
        let mut from = 0;
        while from < columns.items.len() {
            let (mode, length) = stretch(self.at);
            let length = length.min((columns.items.len() - from) as u64);
            let until = from + length as usize;
            let items = &columns.items[from..until];
            match mode {
                Mode::Skip => {}
                Mode::WarmUp => items.iter().for_each(|line| {
                    self.cache.access(*line);
                }),
                Mode::Count => count(&mut self.cache, tallies, items, &columns.cells[from..until]),
            }
            self.at += length;
            from = until;
        }
    }
}

/// What is done with the accesses from the one of this number on, and with how many.
fn stretch(at: u64) -> (Mode, u64) {
    if at < ALL_OF_THE_FIRST {
        return (Mode::Count, ALL_OF_THE_FIRST - at);
    }
    let (period, within) = (at / PERIOD, at % PERIOD);
    let begin = place(period);
    let ends = [
        (Mode::Skip, begin),
        (Mode::WarmUp, begin + WARM_UP),
        (Mode::Count, begin + BURST),
    ];
    let now = ends.into_iter().find(|(_, end)| within < *end);
    now.map_or((Mode::Skip, PERIOD - within), |(mode, end)| {
        (mode, end - within)
    })
}

/// Where in a period its burst begins.
fn place(period: u64) -> u64 {
    let mixed = (period + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 20) % (PERIOD - BURST)
}

fn count(cache: &mut RealSets, tallies: &mut Vec<Tally>, items: &[u64], cells: &[u32]) {
    let most = cells.iter().max().map_or(0, |cell| *cell as usize + 1);
    if most > tallies.len() {
        tallies.resize_with(most, Tally::default);
    }
    for (&line, &cell) in items.iter().zip(cells) {
        let hit = cache.access(line);
        let Some(tally) = tallies.get_mut(cell as usize) else {
            continue;
        };
        tally.accesses += 1;
        if !hit {
            tally.miss(line, cache.set(line));
        }
    }
}

/// A way of counting, and the sets of a cache beside it.
pub(super) struct Sets {
    inner: Box<dyn Counts>,
    /// As it is before anything is in it.
    empty: RealSets,
    tallies: Vec<Tally>,
    streams: HashMap<(u16, u32), Stream>,
    /// Each program thread has a cache.
    private: bool,
    now: (u16, u32),
}

impl Sets {
    /// `cache` is empty, and has 64 sets at most. With `private` each program thread has one, and pieces are of one thread.
    pub(super) fn new(inner: Box<dyn Counts>, cache: RealSets, private: bool) -> Self {
        Sets {
            inner,
            empty: cache,
            tallies: Vec::new(),
            streams: HashMap::new(),
            private,
            now: (0, 0),
        }
    }

    fn simulate(&mut self, columns: &Columns) {
        let stream = self.streams.entry(self.now).or_insert_with(|| Stream {
            cache: self.empty.clone(),
            at: 0,
        });
        stream.add(&mut self.tallies, columns);
    }

    fn own_memory(&self) -> Bytes {
        let tallies = self.tallies.capacity() * size_of::<Tally>();
        let caches = self.streams.len() * (10 << 10);
        Bytes((tallies + caches) as u64)
    }
}

impl Counts for Sets {
    fn thread(&mut self, process: ProcessId, thread: ThreadId) {
        if self.private {
            self.now = (process.0, thread.0);
        }
        self.inner.thread(process, thread);
    }

    fn thread_ended(&mut self, thread: ThreadId) {
        if self.private {
            self.streams.retain(|(_, one), _| *one != thread.0);
        }
        self.inner.thread_ended(thread);
    }

    fn by_thread(&self) -> bool {
        self.inner.by_thread()
    }

    fn add(&mut self, columns: &Columns) {
        self.simulate(columns);
        self.inner.add(columns);
    }

    fn take(&mut self, columns: &mut Columns) {
        self.simulate(columns);
        self.inner.take(columns);
    }

    fn accesses(&self) -> u64 {
        self.inner.accesses()
    }

    fn memory(&self) -> Bytes {
        self.inner.memory() + self.own_memory()
    }

    fn distances(&self) -> Option<&[Distance]> {
        self.inner.distances()
    }

    fn shrink(&mut self, limit: Bytes, whole: Bytes) -> bool {
        let left = limit.get().checked_sub(self.own_memory().get());
        left.is_some_and(|left| self.inner.shrink(Bytes(left), whole))
    }

    fn settle(&mut self) {
        self.inner.settle();
    }

    fn finish(self: Box<Self>) -> Counted {
        let mut counted = self.inner.finish();
        counted.more.sets = self.tallies.iter().map(Tally::kept).collect();
        counted
    }
}

#[cfg(test)]
mod tests {
    use super::super::exact::Exact;
    use super::*;
    use reuselens_distance::by_name;

    /// Rows of the matrices below.
    const ROWS: u64 = 512;

    fn counts(private: bool) -> Box<Sets> {
        let inner = Box::new(Exact::new(by_name("counting").unwrap(), false));
        let cache = RealSets::new(64, 12).unwrap();
        Box::new(Sets::new(inner, cache, private))
    }

    fn columns(items: &[u64], cell: u32) -> Columns {
        Columns {
            items: items.to_vec(),
            cells: vec![cell; items.len()],
            ..Columns::new()
        }
    }

    /// What is known of cell 1 after these items, handed over in pieces of this length.
    fn set_use(items: &[u64], piece: usize) -> SetUse {
        let mut counts = counts(false);
        for items in items.chunks(piece) {
            counts.add(&columns(items, 1));
        }
        counts.finish().more.sets.swap_remove(1)
    }

    /// Down the columns of a matrix of doubles, with rows of so many lines.
    fn walk(lines_of_row: u64) -> Vec<u64> {
        let column = |column: u64| (0..ROWS).map(move |row| row * lines_of_row + column / 8);
        (0..ROWS).flat_map(column).collect()
    }

    #[test]
    fn a_column_of_rows_of_4096_bytes_lies_in_one_set() {
        let found = set_use(&walk(64), 4000);
        assert_eq!((found.accesses, found.misses), (ROWS * ROWS, ROWS * ROWS));
        assert_eq!(found.sets_at_a_time(), Some(1.0));
        assert_eq!(found.stride(), Some(64));
        assert_eq!(found.stretches, ROWS * ROWS / 64);
    }

    #[test]
    fn a_line_more_in_each_row_spreads_it_over_all() {
        let found = set_use(&walk(65), 4000);
        assert_eq!(found.accesses, ROWS * ROWS);
        // One access in eight begins on new lines, and 512 of them fit.
        assert_eq!(found.misses, ROWS * ROWS / 8);
        assert_eq!(found.sets_at_a_time(), Some(64.0));
        assert_eq!(found.stride(), Some(65));
    }

    /// More than a beginning, so that there are bursts.
    fn long() -> Vec<u64> {
        let mut state = 1_u64;
        let random = std::iter::repeat_with(move || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) % 1200
        });
        random.take(6 << 20).collect()
    }

    #[test]
    fn it_does_not_matter_how_a_stream_is_cut() {
        let items = long();
        let whole = set_use(&items, items.len());
        for piece in [1 << 15, 99_991] {
            assert_eq!(set_use(&items, piece), whole);
        }
    }

    #[test]
    fn a_sample_of_bursts_has_the_miss_ratio_of_the_whole() {
        let items = long();
        let sampled = set_use(&items, 1 << 15);
        assert!(
            sampled.accesses >= ALL_OF_THE_FIRST + 5 * (BURST - WARM_UP),
            "{sampled:?}"
        );
        assert!(sampled.accesses < items.len() as u64 / 3, "{sampled:?}");
        let mut cache = RealSets::new(64, 12).unwrap();
        let misses = items.iter().filter(|item| !cache.access(**item));
        let whole = misses.count() as f64 / items.len() as f64;
        let estimate = sampled.misses as f64 / sampled.accesses as f64;
        assert!((estimate / whole - 1.0).abs() < 0.02, "{estimate} {whole}");
    }

    #[test]
    fn threads_with_caches_of_their_own_do_not_part_each_others_data() {
        let misses = |private: bool| {
            let mut counts = counts(private);
            for _ in 0..100 {
                for thread in 0..2_u64 {
                    counts.thread(ProcessId(0), ThreadId(thread as u32));
                    let items: Vec<u64> = (0..12).map(|line| (thread * 12 + line) * 64).collect();
                    counts.add(&columns(&items, 1));
                }
            }
            counts.finish().more.sets[1].misses
        };
        // Twelve ways hold the twelve lines of one, and none of 24 in turn. Too few misses are not kept.
        assert_eq!((misses(true), misses(false)), (0, 2400));
    }
}
