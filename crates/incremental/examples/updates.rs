//! What an update costs on one core, in processor time, and what an edge costs in memory:
//! `cargo run --release -p reuselens-incremental --example updates -- FOLDER [SCALE]`.
//!
//! The first table has safe updates: deletions and insertions of edges that are in no tree, so
//! that depths and components stay. The second one has a mixed stream, half deletions; its
//! figures are nanoseconds per update for the storage and for each answer.

mod graphs;

use std::collections::VecDeque;

use graphs::Named;
use reuselens_graph::generate::{ChangeMix, Changes, SeededRandom};
use reuselens_graph::{BlockGraph, Delta, Edge, EdgeChange, SortedGraph, StoredGraph};
use reuselens_incremental::{Choice, Components, Depths, Maintain, Policy, Triangles};
use rustix::time::{ClockId, clock_gettime};

const SIZES: [usize; 4] = [1, 100, 1_000, 10_000];
const UPDATES: usize = 100_000;
/// The least of this many runs counts.
const RUNS: usize = 5;

/// Seconds of processor time of this thread.
fn seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The least processor time of several runs of `work`, each on what `make` gives.
fn least<T>(make: impl Fn() -> T, mut work: impl FnMut(&mut T)) -> f64 {
    let run = |_| {
        let mut state = make();
        let before = seconds();
        work(&mut state);
        seconds() - before
    };
    (0..RUNS).map(run).fold(f64::MAX, f64::min)
}

fn filled<G: StoredGraph>(mut graph: G, edges: &[Edge]) -> G {
    let insert: Vec<_> = edges.iter().map(|&edge| EdgeChange::Insert(edge)).collect();
    graph.apply(&insert);
    graph
}

/// Deletes random edges outside both trees, and inserts each again a thousand updates later.
fn safe_stream(named: &Named, start: &SortedGraph, root: u32) -> Vec<EdgeChange> {
    let depths = Depths::new(start, root, Policy::Repair);
    let mut components = Components::new(start, Policy::Repair);
    let mut random = SeededRandom::new(3);
    let mut gone = VecDeque::new();
    let mut stream = Vec::new();
    let mut graph = start.clone();
    while stream.len() < UPDATES {
        let edge = named.edges[random.below(named.edges.len() as u64) as usize];
        let is_parent = |child, parent| depths.parent(child) == Some(parent);
        if is_parent(edge.from, edge.to) || is_parent(edge.to, edge.from) || gone.contains(&edge) {
            continue;
        }
        let mut trial = components.clone();
        let mut change = |change, components: &mut Components| {
            let delta = graph.apply(&[change]);
            components.apply(&graph, &delta).choice == Choice::Unchanged
        };
        if !change(EdgeChange::Delete(edge), &mut trial) {
            change(EdgeChange::Insert(edge), &mut components);
            continue;
        }
        stream.push(EdgeChange::Delete(edge));
        gone.push_back(edge);
        if gone.len() > 500 {
            let back = gone.pop_front().expect("many are gone");
            change(EdgeChange::Insert(back), &mut components);
            stream.push(EdgeChange::Insert(back));
        }
    }
    stream
}

fn safe_updates(named: &Named) {
    let start = filled(SortedGraph::new(named.kind, named.vertices), &named.edges);
    let root = named.edges[0].from;
    let stream = safe_stream(named, &start, root);
    print!("| {} ", named.name);
    // In larger batches insertions cancel deletions.
    for size in &SIZES[..3] {
        let make = || {
            let depths = Depths::new(&start, root, Policy::Repair);
            (
                start.clone(),
                depths,
                Components::new(&start, Policy::Repair),
            )
        };
        let mut safe = true;
        let time = least(make, |(graph, depths, components)| {
            for batch in stream.chunks(*size) {
                let delta = graph.apply(batch);
                safe &= depths.apply(graph, &delta).choice == Choice::Unchanged;
                safe &= components.apply(graph, &delta).choice == Choice::Unchanged;
            }
        });
        assert!(safe, "an update of {} is not safe", named.name);
        print!("| {:.2} ", stream.len() as f64 / time / 1e6);
    }
    let blocks = filled(BlockGraph::new(named.kind, named.vertices), &named.edges);
    let per_edge = |bytes: usize| bytes as f64 / (2.0 * named.edges.len() as f64);
    println!(
        "| {:.1} | {:.1} |",
        per_edge(start.memory()),
        per_edge(blocks.memory())
    );
}

fn mixed_updates(named: &Named) {
    let start = filled(SortedGraph::new(named.kind, named.vertices), &named.edges);
    let root = named.edges[0].from;
    let mix = ChangeMix::default();
    let changes = Changes::new(named.kind, named.vertices, &named.edges, mix, 7);
    let stream: Vec<_> = changes.take(UPDATES.min(named.edges.len())).collect();
    let each = |time: f64| time / stream.len() as f64 * 1e9;
    for size in SIZES {
        let store = |graph: &mut SortedGraph| -> Vec<Delta> {
            stream
                .chunks(size)
                .map(|batch| graph.apply(batch))
                .collect()
        };
        let storage = least(|| start.clone(), |graph| drop(store(graph)));
        let make = || start.clone();
        let with = |keep: &dyn Fn(&SortedGraph) -> Keep| {
            let make = || (make(), keep(&start));
            let time = least(make, |(graph, kept)| {
                for batch in stream.chunks(size) {
                    let delta = graph.apply(batch);
                    kept(graph, &delta);
                }
            });
            each(time - storage)
        };
        println!(
            "| {} | {size} | {:.0} | {:.0} | {:.0} | {:.0} |",
            named.name,
            each(storage),
            with(&|graph| keep(Depths::new(graph, root, Policy::Predict))),
            with(&|graph| keep(Components::new(graph, Policy::Predict))),
            with(&|graph| keep(Triangles::new(graph, Policy::Predict, 1))),
        );
    }
}

type Keep = Box<dyn FnMut(&SortedGraph, &Delta)>;

fn keep(mut kept: impl Maintain<SortedGraph> + 'static) -> Keep {
    Box::new(move |graph, delta| {
        kept.apply(graph, delta);
    })
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_default();
    let mut all = graphs::real(folder.as_ref());
    if let Some(scale) = arguments.next() {
        all.extend(graphs::generated(scale.parse().expect("a scale")));
    }
    println!("Safe updates, millions per second, by batch size; bytes per directed edge.\n");
    println!("| graph | 1 | 100 | 1000 | sorted | blocks |");
    println!("|---|---:|---:|---:|---:|---:|");
    all.iter().for_each(safe_updates);
    println!("\nNanoseconds per update of a mixed stream.\n");
    println!("| graph | batch | storage | depths | components | triangles |");
    println!("|---|---:|---:|---:|---:|---:|");
    all.iter().for_each(mixed_updates);
}
