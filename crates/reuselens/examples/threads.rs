//! How much faster two threads are than one, on the four streams of the yardstick:
//!
//! ```text
//! cargo run --release -p reuselens --example threads -- 256000000
//! ```
//!
//! The whole analysis of a trace in memory is timed, histogram and merging included; making the
//! stream is not. The trace takes 8 bytes a reference: 2 GiB for the default. Each number is the
//! best of so many turns as the second argument says (1); a third argument names one stream. One
//! Markdown table. *1 ÷ 2* is of the best times; on a machine whose speed changes the best of two
//! processors at once is rarer than the best of one, so beside it stands *in turns*: the middle of
//! the ratios of one and two threads right after each other.
//!
//! *Apart* is what the machine gives to two threads that have nothing to do with each other: two
//! analyses of half the stream each, with engines of their own, at the same time, against one after
//! the other. More than that is not to be had by sharing the work.
//!
//! Before each turn half a GiB of memory is touched and given back, more than two threads need for
//! these streams. Hosts of virtual machines take back what lies free for some seconds; to get it
//! again can cost a second for 300 MB, and would be paid by whoever needs the most and has waited
//! longest.
//!
//! Besides the time on the clock it shows the processor time of all threads together: on a machine
//! that does other things too, twice that of one thread by that of two is what two idle processors
//! would give.

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

impl Took {
    /// The better of two, each number by itself.
    ///
    /// # Panics
    /// If they have counted different things.
    fn or(self, other: Took) -> Took {
        assert!(self.histogram == other.histogram, "two turns differ");
        Took {
            clock: self.clock.min(other.clock),
            processor: self.processor.min(other.processor),
            histogram: other.histogram,
        }
    }
}

/// Bytes that are touched before each turn.
const READY: usize = 512 << 20;

/// Touches memory and gives it back.
fn make_memory_ready() {
    std::hint::black_box(vec![1_u8; READY]);
}

/// One analysis.
fn timed(items: &[u64], threads: usize) -> Took {
    make_memory_ready();
    let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
    let (start, before) = (Instant::now(), processor_time());
    let histogram = histogram_parallel(items, threads);
    Took {
        clock: start.elapsed(),
        processor: processor_time() - before,
        histogram,
    }
}

/// What two halves take by one thread each: one after the other, and at the same time.
fn apart(items: &[u64]) -> [Duration; 2] {
    let (left, right) = items.split_at(items.len() / 2);
    let alone = |half: &[u64]| {
        std::hint::black_box(histogram_parallel(half, NonZeroUsize::MIN));
    };
    make_memory_ready();
    let start = Instant::now();
    alone(left);
    alone(right);
    let one_by_one = start.elapsed();
    make_memory_ready();
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| alone(left));
        alone(right);
    });
    [one_by_one, start.elapsed()]
}

/// One number ÷ another.
fn ratio([over, under]: [Duration; 2]) -> f64 {
    over.as_secs_f64() / under.as_secs_f64()
}

/// The middle one, or of an even number the lower of the two.
fn middle(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_by(f64::total_cmp);
    ratios[(ratios.len() - 1) / 2]
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
        "| stream | 1 thread, s | 2 threads, s | 1 ÷ 2 | in turns | processor s | of 2 | 2 · 1 ÷ 2 | apart | histograms |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut items = vec![0; references];
    let wanted = |name: &&str| arguments.get(2).is_none_or(|only| only == name);
    for name in YARDSTICK.into_iter().filter(wanted) {
        yardstick(name)
            .ok_or("the yardstick lacks its own stream")?
            .fill(&mut items);
        let (mut best, mut ratios, mut halves) = (None, Vec::new(), Vec::new());
        // In turns: a machine that others use, too, is not as fast at all times.
        for _ in 0..turns.max(1) {
            let (one, two) = (timed(&items, 1), timed(&items, 2));
            ratios.push(ratio([one.clock, two.clock]));
            halves.push(ratio(apart(&items)));
            best = Some(match best {
                None => (one, two),
                Some((first, second)) => (one.or(first), two.or(second)),
            });
        }
        let (one, two) = best.ok_or("no turn was made")?;
        let same = if one.histogram == two.histogram {
            "equal"
        } else {
            "DIFFERENT"
        };
        println!(
            "| {name} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {same} |",
            one.clock.as_secs_f64(),
            two.clock.as_secs_f64(),
            ratio([one.clock, two.clock]),
            middle(ratios),
            one.processor as f64 / 100.0,
            two.processor as f64 / 100.0,
            2.0 * one.processor as f64 / two.processor.max(1) as f64,
            middle(halves),
        );
    }
    Ok(())
}
