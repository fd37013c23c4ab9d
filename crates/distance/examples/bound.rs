//! Whether the bound of samples holds on 30 kinds of streams, and how wide it is:
//!
//! ```text
//! cargo run --release -p reuselens-distance --example bound -- 400000 0.05 20
//! ```
//!
//! The arguments are accesses, rate, and number of seeds; a fourth is the one stream to run, by
//! sizes. A row per stream: the share of points (40 sizes, all seeds) whose exact miss ratio is
//! within the bound, the share at the worst size, the median half-width and the mean absolute
//! error.

#[path = "../tests/exact/mod.rs"]
mod exact;
#[path = "../tests/streams/mod.rs"]
mod streams;

use exact::exact_misses;
use reuselens_distance::{SampleOptions, Sampler};
use streams::STREAMS;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument =
        |at: usize, default: &str| arguments.get(at).cloned().unwrap_or(default.to_owned());
    let accesses: usize = argument(0, "400000").parse()?;
    let rate: f64 = argument(1, "0.05").parse()?;
    let seeds: u64 = argument(2, "20").parse()?;
    let only = arguments.get(3);
    println!("{accesses} accesses at a rate of {rate}, {seeds} seeds:\n");
    println!("| stream | within | worst size | median half-width | mean error |");
    println!("|---|---|---|---|---|");
    let mut medians = Vec::new();
    for stream in STREAMS
        .iter()
        .filter(|stream| only.is_none_or(|only| stream.name == only))
    {
        let items = stream.items(accesses);
        let misses = exact_misses(&items);
        let top = (misses.len() - 1) as f64;
        let mut sizes: Vec<usize> = (0..40)
            .map(|at| top.powf(f64::from(at) / 39.0) as usize)
            .collect();
        sizes.dedup();
        let mut by_size = vec![Vec::new(); sizes.len()];
        for seed in 1..=seeds {
            let exact = (accesses as u64 / 100).min(1 << 18);
            let options = SampleOptions {
                rate,
                seed,
                exact,
                ..SampleOptions::default()
            };
            let mut sampler = Sampler::new(options);
            for column in items.chunks(5000) {
                sampler.process(column);
            }
            let estimate = sampler.finish();
            if only.is_some() && seed < 4 {
                println!("{:?}", estimate.sources);
            }
            for (size, found) in sizes.iter().zip(&mut by_size) {
                let point = estimate.at(*size as u64);
                let error = point.miss_ratio - misses[*size] as f64 / items.len() as f64;
                found.push((error, point.half_width));
            }
        }
        let inside = |found: &Vec<(f64, f64)>| {
            let inside = found
                .iter()
                .filter(|(error, half)| error.abs() <= half + 1e-9);
            inside.count() as f64 / found.len() as f64
        };
        if only.is_some() {
            for (size, found) in sizes.iter().zip(&by_size) {
                let mean = |value: fn(&(f64, f64)) -> f64| {
                    found.iter().map(value).sum::<f64>() / found.len() as f64
                };
                println!(
                    "{size:8} exact {:.5} bias {:+.5} error {:.5} half {:.5} within {:.2}",
                    misses[*size] as f64 / items.len() as f64,
                    mean(|it| it.0),
                    mean(|it| it.0.abs()),
                    mean(|it| it.1),
                    inside(found)
                );
            }
        }
        let shares: Vec<f64> = by_size.iter().map(inside).collect();
        let all = by_size.iter().flatten();
        let half = median(all.clone().map(|it| it.1).collect());
        let error = all.clone().map(|it| it.0.abs()).sum::<f64>() / all.count() as f64;
        if stream.usual {
            medians.push(half);
        }
        println!(
            "| {} | {:.1} % | {:.0} % | {half:.5} | {error:.5} |",
            stream.name,
            100.0 * shares.iter().sum::<f64>() / shares.len() as f64,
            100.0 * shares.iter().copied().fold(1.0, f64::min),
        );
    }
    println!(
        "\nmedian of the usual streams' median half-widths: {:.5}",
        median(medians)
    );
    Ok(())
}
