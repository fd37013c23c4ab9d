//! Streams that are longer than what is kept at a time: renumbered times, cut blocks, cut waves.

use std::collections::BTreeMap;

use crate::support::{Random, Record, analyse, launch, random_launch};
use reuselens_gpu_advisor::{AdvisorOptions, LaunchContext, ReuseCounts};
use reuselens_units::Distance;
use reuselens_warp::{Space, WarpKind};

fn record(random: &mut Random, position: u64, lines: u64) -> Record {
    let base = random.below(lines) * 128 + random.pick(&[0, 0, 0, 64, 4]);
    let step = random.pick(&[0, 4, 4, 4, 4, 8, 128]);
    Record {
        site: 0,
        phase: 0,
        position,
        block: 0,
        warp: 0,
        mask: u32::MAX,
        space: Space::Global,
        kind: random.pick(&[
            WarpKind::Load,
            WarpKind::Load,
            WarpKind::Load,
            WarpKind::Store,
        ]),
        bytes: 4,
        addresses: (0..32).map(|lane| base + lane * step).collect(),
    }
}

/// Histograms of one warp, from the last request of each item.
fn plain(records: &[Record], size: u64, by_lane: bool) -> ReuseCounts {
    let mut sum = ReuseCounts::default();
    let mut last: BTreeMap<u64, usize> = BTreeMap::new();
    let mut uses: BTreeMap<u64, u64> = BTreeMap::new();
    for (at, record) in records.iter().enumerate() {
        let mut own: Vec<u64> = record
            .addresses
            .iter()
            .map(|address| address / size)
            .collect();
        let lanes = own.len() as u64;
        own.sort_unstable();
        own.dedup();
        let mut add = |distance: Distance, accesses| match record.kind {
            WarpKind::Load => {
                sum.loads.add(distance, accesses);
                sum.load_distance_sum += distance.items().unwrap_or(0) * accesses;
            }
            _ => sum.stores.add(distance, accesses),
        };
        if by_lane && lanes > own.len() as u64 {
            add(Distance::ZERO, lanes - own.len() as u64);
        }
        let mut known: BTreeMap<usize, u64> = BTreeMap::new();
        for item in &own {
            let distance = match last.get(item) {
                Some(&before) if records[before].kind == WarpKind::Load => {
                    let since = known.entry(before).or_insert_with(|| {
                        last.values().filter(|&&other| other >= before).count() as u64
                    });
                    Distance::new(*since - 1)
                }
                _ => Distance::COLD,
            };
            add(distance, 1);
        }
        for &item in &own {
            last.insert(item, at);
            let lanes = record
                .addresses
                .iter()
                .filter(|&&address| address / size == item);
            *uses.entry(item).or_default() += if by_lane { lanes.count() as u64 } else { 1 };
        }
    }
    sum.items = uses.len() as u64;
    sum.streaming = uses.values().filter(|&&uses| uses == 1).count() as u64;
    sum
}

#[test]
fn distances_survive_renumbered_times() {
    for (seed, lines) in [(1, 3), (2, 40), (3, 300), (4, 2000)] {
        let mut random = Random(seed);
        let records: Vec<Record> = (1..=3000)
            .map(|at| record(&mut random, at, lines))
            .collect();
        let options = AdvisorOptions::default();
        let report = analyse(options, &launch(1, 32), &LaunchContext::default(), &records);
        let reuse = report.reuse.expect("reuse is measured");
        let (elements, by_line) = (plain(&records, 4, true), plain(&records, 128, false));
        assert_eq!(reuse.cta_elements, elements);
        assert_eq!(reuse.cta_lines, by_line);
        assert_eq!(reuse.warp_elements, elements);
        assert_eq!(reuse.warp_lines, by_line);
    }
}

#[test]
fn cut_blocks_are_counted_and_keep_what_needs_no_order() {
    let mut cut = 0;
    for seed in 0..100 {
        let random = random_launch(&mut Random(seed));
        let run = |window| {
            let options = AdvisorOptions {
                window,
                ..AdvisorOptions::default()
            };
            analyse(options, &random.launch, &random.context, &random.records)
        };
        let (whole, pieces) = (run(1 << 18), run(5));
        let (whole_reuse, reuse) = (whole.reuse.unwrap(), pieces.reuse.unwrap());
        assert_eq!(whole_reuse.cut_blocks, 0);
        assert_eq!(reuse.warp_elements, whole_reuse.warp_elements);
        assert_eq!(reuse.warp_lines, whole_reuse.warp_lines);
        let accesses = |counts: &ReuseCounts| (counts.all().accesses(), counts.streaming);
        assert_eq!(accesses(&reuse.cta_lines), accesses(&whole_reuse.cta_lines));
        assert_eq!(pieces.global, whole.global);
        cut += reuse.cut_blocks;
    }
    assert!(cut > 0);
}

#[test]
fn cut_waves_are_counted_and_keep_all_requests() {
    let mut cut = 0;
    for seed in 0..100 {
        let random = random_launch(&mut Random(seed));
        let run = |resident_window| {
            let options = AdvisorOptions {
                resident_window,
                ..AdvisorOptions::default()
            };
            let report = analyse(options, &random.launch, &random.context, &random.records);
            report.caches.expect("caches are modelled")
        };
        let (whole, pieces) = (run(1 << 22), run(600));
        assert_eq!((whole.cut_waves, whole.waves), (0, 1));
        assert_eq!((whole.cut_blocks, pieces.cut_blocks), (0, 0));
        assert_eq!(pieces.waves, 1 + pieces.cut_waves);
        assert_eq!(pieces.l1.loads, whole.l1.loads);
        assert_eq!(pieces.l1.stores, whole.l1.stores);
        cut += pieces.cut_waves;
    }
    assert!(cut > 0);
}

#[test]
fn requests_of_a_long_block_are_kept_up_to_the_window() {
    let mut random = Random(7);
    let records: Vec<Record> = (1..=3000).map(|at| record(&mut random, at, 40)).collect();
    let run = |window, resident_window| {
        let options = AdvisorOptions {
            window,
            resident_window,
            ..AdvisorOptions::default()
        };
        analyse(options, &launch(1, 32), &LaunchContext::default(), &records)
    };
    let whole = run(1 << 18, 1 << 22);
    assert_eq!(whole.caches.unwrap().cut_blocks, 0);
    for window in [1 << 18, 50] {
        let cut = run(window, 100);
        let caches = cut.caches.unwrap();
        assert_eq!((caches.cut_blocks, caches.waves), (1, 1));
        // 100 lines of up to four sectors.
        let sectors = caches.l1.loads + caches.l1.stores;
        assert!((1..=400).contains(&sectors), "{sectors}");
        assert_eq!(cut.global, whole.global);
        assert_eq!(cut.divergence, whole.divergence);
    }
}
