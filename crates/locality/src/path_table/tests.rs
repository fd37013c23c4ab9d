//! Paths of every length against their definition; tables that are too small, cut or merged.

use std::cell::Cell;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::PatternBins;
use crate::histogram::Histogram;

thread_local! {
    /// Steps along the lists of tables of this thread.
    static STEPS: Cell<u64> = const { Cell::new(0) };
}

/// Counts a step along a list.
pub(super) fn step() {
    STEPS.set(STEPS.get() + 1);
}

type Access = (u32, u32, u64);

/// By instruction, outcomes and how many those are.
type Cells = BTreeMap<(u32, u32, u32), PatternBins>;

fn by_definition(accesses: &[Access], length: u32) -> Cells {
    let mut cells = Cells::new();
    for (site, outcomes, items) in accesses {
        let key = (*site, Path::newest(*outcomes, length), length);
        cells.entry(key).or_default().add(Distance::new(*items), 1);
    }
    cells
}

/// The cells of a length.
fn cells(table: &PathTable, length: u32) -> Cells {
    let cells = table.at(length).expect("a length that is kept");
    let pairs: Vec<_> = cells.into_iter().map(|c| (c.key(), c.bins)).collect();
    let all = pairs.len();
    let map = Cells::from_iter(pairs);
    assert_eq!(map.len(), all, "no cell comes twice");
    map
}

/// The accesses of cells whose paths have `length` outcomes.
fn apart(cells: &Cells, length: u32) -> u64 {
    let told = cells.iter().filter(|(key, _)| key.2 == length);
    told.map(|(_, bins)| bins.accesses()).sum()
}

/// Accesses by bin of `part` are among those of `whole`.
fn is_part(part: &PatternBins, whole: &PatternBins) -> bool {
    let of = |bins: &PatternBins| -> BTreeMap<u64, u64> {
        bins.iter().map(|bin| (bin.low, bin.accesses)).collect()
    };
    let (part_of, whole_of) = (of(part), of(whole));
    part.cold() <= whole.cold()
        && part_of
            .iter()
            .all(|(low, accesses)| whole_of.get(low).is_some_and(|all| accesses <= all))
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

/// A table that had room for all: every length is exactly what it is by definition.
fn check(table: &PathTable, accesses: &[Access]) {
    for length in LENGTHS {
        assert_eq!(
            cells(table, length),
            by_definition(accesses, length),
            "{length}"
        );
    }
}

/// Any table: a path with fewer outcomes than asked for is the end of paths in the definition, no
/// path has more accesses than there, and each instruction has all its accesses, exactly.
fn check_shortened(table: &PathTable, accesses: &[Access]) {
    let of_length = |length| (length, by_definition(accesses, length));
    let expected: BTreeMap<u32, Cells> = LENGTHS.into_iter().map(of_length).collect();
    for length in LENGTHS
        .into_iter()
        .filter(|length| *length <= table.length())
    {
        let found = cells(table, length);
        let mut sites = Cells::new();
        for (key @ (site, outcomes, known), bins) in &found {
            assert!(*known <= length && Path::newest(*outcomes, *known) == *outcomes);
            let whole = &expected[known][key];
            assert!(is_part(bins, whole), "{bins:?} of {whole:?}");
            sites.entry((*site, 0, 0)).or_default().merge(bins);
        }
        assert_eq!(sites, expected[&0], "{length}");
        let shares = table.shares(length, PatternRule::default(), 1024).unwrap();
        assert_eq!(shares.paths, found.len() as u64);
        assert_eq!(shares.accesses, apart(&found, length));
        let sorted = [shares.differentiable, shares.unknown];
        assert!(
            sorted.iter().sum::<u64>() + shares.aliased.max(shares.short_and_long)
                <= shares.multiple
        );
    }
}

proptest! {
    #[test]
    fn paths_of_every_length_match_the_definition(
        accesses in prop::collection::vec((0..4_u32, prop_oneof![0..8_u32, any::<u32>()], 0..5000_u64), 0..300),
        most in 1..200_usize,
        split in 0..300_usize,
    ) {
        let (left, right) = accesses.split_at(split.min(accesses.len()));
        let path = Path { outcomes: 5, ..Path::default() };
        let more = [&accesses[..], &[(1, 5, 7)]].concat();
        for (most, check) in [(1000, check as fn(&PathTable, &[Access])), (most, check_shortened)] {
            let whole = table(&accesses, most);
            check(&whole, &accesses);
            prop_assert!(whole.len() <= most.max(4));
            let mut merged = table(left, most);
            merged.merge(table(right, most));
            check(&merged, &accesses);
            prop_assert!(merged.len() <= most.max(4));
            merged.add(1, &path, Distance::new(7));
            check(&merged, &more);
        }
    }
}

#[test]
fn a_node_is_a_cache_line() {
    assert_eq!(size_of::<PathNode>(), 64);
}

/// Half of the accesses are on one of ten paths, the others on paths that no other is on; all but
/// one end in one of 64.
fn few_and_many(accesses: u32) -> Vec<Access> {
    let mut state = 1_u32;
    let path = |at: u32| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        match at % 2 {
            0 => (at / 2 % 10) << 20 | 3,
            _ => (state & !63) | (at / 2 % 64),
        }
    };
    let paths: Vec<u32> = (0..accesses).map(path).collect();
    (0..)
        .zip(paths)
        .map(|(at, path)| (at % 3, path, u64::from(at % 50)))
        .collect()
}

#[test]
fn full_table_keeps_frequent_paths_within_its_bound() {
    let accesses = few_and_many(200_000);
    let table = table(&accesses, 1100);
    assert!(table.len() <= 1100 && table.length() == 32);
    assert!(table.memory() < Bytes(1 << 21), "{}", table.memory());
    check_shortened(&table, &accesses);
    // The ten paths to each of three instructions, except accesses before they were inserted.
    let (found, expected) = (cells(&table, 32), by_definition(&accesses, 32));
    let often = expected.iter().filter(|(_, bins)| bins.accesses() > 1000);
    let shares: Vec<f64> = often
        .map(|(key, bins)| {
            let found = found.get(key).map_or(0, PatternBins::accesses);
            found as f64 / bins.accesses() as f64
        })
        .collect();
    assert!(
        shares.len() == 30 && shares.iter().all(|share| *share > 0.9),
        "{shares:?}"
    );
    // Of the others only their ends are known; single rare paths take no place from these.
    let told = |length| apart(&cells(&table, length), length) as f64 / 200_000.0;
    assert!((0.45..0.6).contains(&told(32)), "{}", told(32));
    assert!(told(4) > 0.99, "{}", told(4));
}

#[test]
fn equal_accesses_are_equal_tables() {
    let accesses = few_and_many(30_000);
    let [a, b] = [0, 1].map(|_| table(&accesses, 700));
    for length in LENGTHS {
        assert_eq!(cells(&a, length), cells(&b, length));
    }
}

/// Counts steps of five accesses each, cut into pieces of `piece` accesses.
fn in_pieces(paths: &[Access], most: usize, piece: usize) -> PathTable {
    const EACH: u32 = 5;
    let sites: Vec<u32> = (0..100).collect();
    let mut table = PathTable::new(most);
    let touches: Vec<(usize, u32)> = (0..paths.len())
        .flat_map(|step| (0..EACH).map(move |at| (step, at)))
        .collect();
    let mut before = None;
    for piece in touches.chunks(piece) {
        let (mut steps, mut until) = (Vec::new(), 0);
        for part in piece.chunk_by(|a, b| a.0 == b.0) {
            let (step, outcomes) = (part[0].0, paths[part[0].0].1);
            until += part.len() as u32;
            steps.push(PathStep {
                block: step as u64 % 20,
                path: Path {
                    outcomes,
                    ..Path::default()
                },
                until,
                continued: before == Some(step),
            });
            before = Some(step);
        }
        let cells: Vec<u32> = piece
            .iter()
            .map(|(step, at)| *step as u32 % 20 * EACH + at)
            .collect();
        let distances: Vec<Distance> = piece
            .iter()
            .map(|(step, at)| Distance::new(*step as u64 % 50 + u64::from(*at)))
            .collect();
        table.add_steps(&steps, &cells, &sites, &distances);
    }
    table
}

#[test]
fn path_counts_do_not_depend_on_cuts() {
    let paths = few_and_many(20_000);
    let whole = in_pieces(&paths, 3000, usize::MAX);
    assert!(whole.has_shortened() && whole.length() > 0);
    for piece in [1, 3, 7, 64, 997] {
        let pieces = in_pieces(&paths, 3000, piece);
        for length in LENGTHS {
            assert!(
                cells(&whole, length) == cells(&pieces, length),
                "{length}, {piece}"
            );
        }
    }
}

#[test]
fn less_memory_keeps_shorter_paths_and_all_accesses() {
    let accesses: Vec<Access> = (0..40_000_u32)
        .map(|at| (at % 3, at.wrapping_mul(2_654_435_761), u64::from(at % 700)))
        .collect();
    let mut table = table(&accesses, 1 << 20);
    let (before, length) = (table.memory(), table.length());
    check(&table, &accesses);
    assert!(table.shrink(before) && table.length() == length);
    let half = Bytes(before.get() / 2);
    assert!(table.shrink(half));
    assert!(table.memory() <= half && table.length() == length);
    check_shortened(&table, &accesses);
    assert!(!table.shrink(Bytes(1)) && table.length() == 0);
    check_shortened(&table, &accesses);
}

#[test]
fn a_block_of_many_instructions_takes_linear_time() {
    // No two rounds have the same order, so the instruction that came next before is no hint.
    const SITES: u32 = 10_000;
    let orders = [1, 7, 3, 9, 7919];
    let rounds = orders.map(|step| (0..SITES).map(move |at| at * step % SITES));
    let accesses: Vec<Access> = rounds
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(at, site)| (site, 0, at as u64 % 3000))
        .collect();
    let sites: Vec<u32> = (0..SITES).collect();
    let cells: Vec<u32> = accesses.iter().map(|access| access.0).collect();
    let distances: Vec<Distance> = accesses
        .iter()
        .map(|access| Distance::new(access.2))
        .collect();
    let mut table = PathTable::new(1 << 20);
    let path = Path::default();
    let until = cells.len() as u32;
    STEPS.set(0);
    let block = 0;
    table.add_steps(
        &[PathStep {
            block,
            path,
            until,
            continued: false,
        }],
        &cells,
        &sites,
        &distances,
    );
    // Twice for a new pair: once for whether there is room, once for the place.
    let most = u64::from(until) * u64::from(LISTED) * 2;
    assert!((1..=most).contains(&STEPS.get()), "{}", STEPS.get());
    check(&table, &accesses);
    assert_eq!(table.len(), SITES as usize);
    // Found again after uniting, and with other numbers.
    let mut twice = table.clone();
    twice.merge(table.clone());
    assert_eq!(twice.len(), SITES as usize);
    twice.renumber(|site| SITES - 1 - site);
    twice.add_steps(
        &[PathStep {
            block,
            path,
            until,
            continued: false,
        }],
        &cells,
        &sites,
        &distances,
    );
    assert_eq!(twice.len(), SITES as usize);
    let mirrored = accesses
        .iter()
        .map(|(site, o, d)| (SITES - 1 - site, *o, *d));
    let mirrored: Vec<Access> = mirrored.collect();
    check(
        &twice,
        &[&mirrored[..], &mirrored[..], &accesses[..]].concat(),
    );
}

/// Blocks whose products with the multiplier are the highest bits of the place, in turn: all begin
/// at one place of a table without a key.
#[test]
fn colliding_blocks_are_spread() {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    // Newton's iteration for the inverse modulo 2⁶⁴.
    let inverse = (0..6).fold(GOLDEN, |found, _| {
        found.wrapping_mul(2_u64.wrapping_sub(GOLDEN.wrapping_mul(found)))
    });
    let steps = |key: Option<u64>| {
        let mut table = PathTable::new(1 << 20);
        table.key = key.unwrap_or(table.key);
        // Paths are of the greatest length, and have no outcomes.
        let path = u64::from(Path::LONGEST) << 32;
        STEPS.set(0);
        for at in 0..4000_u64 {
            let block = (at.wrapping_mul(inverse) ^ path).wrapping_mul(inverse);
            let step = PathStep {
                block,
                path: Path::default(),
                until: 1,
                continued: false,
            };
            table.add_steps(&[step], &[0], &[0], &[Distance::COLD]);
        }
        assert_eq!(table.nodes.len(), 4000);
        STEPS.get()
    };
    assert!(steps(Some(0)) > 4000 * 3999 / 2, "all begin at one place");
    let steps = steps(None);
    assert!(steps < 100_000, "{steps}");
}
