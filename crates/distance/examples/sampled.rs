//! How good sampling is, and how fast, on the streams of the yardstick:
//!
//! ```text
//! cargo run --release -p reuselens-distance --example sampled -- 32000000 0.01 200
//! ```
//!
//! The arguments are references, rate, and number of seeds; a fourth, whatever it is, prints errors
//! and bounds by size, and a fifth is the one stream to run. For each stream a row: the speed of
//! the exact engine and of the sampler, with the stream in memory; the mean absolute error of the
//! miss ratio over cache sizes evenly spaced in log2 (eight to an octave, from one item to all), of
//! the first seed, the mean over all and the worst; and over all seeds and sizes the share at which
//! the exact miss ratio lay within the bound, the worst such share of any size (`at`), and the mean
//! and the largest half-width.

use std::time::Instant;

use reuselens_distance::generate::{YARDSTICK, yardstick};
use reuselens_distance::{CountingTree, Engine, Estimate, SampleOptions, Sampler};
use reuselens_units::Distance;

const BLOCK: usize = 1 << 16;

/// The exact misses by cache size, at the sizes that are compared.
struct Exact {
    sizes: Vec<u64>,
    ratios: Vec<f64>,
    seconds: f64,
}

fn exact(items: &[u64]) -> Exact {
    let mut tree = CountingTree::new();
    let mut distances = vec![Distance::COLD; items.len()];
    let begin = Instant::now();
    for (items, distances) in items.chunks(BLOCK).zip(distances.chunks_mut(BLOCK)) {
        tree.process(items, distances);
    }
    let seconds = begin.elapsed().as_secs_f64();
    let distinct = tree.distinct().get();
    let mut misses = vec![0_u64; distinct as usize + 2];
    for distance in &distances {
        misses[distance.items().unwrap_or(distinct + 1) as usize] += 1;
    }
    for size in (0..=distinct as usize).rev() {
        misses[size] += misses[size + 1];
    }
    // Points of the estimated curves: even to within half of a sixteenth of an octave.
    let eighths = [16, 17, 19, 21, 23, 25, 27, 29];
    let steps = (0..).flat_map(|octave| eighths.map(|part: u64| (part << octave) >> 4));
    let sizes: Vec<u64> = steps.take_while(|size| *size <= distinct).collect();
    let ratio = |size: &u64| misses[*size as usize] as f64 / items.len() as f64;
    Exact {
        ratios: sizes.iter().map(ratio).collect(),
        sizes,
        seconds,
    }
}

fn sample(items: &[u64], options: SampleOptions) -> (Estimate, f64) {
    let mut sampler = Sampler::new(options);
    let begin = Instant::now();
    for items in items.chunks(BLOCK) {
        sampler.process(items);
    }
    let estimate = sampler.finish();
    (estimate, begin.elapsed().as_secs_f64())
}

/// What all seeds together say about one stream.
#[derive(Default)]
struct Summary {
    errors: Vec<f64>,
    seconds: Vec<f64>,
    within: Vec<u32>,
    biases: Vec<f64>,
    squares: Vec<f64>,
    widths: Vec<f64>,
    largest: f64,
}

impl Summary {
    fn add(&mut self, exact: &Exact, estimate: &Estimate, seconds: f64) {
        let points = exact.sizes.iter().map(|size| estimate.at(*size));
        let points: Vec<_> = points.collect();
        let errors = points.iter().zip(&exact.ratios);
        let errors: Vec<f64> = errors
            .map(|(point, ratio)| point.miss_ratio - ratio)
            .collect();
        self.within.resize(errors.len(), 0);
        self.widths.resize(errors.len(), 0.0);
        self.biases.resize(errors.len(), 0.0);
        self.squares.resize(errors.len(), 0.0);
        for (at, (error, point)) in errors.iter().zip(&points).enumerate() {
            self.within[at] += u32::from(error.abs() <= point.half_width + 1e-9);
            self.widths[at] += point.half_width;
            self.biases[at] += error;
            self.squares[at] += error * error;
        }
        let sum: f64 = errors.iter().map(|error| error.abs()).sum();
        self.errors.push(sum / errors.len() as f64);
        self.seconds.push(seconds);
        self.largest = self.largest.max(estimate.largest_half_width());
    }

    fn row(&mut self, name: &str, exact: &Exact, references: f64) -> String {
        let seeds = self.errors.len() as f64;
        let mean = self.errors.iter().sum::<f64>() / seeds;
        let worst = self.errors.iter().copied().fold(0.0, f64::max);
        self.seconds.sort_by(f64::total_cmp);
        let seconds = self.seconds[self.seconds.len() / 2];
        let share = |within: u32| 100.0 * f64::from(within) / seeds;
        let all = self.within.iter().map(|within| share(*within));
        let coverage = all.sum::<f64>() / self.within.len() as f64;
        let least = self.within.iter().zip(&exact.sizes).min();
        let (least, at) = least.map_or((0, 0), |(within, size)| (*within, *size));
        let width = self.widths.iter().sum::<f64>() / seeds / self.widths.len() as f64;
        format!(
            "| {name} | {:.1} | {:.0} | {:.1} | {:.5} | {mean:.5} | {worst:.5} | {coverage:.1} % | {:.1} % at {at} | {width:.4} | {:.4} |",
            references / exact.seconds / 1e6,
            references / seconds / 1e6,
            exact.seconds / seconds,
            self.errors[0],
            share(least),
            self.largest,
        )
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument =
        |at: usize, default: &str| arguments.get(at).cloned().unwrap_or(default.to_owned());
    let references: usize = argument(0, "32000000").parse()?;
    let rate: f64 = argument(1, "0.01").parse()?;
    let seeds: u64 = argument(2, "20").parse()?;
    println!("{references} references at a rate of {rate}, {seeds} seeds, one thread:\n");
    println!(
        "| stream | exact, M/s | sampled, M/s | ratio | error | mean error | worst | within | least | mean bound | largest |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let only = arguments.get(4);
    for name in YARDSTICK
        .into_iter()
        .filter(|name| only.is_none_or(|only| only == name))
    {
        let mut stream = yardstick(name).ok_or("the yardstick lacks its own stream")?;
        let mut items = vec![0; references];
        stream.fill(&mut items);
        let exact = exact(&items);
        let mut summary = Summary::default();
        for seed in 1..=seeds {
            let options = SampleOptions {
                rate,
                seed,
                ..SampleOptions::default()
            };
            let (estimate, seconds) = sample(&items, options);
            if arguments.get(3).is_some() && seed < 4 {
                println!("{:?}", estimate.sources);
            }
            summary.add(&exact, &estimate, seconds);
        }
        println!("{}", summary.row(name, &exact, references as f64));
        if arguments.get(3).is_some() {
            for (at, size) in exact.sizes.iter().enumerate().step_by(4) {
                println!(
                    "{size:9} exact {:.5} bias {:+.5} rms {:.5} half {:.5} within {}",
                    exact.ratios[at],
                    summary.biases[at] / seeds as f64,
                    (summary.squares[at] / seeds as f64).sqrt(),
                    summary.widths[at] / seeds as f64,
                    summary.within[at]
                );
            }
        }
    }
    Ok(())
}
