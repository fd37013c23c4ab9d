//! How much faster two threads are than one, on the four streams of the yardstick:
//!
//! ```text
//! cargo run --release -p reuselens --example threads -- 256000000
//! ```
//!
//! The whole analysis of a trace in memory is timed, histogram and merging included; making the stream is
//! not. The trace takes 8 bytes a reference: 2 GiB for the default. Each number is the best of so many
//! turns as the second argument says (1); a third argument names one stream. One Markdown table.
//!
//! *Apart* is what the machine gives to two threads that have nothing to do with each other: two analyses of half the stream each,
//! with engines of their own, at the same time, against one of them alone. More than that is not to be had by sharing the work.
//!
//! Besides the time on the clock it shows the processor time of all threads together: on a machine that
//! does other things too, twice that of one thread by that of two is what two idle processors would give.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use reuselens::distance::generate::{YARDSTICK, yardstick};
use reuselens::locality::ExactHistogram;
use reuselens::shard::histogram_parallel;

/// What an analysis took.
struct Took {
    clock: Duration,
    /// Hundredths of a second of all threads together; 0 where the system does not say.
    processor: u64,
    histogram: ExactHistogram,
}

/// The best of some turns.
fn timed(items: &[u64], threads: usize, turns: usize) -> Took {
    let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
    let turn = || {
        let (start, before) = (Instant::now(), processor_time());
        let histogram = histogram_parallel(items, threads);
        Took {
            clock: start.elapsed(),
            processor: processor_time() - before,
            histogram,
        }
    };
    let mut best = turn();
    for _ in 1..turns {
        let next = turn();
        best.clock = best.clock.min(next.clock);
        best.processor = best.processor.min(next.processor);
    }
    best
}

/// Two halves at the same time, by one thread each: how often that is as fast as one after the other.
fn apart(items: &[u64], turns: usize) -> f64 {
    let (left, right) = items.split_at(items.len() / 2);
    let alone = |half: &[u64]| {
        let start = Instant::now();
        let histogram = histogram_parallel(half, NonZeroUsize::MIN);
        std::hint::black_box(&histogram);
        start.elapsed()
    };
    let both = || {
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| alone(left));
            alone(right);
        });
        start.elapsed()
    };
    let best = |times: &dyn Fn() -> Duration| (0..turns).map(|_| times()).min().unwrap_or_default();
    let one_by_one = best(&|| alone(left)) + best(&|| alone(right));
    one_by_one.as_secs_f64() / best(&both).as_secs_f64()
}

/// Hundredths of a second that this process has computed.
fn processor_time() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Its second field is a name in parentheses, which may have anything in it.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let times = fields.split_whitespace().skip(11).take(2);
    times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, otherwise| {
        arguments
            .get(at)
            .map_or(Ok(otherwise), |text| text.parse::<usize>())
    };
    let (references, turns) = (number(0, 256_000_000)?, number(1, 1)?);
    println!("{references} references in memory, best of {turns}:\n");
    println!(
        "| stream | 1 thread, s | 2 threads, s | 1 ÷ 2 | processor s | of 2 | 2 · 1 ÷ 2 | apart | histograms |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut items = vec![0; references];
    let wanted = |name: &&str| arguments.get(2).is_none_or(|only| only == name);
    for name in YARDSTICK.into_iter().filter(wanted) {
        yardstick(name)
            .ok_or("the yardstick lacks its own stream")?
            .fill(&mut items);
        let (one, two) = (timed(&items, 1, turns), timed(&items, 2, turns));
        let same = if one.histogram == two.histogram {
            "equal"
        } else {
            "DIFFERENT"
        };
        println!(
            "| {name} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {same} |",
            one.clock.as_secs_f64(),
            two.clock.as_secs_f64(),
            one.clock.as_secs_f64() / two.clock.as_secs_f64(),
            one.processor as f64 / 100.0,
            two.processor as f64 / 100.0,
            2.0 * one.processor as f64 / two.processor.max(1) as f64,
            apart(&items, turns),
        );
    }
    Ok(())
}
