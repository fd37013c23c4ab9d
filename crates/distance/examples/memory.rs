//! What the counting tree takes while its tables grow, for each distinct item:
//!
//! ```text
//! cargo run --release -p reuselens-distance --example memory -- 100000000
//! ```
//!
//! So many items, of which no two lie close together, twice in the same order. After each tenth of
//! them: what the engine says that it holds, and the most that the process ever had (`VmHWM`; Linux
//! only).

use reuselens_distance::{CountingTree, Engine};
use reuselens_units::Distance;

const PIECE: usize = 1 << 14;

/// The most memory that this process ever had, in bytes; 0 where the system does not say.
fn peak() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or_default() << 10
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let all: u64 = std::env::args()
        .nth(1)
        .unwrap_or("10000000".to_owned())
        .parse()?;
    let mut engine = CountingTree::new();
    let (mut items, mut distances) = (Vec::new(), vec![Distance::ZERO; PIECE]);
    println!(
        "| distinct items | engine, bytes an item | peak of the process, bytes an item |\n|--:|--:|--:|"
    );
    for lap in 0..2 {
        let mut told = 0;
        for start in (0..all).step_by(PIECE) {
            let end = all.min(start + PIECE as u64);
            items.clear();
            items.extend((start..end).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            let distances = &mut distances[..items.len()];
            engine.process(&items, distances);
            let expected = if lap == 0 {
                Distance::COLD
            } else {
                Distance::new(all - 1)
            };
            assert!(distances.iter().all(|distance| *distance == expected));
            if end >= told + all / 10 {
                told = end;
                let distinct = engine.distinct().get();
                let per_item = |bytes: u64| bytes as f64 / distinct as f64;
                println!(
                    "| {distinct} | {:.1} | {:.1} |",
                    per_item(engine.memory().get()),
                    per_item(peak())
                );
            }
        }
    }
    Ok(())
}
