//! A whole analysis of a trace beside the bare engine over its items in memory, as a Markdown
//! table: `cargo run --release -p reuselens --example whole -- [THREADS] TRACE...`.
//!
//! The analysis is that of the program alone (`--by program`): reading, unpacking, decoding, items,
//! distances, histogram. The engine has its items in memory and makes distances and a histogram of
//! them. Both run in turns; the best of five each.

mod trace_items;

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

use reuselens::distance::{CountingTree, Engine};
use reuselens::formats;
use reuselens::locality::ExactHistogram;
use reuselens::units::Granularity;
use reuselens::{AnalysisOptions, TalliedHistogram, analyze_segmented};

/// Runs of which the best counts.
const ROUNDS: usize = 5;
/// Items that an engine is handed at a time.
const PIECE: usize = 1 << 15;

fn options(threads: usize) -> AnalysisOptions {
    AnalysisOptions {
        granularity: Some(Granularity::LINE_64),
        totals_only: true,
        contexts: false,
        threads: NonZeroUsize::new(threads),
        ..AnalysisOptions::default()
    }
}

fn engine(items: &[u64]) -> ExactHistogram {
    let (mut engine, mut histogram) = (CountingTree::new(), TalliedHistogram::new());
    for items in items.chunks(PIECE) {
        histogram.add(|tally| engine.tally(items, tally));
    }
    histogram.finish()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let threads = arguments.peek().and_then(|first| first.parse().ok());
    if threads.is_some() {
        arguments.next();
    }
    let options = options(threads.unwrap_or(2));
    println!(
        "| trace | accesses | engine, s | analysis, s | engine's speed |\n|---|--:|--:|--:|--:|"
    );
    for path in arguments {
        let path = Path::new(&path);
        let items = trace_items::read(path, Granularity::LINE_64)?;
        let (mut alone, mut whole) = (Duration::MAX, Duration::MAX);
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            let histogram = engine(&items);
            alone = alone.min(begun.elapsed());
            let begun = Instant::now();
            let mut source = formats::open(path, None)?;
            let profile = analyze_segmented(&mut *source, Vec::new(), &options, &mut |_| {})?;
            whole = whole.min(begun.elapsed());
            assert!(profile.histogram == histogram, "the histograms differ");
        }
        println!(
            "| {} | {:.1} M | {:.3} | {:.3} | {:.2} |",
            path.file_stem().unwrap_or_default().display(),
            items.len() as f64 / 1e6,
            alone.as_secs_f64(),
            whole.as_secs_f64(),
            alone.as_secs_f64() / whole.as_secs_f64()
        );
    }
    Ok(())
}
