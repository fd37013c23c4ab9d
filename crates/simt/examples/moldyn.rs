//! The characteristic of a stream of moldyn's published size, and the naive algorithm on a prefix
//! of it.
//!
//! `cargo run --release -p reuselens-simt --example moldyn [THREADS-PER-BLOCK]`

use std::time::Instant;

use reuselens_simt::characteristic::{Limits, characteristic, naive};
use reuselens_simt::generate::{self, Kernel};
use reuselens_simt::graph::Graph;
use reuselens_simt::scenario::{ReferenceStream, RoundRobin, Sequential};
use reuselens_simt::{KernelRun, Loading, Scenario, Spaces};
use reuselens_warp::WarpStream;

const NODES: u32 = 144_649;
const EDGES: u32 = 1_074_393;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let threads = std::env::args()
        .nth(1)
        .map_or(Ok(64), |word| word.parse())?;
    let begun = Instant::now();
    let mesh = Graph::mesh(NODES, EDGES, 1)?;
    let mut stream = WarpStream::new();
    generate::stream(Kernel::Moldyn, &mesh, threads, &mut stream)?;
    println!(
        "generated {} records in {:.2?}",
        stream.records(),
        begun.elapsed()
    );
    let begun = Instant::now();
    let loading = Loading {
        spaces: Spaces::ALL,
        ..Loading::default()
    };
    let run = KernelRun::read(&mut stream.source(), loading)?;
    println!(
        "loaded {} touches, {} items in {:.2?}",
        run.touches(),
        run.items(),
        begun.elapsed()
    );
    let streams = Scenario::Concurrent { blocks: 2 }.streams(&run, &Sequential, &RoundRobin);
    let begun = Instant::now();
    let found = characteristic(
        &streams[0],
        Limits {
            threads: 2,
            memory: 1 << 30,
        },
    )?;
    println!(
        "K = 2: {} instructions, domain {}, total {}, in {:.2?}",
        found.instructions(),
        found.domain(),
        found.total(),
        begun.elapsed()
    );
    prefixes(&streams[0])?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    println!("{}", peak.unwrap_or_default());
    Ok(())
}

/// The naive algorithm on prefixes of a stream, whose results must be equal.
fn prefixes(stream: &dyn ReferenceStream) -> Result<(), Box<dyn std::error::Error>> {
    let mut written: Vec<Vec<u32>> = vec![Vec::new(); stream.instructions() as usize];
    stream.visit(&mut |position, items| written[position as usize].extend_from_slice(items));
    for prefix in [1000, 2000, 4000] {
        let prefix = prefix.min(written.len());
        let begun = Instant::now();
        let slow = naive(&written[..prefix]);
        let time = begun.elapsed();
        let fast = characteristic(&written[..prefix], Limits::default())?;
        assert_eq!(slow, fast);
        let part = (written.len() as f64 / prefix as f64).powi(2);
        println!(
            "naive, first {prefix} instructions: {time:.2?}; the whole would take {:.1} h",
            time.as_secs_f64() * part / 3600.0
        );
    }
    Ok(())
}
