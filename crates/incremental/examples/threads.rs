//! What a second thread gains: `cargo run --release -p reuselens-incremental --example threads --
//! FOLDER NAME SIZE COUNT [SCALE]` runs COUNT batches of SIZE changes on the graph NAME in FOLDER,
//! or with SCALE on generated ones of 2^SCALE vertices whose name begins so.
//!
//! The storage and the triangles share work among threads; depths and components do not. The time
//! of a batch is the least of some runs by turns, from the call to its return: other programs on
//! the same cores make a run longer, and rarely all runs.

mod graphs;

use std::time::Instant;

use graphs::Named;
use reuselens_graph::generate::{ChangeMix, Changes};
use reuselens_graph::{EdgeChange, SortedGraph, StoredGraph};
use reuselens_incremental::{Maintain, Policy, Triangles};

/// How often each batch is measured.
const RUNS: usize = 12;
/// The numbers of threads.
const THREADS: [usize; 2] = [1, 2];

/// Microseconds of each batch: of the storage, and of the triangles.
fn run(start: &SortedGraph, batches: &[Vec<EdgeChange>], threads: usize) -> Vec<[f64; 2]> {
    let mut graph = start.clone();
    graph.set_threads(threads);
    let mut triangles = Triangles::new(&graph, Policy::Repair, threads);
    let measured = |batch: &Vec<EdgeChange>| {
        let begin = Instant::now();
        let delta = graph.apply(batch);
        let changed = Instant::now();
        triangles.apply(&graph, &delta);
        let all = [changed - begin, changed.elapsed()];
        all.map(|time| time.as_secs_f64() * 1e6)
    };
    batches.iter().map(measured).collect()
}

fn measure(named: &Named, size: usize, count: usize) {
    let mut start = SortedGraph::new(named.kind, named.vertices);
    start.load(named.edges.iter().copied());
    let mix = ChangeMix::default();
    let mut changes = Changes::new(named.kind, named.vertices, &named.edges, mix, 1);
    let batches: Vec<Vec<_>> = (0..count)
        .map(|_| changes.by_ref().take(size).collect())
        .collect();
    let once = |threads| run(&start, &batches, threads);
    let mut least = THREADS.map(once);
    for _ in 1..RUNS {
        for (least, more) in least.iter_mut().zip(THREADS.map(once)) {
            for (least, more) in least.iter_mut().flatten().zip(more.iter().flatten()) {
                *least = least.min(*more);
            }
        }
    }
    for (at, part) in ["storage", "triangles"].into_iter().enumerate() {
        let [one, two] = least.each_ref().map(|batches| {
            let mut times: Vec<_> = batches.iter().map(|batch| batch[at]).collect();
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        println!(
            "{part} of {}, {size} changes: the median batch takes {one:.0} µs on one thread, {two:.0} on two ({:.2})",
            named.name,
            two / one,
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, name, size, count, scale @ ..] = &arguments[..] else {
        panic!("FOLDER NAME SIZE COUNT [SCALE]");
    };
    let number = |text: &String| text.parse::<usize>().expect("a number");
    let scale = scale.first().map(|scale| number(scale) as u32);
    for named in &graphs::named(folder.as_ref(), scale, name) {
        measure(named, number(size), number(count));
    }
}
