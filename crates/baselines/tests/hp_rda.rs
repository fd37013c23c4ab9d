//! HP-RDA against the rules of its publication, written down a second time in the most direct way.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;

use reuselens_baselines::{Adjustment, BlockCount, BruteForce, Finished, HpRda, HpRdaSettings};
use reuselens_distance::Engine;
use reuselens_distance::generate::{Generator, Random, Uniform, Zipf};
use reuselens_units::Distance;

/// The merged distances of all references, dropped ones among them, fed in pieces of random sizes,
/// and what there is at the end.
fn run(settings: HpRdaSettings, items: &[u64], random: &mut Random) -> (Vec<Distance>, Adjustment) {
    let mut rda = HpRda::new(settings);
    let (mut kept, mut places) = (Vec::new(), Vec::new());
    let mut merged: Vec<Distance> = Vec::new();
    let mut at = 0;
    while at < items.len() {
        let most = [1, 3, 70, 5000][random.below(4) as usize];
        let end = (at + random.below(most + 1) as usize).min(items.len());
        rda.feed(&items[at..end], &mut kept);
        places.extend(kept.iter().map(|index| at + index));
        if rda.is_full() {
            merged.extend(rda.analyse());
        }
        at = end;
    }
    let Finished {
        distances,
        adjustment,
        ..
    } = rda.finish();
    merged.extend(distances);
    let mut all = vec![Distance::ZERO; items.len()];
    assert_eq!(places.len(), merged.len());
    for (place, distance) in places.into_iter().zip(merged) {
        all[place] = distance;
    }
    (all, adjustment)
}

/// The rules word by word: chunks as sets and lists, sums over all chunks between.
fn naive(items: &[u64], chunk: usize) -> (Vec<Distance>, u64, u64) {
    let mut distances = vec![Distance::ZERO; items.len()];
    let kept: Vec<usize> = (0..items.len())
        .filter(|&index| index == 0 || items[index] != items[index - 1])
        .collect();
    let chunks: Vec<&[usize]> = kept.chunks(chunk).collect();
    let distinct = |places: &[usize]| -> u64 {
        let set: HashSet<u64> = places.iter().map(|&place| items[place]).collect();
        set.len() as u64
    };
    let counts: Vec<u64> = chunks.iter().map(|chunk| distinct(chunk)).collect();
    // The chunk of the last access to each item, and `latest` there.
    let mut before: HashMap<u64, (usize, u64)> = HashMap::new();
    for (number, chunk) in chunks.iter().enumerate() {
        for (index, &place) in chunk.iter().enumerate() {
            let item = items[place];
            let last = chunk[..index]
                .iter()
                .rposition(|&other| items[other] == item);
            let distance = match (last, before.get(&item)) {
                (Some(last), _) => Some(distinct(&chunk[last + 1..index])),
                (None, Some((from, latest))) => {
                    let between: u64 = counts[from + 1..number].iter().sum();
                    Some(latest + between + distinct(&chunk[..index]))
                }
                (None, None) => None,
            };
            distances[place] = distance.map_or(Distance::COLD, Distance::new);
        }
        for (index, &place) in chunk.iter().enumerate() {
            let item = items[place];
            if chunk[index + 1..].iter().all(|&other| items[other] != item) {
                before.insert(item, (number, distinct(&chunk[index + 1..])));
            }
        }
    }
    (distances, before.len() as u64, counts.iter().sum())
}

fn settings(chunk: usize, chunks_per_block: usize, blocks: usize, threads: usize) -> HpRdaSettings {
    HpRdaSettings {
        chunk,
        chunks_per_block,
        blocks,
        threads: NonZeroUsize::new(threads).unwrap(),
        ..HpRdaSettings::default()
    }
}

fn letters(text: &str) -> Vec<u64> {
    text.bytes()
        .filter(|byte| *byte != b' ')
        .map(u64::from)
        .collect()
}

fn raw(distances: &[Distance]) -> Vec<Option<u64>> {
    distances.iter().map(|distance| distance.items()).collect()
}

fn brute(items: &[u64]) -> Vec<Distance> {
    let mut distances = vec![Distance::ZERO; items.len()];
    BruteForce::new().process(items, &mut distances);
    distances
}

/// Figures 6 and 8 of the publication: 16 references in chunks of 6.
#[test]
fn the_worked_example() {
    let items = letters("dacbcg efafba baga");
    for (chunks_per_block, blocks) in [(64, 16), (1, 1), (2, 1), (1, 3)] {
        let settings = settings(6, chunks_per_block, blocks, 2);
        let (distances, adjustment) = run(settings, &items, &mut Random::new(1));
        let cold = None;
        let chunk_1 = [cold, cold, cold, cold, Some(1), cold];
        // a: latest 3 + first 2; b: latest 2 + first 3.
        let chunk_2 = [cold, cold, Some(5), Some(1), Some(5), Some(2)];
        // b: 1 + 0; a: 0 + 1; g: 0 + 4 + 2, where the true distance is 4.
        let chunk_3 = [Some(1), Some(1), Some(6), Some(1)];
        let expected = [&chunk_1[..], &chunk_2, &chunk_3].concat();
        assert_eq!(raw(&distances), expected);
        assert_eq!(brute(&items)[14], Distance::new(4));
        assert_eq!(
            (adjustment.distinct().get(), adjustment.counts()),
            (7, 5 + 4 + 3)
        );
        // 6 is not beyond M = 7: rule 5 leaves it.
        assert_eq!(adjustment.adjust(distances[14]), distances[14]);
    }
}

#[test]
fn immediate_repeats_are_dropped_across_pieces_and_count_as_zero() {
    let mut rda = HpRda::new(HpRdaSettings::default());
    let mut kept = vec![9];
    rda.feed(&[], &mut kept);
    assert_eq!(kept, [0; 0]);
    rda.feed(&[5, 5, 5], &mut kept);
    assert_eq!(kept, [0]);
    rda.feed(&[5, 5], &mut kept);
    assert_eq!(kept, [0; 0]);
    rda.feed(&[5, 0, 0, 5], &mut kept);
    assert_eq!(kept, [1, 3]);
    let finished = rda.finish();
    assert_eq!(raw(&finished.distances), [None, None, Some(1)]);
    assert_eq!(finished.adjustment.factor(), 1.0);

    let items = letters("aaaa");
    let (distances, _) = run(HpRdaSettings::default(), &items, &mut Random::new(3));
    assert_eq!(raw(&distances), [None, Some(0), Some(0), Some(0)]);
}

/// Two chunks of the same four items, over and over: the sums count them again and again.
#[test]
fn adjustment_scales_distances_beyond_all_items() {
    // e, then 5 chunks of a b c d, then e: latest 3 + 4 chunks of 4 + first 0.
    let text = "eabc dabc dabc dabc dabc e";
    let (distances, adjustment) = run(settings(4, 64, 16, 1), &letters(text), &mut Random::new(7));
    let merged = distances[distances.len() - 1];
    assert_eq!(merged, Distance::new(3 + 4 * 4));
    assert_eq!((adjustment.distinct().get(), adjustment.counts()), (5, 21));
    assert!((adjustment.factor() - 5.0 / 21.0).abs() < 1e-12);
    // 19 · 5 / 21 = 4.52; the true distance is 4.
    assert_eq!(adjustment.adjust(merged), Distance::new(5));
    for (items, adjusted) in [(0, 0), (5, 5), (6, 1), (9, 2), (10, 2), (11, 3), (21, 5)] {
        let distance = adjustment.adjust(Distance::new(items));
        assert_eq!(distance, Distance::new(adjusted), "{items}");
    }
    assert_eq!(adjustment.adjust(Distance::COLD), Distance::COLD);
}

fn random_items(random: &mut Random) -> Vec<u64> {
    let most = [2, 5, 40, 300][random.below(4) as usize];
    let items = 1 + random.below(most);
    let stride = 1 << random.below(64);
    let kind = random.below(4);
    let item = |at: u64, random: &mut Random| {
        let number = match kind {
            0 => random.below(items),
            1 => random.below(items) * random.below(items) / items,
            2 => at % items,
            _ => at / 2 + random.below(3),
        };
        // Around both ends of the numbers: 0 and the largest are items too.
        number.wrapping_sub(items / 2).wrapping_mul(stride)
    };
    let most = [20, 150, 400][random.below(3) as usize];
    let length = random.below(most);
    (0..length).map(|at| item(at, random)).collect()
}

#[test]
fn hp_rda_equals_its_rules_on_random_streams() {
    for seed in 0..3_000 {
        let mut random = Random::new(seed);
        let items = random_items(&mut random);
        let most = [3, 70, 500][random.below(3) as usize];
        let chunk = 1 + random.below(most) as usize;
        let (expected, distinct, counts) = naive(&items, chunk);
        let mut below = |most| 1 + random.below(most) as usize;
        let settings = settings(chunk, below(4), below(4), below(3));
        let (distances, adjustment) = run(settings, &items, &mut random);
        assert_eq!(distances, expected, "seed {seed}, {settings:?}: {items:?}");
        let found = (adjustment.distinct().get(), adjustment.counts());
        assert_eq!(found, (distinct, counts), "seed {seed}");
        check_against_the_truth(&items, &distances, chunk, &adjustment);
    }
}

/// What can be said without the rules: cold accesses are exact, no merged distance is too small,
/// none grows when it is adjusted, and a single chunk is exact.
fn check_against_the_truth(
    items: &[u64],
    distances: &[Distance],
    chunk: usize,
    adjustment: &Adjustment,
) {
    let exact = brute(items);
    for (found, exact) in distances.iter().zip(&exact) {
        assert_eq!(found.is_cold(), exact.is_cold());
        assert!(found >= exact);
        assert!(adjustment.adjust(*found) <= *found);
        assert_eq!(adjustment.adjust(*found).is_cold(), found.is_cold());
    }
    if items.len() <= chunk {
        assert_eq!(distances, exact);
    }
}

/// Streams of the real chunk size, over several blocks and transfers.
#[test]
fn distances_do_not_depend_on_threads_transfers_or_pieces() {
    let mut items = vec![0; 700_000];
    Zipf::new(60_000, 0.7, 4).fill(&mut items);
    Uniform::new(90_000, 4).fill(&mut items[400_000..500_000]);
    for block_count in [BlockCount::Chunks, BlockCount::Distinct] {
        let with = |threads, blocks| HpRdaSettings {
            block_count,
            ..settings(2048, 64, blocks, threads)
        };
        let (expected, adjustment) = run(with(1, 1), &items, &mut Random::new(1));
        for (threads, blocks) in [(2, 1), (3, 2), (7, 16), (16, 3), (1, 512)] {
            let mut random = Random::new(threads as u64);
            let found = run(with(threads, blocks), &items, &mut random);
            assert!(found.0 == expected, "{threads} threads, {blocks} blocks");
            assert_eq!(found.1, adjustment);
        }
    }
}

/// Blocks as wide as the stream: their distinct items do not come into it. Narrow ones: distances
/// that span whole blocks shrink, and none below the truth.
#[test]
fn blocks_may_count_as_their_distinct_items() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let items = random_items(&mut random);
        let with = |chunks_per_block, block_count| HpRdaSettings {
            block_count,
            ..settings(5, chunks_per_block, 3, 2)
        };
        let (chunks, _) = run(with(3, BlockCount::Chunks), &items, &mut random);
        let (distinct, adjustment) = run(with(3, BlockCount::Distinct), &items, &mut random);
        let exact = brute(&items);
        for ((chunks, distinct), exact) in chunks.iter().zip(&distinct).zip(&exact) {
            assert!(exact <= distinct && distinct <= chunks, "seed {seed}");
        }
        assert!(adjustment.factor() <= 1.0);
        // One chunk to a block: both are the same.
        let one = run(with(1, BlockCount::Distinct), &items, &mut random);
        assert_eq!(one, run(with(1, BlockCount::Chunks), &items, &mut random));
    }
}

#[test]
fn one_chunk_is_exact() {
    let mut items = vec![0; 2048];
    Uniform::new(700, 9).fill(&mut items);
    let (distances, adjustment) = run(HpRdaSettings::default(), &items, &mut Random::new(2));
    assert_eq!(distances, brute(&items));
    assert_eq!(adjustment.factor(), 1.0);
}

#[test]
fn settings_out_of_range_count_as_the_nearest() {
    let items = letters("abcabc");
    let (zero, _) = run(settings(0, 0, 0, 1), &items, &mut Random::new(2));
    let (one, _) = run(settings(1, 1, 1, 1), &items, &mut Random::new(2));
    assert_eq!(zero, one);
    let most = settings(usize::MAX, usize::MAX, usize::MAX, usize::MAX);
    let (distances, _) = run(most, &items, &mut Random::new(2));
    assert_eq!(distances, brute(&items));
}

/// Memory grows with the distinct items and the transfer, not with the length of the stream.
#[test]
fn memory_does_not_grow_with_time() {
    let mut rda = HpRda::new(settings(256, 8, 4, 3));
    let mut generator = Uniform::new(10_000, 3);
    let (mut items, mut kept) = (vec![0; 20_000], Vec::new());
    let mut memory = Vec::new();
    for _ in 0..40 {
        generator.fill(&mut items);
        rda.feed(&items, &mut kept);
        if rda.is_full() {
            rda.analyse();
        }
        memory.push(rda.memory());
    }
    assert_eq!(rda.distinct().get(), 10_000);
    let most = memory.iter().max().unwrap();
    assert!(memory[10].get() * 3 / 2 > most.get(), "{memory:?}");
}
