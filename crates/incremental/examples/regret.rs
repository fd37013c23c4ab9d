//! What the choice between repair and recomputation costs, batch by batch: `cargo run --release -p
//! reuselens-incremental --example regret -- FOLDER depths|components NAME SIZE COUNT [SCALE]` runs
//! COUNT batches of SIZE changes on the graph NAME in FOLDER, or with SCALE on generated ones of
//! 2^SCALE vertices whose name begins so.
//!
//! Half of the changes are deletions. The time of a batch is the least processor time of ten runs
//! by turns. The regret is the time as decided, with repairs that were given up, beyond that of the
//! better choice for each batch, where each choice is measured in a run that has no other. A
//! choice changes what later batches meet: a forest that was computed again is flat. So the regret
//! can be negative.

mod graphs;

use graphs::Named;
use reuselens_graph::generate::{ChangeMix, Changes};
use reuselens_graph::{Delta, EdgeChange, SortedGraph, StoredGraph};
use reuselens_incremental::{Choice, Components, Depths, Maintain, Policy, Work};
use rustix::time::{ClockId, clock_gettime};

/// How often each batch is measured.
const RUNS: usize = 10;
/// In the order of the columns.
const POLICIES: [Policy; 3] = [Policy::Repair, Policy::Recompute, Policy::Predict];
/// Seeds of the streams.
const SEEDS: [u64; 2] = [7, 8];

/// Keeps an answer.
type Keep = Box<dyn FnMut(&SortedGraph, &Delta) -> Work>;

/// Seconds of processor time of this thread.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn keep(answer: &str, graph: &SortedGraph, root: u32, policy: Policy) -> Keep {
    match answer {
        "depths" => {
            let mut kept = Depths::new(graph, root, policy);
            Box::new(move |graph, delta| kept.apply(graph, delta))
        }
        "components" => {
            let mut kept = Components::new(graph, policy);
            Box::new(move |graph, delta| kept.apply(graph, delta))
        }
        _ => panic!("an answer is depths or components"),
    }
}

/// The seconds and the work of each batch.
fn run(
    start: &SortedGraph,
    batches: &[Vec<EdgeChange>],
    make: impl Fn(&SortedGraph) -> Keep,
) -> Vec<(f64, Work)> {
    let mut graph = start.clone();
    let mut kept = make(&graph);
    let measured = |batch: &Vec<EdgeChange>| {
        let delta = graph.apply(batch);
        let before = cpu_seconds();
        let work = kept(&graph, &delta);
        (cpu_seconds() - before, work)
    };
    batches.iter().map(measured).collect()
}

fn measure(named: &Named, answer: &str, size: usize, count: usize, seed: u64) {
    let mut start = SortedGraph::new(named.kind, named.vertices);
    let insert = named.edges.iter().map(|&edge| EdgeChange::Insert(edge));
    start.apply(&insert.collect::<Vec<_>>());
    let degree = |vertex: &u32| (start.degree(*vertex), *vertex);
    let root = (0..named.vertices).max_by_key(degree).unwrap_or(0);
    let mix = ChangeMix::default();
    let mut changes = Changes::new(named.kind, named.vertices, &named.edges, mix, seed);
    let batches: Vec<Vec<_>> = (0..count)
        .map(|_| changes.by_ref().take(size).collect())
        .collect();
    let once = |policy| run(&start, &batches, |graph| keep(answer, graph, root, policy));
    let mut least = POLICIES.map(once);
    for _ in 1..RUNS {
        for (least, more) in least.iter_mut().zip(POLICIES.map(once)) {
            for (least, more) in least.iter_mut().zip(more) {
                least.0 = least.0.min(more.0);
            }
        }
    }
    let [repair, recompute, decided] = &least;
    let (mut best, mut all, mut recomputed) = (0.0, 0.0, 0);
    for (at, ((repair, recompute), decided)) in
        repair.iter().zip(recompute).zip(decided).enumerate()
    {
        println!(
            "{at}: repair {:.1} µs, recompute {:.1}, decided {:.1} ({:?})",
            repair.0 * 1e6,
            recompute.0 * 1e6,
            decided.0 * 1e6,
            decided.1.choice,
        );
        best += repair.0.min(recompute.0);
        all += decided.0;
        recomputed += usize::from(decided.1.choice == Choice::Recomputed);
    }
    println!(
        "{answer} of {}, {size} changes, seed {seed}: regret {:.1} %, {recomputed} of {count} recomputed",
        named.name,
        (all / best - 1.0) * 100.0,
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, answer, name, size, count, scale @ ..] = &arguments[..] else {
        panic!("FOLDER depths|components NAME SIZE COUNT [SCALE]");
    };
    let number = |text: &String| text.parse::<usize>().expect("a number");
    let scale = scale.first().map(|scale| number(scale) as u32);
    for named in &graphs::named(folder.as_ref(), scale, name) {
        for seed in SEEDS {
            measure(named, answer, number(size), number(count), seed);
        }
    }
}
