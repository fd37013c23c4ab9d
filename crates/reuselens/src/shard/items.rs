//! The distances of a trace in memory, on several threads: no programs, no names, items only.

use std::num::NonZeroUsize;
use std::thread::Builder;

use reuselens_locality::ExactHistogram;
use reuselens_units::Items;

use super::link::{Before, Behind, Link, way};
use super::sample::distinct_about;

/// The histogram of the distances of a trace of items, worked out on `threads` threads (this one among
/// them). Exact, and the same for any number of threads.
///
/// Each thread takes a stretch of the trace. What it meets for the first time it hands to the thread of
/// the stretch before, which looks for it once its own stretch is done, and hands on what it does not
/// know either (Niu et al., PARDA, IPDPS 2012). So no thread waits for another's state, and nothing is
/// merged but histograms. Cost: that of the counting tree, divided by the threads, and for each thread
/// but the last an access for each distinct item of the stretches behind it. How many these are is estimated from a
/// sample, so that the last stretch is longer by as much, and that tables need not grow step by step. Memory: an engine, a
/// histogram, and 8 bytes per distinct item for each thread. Where the system does not give so many threads, this
/// one does all by itself.
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
    let alone = || link(items, Items(0), None, &way().1);
    in_chain(items, threads).unwrap_or_else(alone)
}

/// The histogram by so many threads; `None` if they cannot be had.
fn in_chain(items: &[u64], threads: NonZeroUsize) -> Option<ExactHistogram> {
    let tail = items.len() - items.len().div_ceil(threads.get());
    let distinct = distinct_about(&items[tail..]);
    let mut stretches = stretches(items, threads, distinct);
    let own = stretches.next().unwrap_or_default();
    std::thread::scope(|scope| {
        let (mut send, behind) = way();
        let mut others = Vec::new();
        for stretch in stretches {
            let (next, receive) = way();
            let before = std::mem::replace(&mut send, next);
            let work = move || link(stretch, distinct, Some(before), &receive);
            let thread = Builder::new().name("count".to_owned());
            let spawned = thread.spawn_scoped(scope, work);
            // Those that began end by themselves: nobody hands on to them any more.
            others.push(spawned.ok()?);
        }
        // Nobody comes behind the last.
        drop(send);
        let mut histogram = link(own, distinct, None, &behind);
        for other in others {
            match other.join() {
                Ok(more) => histogram.merge(&more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Some(histogram)
    })
}

/// A stretch for each thread. The last is longer by what the others are handed: each does an access for each
/// distinct item behind it.
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

/// A thread's work: its stretch, then what the stretches behind it did not know.
fn link(
    stretch: &[u64],
    distinct: Items,
    before: Option<Before>,
    behind: &Behind,
) -> ExactHistogram {
    let mut link = Link::new(distinct, before);
    link.count(stretch);
    link.hand_on();
    while let Some(firsts) = behind.wait() {
        link.count(&firsts);
    }
    link.finish()
}
