//! The exact engines, and the look-up that bounds them, on the four streams of the yardstick.
//!
//! `REUSELENS_BENCH_REFERENCES` sets the references per stream (default 2 million; the
//! published comparisons have 32 million, for which `reuselens engines --bench` is the better tool:
//! whole streams, taking turns, with the counting, as ratios).

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use reuselens_baselines::{FenwickTree, OlkenTree};
use reuselens_distance::generate::{YARDSTICK, yardstick};
use reuselens_distance::{CountingTree, Engine, LookupBound};
use reuselens_units::Distance;

fn references() -> usize {
    let told = std::env::var("REUSELENS_BENCH_REFERENCES").ok();
    told.and_then(|text| text.parse().ok()).unwrap_or(2_000_000)
}

fn engines(criterion: &mut Criterion) {
    let mut items = vec![0; references()];
    let mut distances = vec![Distance::COLD; items.len()];
    for stream in YARDSTICK {
        if let Some(mut generator) = yardstick(stream) {
            generator.fill(&mut items);
        }
        let mut group = criterion.benchmark_group(stream);
        group
            .sample_size(10)
            .throughput(Throughput::Elements(items.len() as u64));
        // Without the oracle, which would take days.
        let engines: [fn() -> Box<dyn Engine>; 3] = [
            || Box::new(CountingTree::new()),
            || Box::new(FenwickTree::new()),
            || Box::new(OlkenTree::new()),
        ];
        for new in engines {
            let name = BenchmarkId::from_parameter(new().name());
            group.bench_with_input(name, &items, |bench, items| {
                bench.iter(|| new().process(black_box(items), &mut distances));
            });
        }
        group.bench_with_input(
            BenchmarkId::from_parameter("bound"),
            &items,
            |bench, items| {
                bench.iter(|| {
                    let mut bound = LookupBound::new();
                    bound.process(black_box(items));
                    bound.reuse_times()
                });
            },
        );
        group.finish();
    }
}

criterion_group!(benches, engines);
criterion_main!(benches);
