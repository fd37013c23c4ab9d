//! What thread mapping gains on recorded streams, and what it costs: a row of a table for each
//! file.
//!
//! `cargo run --release -p reuselens-simt --example mapping -- FILE.rlwarp…`

use std::path::Path;
use std::time::Instant;

use reuselens_simt::mapping::{Common, Hypergraph, Mapping, MappingDepth, map};
use reuselens_simt::transactions::{DataLayout, Transactions};
use reuselens_simt::{KernelRun, Loading};
use reuselens_warp::open_warps;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "| stream | threads | edges | own data moved | the same mapping, data where it is | \
         mapped for data where it is | copies | seconds | peak memory so far |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for path in std::env::args_os().skip(1) {
        let path = Path::new(&path);
        let run = KernelRun::read(&mut *open_warps(path)?, Loading::default())?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        println!("| {name} {}", row(&run)?);
    }
    Ok(())
}

fn row(run: &KernelRun) -> Result<String, Box<dyn std::error::Error>> {
    let hypergraph = Hypergraph::of_requests(run, DataLayout::Moved);
    let sectors = |mapping: &Mapping, layout| {
        Transactions::of(&mapping.apply(run)?, layout).map(|counted| counted.sectors)
    };
    let as_is = Mapping::identity(run)?;
    let begun = Instant::now();
    let moved = map(
        run,
        DataLayout::Moved,
        Common::Requests,
        32,
        MappingDepth::Threads,
        1,
    )?;
    let seconds = begun.elapsed().as_secs_f64();
    let kept = if std::env::var("NOKEPT").is_ok() {
        moved.clone()
    } else {
        map(
            run,
            DataLayout::Kept,
            Common::Requests,
            32,
            MappingDepth::Threads,
            1,
        )?
    };
    let change = |mapping, layout| -> Result<String, Box<dyn std::error::Error>> {
        let (before, after) = (sectors(&as_is, layout)?, sectors(mapping, layout)?);
        let percent = 100.0 * (after as f64 / before.max(1) as f64 - 1.0);
        Ok(format!("{before} → {after} ({percent:+.1} %)"))
    };
    let copies = |mapping: &Mapping| {
        let warps: Vec<Vec<u32>> = mapping.threads().chunks(32).map(<[u32]>::to_vec).collect();
        hypergraph.copies(&warps)
    };
    Ok(format!(
        "| {} | {} | {} | {} | {} | {} → {} | {seconds:.1} | {} |",
        hypergraph.vertices(),
        hypergraph.edges(),
        change(&moved, DataLayout::Moved)?,
        change(&moved, DataLayout::Kept)?,
        change(&kept, DataLayout::Kept)?,
        copies(&as_is),
        copies(&moved),
        peak()
    ))
}

fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap_or_default();
    peak.trim().to_owned()
}
