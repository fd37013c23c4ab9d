//! Deferred counts against direct ones.

use super::*;

/// Numbers that look drawn by chance.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    (0_u64..).map(move |at| {
        let number = (at ^ (seed << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (number ^ (number >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
    })
}

/// Counts both ways, in columns of these lengths in turn.
fn both(raw: &[u64], lengths: &[usize]) -> [ExactHistogram; 2] {
    let (mut at_once, mut deferred) = (ExactHistogram::new(), DeferredHistogram::new());
    let distances: Vec<Distance> = raw.iter().map(|raw| Distance::new(*raw)).collect();
    let (mut rest, mut lengths) = (&distances[..], lengths.iter().cycle());
    while let Some(length) = lengths.next().filter(|_| !rest.is_empty()) {
        let (column, behind) = rest.split_at(rest.len().min(*length));
        at_once.add_column(column);
        deferred.add_column(column);
        rest = behind;
    }
    assert!(deferred.memory() > at_once.memory(), "nothing was put off");
    deferred.shrink();
    assert_eq!(deferred.memory(), at_once.memory());
    let mut merged = DeferredHistogram::new();
    merged.merge(deferred);
    [at_once, merged.finish()]
}

#[test]
fn deferred_counts_equal_direct_counts() {
    // The array grows while increments wait, and some distances are beyond it, or cold.
    for (seed, most) in [(1, 300_000), (2, 1 << 21), (3, 5_000_000)] {
        let raw = numbers(seed).take(400_000).enumerate();
        let raw: Vec<u64> = raw
            .map(|(at, number)| match number % 1000 {
                0 => u64::MAX,
                1 => 1 << 50,
                _ => number % (most * (at as u64 + 1) / 400_000 + WORTH),
            })
            .collect();
        let [at_once, deferred] = both(&raw, &[8192, 1, 700, 30_000]);
        assert_eq!(at_once, deferred, "seed {seed}");
    }
}

#[test]
fn counters_may_overflow() {
    // Half of all at eight places, the others all over the array, so that increments are put off.
    let raw: Vec<u64> = numbers(7)
        .take(1_400_000)
        .map(|number| match number % 16 {
            near @ 0..8 => near * 40_000,
            _ => (number >> 4) % (1 << 20),
        })
        .collect();
    let [at_once, deferred] = both(&raw, &[8192]);
    assert!(at_once.iter().any(|(_, count)| count > 1 << 16));
    assert_eq!(at_once, deferred);
}

#[test]
fn only_scattered_distances_are_deferred() {
    let puts_off = |raw: &mut dyn Iterator<Item = u64>| {
        let mut histogram = DeferredHistogram::new();
        let first: Vec<Distance> = (0..=WORTH).step_by(32).map(Distance::new).collect();
        histogram.add_column(&first);
        assert!(histogram.histogram.slots() >= WORTH && histogram.lengths.is_empty());
        let column: Vec<Distance> = raw.take(LOOK_EVERY).map(Distance::new).collect();
        histogram.add_column(&column);
        !histogram.lengths.is_empty()
    };
    assert!(puts_off(&mut numbers(1).map(|number| number % WORTH)));
    assert!(!puts_off(&mut numbers(1).map(|number| number % 1000)));
    assert!(!puts_off(&mut std::iter::repeat(WORTH)));
    assert!(!puts_off(&mut numbers(1).map(|n| WORTH + n % 4 * 1000)));
    assert!(!puts_off(&mut std::iter::repeat(u64::MAX)));
}

#[test]
fn few_distances_take_no_memory_beside_the_histogram() {
    let mut histogram = DeferredHistogram::new();
    let column: Vec<Distance> = numbers(1).take(5000).map(Distance::new).collect();
    histogram.add_column(&column);
    assert_eq!(histogram.memory(), histogram.histogram.memory());
}
