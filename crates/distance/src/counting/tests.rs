//! The counting tree against an LRU stack, compiled for each kind of processor that this machine
//! can run, with streams cut into calls of any length.

use super::compare::Portable;
use super::*;
use crate::generate::Random;

/// The distances by the definition: the depth of each item in an LRU stack.
fn stack_distances(items: &[u64]) -> Vec<Distance> {
    let mut stack = Vec::new();
    let distances = items.iter().map(|item| {
        let depth = stack.iter().position(|other| other == item);
        match depth {
            Some(depth) => stack[..=depth].rotate_right(1),
            None => stack.insert(0, *item),
        }
        depth.map_or(Distance::COLD, |depth| Distance::new(depth as u64))
    });
    distances.collect()
}

/// All that this machine can run. Elsewhere only one of the three would ever run on it.
fn ways() -> impl Iterator<Item = Simd> {
    Simd::ALL.into_iter().filter(|simd| simd.is_here())
}

/// The distances that an oracle finds for all of `items`, from every way in calls of these
/// lengths, over and over.
fn check(items: &[u64], lengths: &[usize], what: &str) {
    let expected = stack_distances(items);
    for simd in ways() {
        let mut tree = CountingTree::new().with_simd(simd);
        let mut found = vec![Distance::new(u64::MAX - 1); items.len()];
        let (mut at, mut lengths) = (0, lengths.iter().cycle());
        while at < items.len() {
            let end = items.len().min(at + lengths.next().unwrap());
            tree.process(&items[at..end], &mut found[at..end]);
            at = end;
        }
        tally(CountingTree::new().with_simd(simd), items, &expected, what);
        let wrong = (0..items.len()).find(|i| found[*i] != expected[*i]);
        assert_eq!(wrong, None, "{}, {what}", simd.name());
    }
}

/// Tallied calls and others in turns give the same distances, and the items of the cold ones.
fn tally(mut tree: CountingTree, items: &[u64], expected: &[Distance], what: &str) {
    let (mut found, mut counts) = (Vec::new(), Tally::new());
    counts.keep_firsts();
    let (mut at, mut length) = (0, 1);
    while at < items.len() {
        let block = &items[at..items.len().min(at + length)];
        if length % 7 == 3 {
            let mut column = vec![Distance::ZERO; block.len()];
            tree.process(block, &mut column);
            found.extend(column);
        } else {
            tree.tally(block, &mut counts);
            let cold = expected[at..].iter().zip(block);
            let cold = cold.filter_map(|(distance, item)| distance.is_cold().then_some(*item));
            assert!(counts.firsts().eq(cold), "{what}, firsts from {at} on");
            found.extend(counts.rest());
            counts.forget_rest();
        }
        at += block.len();
        length = length * 3 % 5_003;
    }
    for (distance, count) in (0..).zip(counts.near()) {
        found.extend(std::iter::repeat_n(
            Distance::new(distance),
            *count as usize,
        ));
    }
    let mut expected = expected.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    assert!(found == expected, "{what}, tallied");
}

#[test]
fn all_compilations_agree() {
    let count = if cfg!(miri) { 600 } else { 200_000 };
    let items: Vec<u64> = (0..count).map(|i| i * i % 30_011 / (1 + i % 7)).collect();
    let mut portable = vec![Distance::COLD; items.len()];
    CountingTree::new().process_here(Portable, &items, &mut portable);
    for simd in ways() {
        let mut other = vec![Distance::COLD; items.len()];
        CountingTree::new()
            .with_simd(simd)
            .process(&items, &mut other);
        assert!(portable == other, "{}", simd.name());
    }
}

/// Items that the near part of the counting tree takes for each other at first sight: the two
/// halves of an item make its key, and what changes both alike leaves that as it is.
fn look_alike(random: &mut Random, items: u64) -> u64 {
    let item = random.below(items);
    let (base, twin) = (item / 5, item % 5 * 0x0123_4567);
    base ^ (twin << 32 | twin)
}

#[test]
fn items_with_equal_keys_get_distances_of_their_own_in_calls_of_any_length() {
    const LENGTHS: [usize; 16] = [
        1, 2, 31, 32, 33, 34, 63, 64, 65, 127, 128, 511, 512, 513, 1025, 5000,
    ];
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let most = [1, 6, 30, 60, 250][random.below(5) as usize];
        let mut phase = 0;
        let mut items = Vec::new();
        while items.len() < 2_000 {
            phase = (phase + 1) % 3;
            // Near ones, with far ones between, and far ones alone.
            let reach = [most, 4 * most, 300][phase];
            let some = 1 + random.below(700);
            items.extend((0..some).map(|_| look_alike(&mut random, reach)));
        }
        let length = || LENGTHS[random.below(16) as usize];
        let lengths: Vec<usize> = std::iter::repeat_with(length).take(7).collect();
        check(&items, &lengths, &format!("seed {seed}, calls {lengths:?}"));
    }
}

#[test]
fn runs_of_any_length_count_once() {
    for seed in 0..80 {
        let mut random = Random::new(seed);
        let most = [1, 3, 70, 3_000][random.below(4) as usize];
        let reach = [2, 20, 60, 400][random.below(4) as usize];
        let mut items = Vec::new();
        while items.len() < 7_000 {
            // Some runs are longer than a chunk, so that nothing of one is
            // kept.
            let run = 1 + random.below(most) * random.below(2);
            let item = look_alike(&mut random, reach);
            items.extend((0..run).map(|_| item));
        }
        let lengths = [1 + random.below(2_000) as usize, 1_500, items.len()];
        check(&items, &lengths, &format!("seed {seed}, {lengths:?}"));
    }
}

#[test]
fn calls_of_any_length_give_the_same_distances() {
    let mut random = Random::new(7);
    let items: Vec<u64> = (0..1_100).map(|_| look_alike(&mut random, 60)).collect();
    for length in (0..140).chain(500..530).chain(1_020..1_030) {
        check(
            &items[..length],
            &[length.max(1)],
            &format!("one call of {length}"),
        );
        check(
            &items[..700],
            &[length, 600],
            &format!("{length} and 600 more"),
        );
    }
}

#[test]
fn leaving_the_window_within_a_call_keeps_distances() {
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let mut items = Vec::new();
        // Several segments of each kind: the window is left in the midst of a call, and
        // entered again.
        for phase in 0..4 {
            let reach = [40, 3_000][(phase + seed as usize) % 2];
            let some = 3_000 + random.below(9_000);
            items.extend((0..some).map(|_| look_alike(&mut random, reach)));
        }
        check(&items, &[items.len()], &format!("seed {seed}"));
    }
}
