//! HP-RDA beside the exact engines, on real traces: time, where it goes, and error.
//!
//! ```text
//! cargo run --release -p reuselens --example hp_rda -- [--bytes 64] TRACE...
//! ```
//!
//! Two Markdown tables. Times are from items in memory to distances (and HP-RDA's adjustment of its
//! histogram), the best of three runs, engines taking turns; reading the trace and counting the
//! distances are not timed. The error is against the exact histogram, over the log2 bins up to the
//! last that either uses, and the cold accesses as one more. The histograms of the two exact
//! engines must be equal. The last four columns of the second table read the publication another
//! way: `BlockCount::Distinct`.

mod trace_items;

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

use reuselens::baselines::{Adjustment, BlockCount, HpRda, HpRdaSettings, HpRdaTimes, OlkenTree};
use reuselens::distance::{CountingTree, Engine};
use reuselens::locality::ExactHistogram;
use reuselens::locality::error::{average_bin_error, total_variation};
use reuselens::units::{Distance, Granularity};

type Failure = Box<dyn std::error::Error>;

/// Runs of which the best counts.
const ROUNDS: usize = 3;
/// Items that an engine is handed at a time.
const PIECE: usize = 1 << 16;

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// The histogram of an exact engine, and how long its distances took.
fn exact(mut engine: impl Engine, items: &[u64]) -> (ExactHistogram, Duration) {
    let mut histogram = ExactHistogram::new();
    let mut elapsed = Duration::ZERO;
    let mut distances = vec![Distance::COLD; PIECE];
    for items in items.chunks(PIECE) {
        let distances = &mut distances[..items.len()];
        elapsed += timed(|| engine.process(items, distances));
        histogram.add_column(distances);
    }
    (histogram, elapsed)
}

/// What HP-RDA made of a trace.
struct Approximate {
    adjusted: ExactHistogram,
    unadjusted: ExactHistogram,
    adjustment: Adjustment,
    times: HpRdaTimes,
    elapsed: Duration,
}

fn hp_rda(items: &[u64], threads: NonZeroUsize, block_count: BlockCount) -> Approximate {
    let mut unadjusted = ExactHistogram::new();
    let mut kept = Vec::new();
    let mut repeats = 0;
    let mut elapsed = Duration::ZERO;
    let mut rda = HpRda::new(HpRdaSettings {
        threads,
        block_count,
        ..HpRdaSettings::default()
    });
    for items in items.chunks(PIECE) {
        elapsed += timed(|| rda.feed(items, &mut kept));
        repeats += (items.len() - kept.len()) as u64;
        if rda.is_full() {
            let start = Instant::now();
            let distances = rda.analyse();
            elapsed += start.elapsed();
            unadjusted.add_column(distances);
        }
    }
    let start = Instant::now();
    let finished = rda.finish();
    elapsed += start.elapsed();
    unadjusted.add_column(&finished.distances);
    unadjusted.add(Distance::ZERO, repeats);
    let (adjustment, mut times) = (finished.adjustment, finished.times);
    let began = Instant::now();
    let adjusted = unadjusted.map(|distance| adjustment.adjust(distance));
    times.adjust = began.elapsed();
    Approximate {
        adjusted,
        unadjusted,
        adjustment,
        times,
        elapsed: elapsed + times.adjust,
    }
}

/// Average error and total variation over the log2 bins.
fn error(found: &ExactHistogram, exact: &ExactHistogram) -> (f64, f64) {
    let (exact, found) = (exact.log2(), found.log2());
    (
        average_bin_error(&exact, &found),
        total_variation(&exact, &found),
    )
}

/// A row of both tables.
#[derive(Default)]
struct Row {
    name: String,
    distinct: u64,
    factor: f64,
    /// Olken, counting, HP-RDA by threads.
    seconds: Vec<f64>,
    /// Of the run with one thread: preprocess, local, thread merge, block merge, adjust.
    split: [f64; 5],
    /// Average error and total variation: adjusted, not adjusted; both with blocks as distinct
    /// items.
    errors: [(f64, f64); 4],
}

fn measure(name: &str, items: &[u64], threads: &[NonZeroUsize]) -> Result<Row, Failure> {
    let mut row = Row::default();
    let mut best = vec![Duration::MAX; 2 + threads.len()];
    for _ in 0..ROUNDS {
        let (olken, time) = exact(OlkenTree::new(), items);
        best[0] = best[0].min(time);
        let (truth, time) = exact(CountingTree::new(), items);
        best[1] = best[1].min(time);
        if olken != truth {
            return Err(format!("{name}: olken and counting disagree").into());
        }
        for (&threads, best) in threads.iter().zip(&mut best[2..]) {
            let found = hp_rda(items, threads, BlockCount::Chunks);
            if found.elapsed < *best && threads.get() == 1 {
                row.split = split(&found.times);
            }
            *best = found.elapsed.min(*best);
            row.distinct = found.adjustment.distinct().get();
            row.factor = found.adjustment.factor();
            row.errors[0] = error(&found.adjusted, &truth);
            row.errors[1] = error(&found.unadjusted, &truth);
        }
        let other = hp_rda(items, NonZeroUsize::MIN, BlockCount::Distinct);
        row.errors[2] = error(&other.adjusted, &truth);
        row.errors[3] = error(&other.unadjusted, &truth);
    }
    row.seconds = best.iter().map(Duration::as_secs_f64).collect();
    row.name = format!("{name} | {:.1} M", items.len() as f64 / 1e6);
    Ok(row)
}

fn split(times: &HpRdaTimes) -> [f64; 5] {
    let all = times.total().as_secs_f64().max(f64::MIN_POSITIVE);
    [
        times.preprocess,
        times.local,
        times.thread_merge,
        times.block_merge,
        times.adjust,
    ]
    .map(|time| time.as_secs_f64() / all)
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let number = values.clone().count().max(1);
    values.sum::<f64>() / number as f64
}

fn print_times(rows: &[Row], threads: &[NonZeroUsize]) {
    let columns = |what: &str| -> String {
        let column = |threads: &NonZeroUsize| format!("{what} {threads} thr | ");
        threads.iter().map(column).collect()
    };
    println!(
        "| trace | accesses | items | Olken, s | counting, s | {}{}counting, times Olken | preprocess % | local % | thread merge % | block merge % | adjust % |",
        columns("HP-RDA, s,"),
        columns("times Olken,")
    );
    println!("|{}", "---|".repeat(11 + 2 * threads.len()));
    for row in rows {
        let seconds: String = row.seconds.iter().map(|s| format!("{s:.3} | ")).collect();
        let faster = |s: &f64| format!("{:.1} | ", row.seconds[0] / s);
        let ours: String = row.seconds[2..].iter().map(faster).collect();
        let counting = faster(&row.seconds[1]);
        let split: String = row.split.map(|s| format!("{:.1} | ", 100.0 * s)).concat();
        println!(
            "| {} | {} | {seconds}{ours}{counting}{split}",
            row.name, row.distinct
        );
    }
    for index in 1..2 + threads.len() {
        let faster = rows.iter().map(|row| row.seconds[0] / row.seconds[index]);
        let best = faster.clone().fold(0.0, f64::max);
        let who = match index {
            1 => "counting".to_owned(),
            _ => format!("HP-RDA with {} threads", threads[index - 2]),
        };
        println!(
            "\n{who}: {:.1}× as fast as Olken in the mean, {best:.1}× at best.",
            mean(faster)
        );
    }
}

fn print_errors(rows: &[Row]) {
    println!(
        "\n| trace | accesses | ef | error % | not adjusted % | TV % | not adjusted % | blocks by distinct items: error % | not adjusted % | TV % | not adjusted % |"
    );
    println!("|{}", "---|".repeat(11));
    let print = |name: &str, factor: String, errors: [(f64, f64); 4]| {
        let pairs = [[errors[0], errors[1]], [errors[2], errors[3]]];
        let four = |[one, other]: [(f64, f64); 2]| {
            [one.0, other.0, one.1, other.1].map(|e| format!(" {:.3} |", 100.0 * e))
        };
        println!("| {name} | {factor} |{}", pairs.map(four).concat().concat());
    };
    for row in rows {
        print(&row.name, format!("{:.4}", row.factor), row.errors);
    }
    let means = [0, 1, 2, 3].map(|index| {
        let errors = || rows.iter().map(|row| row.errors[index]);
        (mean(errors().map(|e| e.0)), mean(errors().map(|e| e.1)))
    });
    print("mean | ", String::new(), means);
}

fn main() -> Result<(), Failure> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut granularity = Granularity::LINE_64;
    if arguments.len() > 1 && arguments[0] == "--bytes" {
        granularity = Granularity::new(arguments[1].parse()?)?;
        arguments.drain(..2);
    }
    let processors = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut threads = vec![NonZeroUsize::MIN, NonZeroUsize::MIN.saturating_add(1)];
    if processors.get() > 2 {
        threads.push(processors);
    }
    let mut rows = Vec::new();
    for path in arguments.iter().map(Path::new) {
        let items = trace_items::read(path, granularity)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        eprintln!("{name}: {} accesses", items.len());
        rows.push(measure(&name, &items, &threads)?);
    }
    println!(
        "{processors} processors, items of {} bytes, best of {ROUNDS}:\n",
        granularity.bytes()
    );
    print_times(&rows, &threads);
    print_errors(&rows);
    Ok(())
}
