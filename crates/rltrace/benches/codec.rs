//! How fast the native file is written and read, and how small it is: `cargo bench -p
//! reuselens-rltrace`.
//!
//! Prints bytes per row for each trace first. `matmul`: three nested loops. `list`: a linked list
//! in random order, walked repeatedly. `random`: unpredictable addresses.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use reuselens_io::Input;
use reuselens_rltrace::{Header, Reader, Writer};
use reuselens_trace::{Block, Kind, Row, Source, Step};

const BLOCKS: usize = 64;
const BLOCK_ROWS: usize = 64 << 10;

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn blocks(rows: impl Iterator<Item = Row>) -> Vec<Block> {
    let mut rows = rows;
    let block = |_| {
        let mut block = Block::new();
        rows.by_ref()
            .take(BLOCK_ROWS)
            .for_each(|row| block.push(row));
        block
    };
    (0..BLOCKS).map(block).collect()
}

fn row(kind: Kind, pc: u64, addr: u64) -> Row {
    Row {
        kind,
        size: 8,
        pc,
        addr,
    }
}

/// `c[i][j] += a[i][k] * b[k][j]`, 300 × 300 doubles.
fn matmul() -> Vec<Block> {
    const N: u64 = 300;
    let place = |base: u64, i: u64, j: u64| base + 8 * (i * N + j);
    blocks((0..).flat_map(move |step: u64| {
        let (i, j, k) = (step / (N * N) % N, step / N % N, step % N);
        [
            row(Kind::Load, 0x40_1000, place(0x7f00_0000_0000, i, k)),
            row(Kind::Load, 0x40_1010, place(0x7f00_1000_0000, k, j)),
            row(Kind::Load, 0x40_1020, place(0x7f00_2000_0000, i, j)),
            row(Kind::Store, 0x40_1030, place(0x7f00_2000_0000, i, j)),
        ]
    }))
}

/// A list of 50 000 nodes of 48 bytes in random order: a value and the next node are loaded.
fn list() -> Vec<Block> {
    let mut nodes: Vec<u64> = (0..50_000).map(|node| 0x55_5555_0000 + 48 * node).collect();
    let mut state = 1;
    for last in (1..nodes.len()).rev() {
        nodes.swap(last, (random(&mut state) % (last as u64 + 1)) as usize);
    }
    let walk = nodes.into_iter().cycle();
    blocks(walk.flat_map(|node| {
        [
            row(Kind::Load, 0x40_2000, node),
            row(Kind::Load, 0x40_2008, node + 40),
        ]
    }))
}

/// Any of 2^26 bytes, from 64 places.
fn anything() -> Vec<Block> {
    let mut state = 7;
    blocks(std::iter::repeat_with(move || {
        let number = random(&mut state);
        row(
            Kind::Load,
            0x40_3000 + 4 * (number >> 58),
            0x7f00_0000_0000 + (number & 0x3ff_fff8),
        )
    }))
}

fn encode(blocks: &[Block]) -> Vec<u8> {
    let header = Header {
        has_addresses: true,
        description: "bench".to_owned(),
    };
    let mut writer =
        Writer::new(Vec::new(), Path::new("bench"), &header).expect("memory takes all");
    for block in blocks {
        writer.block(block).expect("memory takes all");
    }
    writer.finish().expect("memory takes all")
}

fn decode(bytes: &[u8]) -> u64 {
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), "bench");
    let mut reader = Reader::new(input).expect("it was written here");
    let (mut block, mut sum) = (Block::new(), 0);
    while let Ok(Step::Block) = reader.next(&mut block) {
        sum += block.len() as u64;
    }
    sum
}

fn codec(criterion: &mut Criterion) {
    let rows = (BLOCKS * BLOCK_ROWS) as u64;
    for (name, blocks) in [
        ("matmul", matmul()),
        ("list", list()),
        ("random", anything()),
    ] {
        let bytes = encode(&blocks);
        assert_eq!(decode(&bytes), rows);
        println!(
            "{name}: {:.4} bytes per row",
            bytes.len() as f64 / rows as f64
        );
        let mut group = criterion.benchmark_group("codec");
        group.throughput(Throughput::Elements(rows)).sample_size(10);
        group.measurement_time(Duration::from_secs(3));
        group.bench_function(BenchmarkId::new("encode", name), |run| {
            run.iter(|| encode(black_box(&blocks)).len());
        });
        group.bench_function(BenchmarkId::new("decode", name), |run| {
            run.iter(|| decode(black_box(&bytes)));
        });
        group.finish();
    }
}

criterion_group!(benches, codec);
criterion_main!(benches);
