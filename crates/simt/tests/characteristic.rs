//! The characteristic and all scenarios equal the definition.

use proptest::prelude::*;
use reuselens_simt::characteristic::{Limits, characteristic, naive};
use reuselens_simt::scenario::{
    BLOCK_SCHEDULERS, ReferenceStream, Scenario, WARP_SCHEDULERS, block_scheduler, warp_scheduler,
};
use reuselens_simt::{Alignment, ContourClass, Difference, Grain, KernelRun, Loading};
use reuselens_warp::{
    Extent, Launch, Space, WarpAccess, WarpBatch, WarpKind, WarpSink, WarpStream,
};

fn limits(threads: usize, memory: u64) -> Limits {
    Limits { threads, memory }
}

#[test]
fn characteristic_of_the_worked_example() {
    let text = ["AABC", "DEFG", "NAAH", "IJPL", "MNHH"];
    let stream: Vec<Vec<u32>> = text
        .iter()
        .map(|i| i.bytes().map(u32::from).collect())
        .collect();
    let found = characteristic(&stream[..], Limits::default()).unwrap();
    assert_eq!(found.entries().collect::<Vec<_>>(), [(2, 5)]);
    assert_eq!(
        (found.total(), found.peak(), found.domain()),
        (5, Some((2, 5)), 2)
    );
    assert_eq!(
        (found.instructions(), found.touches(), found.items()),
        (5, 20, 14)
    );
    assert_eq!(found, naive(&stream[..]));
    assert_eq!(found.shape(), ContourClass::NearlyFromTwo);
}

fn instructions() -> impl Strategy<Value = Vec<Vec<u32>>> {
    (1..40_u32, 0..120_usize).prop_flat_map(|(items, length)| {
        prop::collection::vec(prop::collection::vec(0..items, 0..12), length)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1200))]

    #[test]
    fn any_stream_has_the_characteristic_of_the_definition(
        stream in instructions(), threads in 1..4_usize, memory in prop_oneof![Just(0_u64), Just(1 << 30)],
    ) {
        let found = characteristic(&stream[..], limits(threads, memory)).unwrap();
        prop_assert_eq!(found, naive(&stream[..]));
    }
}

/// One record: site, block, warp, mask, an address for each lane, and how many barriers come right
/// before it.
type ThreadAccess = (u32, u32, u32, u32, Vec<u64>, u32);

fn run(accesses: &[ThreadAccess], alignment: Alignment, grain: Grain) -> KernelRun {
    let mut stream = WarpStream::new();
    let launch = Launch {
        kernel: "k".into(),
        grid: Extent::line(7),
        block: Extent::line(96),
        sites: [].into(),
    };
    stream.launch(&launch).unwrap();
    let mut batch = WarpBatch::new();
    let mut places = std::collections::HashMap::new();
    for (site, block, warp, mask, lanes, barriers) in accesses {
        let (phase, position) = places.entry((*block, *warp)).or_insert((0, 0_u64));
        if *barriers > 0 {
            (*phase, *position) = (*phase + barriers, 0);
        }
        *position += 1;
        let mut addresses = [0; 32];
        addresses.copy_from_slice(lanes);
        batch.push(&WarpAccess {
            site: *site,
            phase: *phase,
            position: *position,
            block: *block,
            warp: *warp,
            mask: *mask,
            space: Space::Global,
            kind: WarpKind::Load,
            bytes: 8,
            addresses,
        });
    }
    stream.batch(&batch).unwrap();
    let loading = Loading {
        alignment,
        grain,
        ..Loading::default()
    };
    KernelRun::read(&mut stream.source(), loading).unwrap()
}

fn accesses() -> impl Strategy<Value = Vec<ThreadAccess>> {
    let lanes = prop::collection::vec((0..30_u64).prop_map(|item| item * 4), 32);
    let barriers = prop_oneof![4 => Just(0_u32), 1 => 1..3_u32];
    let one = (0..4_u32, 0..7_u32, 0..3_u32, 1..=u32::MAX, lanes, barriers);
    prop::collection::vec(one, 0..40)
}

/// Memory instructions of each block, by position: the definition of the alignment by positions.
fn by_position(run: &KernelRun) -> Vec<Vec<Vec<u32>>> {
    let block = |block: &reuselens_simt::BlockStream| {
        let mut all = Vec::new();
        block.visit(|found| all.push(found.items.to_vec()));
        all
    };
    run.blocks().iter().map(block).collect()
}

fn merged(blocks: &[&Vec<Vec<u32>>]) -> Vec<Vec<u32>> {
    let length = blocks.iter().map(|block| block.len()).max().unwrap_or(0);
    let at = |at: usize| {
        blocks
            .iter()
            .filter_map(|b| b.get(at))
            .flatten()
            .copied()
            .collect()
    };
    (0..length).map(at).collect()
}

fn cut(stream: Vec<Vec<u32>>, units: usize) -> Vec<Vec<u32>> {
    let each = stream
        .iter()
        .flat_map(|items| items.chunks(units).map(<[u32]>::to_vec));
    each.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn all_scenarios_are_those_of_the_definition(
        accesses in accesses(), k in 1..5_usize, units in 1..80_usize, by_sites in any::<bool>(),
    ) {
        let alignment = if by_sites { Alignment::Sites } else { Alignment::Positions };
        let run = run(&accesses, alignment, Grain::Element);
        let blocks = by_position(&run);
        let all: Vec<&Vec<Vec<u32>>> = blocks.iter().collect();
        let groups: Vec<Vec<Vec<u32>>> = all.chunks(k).map(merged).collect();
        let cluster = |c: usize| all.iter().skip(c).step_by(k).copied().cloned().collect::<Vec<_>>().concat();
        let clusters = k.min(blocks.len().max(1));
        let expected = [
            (Scenario::Serialised, vec![blocks.concat()]),
            (Scenario::Each, blocks.clone()),
            (Scenario::Merged, vec![merged(&all)]),
            (Scenario::Concurrent { blocks: k }, vec![groups.concat()]),
            (Scenario::Clusters { clusters: k, units }, (0..clusters).map(|c| cut(cluster(c), units)).collect()),
            (
                Scenario::Collective { clusters: k, units },
                vec![cut(groups.concat(), units * k)],
            ),
        ];
        let blocks = block_scheduler("sequential", &run).unwrap();
        let warps = warp_scheduler("round-robin").unwrap();
        for (scenario, expected) in expected {
            let streams = scenario.streams(&run, &*blocks, &*warps);
            prop_assert_eq!(streams.len(), expected.len());
            for (stream, expected) in streams.iter().zip(&expected) {
                let found = characteristic(stream, limits(2, 1 << 30)).unwrap();
                let right = naive(&expected[..]);
                prop_assert_eq!(&found, &right, "{:?}", scenario);
                prop_assert_eq!(&found, &naive(stream));
            }
        }
    }

    #[test]
    fn every_scheduler_serves_each_thread_once(accesses in accesses(), k in 1..5_usize, units in 1..80_usize) {
        let line = Grain::Lines(reuselens_units::Granularity::new(8).unwrap());
        let run = run(&accesses, Alignment::Sites, line);
        for (block_name, _) in BLOCK_SCHEDULERS {
            for (warp_name, _) in WARP_SCHEDULERS {
                let blocks = block_scheduler(block_name, &run).unwrap();
                let warps = warp_scheduler(warp_name).unwrap();
                for scenario in [
                    Scenario::Concurrent { blocks: k },
                    Scenario::Clusters { clusters: k, units },
                    Scenario::Collective { clusters: k, units },
                ] {
                    let streams = scenario.streams(&run, &*blocks, &*warps);
                    let mut seen = vec![0_u64; run.items() as usize];
                    for stream in &streams {
                        let mut last = 0;
                        stream.visit(&mut |position, items| {
                            assert!(position >= last && position < stream.instructions());
                            last = position;
                            items.iter().for_each(|&item| seen[item as usize] += 1);
                        });
                        let found = characteristic(stream, Limits::default()).unwrap();
                        prop_assert_eq!(found, naive(stream));
                    }
                    prop_assert_eq!(seen.iter().sum::<u64>(), run.touches());
                }
            }
        }
    }
}

#[test]
fn dense_lists_are_exact_too() {
    // One item in nearly every instruction, some hundred more with their own rhythms.
    let stream: Vec<Vec<u32>> = (0..6000_u32)
        .map(|at| {
            let rhythms = (1..200).filter(|&item| at % item == 0);
            rhythms.chain(vec![0; (at % 7) as usize]).collect()
        })
        .collect();
    let found = characteristic(&stream[..], Limits::default()).unwrap();
    let mut degrees = vec![0; 6001];
    for item in 0..200_u32 {
        let count = |at: usize| stream[at].iter().filter(|&&i| i == item).count() as u64;
        let list: Vec<(usize, u64)> = (0..6000)
            .map(|at| (at, count(at)))
            .filter(|e| e.1 > 0)
            .collect();
        for (at, &(later, count)) in list.iter().enumerate() {
            list[..at]
                .iter()
                .for_each(|(earlier, _)| degrees[later - earlier] += count);
        }
    }
    assert_eq!(found.entries().collect::<Vec<_>>(), {
        let all = degrees.into_iter().enumerate().filter(|d| d.1 > 0);
        all.map(|(d, degree)| (d as u64, degree))
            .collect::<Vec<_>>()
    });
}

#[test]
fn a_difference_is_after_minus_before() {
    let before = naive(&[vec![1], vec![1, 1], vec![2], vec![1]][..]);
    let after = naive(&[vec![1], vec![1], vec![2]][..]);
    let found = Difference::between(&before, &after);
    assert_eq!(found.changes, [(1, -1), (2, -1), (3, -1)]);
    assert_eq!((found.sum, found.domain), (-3, (3, 1)));
}
