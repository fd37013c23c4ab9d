//! Compares all maintained answers with an independent recomputation after every batch, and
//! counts mismatches: `cargo run --release -p reuselens-incremental --example equality -- FOLDER
//! [SCALE]`.
//!
//! FOLDER has real graphs (those that are missing are left out); generated ones have 2^SCALE
//! vertices, 2^13 by default. Each graph meets batches of 1 to 100,000 changes, at first as many
//! insertions as deletions, then mostly deletions; undirected and directed, with one thread and
//! two. Ends with 1 if there is a mismatch.

mod graphs;
#[path = "../tests/oracle/mod.rs"]
mod oracle;

use std::process::ExitCode;

use graphs::Named;
use oracle::Oracle;
use reuselens_graph::generate::{ChangeMix, Changes};
use reuselens_graph::{BlockGraph, Edge, EdgeChange, EdgeKind, SortedGraph, StoredGraph};
use reuselens_incremental::{
    Components, Depths, Maintain, Policy, PublishedComponents, PublishedDepths, PublishedTriangles,
    Triangles,
};

/// Sizes of batches, and how many of each.
const SIZES: [(usize, usize); 6] = [
    (1, 150),
    (10, 50),
    (100, 30),
    (1_000, 15),
    (10_000, 8),
    (100_000, 1),
];

/// What was compared.
#[derive(Default)]
struct Tally {
    updates: u64,
    batches: u64,
    answers: u64,
    mismatches: u64,
}

impl Tally {
    fn compare<T: PartialEq>(&mut self, name: &str, found: &[T], expected: &[T]) {
        self.answers += 1;
        if found != expected {
            self.mismatches += 1;
            let differ = found.iter().zip(expected).filter(|(a, b)| a != b).count();
            println!("MISMATCH: {name}: {differ} vertices");
        }
    }
}

/// Ours on sorted lists, and ours and the published rules on linked blocks.
struct Kept {
    sorted: SortedGraph,
    depths: Depths,
    components: Components,
    triangles: Triangles,
    blocks: BlockGraph,
    block_depths: Depths,
    block_components: Components,
    published: (PublishedDepths, PublishedComponents, PublishedTriangles),
}

impl Kept {
    fn new(
        named: &Named,
        insert: &[EdgeChange],
        root: u32,
        policy: Policy,
        threads: usize,
    ) -> Self {
        let mut sorted = SortedGraph::new(named.kind, named.vertices);
        sorted.set_threads(threads);
        sorted.apply(insert);
        let mut blocks = BlockGraph::new(named.kind, named.vertices);
        blocks.apply(insert);
        Self {
            depths: Depths::new(&sorted, root, policy),
            components: Components::new(&sorted, policy),
            triangles: Triangles::new(&sorted, policy, threads),
            sorted,
            block_depths: Depths::new(&blocks, root, policy),
            block_components: Components::new(&blocks, policy),
            published: (
                PublishedDepths::new(&blocks, root),
                PublishedComponents::new(&blocks),
                PublishedTriangles::new(&blocks),
            ),
            blocks,
        }
    }

    fn apply(&mut self, batch: &[EdgeChange], oracle: &Oracle, root: u32, tally: &mut Tally) {
        let (graph, blocks) = (&mut self.sorted, &mut self.blocks);
        let delta = graph.apply(batch);
        if blocks.apply(batch) != delta {
            println!("MISMATCH: deltas");
            tally.mismatches += 1;
        }
        tally.updates += batch.len() as u64;
        tally.batches += 1;
        let expected = oracle.depths(root);
        self.depths.apply(graph, &delta);
        tally.compare("depths", &answer(graph, &self.depths), &expected);
        self.block_depths.apply(blocks, &delta);
        tally.compare(
            "depths, blocks",
            &answer(blocks, &self.block_depths),
            &expected,
        );
        self.published.0.apply(blocks, &delta);
        tally.compare(
            "published depths",
            &answer(blocks, &self.published.0),
            &expected,
        );

        let expected = oracle.components();
        self.components.apply(graph, &delta);
        tally.compare("components", &answer(graph, &self.components), &expected);
        self.block_components.apply(blocks, &delta);
        tally.compare(
            "components, blocks",
            &answer(blocks, &self.block_components),
            &expected,
        );
        self.published.1.apply(blocks, &delta);
        tally.compare(
            "published components",
            &answer(blocks, &self.published.1),
            &expected,
        );

        let expected = oracle.triangles();
        self.triangles.apply(graph, &delta);
        tally.compare("triangles", &answer(graph, &self.triangles), &expected);
        self.published.2.apply(blocks, &delta);
        tally.compare(
            "published triangles",
            &answer(blocks, &self.published.2),
            &expected,
        );
    }
}

fn answer<G: StoredGraph, M: Maintain<G>>(_: &G, kept: &M) -> Vec<M::Value> {
    kept.answer()
}

fn run(named: &Named, policy: Policy, threads: usize, tally: &mut Tally) {
    let root = named.edges.first().map_or(0, |edge| edge.from);
    let insert: Vec<_> = named
        .edges
        .iter()
        .map(|&edge| EdgeChange::Insert(edge))
        .collect();
    let mut kept = Kept::new(named, &insert, root, policy, threads);
    let mut oracle = Oracle::new(named.kind, named.vertices as usize);
    oracle.apply(&insert);
    for (phase, deletions) in [(0, 0.5), (1, 0.9), (2, 0.3)] {
        let edges: Vec<Edge> = oracle.edges().collect();
        let mix = ChangeMix {
            deletions,
            ..ChangeMix::default()
        };
        // A tenth of the vertices is new.
        let vertices = named.vertices + named.vertices / 10;
        let mut changes = Changes::new(named.kind, vertices, &edges, mix, phase);
        for (size, count) in SIZES {
            for _ in 0..count {
                let batch: Vec<_> = changes.by_ref().take(size).collect();
                oracle.apply(&batch);
                kept.apply(&batch, &oracle, root, tally);
            }
        }
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_default();
    let scale = arguments
        .next()
        .map_or(13, |scale| scale.parse().expect("a scale"));
    let mut all = graphs::real(folder.as_ref());
    all.extend(graphs::generated(scale));
    let mut total = Tally::default();
    println!("| graph | kind | threads | policy | updates | batches | answers | mismatches |");
    println!("|---|---|---:|---|---:|---:|---:|---:|");
    for mut named in all {
        for (directed, threads, policy) in [
            (false, 1, Policy::Repair),
            (false, 2, Policy::Predict),
            (true, 2, Policy::Predict),
        ] {
            if directed {
                named.kind = EdgeKind::Directed;
            }
            let mut tally = Tally::default();
            run(&named, policy, threads, &mut tally);
            println!(
                "| {} | {:?} | {threads} | {policy:?} | {} | {} | {} | {} |",
                named.name,
                named.kind,
                tally.updates,
                tally.batches,
                tally.answers,
                tally.mismatches
            );
            total.updates += tally.updates;
            total.batches += tally.batches;
            total.answers += tally.answers;
            total.mismatches += tally.mismatches;
        }
    }
    println!(
        "{} updates in {} batches, {} answers, {} mismatches",
        total.updates, total.batches, total.answers, total.mismatches
    );
    ExitCode::from(u8::from(total.mismatches > 0))
}
