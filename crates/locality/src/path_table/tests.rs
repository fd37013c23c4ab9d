//! Every length against its definition.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Access = (u32, u32, u64);

fn by_definition(accesses: &[Access], length: u32) -> BTreeMap<(u32, u32), PatternBins> {
    let mut cells: BTreeMap<(u32, u32), PatternBins> = BTreeMap::new();
    for (site, outcomes, items) in accesses {
        let key = (*site, Path::newest(*outcomes, length));
        cells.entry(key).or_default().add(Distance::new(*items), 1);
    }
    cells
}

fn table(accesses: &[Access], most: usize) -> PathTable {
    let mut table = PathTable::new(most);
    for (site, outcomes, items) in accesses {
        let path = Path {
            outcomes: *outcomes,
            ..Path::default()
        };
        table.add(*site, &path, Distance::new(*items));
    }
    table
}

fn check(table: &PathTable, accesses: &[Access]) {
    for length in LENGTHS {
        let Some(cells) = table.at(length) else {
            assert!(length > table.length());
            continue;
        };
        let found: BTreeMap<_, _> = cells.into_iter().map(|c| (c.key(), c.bins)).collect();
        assert_eq!(found, by_definition(accesses, length), "{length}");
    }
}

proptest! {
    #[test]
    fn every_length_is_what_it_is_by_definition(
        accesses in prop::collection::vec((0..4_u32, prop_oneof![0..8_u32, any::<u32>()], 0..5000_u64), 0..300),
        most in 1..200_usize,
        split in 0..300_usize,
    ) {
        let whole = table(&accesses, most);
        check(&whole, &accesses);
        prop_assert!(whole.len() <= most.max(4));
        let (left, right) = accesses.split_at(split.min(accesses.len()));
        let mut merged = table(left, most);
        merged.merge(table(right, most));
        check(&merged, &accesses);
        let path = Path { outcomes: 5, ..Path::default() };
        merged.add(1, &path, Distance::new(7));
        check(&merged, &[&accesses[..], &[(1, 5, 7)]].concat());
    }
}

#[test]
fn many_paths_stay_within_bounds() {
    let accesses: Vec<Access> = (0..100_000)
        .map(|i| (i % 3, i, u64::from(i % 50)))
        .collect();
    let table = table(&accesses, 1100);
    assert_eq!(table.length(), 8);
    assert!(table.memory() < Bytes(1 << 21), "{}", table.memory());
    check(&table, &accesses);
}
