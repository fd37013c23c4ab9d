//! How fast native files are decoded and encoded, and how small they are, as a table:
//! `cargo run --release -p reuselens-rltrace --example native -- FILE.rltrace…`.
//!
//! Files are read into memory first. One thread decodes; encoding is of blocks in memory, without a
//! disk. The best of some runs.

use std::path::Path;
use std::time::Instant;

use reuselens_io::Input;
use reuselens_rltrace::{Reader, Writer};
use reuselens_trace::{Block, Event, ItemProjection, Kind, Projection, Source, Step};
use reuselens_units::Granularity;

/// Runs of each measurement.
const RUNS: usize = 5;
/// RowDecoder that are kept to be encoded.
const KEPT: usize = 40 << 20;

fn main() {
    println!(
        "| trace | rows | accesses | bytes/row | bytes/access | decode, M rows/s | to items, M rows/s | encode, M rows/s |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    for path in std::env::args().skip(1) {
        let path = Path::new(&path);
        let bytes = std::fs::read(path).expect("it can be read");
        let (rows, accesses) = count(&bytes);
        let to_items = best(|| decode(&bytes, true));
        let decode = best(|| decode(&bytes, false));
        if std::env::var_os("DECODE_ONLY").is_some() {
            println!(
                "{} {:.2} {:.2} ns/row",
                path.display(),
                decode * 1e9 / rows as f64,
                to_items * 1e9 / rows as f64
            );
            continue;
        }
        let (header, pieces, kept) = pieces(&bytes);
        let encode = best(|| {
            let mut writer = Writer::new(Vec::new(), path, &header).expect("memory takes all");
            for piece in &pieces {
                match piece {
                    Ok(block) => writer.block(block),
                    Err(event) => writer.event(event),
                }
                .expect("memory takes all");
            }
            writer.finish().expect("memory takes all").len()
        });
        println!(
            "| {} | {:.1} M | {:.1} M | {:.4} | {:.4} | {:.0} | {:.0} | {:.0} |",
            path.file_stem().unwrap_or_default().display(),
            rows as f64 / 1e6,
            accesses as f64 / 1e6,
            bytes.len() as f64 / rows as f64,
            bytes.len() as f64 / accesses as f64,
            rows as f64 / decode / 1e6,
            rows as f64 / to_items / 1e6,
            kept as f64 / encode / 1e6,
        );
    }
}

fn reader(bytes: &[u8]) -> Reader {
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), "native");
    Reader::with_threads(input, 1).expect("it is a native file")
}

fn count(bytes: &[u8]) -> (u64, u64) {
    let (mut reader, mut block) = (reader(bytes), Block::new());
    let (mut rows, mut accesses) = (0, 0);
    loop {
        match reader.next(&mut block).expect("it is whole") {
            Step::Block => {
                rows += block.len() as u64;
                accesses += block.kinds().iter().filter(|kind| kind.is_access()).count() as u64;
            }
            Step::Event(_) => {}
            Step::End => return (rows, accesses),
        }
    }
}

fn decode(bytes: &[u8], to_items: bool) -> u64 {
    let (mut reader, mut block) = (reader(bytes), Block::new());
    if to_items {
        reader.project(Projection::Items(ItemProjection::new(
            Granularity::LINE_64,
            Kind::is_access,
        )));
    }
    let mut sum = 0;
    loop {
        match reader.next(&mut block).expect("it is whole") {
            Step::Block => sum += block.addrs().last().copied().unwrap_or(0) & 1,
            Step::Event(_) => {}
            Step::End => return sum,
        }
    }
}

type Pieces = (reuselens_rltrace::Header, Vec<Result<Block, Event>>, usize);

fn pieces(bytes: &[u8]) -> Pieces {
    let mut reader = reader(bytes);
    let (mut pieces, mut rows) = (Vec::new(), 0);
    while rows < KEPT {
        let mut block = Block::new();
        match reader.next(&mut block).expect("it is whole") {
            Step::Block => {
                rows += block.len();
                pieces.push(Ok(block));
            }
            Step::Event(event) => pieces.push(Err(event)),
            Step::End => break,
        }
    }
    (reader.header().clone(), pieces, rows)
}

/// The shortest time in seconds.
fn best<T>(mut run: impl FnMut() -> T) -> f64 {
    let time = |_| {
        let begun = Instant::now();
        std::hint::black_box(run());
        begun.elapsed().as_secs_f64()
    };
    (0..RUNS).map(time).fold(f64::INFINITY, f64::min)
}
