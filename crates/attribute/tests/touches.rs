//! Accesses that came without rows touch the same items, in the same order, as their rows do.

#[path = "common/traces.rs"]
mod traces;

use std::io::Cursor;

use reuselens_attribute::{Attributor, Columns, Kinds, NoSymbols, Options, Tables};
use reuselens_io::Input;
use reuselens_rltrace::Reader;
use reuselens_trace::{Block, Projection, Source, Step};
use reuselens_units::Granularity;
use traces::{MIXES, Random, file, repeated, take_all};

#[derive(Debug, PartialEq)]
struct Found {
    items: Vec<u64>,
    references: u64,
    tables: Tables,
    error: Option<String>,
}

/// What a file touches, and how many of its blocks came as touches.
fn read(bytes: &[u8], threads: usize, options: &Options, condensed: bool) -> (Found, u64) {
    let input = Input::new(Cursor::new(bytes.to_vec()), "t");
    let mut reader = Reader::with_threads(input, threads).unwrap();
    let mut attributor = Attributor::new(options.clone());
    if condensed {
        assert!(reader.project(Projection::Items(attributor.projection().unwrap())));
    }
    let (mut columns, mut items, mut touched) = (Columns::new(), Vec::new(), 0);
    let error = take_all(reader, &mut attributor, |attributor, block| {
        touched += block.item_batch.blocks;
        attributor.gather(block, &mut columns, |piece| items.extend(&piece.items));
        items.extend(&columns.items);
        assert!(condensed || block.item_batch.items.capacity() == 0);
        assert_eq!(columns.items.len(), columns.cells.len());
        columns.clear();
    });
    let found = Found {
        items,
        references: attributor.references(),
        tables: attributor.finish(&mut NoSymbols),
        error,
    };
    (found, touched)
}

/// As a comparison of all, with less to read where it fails.
fn compare(rows: &Found, touches: &Found, what: &str) {
    assert_eq!(rows.error, touches.error, "{what}");
    let pairs = rows.items.iter().zip(&touches.items);
    assert_eq!(
        pairs.clone().position(|(one, other)| one != other),
        None,
        "{what}"
    );
    assert_eq!(rows.items.len(), touches.items.len(), "{what}");
    assert_eq!(rows.references, touches.references, "{what}");
    assert_eq!(rows.tables, touches.tables, "{what}");
}

fn same(bytes: &[u8], options: &Options, what: &str) -> u64 {
    let (rows, touched) = read(bytes, 1, options, false);
    assert_eq!(touched, 0);
    let (one, touched) = read(bytes, 1, options, true);
    compare(&rows, &one, what);
    let (three, _) = read(bytes, 3, options, true);
    assert!(one == three, "{what}, on three threads");
    touched
}

fn options(random: &mut Random) -> Options {
    Options {
        granularity: Granularity::new(random.one(&[64, 64, 64, 16, 4096, 1 << 30])).unwrap(),
        kinds: random.one(&[Kinds::All, Kinds::All, Kinds::Loads, Kinds::Stores]),
        totals_only: true,
        contexts: false,
        ..Options::default()
    }
}

#[test]
fn touches_are_those_of_rows() {
    let mut touched = 0;
    for seed in 0..300 {
        let mix = MIXES[seed as usize % MIXES.len()];
        let options = options(&mut Random(seed));
        touched += same(&file(seed, mix), &options, &format!("seed {seed}"));
    }
    assert!(touched > 3000, "{touched} blocks");
}

#[test]
fn items_of_consecutive_templates_match_rows() {
    for seed in 2000..2030 {
        let options = options(&mut Random(seed));
        same(&repeated(seed), &options, &format!("seed {seed}"));
    }
}

#[test]
fn damaged_trace_has_the_items_of_its_rows_up_to_the_damage() {
    for seed in 1000..1060 {
        let random = &mut Random(seed);
        let bytes = file(seed, MIXES[seed as usize % MIXES.len()]);
        let options = options(random);
        let cut = random.below(bytes.len());
        same(
            &bytes[..cut.max(60)],
            &options,
            &format!("seed {seed}, cut"),
        );
        let mut damaged = bytes;
        let at = 60 + random.below(damaged.len() - 60);
        damaged[at] ^= 1;
        same(&damaged, &options, &format!("seed {seed}, damaged"));
    }
}

#[test]
fn small_and_huge_items_and_ids_stay_rows() {
    let bytes = file(1, MIXES[0]);
    let input = Input::new(Cursor::new(bytes), "t");
    let mut reader = Reader::with_threads(input, 1).unwrap();
    let options = |bytes| Options {
        granularity: Granularity::new(bytes).unwrap(),
        totals_only: true,
        ..Options::default()
    };
    for bytes in [1, 8, 1 << 41] {
        let projection = Attributor::new(options(bytes)).projection();
        assert!(!reader.project(Projection::Items(projection.unwrap())));
    }
    let mut block = Block::new();
    while let Step::Block | Step::Event(_) = reader.next(&mut block).unwrap() {
        assert!(!block.item_batch.is_used());
    }
    let ids = Options {
        ids: true,
        ..options(1)
    };
    let projection = Attributor::new(ids).projection().unwrap();
    assert_eq!(projection.granularity, Granularity::BYTE);
    let told_apart = Options {
        totals_only: false,
        ..options(64)
    };
    assert_eq!(Attributor::new(told_apart).projection(), None);
}
