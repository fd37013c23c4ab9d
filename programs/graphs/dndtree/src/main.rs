//! Components of a graph that changes, by `dndtree`: what it costs beside presponse.
//!
//! ```text
//! presponse export GRAPH --stream FILE --batch 100 -o differences
//! presponse-dndtree differences
//! ```
//!
//! Prints JSON: the latency of each batch in nanoseconds, and the count of components after the
//! last one. `dndtree` answers whether two vertices are connected, and names no component, so a
//! latency is the time of the changes alone. It knows all vertices from the start, and no
//! directions.

#[path = "../../differences.rs"]
mod differences;

use std::collections::HashMap;
use std::error::Error;
use std::time::{Duration, Instant};

use differences::{Edge, read};
use dndtree::DNDTree;
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut file, mut limit) = (None, u64::MAX);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} takes a value"));
        match &argument[..] {
            // Components have no root.
            "--root" => drop(value()?),
            "--limit" => limit = value()?.parse()?,
            _ => file = Some(argument),
        }
    }
    let file = file.ok_or("name a file of `presponse export`")?;
    let input = read(&std::fs::read_to_string(file)?)?;
    if input.directed {
        return Err("dndtree has no directed graphs".into());
    }
    let mut numbers: HashMap<u64, usize> = HashMap::new();
    let mut number = |id: u64| {
        let next = numbers.len();
        *numbers.entry(id).or_insert(next)
    };
    let mut numbered = |&((from, to), change): &(Edge, isize)| (number(from), number(to), change);
    let batches = input
        .batches
        .iter()
        .map(|batch| batch.iter().map(&mut numbered).collect());
    let batches: Vec<Vec<(usize, usize, isize)>> = batches.collect();
    let vertices = (input.vertices as usize).max(numbers.len());
    let first = batches.first().into_iter().flatten();
    let edges: Vec<(usize, usize)> = first.map(|(from, to, _)| (*from, *to)).collect();
    let mut tree = DNDTree::from_edges(vertices, &edges);
    let (mut latencies, begun) = (Vec::new(), Instant::now());
    for batch in &batches[1..] {
        let start = Instant::now();
        for &(from, to, change) in batch {
            if change > 0 { tree.insert_edge(from, to) } else { tree.delete_edge(from, to) };
        }
        latencies.push(start.elapsed().as_nanos() as u64);
        if begun.elapsed() > Duration::from_secs(limit) {
            break;
        }
    }
    let is_complete = latencies.len() + 1 == batches.len();
    // The root of a tree has no parent.
    let roots = (0..vertices).filter(|vertex| tree.get_parent(*vertex) >= vertices);
    let totals = if is_complete { json!({ "components": roots.count() }) } else { json!({}) };
    let value = json!({
        "peer": "dndtree",
        "version": "0.3.1",
        "answers": { "components": { "latency_ns": latencies } },
        "totals": totals,
    });
    println!("{value}");
    Ok(())
}
