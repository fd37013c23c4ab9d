//! Heat maps equal an independent calculation from the records.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Random, RandomLaunch, Record, random_launch, run};
use reuselens_gpu_advisor::{Advisor, AdvisorOptions, HEAT_PARTS, HeatMap, ObjectRange};
use reuselens_warp::Space;

const LAUNCHES: u64 = 600;

/// A launch whose addresses and objects are `factor` times as far from one another.
fn spread(mut launch: RandomLaunch, factor: u64) -> RandomLaunch {
    let origin = launch
        .context
        .objects
        .first()
        .map_or(0, |range| range.start);
    let origin = origin / 128 * 128;
    let far = |address: u64| match address.checked_sub(origin) {
        Some(offset) => origin + offset * factor,
        None => address,
    };
    for address in launch.records.iter_mut().flat_map(|it| &mut it.addresses) {
        *address = far(*address);
    }
    let objects = launch.context.objects.iter().map(|range| ObjectRange {
        start: far(range.start),
        end: far(range.end),
        object: range.object,
    });
    launch.context.objects = objects.collect();
    launch
}

/// What the requests of several launches do with one object.
#[derive(Default)]
struct Accessed {
    /// Requests of each sector, by its offset from the first line of its block.
    sectors: BTreeMap<u64, u64>,
    /// Bytes of all lines of the longest block that is accessed.
    bytes: u64,
}

impl Accessed {
    /// The length of the parts: the least power of two of which 64 hold each block.
    fn part_bytes(&self) -> u64 {
        let mut part = 128;
        while self.bytes > part * HEAT_PARTS as u64 {
            part *= 2;
        }
        part
    }
}

fn accessed(launches: &[RandomLaunch]) -> BTreeMap<u32, Accessed> {
    let mut all: BTreeMap<u32, Accessed> = BTreeMap::new();
    for launch in launches {
        let global = |record: &&Record| record.space == Space::Global;
        for record in launch.records.iter().filter(global) {
            let size = u64::from(record.bytes);
            let bytes = record.addresses.iter().flat_map(|&at| at..at + size);
            let mut lines: BTreeMap<u64, (u64, BTreeSet<u64>)> = BTreeMap::new();
            for byte in bytes {
                let (lowest, own) = lines.entry(byte / 128).or_insert((byte, BTreeSet::new()));
                *lowest = byte.min(*lowest);
                own.insert(byte / 32);
            }
            for (lowest, own) in lines.values() {
                let mut objects = launch.context.objects.iter();
                let range = objects.find(|range| (range.start..range.end).contains(lowest));
                let Some(range) = range else { continue };
                let object = all.entry(range.object).or_default();
                let first = range.start / 128;
                let lines = (range.end - 1) / 128 - first + 1;
                object.bytes = object.bytes.max(lines * 128);
                for sector in own {
                    *object.sectors.entry(sector * 32 - first * 128).or_default() += 1;
                }
            }
        }
    }
    all
}

fn check(launches: &[RandomLaunch]) {
    let mut advisor = Advisor::new(AdvisorOptions::default());
    for launch in launches {
        run(
            &mut advisor,
            &launch.launch,
            &launch.context,
            &launch.records,
        );
    }
    let expected = accessed(launches);
    let report = advisor.finish().remove(0);
    let mut found = 0;
    for row in &report.by_object {
        let Some(object) = row.object else {
            assert_eq!(row.heat, HeatMap::default());
            continue;
        };
        let bytes = expected[&object].part_bytes();
        let mut parts = vec![0; row.heat.sectors().len()];
        for (offset, count) in &expected[&object].sectors {
            parts[(offset / bytes) as usize] += count;
        }
        assert_eq!(
            (row.heat.part_bytes(), row.heat.sectors()),
            (bytes, &parts[..])
        );
        let sum: u64 = row.heat.sectors().iter().sum();
        assert_eq!(sum, row.counts.global.all().sectors);
        found += 1;
    }
    assert_eq!(found, expected.len());
}

#[test]
fn heat_equals_sets_of_sectors() {
    for seed in 0..LAUNCHES {
        let mut random = Random(seed);
        let launch = random_launch(&mut random);
        let factor = random.pick(&[1, 1, 4, 37, 1000, 1 << 20]);
        check(&[spread(launch, factor)]);
    }
}

/// Launches of one kernel in which an object has blocks of other lengths.
#[test]
fn heat_of_several_launches_is_their_sum() {
    for seed in 0..LAUNCHES / 4 {
        let mut random = Random(seed);
        let launches: Vec<RandomLaunch> = (0..3)
            .map(|_| {
                let launch = random_launch(&mut random);
                let factor = random.pick(&[1, 2, 5, 64, 4096]);
                spread(launch, factor)
            })
            .collect();
        check(&launches);
    }
}
