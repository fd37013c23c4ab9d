//! [`characteristic`]: the data reuse characteristic of a stream, without comparing all pairs of
//! instructions as `naive` does. Both give the same numbers.

use std::sync::atomic::{AtomicUsize, Ordering};

use reuselens_workers::together;

use crate::SimtError;
use crate::characteristic::Characteristic;
use crate::characteristic::correlate::Correlator;
use crate::characteristic::distinct_lists::DistinctLists;
use crate::characteristic::index::{Census, InvertedIndex};
use crate::scenario::ReferenceStream;

/// How much of the machine may be used. Results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Threads.
    pub threads: usize,
    /// Bytes for the index, 8 bytes for each item included; it is read in as many passes over the
    /// stream as that takes. Beside it there are 8 bytes for each memory instruction and thread,
    /// and up to 64 where data is in many instructions: only threads whose bytes fit are used.
    pub memory: u64,
}

impl Default for Limits {
    /// All processors, 1 GiB.
    fn default() -> Limits {
        let threads = reuselens_workers::processors().get();
        Limits {
            threads,
            memory: 1 << 30,
        }
    }
}

impl Limits {
    /// Threads whose sums over a stream of this length fit.
    fn threads_for(self, length: u64) -> usize {
        let fit = self.memory / 2 / (INSTRUCTION * length.max(1));
        (fit.min(self.threads as u64) as usize).max(1)
    }

    /// Entries of the index that fit, on each of some threads. A quarter of the memory is for them
    /// at least.
    fn entries(self, items: u64, length: u64, threads: usize) -> u64 {
        let beside = ITEM * items + INSTRUCTION * length * threads as u64;
        let room = self.memory.saturating_sub(beside).max(self.memory / 4);
        (room / ENTRY / threads as u64).clamp(1 << 10, u64::from(u32::MAX >> 1))
    }
}

/// Bytes of an entry in the index and in the lists.
const ENTRY: u64 = 16;
/// Bytes of an item in the census.
const ITEM: u64 = 8;
/// Bytes of a memory instruction in the sums of a thread, and in its transforms.
const INSTRUCTION: u64 = 64;
/// Lists that a thread takes at a time.
const LISTS: usize = 64;

/// The data reuse characteristic of a stream; see [`Characteristic`].
///
/// Per item it is the correlation of "appears in instruction i" with "multiplicity in instruction
/// j". Items with equal lists of appearances, up to a shift in time, are counted once with a
/// weight; short lists by pairs, dense ones by an exact transform. Time is that of reading the
/// stream two or more times, plus the pairs or `n log n`, whichever is less.
///
/// # Errors
/// [`SimtError::TooLarge`] from 2³¹ memory instructions on.
pub fn characteristic(
    stream: &(impl ReferenceStream + Sync + ?Sized),
    limits: Limits,
) -> Result<Characteristic, SimtError> {
    let length = stream.instructions();
    let limit = 1 << 31;
    if length >= limit {
        return Err(SimtError::TooLarge {
            what: "memory instructions of one reference stream",
            found: length,
            limit,
            hint: "analyse fewer blocks, or more at once",
        });
    }
    let census = Census::take(stream);
    let threads = limits.threads_for(length);
    let most = limits.entries(census.entries.len() as u64, length, threads);
    let entries: u64 = census.entries.iter().map(|&count| u64::from(count)).sum();
    let ranges = census.ranges(most.min(entries / threads as u64 + 1));
    let mut total = vec![0_u64; length as usize + 1];
    for some in ranges.chunks(threads) {
        let lists = read_lists(stream, &census, some);
        for degrees in correlate(&lists, length as usize, threads) {
            for (sum, degree) in total.iter_mut().zip(degrees) {
                *sum += degree;
            }
        }
    }
    stream.check()?;
    let items = census.entries.iter().filter(|&&count| count > 0).count();
    Ok(Characteristic::new(
        total,
        length,
        census.touches,
        items as u64,
    ))
}

/// Reads the lists of some ranges of items, on as many threads as there are ranges, and joins them
/// in the order of the ranges.
fn read_lists(
    stream: &(impl ReferenceStream + Sync + ?Sized),
    census: &Census,
    ranges: &[std::ops::Range<u32>],
) -> DistinctLists {
    let read = |range: std::ops::Range<u32>| {
        let mut lists = DistinctLists::default();
        let index = InvertedIndex::read(stream, census, range);
        for list in index.lists().filter(|list| list.len() > 1) {
            lists.add(list, 1);
        }
        lists
    };
    let next = AtomicUsize::new(0);
    let read_some = || {
        let mut parts = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(range) = ranges.get(at) else {
                return parts;
            };
            parts.push((at, read(range.clone())));
        }
    };
    let parts = together("lists", ranges.len(), read_some, read_some);
    let mut parts: Vec<(usize, DistinctLists)> = parts.into_iter().flatten().collect();
    parts.sort_unstable_by_key(|(at, _)| *at);
    let mut parts = parts.into_iter().map(|(_, part)| part);
    let mut all = parts.next().unwrap_or_default();
    for part in parts {
        for at in 0..part.len() {
            let (list, weight) = part.get(at);
            all.add(list, weight);
        }
    }
    all
}

/// Correlates the lists on some threads: each one's sums.
fn correlate(lists: &DistinctLists, length: usize, threads: usize) -> Vec<Vec<u64>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut correlator = Correlator::new(length);
        loop {
            let from = next.fetch_add(LISTS, Ordering::Relaxed);
            if from >= lists.len() {
                break;
            }
            for at in from..lists.len().min(from + LISTS) {
                let (list, weight) = lists.get(at);
                correlator.add(list, weight);
            }
        }
        correlator.finish()
    };
    let threads = threads.min(lists.entries() / (LISTS * LISTS) + 1);
    together("correlate", threads, work, work)
}
