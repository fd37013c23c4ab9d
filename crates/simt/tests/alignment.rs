//! Warps of a block are put in one order as the definitions of the alignments say, and as barriers
//! do.

use std::collections::BTreeMap;

use proptest::prelude::*;
use reuselens_simt::mapping::Mapping;
use reuselens_simt::{Alignment, KernelRun, Loading};
use reuselens_warp::{
    Extent, Launch, Space, WarpAccess, WarpBatch, WarpKind, WarpSink, WarpStream,
};

const WARPS: u32 = 3;

/// One record of a warp: its site, the address that each of its 32 lanes accesses, and how many
/// barriers come right before it.
type Step = (u32, u64, u32);

/// A record as the stream has it.
#[derive(Clone, Copy, Debug)]
struct Record {
    warp: u32,
    phase: u32,
    position: u64,
    site: u32,
    address: u64,
}

/// One instruction of the block: phase, site, and the warps that issue it with their addresses.
type Issued = (u32, u32, Vec<(u32, u64)>);

fn warps() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let barriers = prop_oneof![3 => Just(0_u32), 2 => 1..3_u32];
    let step = (0..4_u32, (0..6_u64).prop_map(|item| item * 8), barriers);
    prop::collection::vec(prop::collection::vec(step, 0..9), WARPS as usize)
}

fn records(warps: &[Vec<Step>]) -> Vec<Record> {
    let of_warp = |(warp, steps): (u32, &Vec<Step>)| {
        let (mut phase, mut position) = (0, 0);
        let record = |&(site, address, barriers): &Step| {
            if barriers > 0 {
                (phase, position) = (phase + barriers, 0);
            }
            position += 1;
            Record {
                warp,
                phase,
                position,
                site,
                address,
            }
        };
        steps.iter().map(record).collect::<Vec<_>>()
    };
    (0..).zip(warps).flat_map(of_warp).collect()
}

fn read(records: &[Record], alignment: Alignment) -> KernelRun {
    let mut stream = WarpStream::new();
    let launch = Launch {
        kernel: "k".into(),
        grid: Extent::line(1),
        block: Extent::line(WARPS * 32),
        used: None,
        arrays: [].into(),
        sites: [].into(),
    };
    stream.launch(&launch).unwrap();
    let mut batch = WarpBatch::new();
    for record in records {
        batch.push(&WarpAccess {
            site: record.site,
            phase: record.phase,
            position: record.position,
            block: 0,
            warp: record.warp,
            mask: u32::MAX,
            space: Space::Global,
            kind: WarpKind::Load,
            bytes: 4,
            addresses: [record.address; 32],
        });
    }
    stream.batch(&batch).unwrap();
    let loading = Loading {
        alignment,
        ..Loading::default()
    };
    KernelRun::read(&mut stream.source(), loading).unwrap()
}

fn by_positions(records: &[Record]) -> Vec<Issued> {
    let mut all: BTreeMap<(u32, u64, u32), Vec<(u32, u64)>> = BTreeMap::new();
    for record in records {
        let key = (record.phase, record.position, record.site);
        all.entry(key)
            .or_default()
            .push((record.warp, record.address));
    }
    let issued = |((phase, _, site), warps)| (phase, site, warps);
    all.into_iter().map(issued).collect()
}

fn by_sites(records: &[Record]) -> Vec<Issued> {
    let mut left = records.to_vec();
    let mut all = Vec::new();
    while !left.is_empty() {
        let next = |warp| left.iter().position(|record| record.warp == warp);
        let heads: Vec<usize> = (0..WARPS).filter_map(next).collect();
        let place = |at: &usize| (left[*at].phase, left[*at].site);
        let (phase, site) = heads.iter().map(place).min().unwrap();
        let issued: Vec<usize> = heads
            .into_iter()
            .filter(|at| place(at) == (phase, site))
            .collect();
        let warps = issued.iter().map(|&at| (left[at].warp, left[at].address));
        all.push((phase, site, warps.collect()));
        let mut at = 0..;
        left.retain(|_| !issued.contains(&at.next().unwrap()));
    }
    all
}

/// What a run has, in the form of the definitions.
fn issued(run: &KernelRun) -> Vec<Issued> {
    let Some(block) = run.blocks().first() else {
        return Vec::new();
    };
    let mut all = Vec::new();
    block.visit(|found| {
        let threads = found.threads.iter().zip(found.items);
        let first_lanes = threads.filter(|(thread, _)| **thread % 32 == 0);
        let warp = |(&thread, &item): (&u16, &u32)| (u32::from(thread) / 32, run.address(item));
        all.push((found.phase, found.site, first_lanes.map(warp).collect()));
    });
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn alignments_equal_their_definitions(warps in warps()) {
        let records = records(&warps);
        let positions = read(&records, Alignment::Positions);
        prop_assert_eq!(issued(&positions), by_positions(&records));
        let sites = read(&records, Alignment::Sites);
        prop_assert_eq!(issued(&sites), by_sites(&records));
        // Threads that stay where they are stay in their phases.
        let unmoved = Mapping::identity(&sites).unwrap().apply(&sites).unwrap();
        prop_assert_eq!(unmoved.blocks(), sites.blocks());
    }
}
