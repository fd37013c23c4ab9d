//! How many references a second the exact engines take, on the four streams of the yardstick:
//!
//! ```text
//! cargo run --release -p reuselens-distance --example throughput -- 32000000
//! ```
//!
//! One thread, one Markdown table. `bound` is what no engine with a table of last accesses can beat: the
//! look-up alone. The three take turns, block by block, so that whatever else the machine does slows all of
//! them: believe the ratios, and the rates only on an idle machine. Making the streams, and comparing the
//! distances (which must all be equal), is not timed.

use std::time::{Duration, Instant};

use reuselens_distance::generate::{Generator, YARDSTICK, yardstick};
use reuselens_distance::{CountingTree, Engine, LookupBound, OlkenTree};
use reuselens_units::Distance;

/// References per turn: enough to make up for the caches that the others have emptied.
const TURN: usize = 1 << 16;

/// The time that each took, and the memory of the counting engine.
#[derive(Default)]
struct Outcome {
    bound: Duration,
    counting: Duration,
    olken: Duration,
    bytes_per_item: f64,
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Runs all three over the stream. `None` if two engines disagree.
fn run(stream: &mut dyn Generator, references: usize) -> Option<Outcome> {
    let mut bound = LookupBound::new();
    let mut counting = CountingTree::new();
    let mut olken = OlkenTree::new();
    let mut items = vec![0; TURN];
    let (mut fast, mut slow) = (vec![Distance::COLD; TURN], vec![Distance::COLD; TURN]);
    let mut outcome = Outcome::default();
    for start in (0..references).step_by(TURN) {
        let length = TURN.min(references - start);
        let items = &mut items[..length];
        stream.fill(items);
        outcome.bound += timed(|| bound.process(items));
        outcome.counting += timed(|| counting.process(items, &mut fast[..length]));
        outcome.olken += timed(|| olken.process(items, &mut slow[..length]));
        if fast[..length] != slow[..length] {
            return None;
        }
    }
    outcome.bytes_per_item = counting.memory().get() as f64 / counting.distinct().get() as f64;
    Some(outcome)
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
        let mut stream = yardstick(name).ok_or("the yardstick lacks its own stream")?;
        let outcome = run(stream.as_mut(), references)
            .ok_or_else(|| format!("{name}: counting and olken disagree"))?;
        let [olken, counting, bound] = [outcome.olken, outcome.counting, outcome.bound].map(rate);
        println!(
            "| {name} | {olken:.2} | {counting:.1} | {bound:.1} | {:.1} | {:.0} % | {:.0} |",
            counting / olken,
            100.0 * counting / bound,
            outcome.bytes_per_item
        );
    }
    Ok(())
}
