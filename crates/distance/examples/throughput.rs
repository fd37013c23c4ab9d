//! How many references a second the exact engines take, on the four streams of the yardstick:
//!
//! ```text
//! cargo run --release -p reuselens-distance --example throughput -- 32000000
//! ```
//!
//! One thread, one run, one Markdown table. `bound` is what no engine with a table of last accesses can
//! beat: the look-up alone. Making the streams and counting the histograms (which must be equal) is not
//! timed.

use std::time::{Duration, Instant};

use reuselens_distance::generate::{Generator, YARDSTICK, yardstick};
use reuselens_distance::{CountingTree, Engine, LookupBound, OlkenTree};
use reuselens_units::Distance;

const BLOCK: usize = 1 << 14;

/// What one engine did with one stream.
struct Outcome {
    time: Duration,
    /// Accesses per distance; the last element counts the cold ones.
    histogram: Vec<u64>,
    bytes_per_item: f64,
}

fn run(
    mut work: impl FnMut(&[u64], &mut [Distance]),
    stream: &mut dyn Generator,
    references: usize,
) -> (Duration, Vec<u64>) {
    let mut items = vec![0; BLOCK];
    let mut distances = vec![Distance::COLD; BLOCK];
    let mut histogram = vec![0; 1];
    let mut time = Duration::ZERO;
    let mut left = references;
    while left > 0 {
        let length = left.min(BLOCK);
        let (items, distances) = (&mut items[..length], &mut distances[..length]);
        stream.fill(items);
        let start = Instant::now();
        work(items, distances);
        time += start.elapsed();
        count(distances, &mut histogram);
        left -= length;
    }
    (time, histogram)
}

/// Counts cold accesses at 0 and distance d at d + 1.
fn count(distances: &[Distance], histogram: &mut Vec<u64>) {
    for distance in distances {
        let bin = distance.items().map_or(0, |items| items as usize + 1);
        if bin >= histogram.len() {
            histogram.resize((bin + 1).next_power_of_two(), 0);
        }
        histogram[bin] += 1;
    }
}

fn measure(mut engine: impl Engine, stream: &mut dyn Generator, references: usize) -> Outcome {
    let (time, histogram) = run(
        |items, distances| engine.process(items, distances),
        stream,
        references,
    );
    let distinct = engine.distinct().get().max(1) as f64;
    Outcome {
        time,
        histogram,
        bytes_per_item: engine.memory().get() as f64 / distinct,
    }
}

fn measure_bound(stream: &mut dyn Generator, references: usize) -> Duration {
    let mut bound = LookupBound::new();
    run(|items, _| bound.process(items), stream, references).0
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let references = std::env::args()
        .nth(1)
        .map_or(Ok(32_000_000), |text| text.parse::<usize>())?;
    let rate = |time: Duration| references as f64 / time.as_secs_f64() / 1e6;
    println!("{references} references, one thread, millions of references a second:\n");
    println!(
        "| stream | olken | counting | bound | counting ÷ olken | share of bound | bytes per item |"
    );
    println!("|---|---|---|---|---|---|---|");
    for name in YARDSTICK {
        let stream = || yardstick(name).ok_or("the yardstick lacks its own stream");
        let bound = rate(measure_bound(stream()?.as_mut(), references));
        let counting = measure(CountingTree::new(), stream()?.as_mut(), references);
        let olken = measure(OlkenTree::new(), stream()?.as_mut(), references);
        if counting.histogram != olken.histogram {
            return Err(format!("{name}: the histograms differ").into());
        }
        let (fast, slow) = (rate(counting.time), rate(olken.time));
        println!(
            "| {name} | {slow:.2} | {fast:.1} | {bound:.1} | {:.1} | {:.0} % | {:.0} |",
            fast / slow,
            100.0 * fast / bound,
            counting.bytes_per_item
        );
    }
    Ok(())
}
