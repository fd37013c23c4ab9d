//! How fast the readers of text, and of raw items, are: `cargo bench -p reuselens-formats --bench
//! text_readers`.
//!
//! Each reads the same million accesses from memory; throughput is in accesses. The example of the
//! same name has more inputs and prints a table.

use std::fmt::Write;
use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use reuselens_io::Input;
use reuselens_trace::{Block, Kind, Source, Step};

const ACCESSES: u64 = 1 << 20;

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// The trace in each format: a load or store of 8 bytes somewhere in 64 MiB.
fn traces() -> Vec<(&'static str, Vec<u8>)> {
    let mut state = 1;
    let numbers: Vec<u64> = (0..ACCESSES).map(|_| random(&mut state)).collect();
    let text = |header: &str, line: fn(&mut String, u64, bool) -> std::fmt::Result| {
        let mut out = header.to_owned();
        for number in &numbers {
            let address = 0x7fff_0000_0000 + (number >> 38);
            line(&mut out, address, number & 1 == 1).expect("memory takes all");
        }
        out.into_bytes()
    };
    let raw = numbers.iter().flat_map(|item| item.to_le_bytes());
    vec![
        ("u64", raw.collect()),
        (
            "text",
            text("", |out, address, _| {
                writeln!(out, "{}", address >> 6 & 0xf_ffff)
            }),
        ),
        (
            "lackey",
            text("", |out, address, store| {
                let mark = if store { 'S' } else { 'L' };
                writeln!(out, "I  04001000,3\n {mark} {address:08x},8")
            }),
        ),
        (
            "din",
            text("", |out, address, store| {
                writeln!(out, "{} {address:x}", u8::from(store))
            }),
        ),
        (
            "csv",
            text("op,address,size\n", |out, address, store| {
                writeln!(out, "{},{address:#x},8", if store { 'W' } else { 'R' })
            }),
        ),
        (
            "msr",
            text("", |out, address, store| {
                let word = if store { "Write" } else { "Read" };
                writeln!(out, "128166372003061629,hm,1,{word},{address},4096,413")
            }),
        ),
    ]
}

fn read(bytes: &[u8], format: &str) -> u64 {
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), "bench");
    let mut source = reuselens_formats::read(input, Some(format)).expect("it was written here");
    let (mut block, mut accesses) = (Block::new(), 0);
    loop {
        match source.next(&mut block).expect("it was written here") {
            Step::Block => {
                let accessing = block.kinds().iter().filter(|&&kind| kind != Kind::Operand);
                accesses += accessing.count() as u64;
            }
            Step::Event(_) => {}
            Step::End => return accesses,
        }
    }
}

fn readers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("read");
    group.throughput(Throughput::Elements(ACCESSES));
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(2));
    for (format, bytes) in traces() {
        assert_eq!(read(&bytes, format), ACCESSES);
        group.bench_function(BenchmarkId::from_parameter(format), |run| {
            run.iter(|| read(black_box(&bytes), format));
        });
    }
    group.finish();
}

criterion_group!(benches, readers);
criterion_main!(benches);
