//! How much faster answers are kept than recomputed, by batch size, and what the choice between
//! both costs: `cargo run --release -p reuselens-incremental --example speedup -- FOLDER [SCALE
//! [NAME]]` measures the real graphs in FOLDER, or with SCALE generated ones of 2^SCALE vertices;
//! with NAME only those whose name begins so.
//!
//! A row is a graph and a batch size. `static` is the mean time to recompute as published,
//! `recompute` that of ours. The speed-up of the published rule is against `static`, those of
//! ours against `recompute`. Half of the changes of the stream are deletions. The time of a batch
//! is the least of several runs. The regret is what the choice costs beyond the faster of repair
//! and recomputation for each batch: by the times of these two, and as the choice was measured,
//! with the work of repairs that were given up and all disturbances.

mod graphs;

use std::time::Instant;

use graphs::Named;
use reuselens_graph::generate::{ChangeMix, Changes};
use reuselens_graph::{Delta, EdgeChange, SortedGraph, StoredGraph};
use reuselens_incremental::{
    Choice, Components, Depths, Maintain, Policy, PublishedComponents, PublishedDepths,
    PublishedTriangles, StaticComponents, StaticDepths, StaticTriangles, Triangles, Work,
};
use rustix::time::{ClockId, clock_gettime};

/// Batch sizes, and how many batches of each.
const SIZES: [(usize, usize); 4] = [(1, 300), (100, 60), (1_000, 20), (10_000, 8)];
/// How often each batch is measured.
const RUNS: usize = 4;
/// After this many seconds no further batch is measured.
const LIMIT: f64 = 0.4;

type Keep = Box<dyn FnMut(&SortedGraph, &Delta) -> Work>;

fn keep(mut kept: impl Maintain<SortedGraph> + 'static) -> Keep {
    Box::new(move |graph, delta| kept.apply(graph, delta))
}

/// Makes an answer of a graph.
type Make = fn(&SortedGraph, u32) -> Keep;

/// In the order of the table: as published, static and incremental; ours by all policies.
const RULES: [(&str, [Make; 5]); 3] = [
    (
        "depths",
        [
            |graph, root| keep(StaticDepths::new(graph, root)),
            |graph, root| keep(PublishedDepths::new(graph, root)),
            |graph, root| keep(Depths::new(graph, root, Policy::Recompute)),
            |graph, root| keep(Depths::new(graph, root, Policy::Repair)),
            |graph, root| keep(Depths::new(graph, root, Policy::Predict)),
        ],
    ),
    (
        "components",
        [
            |graph, _| keep(StaticComponents::new(graph)),
            |graph, _| keep(PublishedComponents::new(graph)),
            |graph, _| keep(Components::new(graph, Policy::Recompute)),
            |graph, _| keep(Components::new(graph, Policy::Repair)),
            |graph, _| keep(Components::new(graph, Policy::Predict)),
        ],
    ),
    (
        "triangles",
        [
            |graph, _| keep(StaticTriangles::new(graph)),
            |graph, _| keep(PublishedTriangles::new(graph)),
            |graph, _| keep(Triangles::new(graph, Policy::Recompute, 1)),
            |graph, _| keep(Triangles::new(graph, Policy::Repair, 1)),
            |graph, _| keep(Triangles::new(graph, Policy::Predict, 1)),
        ],
    ),
];

/// One batch.
#[derive(Clone, Copy)]
struct Measured {
    seconds: f64,
    /// The share of vertices that were affected.
    affected: f64,
    recomputed: bool,
}

type Times = Vec<Measured>;

fn run(start: &SortedGraph, make: Make, root: u32, batches: &[Vec<EdgeChange>]) -> Times {
    let mut graph = start.clone();
    let mut kept = make(&graph, root);
    let (mut times, mut all) = (Vec::new(), 0.0);
    for batch in batches {
        let delta = graph.apply(batch);
        let (cpu, before) = (cpu_seconds(), Instant::now());
        let work = kept(&graph, &delta);
        let wall = before.elapsed().as_secs_f64();
        // Asking for the processor time costs as much as a small batch; the time of day is free,
        // but runs on while other programs have the processor.
        let time = wall.min(cpu_seconds() - cpu);
        times.push(Measured {
            seconds: time,
            affected: work.affected as f64 / f64::from(graph.vertices()),
            recomputed: work.choice == Choice::Recomputed,
        });
        all += time;
        if all > LIMIT {
            break;
        }
    }
    times
}

/// Seconds of processor time of this thread.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The least time of several runs for each batch, by rule. Runs of the rules alternate, so that
/// all of them meet the same disturbances.
fn least(
    start: &SortedGraph,
    rules: [Make; 5],
    root: u32,
    batches: &[Vec<EdgeChange>],
) -> [Times; 5] {
    let mut least = rules.map(|make| run(start, make, root, batches));
    for again in 1..RUNS {
        for at in 0..rules.len() {
            // What runs after something similar is a little faster, so the order changes.
            let at = if again % 2 == 1 {
                rules.len() - 1 - at
            } else {
                at
            };
            let more = run(start, rules[at], root, batches);
            least[at].truncate(more.len());
            for (least, more) in least[at].iter_mut().zip(more) {
                least.seconds = least.seconds.min(more.seconds);
            }
        }
    }
    least
}

fn mean(times: &[Measured]) -> f64 {
    times.iter().map(|time| time.seconds).sum::<f64>() / times.len() as f64
}

/// How much faster the batches are that both measured.
fn speedup(slow: &[Measured], fast: &[Measured]) -> f64 {
    let all = slow.len().min(fast.len());
    mean(&slow[..all]) / mean(&fast[..all])
}

fn measure(named: &Named, size: usize, count: usize) {
    let mut start = SortedGraph::new(named.kind, named.vertices);
    let insert: Vec<_> = named
        .edges
        .iter()
        .map(|&edge| EdgeChange::Insert(edge))
        .collect();
    start.apply(&insert);
    let degree = |vertex: &u32| (start.degree(*vertex), *vertex);
    let root = (0..named.vertices).max_by_key(degree).unwrap_or(0);
    let mut changes = Changes::new(
        named.kind,
        named.vertices,
        &named.edges,
        ChangeMix::default(),
        7,
    );
    let batches: Vec<Vec<_>> = (0..count)
        .map(|_| changes.by_ref().take(size).collect())
        .collect();
    for (answer, rules) in RULES {
        let [fixed, published, recompute, repair, predict] = least(&start, rules, root, &batches);
        let all = predict.len().min(repair.len()).min(recompute.len());
        let seconds = |times: &[Measured], at: usize| times[at].seconds;
        let best = |at: usize| seconds(&repair, at).min(seconds(&recompute, at));
        // What was chosen, at the times of the runs that had no choice, and as it was measured.
        let chosen = |at: usize| {
            if predict[at].recomputed {
                seconds(&recompute, at)
            } else {
                seconds(&repair, at)
            }
        };
        let best = (0..all).map(best).sum::<f64>();
        let decided = (0..all).map(chosen).sum::<f64>();
        let measured = (0..all).map(|at| predict[at].seconds).sum::<f64>();
        let affected = repair.iter().map(|time| time.affected).sum::<f64>() / repair.len() as f64;
        println!(
            "| {answer} | {} | {size} | {:.3} | {:.3} | {:.2} | {:.2} | {:.1} | {:.2} % | {:.1} % | {:.1} % |",
            named.name,
            mean(&fixed) * 1e3,
            mean(&recompute) * 1e3,
            speedup(&fixed, &published),
            speedup(&recompute, &repair),
            speedup(&recompute, &predict),
            affected * 100.0,
            (decided / best - 1.0) * 100.0,
            (measured / best - 1.0) * 100.0,
        );
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("a folder with graphs");
    let scale = arguments.next();
    let scale = scale.map(|scale| scale.parse().expect("a scale"));
    let only = arguments.next().unwrap_or_default();
    println!(
        "| answer | graph | batch | static ms | recompute ms | published | repair | ours | \
         affected | regret | measured |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for named in &graphs::named(folder.as_ref(), scale, &only) {
        for (size, count) in SIZES {
            measure(named, size, count);
        }
    }
}
