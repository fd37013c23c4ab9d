//! The characteristic and all scenarios equal the definition.

use proptest::prelude::*;
use reuselens_simt::characteristic::{Limits, characteristic, naive};
use reuselens_simt::scenario::{
    BLOCK_SCHEDULERS, ReferenceStream, RoundRobin, Scenario, Sequential, WARP_SCHEDULERS,
    block_scheduler, warp_scheduler,
};
use reuselens_simt::sharing::SharingMatrix;
use reuselens_simt::transactions::{DataLayout, Transactions};
use reuselens_simt::{
    Alignment, ContourClass, Difference, Grain, ItemClass, KernelRun, Loading, SimtError,
};
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
    let loading = Loading {
        alignment,
        grain,
        ..Loading::default()
    };
    load(accesses, 1, loading)
}

/// Reads accesses whose addresses are `apart` times as far apart.
fn load(accesses: &[ThreadAccess], apart: u64, loading: Loading) -> KernelRun {
    let mut stream = WarpStream::new();
    let launch = Launch {
        kernel: "k".into(),
        grid: Extent::line(7),
        block: Extent::line(96),
        used: None,
        arrays: [].into(),
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
        addresses.iter_mut().for_each(|address| *address *= apart);
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
    fn streams_in_a_file_are_those_in_memory(accesses in accesses(), by_sites in any::<bool>()) {
        let alignment = if by_sites { Alignment::Sites } else { Alignment::Positions };
        let loading = Loading { alignment, ..Loading::default() };
        // What is known of the items takes some 600 bytes, and most records are in the file.
        let within = Loading { memory: 2500, ..loading };
        let (memory, file) = (load(&accesses, 1, loading), load(&accesses, 1, within));
        prop_assert_eq!(memory.blocks(), file.blocks());
        prop_assert!(accesses.len() < 30 || file.bytes() < memory.bytes());
        let streams = |run| Scenario::Merged.streams(run, &Sequential, &RoundRobin);
        let limits = limits(2, 1 << 10);
        let from_file = characteristic(&streams(&file)[0], limits).unwrap();
        prop_assert_eq!(from_file, characteristic(&streams(&memory)[0], limits).unwrap());
        file.check().unwrap();
    }

    #[test]
    fn classes_of_items_add_up(accesses in accesses(), count in 2..6_u32, units in 1..80_usize) {
        let of_class = |index, count| Loading { class: ItemClass { index, count }, ..Loading::default() };
        let all = load(&accesses, 4096, of_class(0, 1));
        let parts: Vec<KernelRun> = (0..count).map(|at| load(&accesses, 4096, of_class(at, count))).collect();
        let kept = Transactions::of(&all, DataLayout::Kept).unwrap();
        prop_assert_eq!(all.loaded_transactions(), Some(kept));
        let sectors: u64 = parts.iter().map(|part| part.loaded_transactions().unwrap().sectors).sum();
        prop_assert_eq!(sectors, kept.sectors);
        let shared = |run: &KernelRun| (SharingMatrix::of_blocks(run, 3), SharingMatrix::of_warps(run, 0));
        let mut sum = shared(&parts[0]);
        for part in &parts {
            prop_assert_eq!((part.touches(), part.loaded_transactions().unwrap().requests), (all.touches(), kept.requests));
        }
        for (blocks, warps) in parts[1..].iter().map(shared) {
            sum.0.add(&blocks);
            sum.1.add(&warps);
        }
        prop_assert_eq!(sum, shared(&all));
        for scenario in [
            Scenario::Each,
            Scenario::Merged,
            Scenario::Collective { clusters: 2, units },
        ] {
            let found = |run: &KernelRun| -> Vec<_> {
                let streams = scenario.streams(run, &Sequential, &RoundRobin);
                streams.iter().map(|stream| characteristic(stream, limits(2, 1 << 20)).unwrap()).collect()
            };
            let mut sum = found(&parts[0]);
            for part in &parts[1..] {
                let one = found(part);
                prop_assert_eq!(one.len(), sum.len());
                sum.iter_mut().zip(&one).for_each(|(sum, one)| sum.add_class(one));
            }
            prop_assert_eq!(sum, found(&all), "{:?}", scenario);
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

#[test]
fn items_beyond_half_of_the_memory_are_refused() {
    let mut stream = WarpStream::new();
    let launch = Launch {
        kernel: "k".into(),
        grid: Extent::line(1),
        block: Extent::line(32),
        used: None,
        arrays: [].into(),
        sites: [].into(),
    };
    stream.launch(&launch).unwrap();
    let mut batch = WarpBatch::new();
    for position in 1..=4000 {
        batch.push(&WarpAccess {
            site: 0,
            phase: 0,
            position,
            block: 0,
            warp: 0,
            mask: u32::MAX,
            space: Space::Global,
            kind: WarpKind::Load,
            bytes: 4,
            addresses: std::array::from_fn(|lane| position * 4096 + lane as u64 * 8),
        });
    }
    stream.batch(&batch).unwrap();
    let read = |count| {
        let loading = Loading {
            memory: 1 << 20,
            class: ItemClass { index: 0, count },
            ..Loading::default()
        };
        KernelRun::read(&mut stream.source(), loading)
    };
    let refused = read(1).err().unwrap();
    assert!(
        matches!(refused, SimtError::TooManyItems { limit: 0x10_0000 }),
        "{refused}"
    );
    let part = read(16).unwrap();
    assert!((4000..16_000).contains(&part.items()), "{}", part.items());
}
