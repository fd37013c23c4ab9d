//! How much faster two threads are than one, on the four streams of the yardstick:
//!
//! ```text
//! cargo run --release -p reuselens --example threads -- 256000000
//! ```
//!
//! The whole analysis of a trace in memory is timed, histogram and merging included; making the stream is
//! not. The trace takes 8 bytes a reference: 2 GiB for the default. Each number is the best of so many
//! turns as the second argument says (1); a third argument names one stream. One Markdown table.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use reuselens::distance::generate::{YARDSTICK, yardstick};
use reuselens::locality::ExactHistogram;
use reuselens::shard::histogram_parallel;

/// The best time of some turns, and the histogram.
fn timed(items: &[u64], threads: usize, turns: usize) -> (Duration, ExactHistogram) {
    let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
    let mut best = Duration::MAX;
    let mut histogram = ExactHistogram::new();
    for _ in 0..turns.max(1) {
        let start = Instant::now();
        histogram = histogram_parallel(items, threads);
        best = best.min(start.elapsed());
    }
    (best, histogram)
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
    println!("| stream | 1 thread, s | 2 threads, s | 1 ÷ 2 | M references/s on 2 | histograms |");
    println!("|---|---|---|---|---|---|");
    let mut items = vec![0; references];
    let wanted = |name: &&str| arguments.get(2).is_none_or(|only| only == name);
    for name in YARDSTICK.into_iter().filter(wanted) {
        yardstick(name)
            .ok_or("the yardstick lacks its own stream")?
            .fill(&mut items);
        let (one, alone) = timed(&items, 1, turns);
        let (two, together) = timed(&items, 2, turns);
        let equal = if alone == together {
            "equal"
        } else {
            "DIFFERENT"
        };
        println!(
            "| {name} | {:.2} | {:.2} | {:.2} | {:.1} | {equal} |",
            one.as_secs_f64(),
            two.as_secs_f64(),
            one.as_secs_f64() / two.as_secs_f64(),
            references as f64 / two.as_secs_f64() / 1e6,
        );
    }
    Ok(())
}
