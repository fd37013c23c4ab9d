//! How fast every binary format is read, plain and compressed, as a Markdown table:
//! `cargo run --release -p reuselens-formats --example readers [MILLIONS [NAME]]`.
//!
//! Files are written to a temporary folder first and lie in memory when they are read, so that this
//! is about the readers and not about the disk. Every file is read three times, and the best
//! counts. The addresses are those of a random walk with loops, that compresses as programs do.

#[path = "readers/traces.rs"]
mod traces;

use std::path::Path;
use std::time::Instant;

use reuselens_trace::{Block, Kind, Source, Step};
use traces::{FORMATS, PACKINGS};

const RUNS: usize = 3;

/// Reads a file to its end: accesses, and seconds.
fn read(path: &Path, format: &str) -> Result<(u64, f64), Box<dyn std::error::Error>> {
    let began = Instant::now();
    let mut source = reuselens_formats::open(path, Some(format))?;
    let mut block = Block::new();
    let mut accesses = 0;
    loop {
        match source.next(&mut block)? {
            Step::Block => {
                let operands = block.kinds().iter().filter(|&&kind| kind == Kind::Operand);
                accesses += (block.len() - operands.count()) as u64;
            }
            Step::Event(_) => {}
            Step::End => return Ok((accesses, began.elapsed().as_secs_f64())),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let millions: f64 = arguments.next().map_or(Ok(8.0), |number| number.parse())?;
    let only = arguments.next();
    let folder = tempfile::tempdir()?;
    println!("| format | compression | MB | MB/s of file | MB/s unpacked | M accesses/s |");
    println!("|---|---|---:|---:|---:|---:|");
    for format in FORMATS {
        if only.as_ref().is_some_and(|only| only != format.name) {
            continue;
        }
        let plain = (format.make)((millions * 1e6) as usize);
        for packing in PACKINGS {
            let path = folder.path().join("trace");
            let packed = (packing.pack)(&plain);
            std::fs::write(&path, &packed)?;
            let mut best = (0, f64::INFINITY);
            for _ in 0..RUNS {
                let run = read(&path, format.name)?;
                best = if run.1 < best.1 { run } else { best };
            }
            let (accesses, seconds) = best;
            println!(
                "| {} | {} | {:.1} | {:.0} | {:.0} | {:.1} |",
                format.name,
                packing.name,
                packed.len() as f64 / 1e6,
                packed.len() as f64 / 1e6 / seconds,
                plain.len() as f64 / 1e6 / seconds,
                accesses as f64 / 1e6 / seconds,
            );
        }
    }
    Ok(())
}
