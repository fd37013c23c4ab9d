//! Previous accesses, and engines that forget: against what a simple search finds.

use reuselens_baselines::OlkenTree;
use reuselens_distance::generate::Random;
use reuselens_distance::{Bounded, Engine, Previous, PreviousAccess};
use reuselens_units::Distance;

/// Items, with tags, of a random size and skew.
fn stream(random: &mut Random) -> (Vec<u64>, Vec<u32>) {
    let most = [3, 40, 400][random.below(3) as usize];
    let items = 1 + random.below(most);
    let stride = 1 << random.below(60);
    let most = [30, 300, 2_000][random.below(3) as usize];
    let length = random.below(most);
    (0..length)
        .map(|_| {
            let item = random.below(items).min(random.below(items));
            (item.wrapping_mul(stride), random.below(5) as u32)
        })
        .unzip()
}

/// Searches backwards.
fn previous(items: &[u64], tags: &[u32], at: usize) -> PreviousAccess {
    let found = items[..at].iter().rposition(|item| *item == items[at]);
    found.map_or(PreviousAccess::FIRST, |before| PreviousAccess {
        between: (at - before - 1) as u64,
        tag: tags[before],
    })
}

/// Calls `block` for random pieces of a range.
fn pieces(length: usize, random: &mut Random, mut block: impl FnMut(std::ops::Range<usize>)) {
    let mut at = 0;
    while at < length {
        let most = [1, 5, 100][random.below(3) as usize];
        let end = (at + random.below(most + 1) as usize).min(length);
        block(at..end);
        at = end;
    }
}

#[test]
fn previous_accesses_are_those_that_a_search_finds() {
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let (items, tags) = stream(&mut random);
        let mut found = vec![PreviousAccess::FIRST; items.len()];
        let mut table = Previous::new();
        pieces(items.len(), &mut random, |range| {
            table.process(
                &items[range.clone()],
                &tags[range.clone()],
                &mut found[range],
            );
        });
        for (at, found) in found.iter().enumerate() {
            assert_eq!(
                *found,
                previous(&items, &tags, at),
                "seed {seed}, access {at}"
            );
        }
        let mut last: Vec<(u64, u32)> = table.last_accesses().collect();
        last.sort_unstable();
        let is_last = |at: &usize| !items[at + 1..].contains(&items[*at]);
        let expected: Vec<(u64, u32)> = (0..items.len())
            .rev()
            .filter(is_last)
            .map(|at| ((items.len() - 1 - at) as u64, tags[at]))
            .collect();
        assert_eq!(last, expected, "seed {seed}");
        assert_eq!(table.accesses(), items.len() as u64);
        assert_eq!(table.distinct(), expected.len() as u64);
    }
}

#[test]
fn previous_survives_growth_of_its_table() {
    let items: Vec<u64> = (0..40_000_u64).map(|item| item << 20).collect();
    let tags: Vec<u32> = (0..40_000).collect();
    let mut found = vec![PreviousAccess::FIRST; items.len()];
    let mut table = Previous::new();
    table.process(&items, &tags, &mut found);
    assert!(found.iter().all(|found| *found == PreviousAccess::FIRST));
    table.process(&items, &tags, &mut found);
    for (tag, found) in (0..).zip(&found) {
        assert_eq!((found.between, found.tag), (39_999, tag));
    }
    assert!(table.memory().get() <= 40_000 * 96 + 1024);
}

/// The distances of a bounded engine are those of an exact one up to the limit, on streams long
/// enough for it to forget many times.
#[test]
fn bounded_distances_are_exact_below_the_limit() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let limit = [1, 2, 50, 700, 5_000][random.below(5) as usize];
        let items: Vec<u64> = (0..40_000_u64)
            .map(|at| match random.below(8) {
                0..4 => at + (1 << 40),
                4 => random.below(900),
                5 => random.below(6_000),
                _ => random.below(30) * random.below(30),
            })
            .collect();
        let mut expected = vec![Distance::ZERO; items.len()];
        OlkenTree::new().process(&items, &mut expected);
        for distance in &mut expected {
            if distance.items().is_some_and(|items| items >= limit) {
                *distance = Distance::COLD;
            }
        }
        let mut found = vec![Distance::ZERO; items.len()];
        let mut engine = Bounded::new(limit);
        pieces(items.len(), &mut random, |range| {
            engine.process(&items[range.clone()], &mut found[range]);
        });
        let differs = (0..items.len()).find(|at| found[*at] != expected[*at]);
        assert_eq!(differs, None, "seed {seed}, limit {limit}");
        assert!(engine.distinct().get() <= 4 * limit.max(4_096) + limit.max(4_096));
    }
}
