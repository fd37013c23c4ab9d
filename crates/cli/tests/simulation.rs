//! The parts of the example `simulate` that its verdicts rest on.

#[path = "../examples/simulate/cache.rs"]
mod cache;
#[path = "../examples/simulate/ranks.rs"]
mod ranks;

use cache::Cache;
use ranks::rank_correlation;

/// Misses of loads of these lines, in order.
fn misses(cache: &mut Cache, lines: impl IntoIterator<Item = u64>) -> usize {
    let lines = lines.into_iter();
    lines
        .filter(|&line| !cache.access(line, false).is_hit)
        .count()
}

#[test]
fn cache_misses_in_a_full_set_while_others_are_empty() {
    // 4 sets of 2 ways: 0, 4 and 8 share a set, 0 to 7 fill the cache.
    let new = || Cache::new(8 * 64, 2, 64);
    let rounds = |lines: [u64; 3]| lines.into_iter().cycle().take(9);
    assert_eq!(misses(&mut new(), rounds([0, 4, 8])), 9);
    assert_eq!(misses(&mut new(), rounds([0, 4, 9])), 3);
    assert_eq!(misses(&mut new(), (0..8).chain(0..8)), 8);
    // The least recently used one goes: 4, as 0 was used again.
    assert_eq!(misses(&mut new(), [0, 4, 0, 8, 0, 4]), 4);
}

#[test]
fn cache_writes_back_only_written_lines() {
    let mut cache = Cache::new(2 * 64, 2, 64);
    for (line, is_store) in [(1, true), (2, false)] {
        assert_eq!(cache.access(line, is_store).written_back, None);
    }
    assert_eq!(cache.access(3, false).written_back, Some(1));
    assert_eq!(cache.access(4, false).written_back, None);
}

#[test]
fn rank_correlation_is_that_of_the_textbook() {
    let rising = [1.0, 2.0, 3.0, 4.0, 5.0];
    assert_eq!(rank_correlation(&rising, &[1.0, 4.0, 9.0, 16.0, 25.0]), 1.0);
    assert_eq!(rank_correlation(&rising, &[5.0, 4.0, 3.0, 2.0, 1.0]), -1.0);
    // 1 - 6 * (1 + 1 + 1 + 1) / (5 * 24).
    let swapped = rank_correlation(&rising, &[2.0, 1.0, 3.0, 5.0, 4.0]);
    assert!((swapped - 0.8).abs() < 1e-12, "{swapped}");
    // Equal values share the mean of their ranks: 1.5, 1.5, 3, 4.
    let ties = rank_correlation(&[1.0, 1.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 4.0]);
    assert!(
        (ties - 4.5 / (4.5_f64 * 5.0).sqrt()).abs() < 1e-12,
        "{ties}"
    );
    assert_eq!(rank_correlation(&[1.0, 1.0], &[1.0, 2.0]), 0.0);
}
