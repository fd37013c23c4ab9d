//! The distances of a trace in memory, on several threads: no programs, no names, items only.

use std::num::NonZeroUsize;

use reuselens_locality::ExactHistogram;
use reuselens_units::{Accesses, Bytes, Items};

use super::SHORTEST;
use super::sample::expected_of;
use super::scheduler::{Divisible, Reading, Scheduler};

/// Items that are read at once: a segment is split between two reads.
const PIECE: usize = 1 << 16;
/// Accesses for which a thread is worth beginning, at least, and threads at most: each takes memory
/// however little it has to do.
const FOR_A_THREAD: usize = 1 << 12;
const MOST_THREADS: usize = 512;

/// The histogram of the distances of a trace of items, worked out on `threads` threads (this one
/// among them), or fewer if the trace is short, and 512 at most. Exact, and the same for any number
/// of threads.
///
/// Each thread takes a segment of the trace, and an idle thread takes half of what another has left
/// (Niu et al., PARDA, IPDPS 2012), as with the segments of trace files.
///
/// Cost: that of the counting tree, divided by the threads, and for each segment but the last an
/// access for each distinct item of those after it. The number of these is estimated from a sample,
/// so that the last segment is longer by as much, and that tables need not grow step by step.
/// Memory: an engine, a histogram, and 8 to 16 bytes per distinct item for each segment. There are
/// as many segments as threads, and some more where one thread is much slower than another, since
/// halves of halves are taken from it. If the system gives fewer threads, these do all of the work.
///
/// ```
/// use std::num::NonZeroUsize;
///
/// let two = NonZeroUsize::new(2).unwrap();
/// let histogram = reuselens::shard::histogram_parallel(&[7, 8, 9, 7, 7, 9], two);
/// assert_eq!(histogram.iter().collect::<Vec<_>>(), [(0, 1), (1, 1), (2, 1)]);
/// assert_eq!(histogram.cold(), 3);
/// ```
pub fn histogram_parallel(items: &[u64], threads: NonZeroUsize) -> ExactHistogram {
    let worth = (items.len() / FOR_A_THREAD + 1).min(MOST_THREADS);
    let threads = threads.min(NonZeroUsize::MIN.saturating_add(worth - 1));
    let tail = items.len() - items.len().div_ceil(threads.get());
    let expected = expected_of(&items[tail..]);
    let segments: Vec<_> = segments(items, threads, expected.distinct).collect();
    let scheduler = Scheduler::new(SHORTEST, Bytes(u64::MAX));
    let threads = segments.len();
    let finished = scheduler.run(segments, threads, expected, &mut |_, _| {});
    let Some(finished) = finished else {
        unreachable!("items can be read, and their memory has no limit");
    };
    let mut histograms = finished.into_iter().map(|segment| segment.histogram);
    let mut all = histograms.next().unwrap_or_default();
    for histogram in histograms {
        all.merge(&histogram);
    }
    all
}

/// A segment for each thread. The last is longer by what the others are passed: each of them counts
/// an access for each distinct item after it.
fn segments(
    items: &[u64],
    threads: NonZeroUsize,
    distinct: Items,
) -> impl Iterator<Item = SliceSegment<'_>> {
    let distinct = usize::try_from(distinct.get()).unwrap_or(usize::MAX);
    let length = items.len().saturating_sub(distinct) / threads;
    let (front, last) = items.split_at(length * (threads.get() - 1));
    let slices = front.chunks(length.max(1)).chain([last]);
    slices.map(|left| SliceSegment { left, read: 0 })
}

/// A segment of items in memory.
struct SliceSegment<'a> {
    left: &'a [u64],
    /// Items that were read.
    read: usize,
}

impl Divisible for SliceSegment<'_> {
    fn read(&mut self, count: &mut dyn FnMut(&[u64])) -> Reading {
        let (piece, left) = self.left.split_at(self.left.len().min(PIECE));
        self.left = left;
        self.read += piece.len();
        count(piece);
        if left.is_empty() {
            Reading::End
        } else {
            Reading::More
        }
    }

    fn split_off(&mut self, shortest: Accesses) -> Option<Self> {
        let (left, half) = self.left.split_at(self.left.len() / 2);
        if left.is_empty() || (left.len() as u64) < shortest.get() {
            return None;
        }
        self.left = left;
        Some(SliceSegment {
            left: half,
            read: 0,
        })
    }

    fn position(&self) -> u64 {
        (self.read * size_of::<u64>()) as u64
    }

    /// None: the items are the caller's.
    fn memory(&self) -> Bytes {
        Bytes(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_distance::Expected;
    use reuselens_distance::generate::Random;

    /// The histogram by `threads` segments, which are split as if `idle` threads more were idle, in
    /// pieces as short as can be.
    fn finely(items: &[u64], threads: usize, idle: usize) -> ExactHistogram {
        let threads = NonZeroUsize::new(threads).unwrap();
        let segments: Vec<_> = segments(items, threads, Items(0)).collect();
        let scheduler = Scheduler::new(Accesses(1), Bytes(u64::MAX)).with_idle(idle);
        let finished = scheduler.run(segments, 4, Expected::default(), &mut |_, _| {});
        let mut histogram = ExactHistogram::new();
        for segment in finished.unwrap() {
            assert!(segment.segment.left.is_empty());
            histogram.merge(&segment.histogram);
        }
        histogram
    }

    #[test]
    fn halves_come_to_what_the_whole_does() {
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let items: Vec<u64> = (0..400_000)
                .map(|at| random.below(1 + at / 40 * (seed % 3)))
                .collect();
            let expected = histogram_parallel(&items, NonZeroUsize::MIN);
            let found = finely(&items, 1 + seed as usize % 4, 3);
            assert_eq!(found, expected, "seed {seed}");
        }
    }

    #[test]
    fn short_traces_have_one_histogram_on_any_threads() {
        for length in [0, 1, 2, 15, 1000] {
            let items: Vec<u64> = (0..length).map(|at| at * at % 7).collect();
            let expected = histogram_parallel(&items, NonZeroUsize::MIN);
            assert_eq!(histogram_parallel(&items, NonZeroUsize::MAX), expected);
            for threads in [1, 2, 3, 7, 16] {
                let found = finely(&items, threads, threads);
                assert_eq!(found, expected, "{length} on {threads}");
            }
        }
    }
}
