//! The distances of a trace in memory, on several threads: no programs, no names, items only.

use std::cmp::Reverse;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard};

use reuselens_distance::Expected;
use reuselens_locality::ExactHistogram;
use reuselens_units::Items;
use reuselens_workers::{lock, together};

use super::counter::{Before, Behind, Link, way};
use super::sample::expected_of;

/// How finely work is divided.
#[derive(Clone, Copy)]
struct Grain {
    /// Items that are taken from a stretch at once: what comes after may become another's.
    piece: usize,
    /// The shortest stretch that is split off.
    shortest: usize,
}

const GRAIN: Grain = Grain {
    piece: 1 << 16,
    shortest: 1 << 21,
};
/// Accesses for which a thread is worth beginning, at least, and threads at most: each takes memory
/// however little it has to do.
const FOR_A_THREAD: usize = 1 << 12;
const MOST_THREADS: usize = 512;
/// Accesses per distinct item from which on a stretch is worth splitting off: whom it is taken from
/// is handed an access for each distinct item, so with one nothing is gained.
const PER_ITEM: usize = 2;

/// The histogram of the distances of a trace of items, worked out on `threads` threads (this one
/// among them), or fewer if the trace is short, and 512 at most. Exact, and the same for any number
/// of threads.
///
/// Each thread takes a stretch of the trace. What it meets for the first time it hands to the
/// thread of the stretch before, which looks for it once its own stretch is done, and hands on what
/// it does not know either (Niu et al., PARDA, IPDPS 2012). So no thread waits for another's state,
/// and nothing is merged but histograms. Who is done takes the half of what another has left, if
/// that is long enough to be worth an engine of its own: processors are not always equally fast.
///
/// Cost: that of the counting tree, divided by the threads, and for each stretch but the last an
/// access for each distinct item of those behind it. How many these are is estimated from a sample,
/// so that the last stretch is longer by as much, and that tables need not grow step by step.
/// Memory: an engine, a histogram, and 8 to 16 bytes per distinct item for each stretch: of these
/// there are as many as threads, and where one thread is much slower than another some more, since
/// halves of halves are taken from it. Where the system does not give so many threads, those that
/// there are do all.
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
    let stretches = stretches(items, threads, expected.distinct);
    let chain = Chain::new(stretches, expected, GRAIN);
    let threads = chain.lock().len();
    let work = || chain.work();
    let mut histogram = ExactHistogram::new();
    for part in together("count", threads, work, work) {
        histogram.merge(&part);
    }
    histogram
}

/// A stretch for each thread. The last is longer by what the others are handed: each does an access
/// for each distinct item behind it.
fn stretches(
    items: &[u64],
    threads: NonZeroUsize,
    distinct: Items,
) -> impl Iterator<Item = &[u64]> {
    let distinct = usize::try_from(distinct.get()).unwrap_or(usize::MAX);
    let length = items.len().saturating_sub(distinct) / threads;
    let (front, last) = items.split_at(length * (threads.get() - 1));
    front.chunks(length.max(1)).chain([last])
}

/// All stretches, in order.
struct Chain<'a> {
    stretches: Mutex<Vec<Stretch<'a>>>,
    /// What is known of a stretch.
    expected: Expected,
    grain: Grain,
}

/// A stretch of the items.
struct Stretch<'a> {
    /// What was not begun.
    left: &'a [u64],
    /// The ways to the stretch before, until a thread has it, and from the one behind, until it was
    /// read.
    before: Option<Before>,
    behind: Option<Behind>,
    is_taken: bool,
    /// Which it is: others are split off, and lists grow.
    number: usize,
}

/// A stretch that a thread has, and what counts it.
struct Own {
    number: usize,
    link: Link,
}

impl<'a> Chain<'a> {
    fn new(
        stretches: impl Iterator<Item = &'a [u64]>,
        expected: Expected,
        grain: Grain,
    ) -> Chain<'a> {
        let mut before = None;
        let stretch = |(number, left)| {
            let (next, behind) = way();
            Stretch {
                left,
                before: before.replace(next),
                behind: Some(behind),
                is_taken: false,
                number,
            }
        };
        let stretches = stretches.enumerate().map(stretch).collect();
        Chain {
            stretches: Mutex::new(stretches),
            expected,
            grain,
        }
    }

    /// What a thread counts: stretches as long as there are any, then what those behind them do not
    /// know.
    fn work(&self) -> ExactHistogram {
        let mut read: Vec<Own> = Vec::new();
        while let Some((number, expected, before)) = self.take(read.last()) {
            let link = Link::new(expected, before);
            let mut own = Own { number, link };
            while let Some(piece) = self.piece(own.number) {
                own.link.count(piece);
            }
            own.link.hand_on();
            read.push(own);
        }
        // The last first: whatever it waits for is behind it, and so on to the very last, for which
        // nobody waits in vain. Places are looked up at one time: others may still be split.
        let stretches = self.lock();
        let place = |own: &Own| stretches.iter().position(|one| one.number == own.number);
        read.sort_by_cached_key(|own| Reverse(place(own)));
        drop(stretches);
        let mut histogram = ExactHistogram::new();
        for Own { number, mut link } in read {
            let behind = self
                .find(&mut self.lock(), number)
                .and_then(|one| one.behind.take());
            while let Some(firsts) = behind.as_ref().and_then(Behind::wait) {
                link.count(&firsts);
            }
            histogram.merge(&link.finish());
        }
        histogram
    }

    /// A stretch that nobody has, or the half of what somebody has left, what is known of it, and
    /// the way to the one before; `last` is the one that was read last.
    fn take(&self, last: Option<&Own>) -> Option<(usize, Expected, Option<Before>)> {
        let mut stretches = self.lock();
        if let Some(stretch) = stretches.iter_mut().find(|one| !one.is_taken) {
            stretch.is_taken = true;
            return Some((stretch.number, self.expected, stretch.before.take()));
        }
        let expected = last?.link.learned();
        let worth = usize::try_from(expected.distinct.get()).unwrap_or(usize::MAX);
        let shortest = worth.saturating_mul(PER_ITEM).max(self.grain.shortest);
        let place = (0..stretches.len()).max_by_key(|&at| stretches[at].left.len())?;
        let number = stretches.len();
        let longest = &mut stretches[place];
        let (rest, half) = longest.left.split_at(longest.left.len() / 2);
        if rest.len() < shortest.max(1) {
            return None;
        }
        let (before, behind) = way();
        longest.left = rest;
        let half = Stretch {
            left: half,
            before: None,
            // What is handed on to the whole is the half's from now on.
            behind: longest.behind.replace(behind),
            is_taken: true,
            number,
        };
        stretches.insert(place + 1, half);
        Some((number, expected, Some(before)))
    }

    /// The next items of a stretch.
    fn piece(&self, number: usize) -> Option<&'a [u64]> {
        let mut stretches = self.lock();
        let stretch = self.find(&mut stretches, number)?;
        let (piece, left) = stretch
            .left
            .split_at(stretch.left.len().min(self.grain.piece));
        stretch.left = left;
        (!piece.is_empty()).then_some(piece)
    }

    fn find<'s>(
        &self,
        stretches: &'s mut [Stretch<'a>],
        number: usize,
    ) -> Option<&'s mut Stretch<'a>> {
        stretches.iter_mut().find(|one| one.number == number)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Stretch<'a>>> {
        lock(&self.stretches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_distance::generate::Random;

    /// The histogram by so many threads that take of what others have, however little that is;
    /// those beyond the stretches begin with nothing.
    fn finely(items: &[u64], threads: usize, others: usize) -> ExactHistogram {
        let grain = Grain {
            piece: 1 << 8,
            shortest: 1,
        };
        let stretches = stretches(items, NonZeroUsize::new(threads).unwrap(), Items(0));
        let chain = Chain::new(stretches, Expected::default(), grain);
        let histogram = std::thread::scope(|scope| {
            let others: Vec<_> = (0..others).map(|_| scope.spawn(|| chain.work())).collect();
            let mut histogram = ExactHistogram::new();
            for other in others {
                histogram.merge(&other.join().unwrap());
            }
            histogram
        });
        assert!(chain.lock().iter().all(|one| one.left.is_empty()));
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
