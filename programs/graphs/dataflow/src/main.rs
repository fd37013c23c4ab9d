//! Depths and components of a graph that changes, by differential dataflow: the same answers as
//! presponse, with what they cost.
//!
//! ```text
//! presponse export GRAPH --stream FILE --batch 100 -o differences
//! presponse-dataflow differences --root 1 --workers 2
//! ```
//!
//! Prints JSON: the latency of each batch in nanoseconds, sums of the answers after the last one,
//! and the largest memory of the process. Each answer is a dataflow of its own, so that its latency
//! is its own. A batch is a time of the dataflow: an answer is there when no worker can change it
//! any more.

#[path = "../../differences.rs"]
mod differences;

use std::cell::Cell;
use std::error::Error;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use differences::{Differences, Edge, read};
use differential_dataflow::VecCollection;
use differential_dataflow::algorithms::graphs::bfs::bfs;
use differential_dataflow::algorithms::graphs::propagate::propagate_at;
use differential_dataflow::input::Input;
use serde_json::json;
use timely::dataflow::operators::probe::Handle;

/// What is asked of the graph.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Question {
    Depths,
    Components,
}

/// What a worker found.
#[derive(Clone, Debug, Default)]
struct Found {
    latencies: Vec<u64>,
    /// Vertices with an answer, and the sum of their values; for components, the count of those
    /// that are named by themselves, and 0.
    count: i64,
    sum: i64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut file, mut root, mut workers, mut limit) = (None, None, 2_usize, u64::MAX);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} takes a value"));
        match &argument[..] {
            "--root" => root = Some(value()?.parse::<u64>()?),
            "--workers" => workers = value()?.parse()?,
            "--limit" => limit = value()?.parse()?,
            _ => file = Some(argument),
        }
    }
    let file = file.ok_or("name a file of `presponse export`")?;
    let input = Arc::new(read(&std::fs::read_to_string(file)?)?);
    let first = input.batches.iter().flatten().next();
    let root = root
        .or(first.map(|((from, _), _)| *from))
        .ok_or("the file has no edge")?;
    let mut answers = serde_json::Map::new();
    let mut totals = json!({});
    for (question, name) in [
        (Question::Depths, "depths"),
        (Question::Components, "components"),
    ] {
        let found = run(&input, question, root, workers, Duration::from_secs(limit))?;
        answers.insert(name.to_owned(), json!({ "latency_ns": found.latencies }));
        if found.latencies.len() + 1 == input.batches.len() {
            match question {
                Question::Depths => {
                    totals["reached"] = json!(found.count);
                    totals["depth_sum"] = json!(found.sum);
                }
                Question::Components => totals["components"] = json!(found.count),
            }
        }
    }
    let value = json!({
        "peer": "differential-dataflow",
        "version": "0.26",
        "workers": workers,
        "answers": answers,
        "totals": totals,
        "peak_kib": peak(),
    });
    println!("{value}");
    Ok(())
}

/// Runs one dataflow over all batches, on this many workers. The first worker feeds it.
fn run(
    input: &Arc<Differences>,
    question: Question,
    root: u64,
    workers: usize,
    limit: Duration,
) -> Result<Found, Box<dyn Error>> {
    let input = Arc::clone(input);
    let stopped = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let guards = timely::execute(timely::Config::process(workers), move |worker| {
        let (count, sum) = (Rc::new(Cell::new(0_i64)), Rc::new(Cell::new(0_i64)));
        let (counted, summed) = (Rc::clone(&count), Rc::clone(&sum));
        let mut probe = Handle::new();
        let directed = input.directed;
        let (mut nodes, mut edges) = worker.dataflow::<u32, _, _>(|scope| {
            let (node_input, nodes) = scope.new_collection::<u64, isize>();
            let (edge_input, edges) = scope.new_collection::<Edge, isize>();
            let answer: VecCollection<_, (u64, u64)> = match question {
                Question::Depths => {
                    let edges = if directed { edges } else { both(edges) };
                    bfs(edges, nodes).map(|(node, depth)| (node, u64::from(depth)))
                }
                // Small labels first: most of the others are never passed on then.
                Question::Components => {
                    propagate_at(both(edges), nodes.map(|node| (node, node)), |label| *label)
                }
            };
            answer
                .inspect(move |((node, value), _, difference)| {
                    let (one, value) = match question {
                        Question::Depths => (true, *value as i64),
                        Question::Components => (node == value, 0),
                    };
                    counted.set(counted.get() + i64::from(one) * *difference as i64);
                    summed.set(summed.get() + value * *difference as i64);
                })
                .probe_with(&mut probe);
            (node_input, edge_input)
        });
        let is_first = worker.index() == 0;
        if is_first && question == Question::Depths {
            nodes.insert(root);
        }
        let (mut seen, begun) = (std::collections::HashSet::new(), Instant::now());
        let mut latencies = Vec::new();
        for (at, batch) in input.batches.iter().enumerate() {
            // All workers stop at the same batch, since they are at the same time.
            if stopped.load(std::sync::atomic::Ordering::SeqCst) {
                break;
            }
            let start = Instant::now();
            if is_first {
                for ((from, to), difference) in batch {
                    edges.update((*from, *to), *difference);
                    for node in [from, to] {
                        if question == Question::Components && seen.insert(*node) {
                            nodes.insert(*node);
                        }
                    }
                }
            }
            let next = at as u32 + 1;
            nodes.advance_to(next);
            nodes.flush();
            edges.advance_to(next);
            edges.flush();
            worker.step_while(|| probe.less_than(edges.time()));
            // The first batch is the graph at the beginning.
            if at > 0 {
                latencies.push(start.elapsed().as_nanos() as u64);
            }
            if is_first && begun.elapsed() > limit {
                stopped.store(true, std::sync::atomic::Ordering::SeqCst);
            }
        }
        let isolated = match question {
            Question::Components if is_first => input.vertices.saturating_sub(seen.len() as u64),
            _ => 0,
        };
        drop((nodes, edges));
        while worker.step() {}
        Found {
            latencies: if is_first { latencies } else { Vec::new() },
            count: count.get() + isolated as i64,
            sum: sum.get(),
        }
    })?;
    let mut all = Found::default();
    for found in guards.join() {
        let found = found?;
        all.latencies.extend(found.latencies);
        all.count += found.count;
        all.sum += found.sum;
    }
    Ok(all)
}

/// Edges in both directions.
fn both<'scope, T>(edges: VecCollection<'scope, T, Edge>) -> VecCollection<'scope, T, Edge>
where
    T: timely::progress::Timestamp + differential_dataflow::lattice::Lattice,
{
    let back = edges.clone().map(|(from, to)| (to, from));
    edges.concat(back)
}

/// The largest memory of this process in KiB.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
