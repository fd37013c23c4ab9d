//! The model of a cache with sets against a simulated one.

use std::collections::HashMap;

use reuselens_locality::{ExactHistogram, SetAssociative};
use reuselens_units::Distance;

/// SplitMix64: the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// A trace of near and far accesses to `lines` lines.
fn trace(random: &mut Random, lines: u64, accesses: usize) -> Vec<u64> {
    let spread = |random: &mut Random| match random.below(3) {
        0 => random.below(lines),
        1 => random.below(lines / 8),
        _ => random.below(8),
    };
    (0..accesses).map(|_| spread(random)).collect()
}

/// The definition: the distinct lines since the last access to the same one.
fn distances(trace: &[u64]) -> ExactHistogram {
    let mut histogram = ExactHistogram::new();
    let mut recent: Vec<u64> = Vec::new();
    for line in trace {
        let at = recent.iter().rposition(|other| other == line);
        let distance = at.map_or(Distance::COLD, |at| {
            Distance::new((recent.len() - 1 - at) as u64)
        });
        histogram.add(distance, 1);
        if let Some(at) = at {
            recent.remove(at);
        }
        recent.push(*line);
    }
    histogram
}

/// Misses of an LRU cache whose lines lie in random sets.
fn simulate(trace: &[u64], sets: u64, ways: usize, random: &mut Random) -> u64 {
    let mut home: HashMap<u64, usize> = HashMap::new();
    let mut cache: Vec<Vec<u64>> = vec![Vec::new(); sets as usize];
    let mut misses = 0;
    for line in trace {
        let set = &mut cache[*home
            .entry(*line)
            .or_insert_with(|| random.below(sets) as usize)];
        match set.iter().position(|other| other == line) {
            Some(at) => drop(set.remove(at)),
            None => misses += 1,
        }
        set.push(*line);
        if set.len() > ways {
            set.remove(0);
        }
    }
    misses
}

/// The mean of many random placements is within five standard errors of the model, for which the
/// error comes from the spread of the placements: by chance, one in two million would not be.
#[test]
fn set_model_equals_mean_of_simulated_caches() {
    const PLACEMENTS: u64 = 300;
    let mut random = Random(2001);
    for (lines, sets, ways) in [
        (64, 4, 2),
        (300, 16, 4),
        (300, 64, 1),
        (600, 32, 8),
        (200, 1, 50),
    ] {
        let trace = trace(&mut random, lines, 3000);
        let expected = SetAssociative::new(sets, ways as u64).misses(&distances(&trace));
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..PLACEMENTS {
            let misses = simulate(&trace, sets, ways, &mut random) as f64;
            sum += misses;
            squares += misses * misses;
        }
        let mean = sum / PLACEMENTS as f64;
        let variance = (squares / PLACEMENTS as f64 - mean * mean).max(0.0);
        let error = (variance / (PLACEMENTS - 1) as f64).sqrt();
        let off = (mean - expected).abs();
        assert!(
            off <= 5.0 * error + 1e-6,
            "{lines} {sets}×{ways}: {expected} {mean} ± {error}"
        );
        // The test could tell the model from a fully associative cache of the same size.
        let full = distances(&trace).misses(sets * ways as u64) as f64;
        assert!(
            sets == 1 || (full - mean).abs() > 5.0 * error,
            "{lines} {sets}×{ways}"
        );
    }
}
