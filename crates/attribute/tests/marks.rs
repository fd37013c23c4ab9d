//! Whether item accesses write, and which bytes they cover.

use crate::common::{Run, at};
use proptest::prelude::*;
use reuselens_attribute::Options;
use reuselens_trace::Kind;
use reuselens_units::Granularity;

#[derive(Clone, Debug)]
struct Access {
    kind: Kind,
    address: u64,
    bytes: u64,
    site: u64,
}

fn access() -> impl Strategy<Value = Access> {
    let single = prop_oneof![Just(Kind::Load), Just(Kind::Store), Just(Kind::Atomic)];
    let range = prop_oneof![Just(Kind::RangeLoad), Just(Kind::RangeStore)];
    let near = 0x1000..0x1400_u64;
    prop_oneof![
        9 => (single, near.clone(), 0..70_u64, 0..5_u64)
            .prop_map(|(kind, address, bytes, site)| Access { kind, address, bytes, site }),
        1 => (range, near, 1..500_u64, 5..7_u64)
            .prop_map(|(kind, address, bytes, site)| Access { kind, address, bytes, site }),
    ]
}

/// What the columns are to be, byte by byte.
fn expected(accesses: &[Access], granularity: u64) -> Vec<(u64, bool, u64)> {
    let mut expected: Vec<(u64, bool, u64)> = Vec::new();
    for access in accesses {
        let first = expected.len();
        let stores = !matches!(access.kind, Kind::Load | Kind::RangeLoad);
        for byte in access.address..access.address + access.bytes.max(1) {
            let (item, offset) = (byte / granularity, byte % granularity);
            let bit = 1 << (offset / granularity.div_ceil(64));
            match expected[first..].last_mut() {
                Some(last) if last.0 == item => last.2 |= bit,
                _ => expected.push((item, stores, bit)),
            }
        }
    }
    expected
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn marks_are_those_of_each_byte(
        accesses in prop::collection::vec(access(), 1..400),
        shift in 0..12_u32,
        contexts in any::<bool>(),
    ) {
        let granularity = Granularity::new(1 << shift).unwrap();
        let mut run = Run::new(Options {
            granularity,
            contexts,
            stores: true,
            bytes: true,
            ..Options::default()
        });
        for access in &accesses {
            let pc = at(0x100, access.site);
            match access.kind {
                Kind::RangeLoad | Kind::RangeStore => {
                    run.row(access.kind, 0, pc, access.address, &[access.bytes]);
                }
                kind => run.row(kind, access.bytes as u8, pc, access.address, &[]),
            }
        }
        let columns = run.finish().columns;
        prop_assert_eq!(columns.cells.len(), columns.items.len());
        let marks = columns.items.iter().zip(&columns.stores).zip(&columns.bytes);
        let found: Vec<_> = marks.map(|((item, store), bytes)| (*item, *store, *bytes)).collect();
        prop_assert_eq!(columns.items.len(), columns.bytes.len());
        prop_assert_eq!(found, expected(&accesses, granularity.bytes()));
    }
}

#[test]
fn an_access_that_does_not_count_has_no_marks() {
    let mut run = Run::new(Options {
        kinds: reuselens_attribute::Kinds::Stores,
        stores: true,
        bytes: true,
        ..Options::default()
    });
    run.row(Kind::Load, 8, at(0x100, 2), 0, &[]);
    run.row(Kind::Store, 8, at(0x100, 3), 60, &[]);
    let columns = run.finish().columns;
    assert_eq!(columns.items, [0, 1]);
    assert_eq!(columns.stores, [true, true]);
    assert_eq!(columns.bytes, [0xf << 60, 0xf]);
}

#[test]
fn cells_name_their_instructions_and_objects() {
    let mut run = Run::new(Options {
        bytes: true,
        ..Options::default()
    });
    run.alloc(at(0x100, 1), 0x4000, 64);
    run.load(at(0x100, 2), 0x4000);
    run.flush();
    run.load(at(0x100, 3), 0x4008);
    run.load(at(0x100, 2), 0x8000);
    run.flush();
    let cells = run.columns.sites.iter().zip(&run.columns.objects);
    let cells: Vec<_> = cells.map(|(site, cell)| (*site, cell.object)).collect();
    let tables = run.finish().tables;
    let expected: Vec<_> = tables
        .cells
        .iter()
        .map(|key| (key.site, key.object))
        .collect();
    // Their numbers are others while the trace is read.
    assert_eq!((cells.len(), expected.len()), (3, 3));
    for (one, other) in [(0, 1), (0, 2), (1, 2)] {
        assert_eq!(
            cells[one].0 == cells[other].0,
            expected[one].0 == expected[other].0
        );
        assert_eq!(
            cells[one].1 == cells[other].1,
            expected[one].1 == expected[other].1
        );
    }
}
