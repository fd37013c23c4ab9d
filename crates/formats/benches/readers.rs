//! How fast the binary formats are read from memory: `cargo bench -p reuselens-formats --bench
//! readers`.
//!
//! About 8 M accesses of each; compressed forms are in the example `readers`, which prints a table.

#[path = "../examples/readers/traces.rs"]
#[allow(dead_code, reason = "the packings are for the example")]
mod traces;

use std::hint::black_box;
use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use reuselens_io::Input;
use reuselens_trace::{Block, Source, Step};

const ACCESSES: usize = 8_000_000;

/// Bytes that many readers share.
#[derive(Clone)]
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn read(bytes: Shared, format: &str) -> usize {
    let input = Input::new(Cursor::new(bytes), "bench");
    let mut source = reuselens_formats::read(input, Some(format)).expect("it was made here");
    let (mut block, mut rows) = (Block::new(), 0);
    loop {
        match source.next(&mut block).expect("it was made here") {
            Step::Block => rows += black_box(&block).len(),
            Step::Event(_) => {}
            Step::End => return rows,
        }
    }
}

fn readers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("readers");
    group.sample_size(10);
    group.measurement_time(Duration::from_secs(2));
    group.warm_up_time(Duration::from_secs(1));
    for format in traces::FORMATS {
        let bytes = Shared(Arc::new((format.make)(ACCESSES)));
        let rows = read(bytes.clone(), format.name) as u64;
        for (what, throughput) in [
            ("accesses", Throughput::Elements(rows)),
            ("bytes", Throughput::Bytes(bytes.0.len() as u64)),
        ] {
            group.throughput(throughput);
            group.bench_function(BenchmarkId::new(what, format.name), |run| {
                run.iter(|| read(bytes.clone(), format.name));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, readers);
criterion_main!(benches);
