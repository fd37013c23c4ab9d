//! Thread mapping: small cases beside exhaustive search; what is re-mapped is what was there.

use proptest::prelude::*;
use reuselens_simt::characteristic::{Limits, characteristic};
use reuselens_simt::generate::{self, Kernel};
use reuselens_simt::graph::Graph;
use reuselens_simt::mapping::{
    Common, Hypergraph, Mapping, MappingDepth, WarpGroups, go_on, map, order, partition, span,
};
use reuselens_simt::scenario::{RoundRobin, Sequential};
use reuselens_simt::transactions::{DataLayout, Transactions};
use reuselens_simt::{KernelRun, Loading, Scenario};
use reuselens_warp::WarpStream;

/// The fewest copies of any partition into groups of `size`: all are tried, but for those whose
/// first vertices alone have as many copies as the best so far.
fn fewest(hypergraph: &Hypergraph, size: usize) -> u64 {
    let groups = hypergraph.vertices() / size;
    let mut search = Search {
        hypergraph,
        size,
        pins: vec![vec![0; groups]; hypergraph.edges()],
        groups: vec![Vec::new(); groups],
        best: u64::MAX,
    };
    search.place(0, 0);
    search.best
}

/// A search through the partitions into groups of `size`.
struct Search<'a> {
    hypergraph: &'a Hypergraph,
    size: usize,
    /// How many pins an edge has in a group, by edge and group.
    pins: Vec<Vec<u32>>,
    groups: Vec<Vec<u32>>,
    best: u64,
}

impl Search<'_> {
    /// Tries all groups for `vertex` and those after it. Those before it make `copies` copies.
    fn place(&mut self, vertex: u32, copies: u64) {
        if copies >= self.best {
            return;
        }
        if vertex as usize == self.hypergraph.vertices() {
            assert_eq!(copies, self.hypergraph.copies(&self.groups));
            self.best = copies;
            return;
        }
        for at in 0..self.groups.len() {
            let is_empty = self.groups[at].is_empty();
            if self.groups[at].len() < self.size {
                let more = self.put(vertex, at);
                self.place(vertex + 1, copies + more);
                self.take(vertex, at);
            }
            // Empty groups are alike.
            if is_empty {
                break;
            }
        }
    }

    /// Puts a vertex in a group; returns how many copies that adds.
    fn put(&mut self, vertex: u32, group: usize) -> u64 {
        self.groups[group].push(vertex);
        let mut more = 0;
        for edge in self.edges_of(vertex) {
            more += match self.pins[edge][group] {
                0 => self.hypergraph.edge(edge).1,
                _ => 0,
            };
            self.pins[edge][group] += 1;
        }
        more
    }

    fn take(&mut self, vertex: u32, group: usize) {
        self.groups[group].pop();
        for edge in self.edges_of(vertex) {
            self.pins[edge][group] -= 1;
        }
    }

    fn edges_of(&self, vertex: u32) -> Vec<usize> {
        let edges = 0..self.hypergraph.edges();
        edges
            .filter(|&edge| self.hypergraph.edge(edge).0.contains(&vertex))
            .collect()
    }
}

fn edges(vertices: u32) -> impl Strategy<Value = Vec<(Vec<u32>, u64)>> {
    let edge = prop::collection::vec(0..vertices, 1..5);
    prop::collection::vec((edge, 1..5_u64), 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn small_partitions_are_near_the_best(edges in edges(12), size in prop_oneof![Just(3_usize), Just(4), Just(6)]) {
        let hypergraph = Hypergraph::new(12, edges);
        let groups = partition(&hypergraph, size, 1).unwrap();
        prop_assert!(groups.iter().all(|group| group.len() == size));
        let mut all = groups.concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..12).collect::<Vec<_>>());
        let (found, best) = (hypergraph.copies(&groups), fewest(&hypergraph, size));
        let as_is: Vec<Vec<u32>> = (0..12_u32).collect::<Vec<_>>().chunks(size).map(<[u32]>::to_vec).collect();
        prop_assert!(found <= hypergraph.copies(&as_is));
        prop_assert!(found as f64 <= best as f64 * 1.25, "{} and {}", found, best);
        prop_assert_eq!(partition(&hypergraph, size, 1).unwrap(), groups);
    }

    #[test]
    fn block_orders_are_never_worse_than_the_grid(edges in edges(6)) {
        let hypergraph = Hypergraph::new(6, edges);
        let found = order(&hypergraph);
        let mut sorted = found.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..6).collect::<Vec<_>>());
        prop_assert!(span(&hypergraph, &found) <= span(&hypergraph, &[0, 1, 2, 3, 4, 5]));
    }

    #[test]
    fn hypergraphs_come_back_from_their_text(edges in edges(9)) {
        let hypergraph = Hypergraph::new(9, edges);
        let again = Hypergraph::from_hgr(&hypergraph.to_hgr(), "h").unwrap();
        prop_assert_eq!((again.vertices(), again.edges()), (9, hypergraph.edges()));
        prop_assert!((0..again.edges()).all(|at| again.edge(at) == hypergraph.edge(at)));
    }
}

#[test]
fn on_average_small_partitions_are_within_two_percent_of_the_best() {
    let mut seed = 3_u64;
    let mut random = |limit: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % limit
    };
    let (mut found, mut best, mut exact) = (0, 0, 0);
    for _ in 0..100 {
        let edge = |random: &mut dyn FnMut(u64) -> u64| {
            let pins = (0..2 + random(3)).map(|_| random(12) as u32).collect();
            (pins, 1 + random(4))
        };
        let hypergraph =
            Hypergraph::new(12, (0..18).map(|_| edge(&mut random)).collect::<Vec<_>>());
        let ours = hypergraph.copies(&partition(&hypergraph, 4, 1).unwrap());
        let optimum = fewest(&hypergraph, 4);
        assert!(ours >= optimum);
        (found, best, exact) = (
            found + ours,
            best + optimum,
            exact + u32::from(ours == optimum),
        );
    }
    println!("{found} copies, {best} at best; {exact} of 100 are optimal");
    assert!(found as f64 <= best as f64 * 1.02, "{found} and {best}");
}

/// Twelve threads that share data with each other, around `start`, and what they share.
fn neighbourhood(hypergraph: &Hypergraph, start: u32) -> Hypergraph {
    const THREADS: usize = 12;
    let mut chosen = vec![start];
    let mut at = 0;
    while at < chosen.len() && chosen.len() < THREADS {
        let vertex = chosen[at];
        for edge in (0..hypergraph.edges()).map(|edge| hypergraph.edge(edge).0) {
            if edge.contains(&vertex) {
                for &pin in edge {
                    if chosen.len() < THREADS && !chosen.contains(&pin) {
                        chosen.push(pin);
                    }
                }
            }
        }
        at += 1;
    }
    chosen.sort_unstable();
    let place = |pin: &u32| chosen.binary_search(pin).ok().map(|at| at as u32);
    let edges = (0..hypergraph.edges()).map(|at| {
        let (pins, weight) = hypergraph.edge(at);
        (pins.iter().filter_map(place).collect(), weight)
    });
    Hypergraph::new(chosen.len(), edges.collect::<Vec<(Vec<u32>, u64)>>())
}

/// A circuit of two-input gates, numbered at random.
fn circuit(nodes: u32) -> Graph {
    let mix = |node: u32, by: u32| node.wrapping_mul(2_654_435_761).wrapping_add(by) >> 7;
    let edges = (0..nodes).flat_map(|node| {
        let near = |by: u32| (node + nodes - 1 - mix(node, by) % 40) % nodes;
        [(node, near(1)), (node, near(977))]
    });
    Graph::new(nodes, &edges.collect::<Vec<_>>()).unwrap()
}

/// Copies in warps of four of twelve threads, at sixteen places: as they stand, found, and at best.
fn sixteen_places(whole: &Hypergraph) -> [u64; 3] {
    let mut copies = [0; 3];
    for start in (0..1024).step_by(64) {
        let small = neighbourhood(whole, start);
        if small.vertices() < 12 {
            continue;
        }
        let groups: Vec<u32> = (0..12).collect();
        let groups: Vec<Vec<u32>> = groups.chunks(4).map(<[u32]>::to_vec).collect();
        copies[0] += small.copies(&groups);
        copies[1] += small.copies(&partition(&small, 4, 1).unwrap());
        copies[2] += fewest(&small, 4);
    }
    copies
}

#[test]
fn twelve_threads_of_each_kernel_are_within_five_percent_of_the_best() {
    let (circuit, mesh) = (circuit(1024), Graph::mesh(1024, 6000, 1).unwrap());
    for kernel in Kernel::ALL {
        let gates = matches!(kernel, Kernel::Sta | Kernel::Gsim | Kernel::Bfs);
        let run = run(kernel, if gates { &circuit } else { &mesh });
        for (what, whole) in [
            ("requests", Hypergraph::of_requests(&run, DataLayout::Moved)),
            ("data", Hypergraph::of(&run, DataLayout::Moved)),
        ] {
            let [as_is, found, best] = sixteen_places(&whole);
            let name = kernel.name();
            println!("{name}, {what}: {as_is} as they stand, {found} found, {best} at best");
            assert!(best <= found && found <= as_is);
            assert!(found as f64 <= best as f64 * 1.05, "{name}");
        }
    }
}

#[test]
fn copies_of_requests_are_transactions() {
    let (circuit, mesh) = (circuit(256), Graph::mesh(256, 1500, 1).unwrap());
    for (kernel, graph) in Kernel::ALL
        .into_iter()
        .flat_map(|k| [(k, &circuit), (k, &mesh)])
    {
        let run = run(kernel, graph);
        let requests = Hypergraph::of_requests(&run, DataLayout::Kept);
        let alone: u64 = (0..requests.vertices())
            .map(|at| requests.private(at))
            .sum();
        for lanes in [8, 32, 64] {
            let mapping = map(
                &run,
                DataLayout::Kept,
                Common::Requests,
                lanes,
                MappingDepth::Threads,
                1,
            )
            .unwrap();
            let as_is = Mapping::identity(&run).unwrap();
            let sectors = [as_is, mapping].map(|mapping| {
                let warps: Vec<Vec<u32>> = mapping
                    .threads()
                    .chunks(lanes)
                    .map(<[u32]>::to_vec)
                    .collect();
                let mapped = mapping.apply(&run).unwrap();
                let counted = Transactions::of_warps(&mapped, DataLayout::Kept, lanes).unwrap();
                let copies = requests.copies(&warps) + alone;
                assert_eq!(copies, counted.sectors, "{kernel:?}, {lanes}");
                copies
            });
            assert!(sectors[1] <= sectors[0], "{kernel:?}, {lanes}");
        }
    }
}

#[test]
fn hgr_files_without_weights_are_read_and_damage_is_named() {
    let plain = Hypergraph::from_hgr("% c\n2 4\n1 2\n2 3 4\n", "h").unwrap();
    assert_eq!(
        (plain.edges(), plain.vertices(), plain.edge(1)),
        (2, 4, (&[1, 2, 3][..], 1))
    );
    for (text, says) in [
        ("", "too early"),
        ("1 2 3 4\n", "line 1"),
        ("1 2\n1 3\n", "1 to 2"),
        ("1 2 10\n1 2\n5\n", "too early"),
        ("1 2 11\n1 1 2\n5 5\n5\n", "one number"),
        ("1 99999999999\n", "too many"),
        ("x 2\n", "'x' is no number"),
    ] {
        let error = Hypergraph::from_hgr(text, "h").unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn groups_of_another_partitioner_give_the_mapping_that_ours_would_and_damage_is_named() {
    let run = run(Kernel::Nbf, &scattered());
    let threads = 640;
    let ours = map(
        &run,
        DataLayout::Moved,
        Common::Requests,
        32,
        MappingDepth::Blocks,
        1,
    )
    .unwrap();
    let warps = map(
        &run,
        DataLayout::Moved,
        Common::Requests,
        32,
        MappingDepth::Threads,
        1,
    )
    .unwrap();
    let mut group = vec![0; threads];
    for (place, &thread) in warps.threads().iter().enumerate() {
        group[thread as usize] = place / 32;
    }
    let lines = |group: &[usize]| {
        let lines: Vec<String> = group.iter().map(usize::to_string).collect();
        lines.join("\n")
    };
    let read = WarpGroups::read(&run, 32, &lines(&group), "g").unwrap();
    let theirs = go_on(&run, DataLayout::Moved, &read, MappingDepth::Threads, 1).unwrap();
    assert_eq!(theirs, warps);
    let sectors = |mapping: &Mapping| {
        let mapped = mapping.apply(&run).unwrap();
        Transactions::of(&mapped, DataLayout::Moved)
            .unwrap()
            .sectors
    };
    let theirs = go_on(&run, DataLayout::Moved, &read, MappingDepth::Blocks, 1).unwrap();
    assert_eq!(sectors(&theirs), sectors(&ours));
    let mut uneven = group.clone();
    uneven[0] = (group[0] + 1) % 20;
    let mut beyond = group.clone();
    beyond[7] = 20;
    for (text, says) in [
        (lines(&group[1..]), "639 lines, but the launch has 640"),
        (lines(&uneven), "20 groups with an imbalance of 0"),
        (lines(&beyond), "line 8: '20' is no group from 0 to 19"),
        (lines(&group).replacen('\n', "x\n", 1), "line 1: "),
    ] {
        let error = WarpGroups::read(&run, 32, &text, "g")
            .unwrap_err()
            .to_string();
        assert!(error.contains(says), "{error}");
    }
}

fn run(kernel: Kernel, graph: &Graph) -> KernelRun {
    let mut stream = WarpStream::new();
    generate::stream(kernel, graph, 64, &mut stream).unwrap();
    KernelRun::read(&mut stream.source(), Loading::default()).unwrap()
}

/// Sixteen stars of 32 nodes, whose members are spread over all blocks.
fn scattered() -> Graph {
    let edges: Vec<(u32, u32)> = (0..512).map(|node| (node, 512 + node % 16 * 8)).collect();
    Graph::new(640, &edges).unwrap()
}

#[test]
fn identity_mapping_changes_nothing() {
    let mesh = Graph::mesh(1000, 5000, 1).unwrap();
    for kernel in Kernel::ALL {
        let run = run(kernel, &mesh);
        let same = Mapping::identity(&run).unwrap().apply(&run).unwrap();
        assert_eq!(same.blocks(), run.blocks(), "{kernel:?}");
    }
}

#[test]
fn mapping_joins_sharing_threads_and_keeps_all_accesses() {
    let run = run(Kernel::Sta, &scattered());
    let count = |run: &KernelRun| Transactions::of(run, DataLayout::Moved).unwrap();
    let before = count(&run);
    for stage in [
        MappingDepth::Threads,
        MappingDepth::Warps,
        MappingDepth::Blocks,
    ] {
        let mapping = map(&run, DataLayout::Moved, Common::Requests, 32, stage, 1).unwrap();
        let after = mapping.apply(&run).unwrap();
        assert_eq!(after.touches(), run.touches());
        let counted = count(&after);
        assert!(
            counted.sectors <= before.sectors,
            "{stage:?}: {before:?} {counted:?}"
        );
        let total = |run: &KernelRun| {
            let streams = Scenario::Merged.streams(run, &Sequential, &RoundRobin);
            characteristic(&streams[0], Limits::default())
                .unwrap()
                .total()
        };
        // All blocks at once do the same in any order.
        assert_eq!(total(&after), total(&run), "{stage:?}");
    }
}

#[test]
fn invalid_mappings_are_rejected() {
    assert!(Mapping::new(vec![0, 1, 1, 3], 4).is_err());
    assert!(Mapping::new(vec![0, 1, 4, 3], 4).is_err());
    assert!(Mapping::new(vec![0, 1, 2], 2).is_err());
    let run = run(Kernel::Sta, &scattered());
    assert!(Mapping::new(vec![1, 0], 2).unwrap().apply(&run).is_err());
    assert!(
        map(
            &run,
            DataLayout::Moved,
            Common::Data,
            24,
            MappingDepth::Threads,
            1
        )
        .is_err()
    );
}
