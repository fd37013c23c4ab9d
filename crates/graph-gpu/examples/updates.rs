//! Compares all answers on a device with an independent recomputation after every batch, and counts
//! what the kernels do: `cargo run --release -p reuselens-graph-gpu --example updates -- FOLDER
//! [SCALE [THREADS]]`.
//!
//! FOLDER has real graphs (those that are missing are left out); generated ones have 2^SCALE
//! vertices, 2^12 by default. Prints instructions of threads for each update, by batch size, and
//! those that computing an answer takes once. Half of the changes are deletions, and then nine of
//! ten. Ends with 1 if there is a mismatch.

#[path = "../../incremental/examples/graphs/mod.rs"]
mod graphs;
#[path = "../../incremental/tests/oracle/mod.rs"]
mod oracle;

use std::process::ExitCode;

use graphs::Named;
use oracle::Oracle;
use reuselens_cuda::{Interpreter, KernelCounts};
use reuselens_graph::generate::{ChangeMix, Changes};
use reuselens_graph::{Edge, EdgeChange, EdgeKind, SortedGraph, StoredGraph};
use reuselens_graph_gpu::{GpuError, GpuGraph, interpreter};
use reuselens_incremental::{Maintain, Work};

/// Sizes of batches, and how many of each.
const SIZES: [(usize, usize); 4] = [(1, 100), (10, 50), (100, 20), (1_000, 10)];
/// Kernels by the beginnings of their names.
const KINDS: [&str; 4] = ["lists", "depths", "components", "triangles"];

/// What a stream of one batch size did.
#[derive(Default)]
struct Tally {
    updates: u64,
    answers: u64,
    mismatches: u64,
    work: [Work; 3],
}

/// A graph and its answers on a device.
struct Session {
    graph: SortedGraph,
    on_device: GpuGraph<Interpreter<KernelCounts>>,
    oracle: Oracle,
    root: u32,
}

impl Session {
    fn new(named: &Named, threads: usize) -> Result<Self, GpuError> {
        let insert = named.edges.iter().map(|&edge| EdgeChange::Insert(edge));
        let insert: Vec<_> = insert.collect();
        let mut graph = SortedGraph::new(named.kind, named.vertices);
        graph.apply(&insert);
        let mut oracle = Oracle::new(named.kind, named.vertices as usize);
        oracle.apply(&insert);
        Ok(Self {
            on_device: GpuGraph::upload(interpreter(4 << 30, threads), &graph)?,
            graph,
            oracle,
            root: named.edges.first().map_or(0, |edge| edge.from),
        })
    }

    /// Applies batches. Returns the tally, and the instructions of the kernels.
    fn run(
        mut self,
        batches: impl Iterator<Item = Vec<EdgeChange>>,
    ) -> Result<(Tally, [u64; KINDS.len()]), GpuError> {
        let mut tally = Tally::default();
        let mut depths = self.on_device.depths(self.root)?;
        let mut components = self.on_device.components()?;
        let mut triangles = self.on_device.triangles(&self.graph)?;
        for batch in batches {
            self.oracle.apply(&batch);
            let delta = self.graph.apply(&batch);
            let work = [
                depths.update(&self.graph, &delta)?,
                components.update(&self.graph, &delta)?,
                triangles.update(&self.graph, &delta)?,
            ];
            tally.updates += batch.len() as u64;
            for (sum, work) in tally.work.iter_mut().zip(work) {
                sum.scanned += work.scanned;
                sum.affected += work.affected;
            }
            tally.compare("depths", &depths, &self.oracle.depths(self.root));
            tally.compare("components", &components, &self.oracle.components());
            tally.compare("triangles", &triangles, &self.oracle.triangles());
        }
        drop((depths, components, triangles));
        let device = self.on_device.into_device().expect("no answer is left");
        Ok((tally, instructions(&device.into_watch())))
    }
}

impl Tally {
    fn compare<M>(&mut self, name: &str, kept: &M, expected: &[M::Value])
    where
        M: Maintain<SortedGraph>,
    {
        self.answers += 1;
        if kept.answer() != expected {
            self.mismatches += 1;
            println!("MISMATCH: {name}");
        }
    }
}

/// Instructions of threads, by kind of kernel.
fn instructions(counts: &KernelCounts) -> [u64; KINDS.len()] {
    KINDS.map(|kind| {
        let kernels = counts.kernels().iter();
        let kernels = kernels.filter(|kernel| kernel.name.starts_with(kind));
        kernels.map(|kernel| kernel.stats.thread_instructions).sum()
    })
}

/// Batches of one size. A tenth of the vertices is new.
fn batches(named: &Named, size: usize, count: usize) -> impl Iterator<Item = Vec<EdgeChange>> {
    let vertices = named.vertices + named.vertices / 10;
    let edges: &[Edge] = &named.edges;
    let [mut mixed, mut deleting] = [0.5, 0.9].map(|deletions| {
        let mix = ChangeMix {
            deletions,
            ..ChangeMix::default()
        };
        Changes::new(named.kind, vertices, edges, mix, 1)
    });
    (0..2 * count).map(move |number| {
        if number < count {
            mixed.by_ref().take(size).collect()
        } else {
            deleting.by_ref().take(size).collect()
        }
    })
}

fn main() -> Result<ExitCode, GpuError> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_default();
    let mut number = |otherwise| {
        let given = arguments.next();
        given.map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (scale, threads) = (number(12), number(1));
    let mut all = graphs::real(folder.as_ref());
    all.extend(graphs::generated(scale));
    let mut total = Tally::default();
    println!("| graph | kind | batch | updates | lists | depths | components | triangles |");
    println!("|---|---|---:|---:|---:|---:|---:|---:|");
    for mut named in all {
        for kind in [EdgeKind::Undirected, EdgeKind::Directed] {
            named.kind = kind;
            let begun = Session::new(&named, threads as usize)?
                .run(std::iter::empty())?
                .1;
            let row = |name: &str, updates: u64, each: [u64; KINDS.len()]| {
                let each = each.map(|count| count.to_string()).join(" | ");
                println!(
                    "| {} | {kind:?} | {name} | {updates} | {each} |",
                    named.name
                );
            };
            row("computed", 0, begun);
            for (size, count) in SIZES {
                let session = Session::new(&named, threads as usize)?;
                let (tally, all) = session.run(batches(&named, size, count))?;
                let mut each = [0; KINDS.len()];
                for (each, (all, begun)) in each.iter_mut().zip(all.iter().zip(begun)) {
                    *each = (all - begun) / tally.updates.max(1);
                }
                row(&size.to_string(), tally.updates, each);
                total.updates += tally.updates;
                total.answers += tally.answers;
                total.mismatches += tally.mismatches;
            }
        }
    }
    println!(
        "{} updates, {} answers, {} mismatches",
        total.updates, total.answers, total.mismatches
    );
    Ok(ExitCode::from(u8::from(total.mismatches > 0)))
}
