//! Every count equals an independent calculation from the records, on random launches.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Random, RandomLaunch, Record, analyse, random_launch};
use reuselens_gpu_advisor::{
    AdvisorOptions, CacheCounts, CacheShape, GlobalCounts, GpuModel, KernelReport, ReuseCounts,
    StorePolicy,
};
use reuselens_locality::Log2Histogram;
use reuselens_units::Distance;
use reuselens_warp::{Space, WarpKind};

/// Random launches of each test.
const LAUNCHES: u64 = 600;

/// A GPU small enough for evictions.
fn small_gpu(random: &mut Random) -> GpuModel {
    let shape = |random: &mut Random, lines: &[u64]| CacheShape {
        bytes: 128 * random.pick(lines),
        ways: random.pick(&[1, 2, 4, 16]),
    };
    GpuModel {
        name: "small",
        sms: random.pick(&[1, 2, 3]),
        blocks_per_sm: random.pick(&[1, 2, 4]),
        warps_per_sm: 6,
        shared_per_sm: 1 << 10,
        shared_per_block: 1 << 10,
        shared_reserved: 0,
        shared_granularity: 1,
        l1: shape(random, &[4, 8, 12, 16]),
        l2: shape(random, &[8, 16, 24, 32]),
        stores: random.pick(&[StorePolicy::Update, StorePolicy::Evict]),
    }
}

fn for_random_launches(check: impl Fn(&RandomLaunch, &KernelReport, AdvisorOptions)) {
    for seed in 0..LAUNCHES {
        let mut random = Random(seed);
        let launch = random_launch(&mut random);
        let options = AdvisorOptions {
            element_bytes: random.pick(&[4, 4, 8, 16]),
            line_bytes: random.pick(&[128, 128, 64, 32]),
            model: small_gpu(&mut random),
            ..AdvisorOptions::default()
        };
        let report = analyse(options, &launch.launch, &launch.context, &launch.records);
        check(&launch, &report, options);
    }
}

/// The items of `size` bytes that an access covers.
fn items(address: u64, bytes: u8, size: u64) -> std::ops::RangeInclusive<u64> {
    address / size..=(address + u64::from(bytes) - 1) / size
}

fn distinct(record: &Record, size: u64) -> BTreeSet<u64> {
    let addresses = record.addresses.iter();
    addresses
        .flat_map(|&address| items(address, record.bytes, size))
        .collect()
}

fn global(records: &[Record]) -> impl Iterator<Item = &Record> {
    records
        .iter()
        .filter(|record| record.space == Space::Global)
}

fn counts<'a>(records: impl Iterator<Item = &'a Record>) -> GlobalCounts {
    let mut sum = GlobalCounts::default();
    for record in records {
        sum.requests += 1;
        sum.lanes += record.addresses.len() as u64;
        sum.bytes += record.addresses.len() as u64 * u64::from(record.bytes);
        sum.lines += distinct(record, 128).len() as u64;
        sum.sectors += distinct(record, 32).len() as u64;
        sum.ideal_sectors += (distinct(record, 1).len() as u64).div_ceil(32);
    }
    sum
}

#[test]
fn divergence_equals_sets_of_lines_and_sectors() {
    for_random_launches(|launch, report, _| {
        assert_eq!(report.global, counts(global(&launch.records)));
        for (kind, degrees) in [
            (WarpKind::Load, &report.divergence.loads),
            (WarpKind::Store, &report.divergence.stores),
            (WarpKind::Atomic, &report.divergence.atomics),
        ] {
            let (mut lines, mut sectors) = ([0; 33], [0; 33]);
            for record in global(&launch.records).filter(|record| record.kind == kind) {
                lines[distinct(record, 128).len().min(32)] += 1;
                sectors[distinct(record, 32).len().min(32)] += 1;
            }
            assert_eq!((degrees.lines, degrees.sectors), (lines, sectors));
        }
        for site in &report.by_site {
            let own = global(&launch.records).filter(|record| record.site == site.site);
            assert_eq!(site.counts.global, counts(own));
        }
    });
}

#[test]
fn objects_have_the_lines_whose_lowest_address_is_theirs() {
    for_random_launches(|launch, report, _| {
        let mut expected: BTreeMap<Option<u32>, GlobalCounts> = BTreeMap::new();
        for record in global(&launch.records) {
            let mut bytes: BTreeMap<Option<u32>, u64> = BTreeMap::new();
            for line in distinct(record, 128) {
                let own: Vec<u64> = distinct(record, 1)
                    .into_iter()
                    .filter(|byte| byte / 128 == line)
                    .collect();
                let object = launch
                    .context
                    .objects
                    .iter()
                    .find(|range| (range.start..range.end).contains(&own[0]));
                let object = object.map(|range| range.object);
                let sum = expected.entry(object).or_default();
                let begin = record.addresses.iter().filter(|&at| at / 128 == line);
                let lanes = begin.count() as u64;
                sum.lanes += lanes;
                sum.bytes += lanes * u64::from(record.bytes);
                sum.lines += 1;
                sum.sectors += own
                    .iter()
                    .map(|byte| byte / 32)
                    .collect::<BTreeSet<_>>()
                    .len() as u64;
                *bytes.entry(object).or_default() += own.len() as u64;
            }
            for (object, bytes) in bytes {
                let sum = expected.entry(object).or_default();
                sum.requests += 1;
                sum.ideal_sectors += bytes.div_ceil(32);
            }
        }
        let found = report
            .by_object
            .iter()
            .map(|row| (row.object, row.counts.global.all()));
        assert_eq!(found.collect::<BTreeMap<_, _>>(), expected);
    });
}

#[test]
fn bank_conflicts_equal_sets_of_words() {
    for_random_launches(|launch, report, _| {
        let (mut needed, mut ideal, mut requests) = (0, 0, 0);
        for record in &launch.records {
            if record.space != Space::Shared {
                continue;
            }
            requests += 1;
            let lanes_of_part = match record.bytes {
                0..=4 => 32,
                5..=8 => 16,
                _ => 8,
            };
            let lanes: Vec<u32> = record.row().lanes().collect();
            for part in 0..32 / lanes_of_part {
                let mut banks: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
                for (&lane, &address) in lanes.iter().zip(&record.addresses) {
                    if lane / lanes_of_part == part {
                        for word in items(address, record.bytes, 4) {
                            banks.entry(word % 32).or_default().insert(word);
                        }
                    }
                }
                needed += banks.values().map(BTreeSet::len).max().unwrap_or(0) as u64;
                ideal += u64::from(!banks.is_empty());
            }
        }
        let all = report.banks.all();
        let found = (all.requests, all.wavefronts, all.ideal_wavefronts);
        assert_eq!(found, (requests, needed, ideal));
        let by_site: u64 = report
            .by_site
            .iter()
            .map(|site| site.counts.shared.wavefronts)
            .sum();
        assert_eq!(by_site, needed);
    });
}

/// Histograms of the requests of one scope, in order, by the definition.
fn reuse(records: &[&Record], size: u64, by_lane: bool, sum: &mut ReuseCounts) {
    let sets: Vec<BTreeSet<u64>> = records
        .iter()
        .map(|record| distinct(record, size))
        .collect();
    let mut uses: BTreeMap<u64, u64> = BTreeMap::new();
    for (at, record) in records.iter().enumerate() {
        let accesses: Vec<u64> = if by_lane {
            (record.addresses.iter())
                .flat_map(|&address| items(address, record.bytes, size))
                .collect()
        } else {
            sets[at].iter().copied().collect()
        };
        let mut seen = BTreeSet::new();
        for item in accesses {
            *uses.entry(item).or_default() += 1;
            let last = (0..at).rev().find(|&before| sets[before].contains(&item));
            let distance = if !seen.insert(item) {
                Distance::ZERO
            } else if let Some(last) = last
                && records[last].kind == WarpKind::Load
            {
                let between: BTreeSet<&u64> = sets[last..at].iter().flatten().collect();
                Distance::new(between.len() as u64 - 1)
            } else {
                Distance::COLD
            };
            if record.kind == WarpKind::Load {
                sum.loads.add(distance, 1);
                sum.load_distance_sum += distance.items().unwrap_or(0);
            } else {
                sum.stores.add(distance, 1);
            }
        }
    }
    sum.items += uses.len() as u64;
    sum.streaming += uses.values().filter(|&&uses| uses == 1).count() as u64;
}

/// The global requests of a block in their order.
fn ordered(launch: &RandomLaunch, block: u32) -> Vec<&Record> {
    let mut records: Vec<&Record> = global(&launch.records)
        .filter(|record| record.block == block)
        .collect();
    records.sort_by_key(|record| (record.phase, record.position, record.warp));
    records
}

#[test]
fn reuse_distances_equal_their_definition() {
    for_random_launches(|launch, report, options| {
        let mut sums: [ReuseCounts; 4] = Default::default();
        let (element, line) = (options.element_bytes.into(), options.line_bytes.into());
        for block in 0..launch.launch.grid.x {
            let records = ordered(launch, block);
            reuse(&records, element, true, &mut sums[0]);
            reuse(&records, line, false, &mut sums[1]);
            for warp in 0..launch.launch.warps() as u32 {
                let own: Vec<&Record> = (records.iter().copied())
                    .filter(|record| record.warp == warp)
                    .collect();
                reuse(&own, element, true, &mut sums[2]);
                reuse(&own, line, false, &mut sums[3]);
            }
        }
        let found = report.reuse.clone().expect("reuse is measured");
        assert_eq!(found.cut_blocks, 0);
        assert_eq!(found.element_bytes, options.element_bytes);
        assert_eq!(found.line_bytes, options.line_bytes);
        let found = [
            found.cta_elements,
            found.cta_lines,
            found.warp_elements,
            found.warp_lines,
        ];
        for (found, sum) in found.iter().zip(&sums) {
            assert_eq!(found, sum);
        }
        for (sum, total) in [
            (
                report
                    .by_site
                    .iter()
                    .map(|row| row.counts.reuse)
                    .collect::<Vec<_>>(),
                &sums,
            ),
            (
                report
                    .by_object
                    .iter()
                    .map(|row| row.counts.reuse)
                    .collect(),
                &sums,
            ),
        ] {
            let lines: u64 = sum.iter().map(|row| row.loads).sum();
            let reuses: u64 = sum.iter().map(|row| row.reuses).sum();
            let distances: u64 = sum.iter().map(|row| row.distance_sum).sum();
            let elements: u64 = sum.iter().map(|row| row.element_loads).sum();
            let element_reuses: u64 = sum.iter().map(|row| row.element_reuses).sum();
            assert_eq!(lines, total[1].loads.accesses());
            assert_eq!(reuses, total[1].load_reuses());
            assert_eq!(distances, total[1].load_distance_sum);
            assert_eq!(elements, total[0].loads.accesses());
            assert_eq!(element_reuses, total[0].load_reuses());
        }
    });
}

#[test]
fn reused_sectors_equal_sets() {
    for_random_launches(|launch, report, _| {
        let (mut all, mut reused) = (0, 0);
        for block in 0..launch.launch.grid.x {
            let mut loaded = BTreeSet::new();
            for record in ordered(launch, block) {
                let sectors = distinct(record, 32);
                if record.kind == WarpKind::Load {
                    all += sectors.len() as u64;
                    reused += sectors.intersection(&loaded).count() as u64;
                    loaded.extend(sectors);
                } else {
                    loaded.retain(|sector| !sectors.contains(sector));
                }
            }
        }
        let rows = report.by_object.iter().map(|row| row.counts.reuse);
        let sum = rows.fold((0, 0), |sum, row| {
            (sum.0 + row.sectors, sum.1 + row.reused_sectors)
        });
        assert_eq!(sum, (all, reused));
    });
}

/// A cache as lists of lines, the last one used last.
struct PlainCache {
    sets: Vec<Vec<(u64, BTreeSet<u64>)>>,
    ways: usize,
}

impl PlainCache {
    fn new(shape: CacheShape) -> PlainCache {
        let lines = shape.bytes / 128;
        let ways = u64::from(shape.ways).min(lines);
        PlainCache {
            sets: vec![Vec::new(); (lines / ways) as usize],
            ways: ways as usize,
        }
    }

    fn set(&mut self, line: u64) -> &mut Vec<(u64, BTreeSet<u64>)> {
        let hash = line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let set = (hash * self.sets.len() as u64) >> 32;
        &mut self.sets[set as usize]
    }

    /// Whether a sector was there; brings it in if `allocates`.
    fn access(&mut self, line: u64, sectors: &BTreeSet<u64>, allocates: bool) -> u64 {
        let ways = self.ways;
        let set = self.set(line);
        let found = set.iter().position(|entry| entry.0 == line);
        if found.is_none() && !allocates {
            return 0;
        }
        let mut entry = found.map_or((line, BTreeSet::new()), |at| set.remove(at));
        let hits = entry.1.intersection(sectors).count() as u64;
        if allocates {
            entry.1.extend(sectors);
        }
        set.push(entry);
        if set.len() > ways {
            set.remove(0);
        }
        hits
    }

    fn evict(&mut self, line: u64, sectors: &BTreeSet<u64>) -> u64 {
        let set = self.set(line);
        let Some(at) = set.iter().position(|entry| entry.0 == line) else {
            return 0;
        };
        let before = set[at].1.len();
        set[at].1.retain(|sector| !sectors.contains(sector));
        let after = set[at].1.len();
        if after == 0 {
            set.remove(at);
        }
        (before - after) as u64
    }

    fn request(
        &mut self,
        kind: WarpKind,
        line: u64,
        sectors: &BTreeSet<u64>,
        stores: StorePolicy,
    ) -> u64 {
        match (kind, stores) {
            (WarpKind::Load, _) => self.access(line, sectors, true),
            (WarpKind::Store, StorePolicy::Update) => self.access(line, sectors, false),
            (WarpKind::Store, StorePolicy::Evict) => self.evict(line, sectors),
            (WarpKind::Atomic, _) => {
                self.evict(line, sectors);
                0
            }
        }
    }
}

/// Global requests in the order of the schedule, each with its SM.
fn schedule<'l>(launch: &'l RandomLaunch, model: &GpuModel) -> Vec<(u64, &'l Record)> {
    let sms = u64::from(model.sms);
    let wave = sms * u64::from(model.resident_blocks(launch.launch.warps(), 0));
    let mut records: Vec<&Record> = global(&launch.records).collect();
    records.sort_by_key(|record| {
        (
            u64::from(record.block) / wave,
            record.phase,
            record.position,
            record.block,
            record.warp,
        )
    });
    records
        .into_iter()
        .map(|record| (u64::from(record.block) % sms, record))
        .collect()
}

/// The lines of a request in the order of lanes, each with its sectors.
fn lines(record: &Record) -> Vec<(u64, BTreeSet<u64>)> {
    let mut found: Vec<(u64, BTreeSet<u64>)> = Vec::new();
    for &address in &record.addresses {
        for sector in items(address, record.bytes, 32) {
            match found.iter_mut().find(|entry| entry.0 == sector / 4) {
                Some(entry) => {
                    entry.1.insert(sector);
                }
                None => found.push((sector / 4, BTreeSet::from([sector]))),
            }
        }
    }
    found
}

fn count(counts: &mut CacheCounts, kind: WarpKind, sectors: u64, hits: u64) {
    if kind == WarpKind::Load {
        counts.loads += sectors;
        counts.load_hits += hits;
    } else {
        counts.stores += sectors;
        counts.store_hits += hits;
    }
}

/// L1 and L2 counts, where the first `warps` warps of each block use the L1.
fn simulate(
    launch: &RandomLaunch,
    model: &GpuModel,
    warps: u32,
) -> (Vec<CacheCounts>, CacheCounts) {
    let mut caches: Vec<PlainCache> = (0..model.sms).map(|_| PlainCache::new(model.l1)).collect();
    let mut l2 = PlainCache::new(model.l2);
    let mut l1_counts = vec![CacheCounts::default(); model.sms as usize];
    let mut l2_counts = CacheCounts::default();
    for (sm, record) in schedule(launch, model) {
        let (sm, kind) = (sm as usize, record.kind);
        for (line, sectors) in lines(record) {
            let wanted = sectors.len() as u64;
            let mut missing = sectors.clone();
            if kind != WarpKind::Load || record.warp < warps {
                if kind == WarpKind::Load {
                    let set = caches[sm].set(line);
                    if let Some(entry) = set.iter().find(|entry| entry.0 == line) {
                        missing.retain(|sector| !entry.1.contains(sector));
                    }
                }
                let hits = caches[sm].request(kind, line, &sectors, model.stores);
                count(&mut l1_counts[sm], kind, wanted, hits);
            } else {
                count(&mut l1_counts[sm], kind, wanted, 0);
            }
            if !missing.is_empty() {
                let hits = l2.access(line, &missing, true);
                count(&mut l2_counts, kind, missing.len() as u64, hits);
            }
        }
    }
    (l1_counts, l2_counts)
}

fn sum(all: impl IntoIterator<Item = CacheCounts>) -> CacheCounts {
    let mut sum = CacheCounts::default();
    all.into_iter().for_each(|counts| sum.merge(&counts));
    sum
}

#[test]
fn cache_counts_equal_a_plain_simulation() {
    for_random_launches(|launch, report, options| {
        let (l1, l2) = simulate(launch, &options.model, u32::MAX);
        let found = report.caches.expect("caches are modelled");
        assert_eq!((found.l1, found.l2), (sum(l1), l2));
        assert_eq!(
            sum(report.by_site.iter().map(|row| row.counts.l1)),
            found.l1
        );
        assert_eq!(
            sum(report.by_site.iter().map(|row| row.counts.l2)),
            found.l2
        );
        assert_eq!(
            sum(report.by_object.iter().map(|row| row.counts.l1)),
            found.l1
        );
        assert_eq!(
            sum(report.by_object.iter().map(|row| row.counts.l2)),
            found.l2
        );
    });
}

#[test]
fn bypass_oracle_equals_a_plain_simulation_of_each_number_of_warps() {
    for_random_launches(|launch, report, options| {
        let oracle = &report.bypass.as_ref().expect("reuse is measured").oracle;
        for warps in 1..=launch.launch.warps() as u32 {
            let (l1, _) = simulate(launch, &options.model, warps);
            let Some(oracle) = oracle else {
                assert_eq!(l1[0].loads, 0);
                continue;
            };
            assert_eq!(oracle.loads, l1[0].loads);
            assert_eq!(oracle.traffic(warps), l1[0].load_misses());
        }
    });
}

#[test]
fn histograms_hold_every_access_once() {
    for_random_launches(|launch, report, _| {
        let reuse = report.reuse.as_ref().expect("reuse is measured");
        let all = |histogram: &Log2Histogram| histogram.accesses();
        let requests = counts(global(&launch.records));
        let lines = all(&reuse.cta_lines.all());
        assert_eq!(lines, all(&reuse.warp_lines.all()));
        assert!(lines >= requests.lines);
        assert_eq!(
            all(&reuse.cta_elements.all()),
            all(&reuse.warp_elements.all())
        );
    });
}
