//! Item batches have the same items, in the same order, as the rows that they replace.

use std::io::Cursor;

use crate::common::traces::{MIXES, Random, file, repeated, take_all};
use reuselens_attribute::{Attributor, Columns, Kinds, NoSymbols, Options, Tables};
use reuselens_io::Input;
use reuselens_rltrace::Reader;
use reuselens_trace::{Block, Projection, Source, Step};
use reuselens_units::Granularity;

#[derive(Debug, PartialEq)]
struct Found {
    items: Vec<u64>,
    references: u64,
    tables: Tables,
    error: Option<String>,
}

/// What a file accesses, and how many of its blocks came as batches.
fn read(bytes: &[u8], threads: usize, options: &Options, as_items: bool) -> (Found, u64) {
    let input = Input::new(Cursor::new(bytes.to_vec()), "t");
    let mut reader = Reader::with_threads(input, threads).unwrap();
    let mut attributor = Attributor::new(options.clone());
    if as_items {
        assert!(reader.project(Projection::Items(attributor.projection().unwrap())));
    }
    let (mut columns, mut items, mut batched) = (Columns::new(), Vec::new(), 0);
    let error = take_all(reader, &mut attributor, |attributor, block| {
        batched += block.item_batch.blocks;
        attributor.gather(block, &mut columns, |piece| items.extend(&piece.items));
        items.extend(&columns.items);
        assert!(as_items || block.item_batch.items.capacity() == 0);
        assert_eq!(columns.items.len(), columns.cells.len());
        columns.clear();
    });
    let found = Found {
        items,
        references: attributor.references(),
        tables: attributor.finish(&mut NoSymbols),
        error,
    };
    (found, batched)
}

/// As a comparison of all, with less to read where it fails.
fn compare(rows: &Found, batches: &Found, what: &str) {
    assert_eq!(rows.error, batches.error, "{what}");
    let pairs = rows.items.iter().zip(&batches.items);
    assert_eq!(
        pairs.clone().position(|(one, other)| one != other),
        None,
        "{what}"
    );
    assert_eq!(rows.items.len(), batches.items.len(), "{what}");
    assert_eq!(rows.references, batches.references, "{what}");
    assert_eq!(rows.tables, batches.tables, "{what}");
}

fn same(bytes: &[u8], options: &Options, what: &str) -> u64 {
    let (rows, batched) = read(bytes, 1, options, false);
    assert_eq!(batched, 0);
    let (one, batched) = read(bytes, 1, options, true);
    compare(&rows, &one, what);
    let (three, _) = read(bytes, 3, options, true);
    assert!(one == three, "{what}, on three threads");
    batched
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
fn item_batches_match_rows() {
    let mut batched = 0;
    for seed in 0..300 {
        let mix = MIXES[seed as usize % MIXES.len()];
        let options = options(&mut Random(seed));
        batched += same(&file(seed, mix), &options, &format!("seed {seed}"));
    }
    assert!(batched > 3000, "{batched} blocks");
}

#[test]
fn item_batches_of_consecutive_templates_match_rows() {
    for seed in 2000..2030 {
        let options = options(&mut Random(seed));
        same(&repeated(seed), &options, &format!("seed {seed}"));
    }
}

#[test]
fn item_batches_of_damaged_trace_match_rows_up_to_the_damage() {
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
fn item_batches_exclude_small_and_huge_items_and_ids() {
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
