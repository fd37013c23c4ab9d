//! Where the time of the engines on a device goes, and that their histograms are those of the
//! processor.
//!
//! ```text
//! cargo run --release -p reuselens-distance-gpu --example times -- [REFERENCES] [ITEMS]
//! ```
//!
//! The stream is of uniform items. On the interpreter the times say which step takes most
//! instructions, and nothing of a GPU's time.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use reuselens_baselines::{HpRda, HpRdaSettings};
use reuselens_cuda::{Interpreter, KernelCounts};
use reuselens_distance::generate::{Generator, Uniform};
use reuselens_distance::{CountingTree, Engine};
use reuselens_distance_gpu::{ExactSettings, GpuExact, HpRdaGpu, interpreter};
use reuselens_locality::ExactHistogram;
use reuselens_ptx::Options;
use reuselens_units::Distance;

type Failure = Box<dyn std::error::Error>;

const MEMORY: u64 = 4 << 30;

fn print(step: &str, time: Duration) {
    println!("  {step:14} {:10.3} ms", 1000.0 * time.as_secs_f64());
}

fn exact(items: &[u64], threads: usize) -> Result<(), Failure> {
    let mut distances = vec![Distance::COLD; items.len()];
    let start = Instant::now();
    CountingTree::new().process(items, &mut distances);
    let on_processor = start.elapsed();
    let mut expected = ExactHistogram::new();
    expected.add_column(&distances);
    let chunk = Some(items.len() as u64);
    let mut engine = GpuExact::new(interpreter(MEMORY, threads), ExactSettings { chunk })?;
    engine.feed(items);
    let mut found = ExactHistogram::new();
    let times = engine.finish_tally(&mut found)?.times;
    println!("exact: equal to the counting tree: {}", found == expected);
    print("counting tree", on_processor);
    print("transfer", times.transfer);
    print("sort", times.sort);
    print("previous", times.previous);
    print("dominance", times.dominance);
    print("histogram", times.histogram);
    print("resolve", times.resolve);
    Ok(())
}

/// The items as numbers from 0 on.
fn numbered(items: &[u64]) -> Vec<u64> {
    let mut numbers = HashMap::new();
    let number = |item| {
        let next = numbers.len() as u64;
        *numbers.entry(item).or_insert(next)
    };
    items.iter().map(number).collect()
}

/// What the exact kernels do, per reference: instructions of warps, and bytes of sectors of global
/// memory.
fn work(what: &str, items: &[u64], threads: usize) -> Result<(), Failure> {
    let options = Options {
        threads,
        ..Options::default()
    };
    let device = Interpreter::new(MEMORY, options, KernelCounts::default());
    let chunk = Some(items.len() as u64);
    let mut engine = GpuExact::new(device, ExactSettings { chunk })?;
    engine.feed(items);
    engine.tally(&mut ExactHistogram::new())?;
    let counts = engine.into_device().into_watch();
    let each = |number: u64| number as f64 / items.len() as f64;
    println!("exact, {what}, per reference: launches, warp instructions, bytes of sectors");
    let mut sums = (0, 0);
    for kernel in counts.kernels() {
        let (instructions, bytes) = (kernel.stats.warp_instructions, 32 * kernel.memory.sectors);
        sums = (sums.0 + instructions, sums.1 + bytes);
        let (launches, name) = (kernel.launches, &kernel.name);
        println!(
            "  {name:20} {launches:3} {:8.2} {:8.1}",
            each(instructions),
            each(bytes)
        );
    }
    println!("  {:24} {:8.2} {:8.1}", "all", each(sums.0), each(sums.1));
    Ok(())
}

fn hp_rda(items: &[u64], threads: usize) -> Result<(), Failure> {
    let settings = HpRdaSettings {
        threads: NonZeroUsize::MIN,
        ..HpRdaSettings::default()
    };
    let mut kept = Vec::new();
    let mut on_processor = HpRda::new(settings);
    on_processor.feed(items, &mut kept);
    let expected = on_processor.finish();
    let mut rda = HpRdaGpu::new(interpreter(MEMORY, threads), settings)?;
    rda.feed(items, &mut kept);
    let mut found = rda.finish()?;
    let is_equal = found.distances == expected.distances && found.adjustment == expected.adjustment;
    let mut merged = ExactHistogram::new();
    merged.add_column(&found.distances);
    found.adjust(&merged);
    println!("hp-rda: equal to that on the processor: {is_equal}");
    print("processor", expected.times.total());
    for (step, time) in found.times.steps() {
        print(step, time);
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |or: u64| arguments.next().map_or(Ok(or), |text| text.parse());
    let (references, distinct) = (number(1 << 18)?, number(1 << 14)?);
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let mut items = vec![0; references as usize];
    Uniform::new(distinct, 1).fill(&mut items);
    println!("{references} references to {distinct} items, on the interpreter, {threads} threads");
    exact(&items, threads)?;
    work("items of 64 bits", &items, threads)?;
    work("numbered items", &numbered(&items), threads)?;
    hp_rda(&items, threads)
}
