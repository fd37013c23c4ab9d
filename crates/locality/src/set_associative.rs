//! [`SetAssociative`]: the misses to expect in a cache with sets, by a model.

use reuselens_units::Distance;

use crate::histogram::Histogram;

/// Where the running sum is scaled down, so that it never overflows.
const LARGE: f64 = 1e250;

/// A bin of a histogram that is wider than this is asked about at this many of its distances.
const SAMPLES: u64 = 8;

/// A distance at most this much larger than the one before is calculated from it; after `CLOSE`
/// times `CLOSE` it is calculated anew.
const CLOSE: u64 = 16;

/// A distance, the probability to hit there, and the last term of its sum. Probabilities of
/// distances below `until` are calculated from these.
#[derive(Clone, Copy, Debug, Default)]
struct At {
    items: u64,
    hit: f64,
    last: f64,
    until: u64,
}

/// A set-associative LRU cache of `sets` sets of `ways` lines, for lines that fall on sets at
/// random.
///
/// An access at distance d hits if fewer than A of the d distinct lines since are in its set:
/// P(hit | d) = Σ_{a<A} binom(d, a) · (1/S)^a · (1 − 1/S)^(d−a). It is 1 for d < A, and 0 for cold
/// accesses. With one set, the cache is fully associative.
///
/// Source: Smith 1978; Hill & Smith 1989.
#[derive(Clone, Debug, PartialEq)]
pub struct SetAssociative {
    sets: u64,
    ways: u64,
    /// ln(1 − 1/S), by which a further line in between is not in the set.
    ln_elsewhere: f64,
}

/// [`SetAssociative::hit_probability`] for a single question.
pub fn hit_probability(distance: Distance, sets: u64, ways: u64) -> f64 {
    SetAssociative::new(sets, ways).hit_probability(distance)
}

impl SetAssociative {
    /// A cache of `sets` sets of `ways` lines. If either is 0, everything misses.
    pub fn new(sets: u64, ways: u64) -> Self {
        let ln_elsewhere = if sets > 1 {
            (-1.0 / sets as f64).ln_1p()
        } else {
            f64::NEG_INFINITY
        };
        SetAssociative {
            sets,
            ways,
            ln_elsewhere,
        }
    }

    /// The number of sets.
    pub fn sets(&self) -> u64 {
        self.sets
    }

    /// Lines per set.
    pub fn ways(&self) -> u64 {
        self.ways
    }

    /// The probability that an access at `distance` (in lines) hits. Never rises with the distance.
    /// Cost: at most one multiplication and division per way.
    ///
    /// The terms are summed relative to the first, whose logarithm is kept separately: for a long
    /// distance that term is far below the smallest number (10⁻⁶⁸³⁷⁶⁴⁷ for 10⁹ lines and 64 sets).
    pub fn hit_probability(&self, distance: Distance) -> f64 {
        distance.items().map_or(0.0, |items| self.at(items).hit)
    }

    /// What is known at a finite distance.
    fn at(&self, items: u64) -> At {
        let at = |hit, last| At {
            items,
            hit,
            last,
            // Nothing follows for the next distance from one that hits for certain, or from a term
            // that was not calculated although it becomes large some hundred distances later.
            until: if last > 0.0 && items > self.ways {
                items.saturating_add(CLOSE * CLOSE)
            } else {
                0
            },
        };
        if self.sets == 0 || self.ways == 0 {
            return at(0.0, 0.0);
        }
        if items < self.ways {
            return at(1.0, 0.0);
        }
        if self.sets == 1 {
            return at(0.0, 0.0);
        }
        let odds = 1.0 / (self.sets - 1) as f64;
        let mut ln_scale = items as f64 * self.ln_elsewhere;
        let (mut term, mut sum) = (1.0, 1.0);
        for lines in 1..self.ways {
            term *= (items - lines + 1) as f64 * odds / lines as f64;
            sum += term;
            if sum > LARGE {
                ln_scale += LARGE.ln();
                (term, sum) = (term / LARGE, sum / LARGE);
            }
            if term < sum * (f64::EPSILON / 4.0) && lines as f64 > items as f64 / self.sets as f64 {
                // Past the largest term, and too small to matter: so are all that follow.
                term = 0.0;
                break;
            }
        }
        let hit = (ln_scale + sum.ln()).exp().min(1.0);
        at(hit, (ln_scale + term.ln()).exp())
    }

    /// What is known at a distance that is larger than that of `at`.
    ///
    /// An access that hits at d and does not at d + 1 has A − 1 lines in its set, and the next line
    /// comes there too: P(d + 1) = P(d) − t(d)/S, where t is the last term of the sum, and t(d + 1)
    /// = t(d) · (1 − 1/S) · (d + 1)/(d + 2 − A).
    fn further(&self, mut at: At, items: u64) -> At {
        if at.items >= at.until || items - at.items > CLOSE {
            return self.at(items);
        }
        let into = 1.0 / self.sets as f64;
        while at.items < items {
            at.hit -= at.last * into;
            let more = (at.items + 1) as f64 / (at.items + 2 - self.ways) as f64;
            at.last *= (1.0 - into) * more;
            at.items += 1;
        }
        at
    }

    /// The misses to expect for a histogram of distances in lines. Bins of one distance are exact
    /// under the model; a wider bin is taken at eight distances spread evenly over it. Cost: one
    /// probability per distance that occurs, up to where none hits any more; where they follow each
    /// other closely, most come from the one before.
    pub fn misses(&self, histogram: &impl Histogram) -> f64 {
        let mut misses = histogram.cold() as f64;
        let mut hopeless = false;
        let mut at = At::default();
        for (low, high, count) in histogram.bins() {
            let hit = if hopeless {
                0.0
            } else if low == high && self.sets > 1 {
                at = self.further(at, low);
                at.hit
            } else {
                self.hits_in(low, high)
            };
            hopeless |= hit < f64::EPSILON * f64::EPSILON;
            misses += count as f64 * (1.0 - hit);
        }
        misses
    }

    /// [`misses`](Self::misses) per access; 0 if there are no accesses.
    pub fn miss_ratio(&self, histogram: &impl Histogram) -> f64 {
        match histogram.accesses() {
            0 => 0.0,
            accesses => self.misses(histogram) / accesses as f64,
        }
    }

    /// The mean probability to hit over the distances of a bin.
    fn hits_in(&self, low: u64, high: u64) -> f64 {
        if self.sets == 1 {
            return hits_below(low, high, self.ways);
        }
        let span = high - low;
        let samples = SAMPLES.min(span.saturating_add(1));
        let sum: f64 = (0..samples)
            .map(|index| {
                // The middle of each of `samples` equal parts.
                let parts =
                    u128::from(span) * (2 * u128::from(index) + 1) / (2 * u128::from(samples));
                let at = if span < SAMPLES {
                    low + index
                } else {
                    low + parts as u64
                };
                self.hit_probability(Distance::new(at))
            })
            .sum();
        sum / samples as f64
    }
}

/// The share of the distances `low..=high` that are below `ways`: they all hit a single set.
fn hits_below(low: u64, high: u64, ways: u64) -> f64 {
    if high < ways {
        return 1.0;
    }
    ways.saturating_sub(low) as f64 / ((high - low) as f64 + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExactHistogram, FineHistogram};

    /// The definition: all placements of `distance` lines on the sets, counted.
    fn enumerated(distance: u32, sets: u64, ways: u64) -> f64 {
        let placements = sets.pow(distance);
        let hits = (0..placements).filter(|placement| {
            let digits = (0..distance).filter(|digit| placement / sets.pow(*digit) % sets == 0);
            (digits.count() as u64) < ways
        });
        hits.count() as f64 / placements as f64
    }

    #[test]
    fn hit_probability_equals_share_of_placements() {
        for (sets, longest) in [(1, 6), (2, 12), (3, 8), (4, 7)] {
            for distance in 0..=longest {
                for ways in 0..=distance as u64 + 2 {
                    let closed = hit_probability(Distance::new(distance.into()), sets, ways);
                    let counted = if ways == 0 {
                        0.0
                    } else {
                        enumerated(distance, sets, ways)
                    };
                    assert!((closed - counted).abs() < 1e-13, "{distance} {sets} {ways}");
                }
            }
        }
    }

    #[test]
    fn misses_equal_the_sum_over_single_distances() {
        for (sets, ways) in [(64, 1), (64, 8), (1024, 20), (8192, 12), (2, 300)] {
            let model = SetAssociative::new(sets, ways);
            let (mut all, mut expected) = (ExactHistogram::new(), 0.0);
            let mut items = 0;
            for step in 0..60_000_u64 {
                items += [1, 1, 1, 7, 1, 16, 17, 2, 900][(step * step % 9) as usize];
                all.add(Distance::new(items), step % 5 + 1);
                let hit = model.hit_probability(Distance::new(items));
                expected += (step % 5 + 1) as f64 * (1.0 - hit);
            }
            let misses = model.misses(&all);
            let off = (misses - expected).abs() / expected;
            assert!(off < 1e-12, "{sets}×{ways}: {misses} {expected}");
        }
    }

    #[test]
    fn limits() {
        assert_eq!(hit_probability(Distance::COLD, 64, 8), 0.0);
        assert_eq!(hit_probability(Distance::new(7), 64, 8), 1.0);
        assert_eq!(hit_probability(Distance::new(8), 0, 8), 0.0);
        assert_eq!(hit_probability(Distance::ZERO, 0, 8), 0.0);
        assert_eq!(
            hit_probability(Distance::new(u64::MAX - 1), 1 << 24, 16),
            0.0
        );
    }

    #[test]
    fn hit_probability_holds_for_long_distances() {
        // With d = S lines, the number in the set is Poisson(1) in the limit.
        let poisson: f64 = [1.0, 1.0, 0.5, 1.0 / 6.0].iter().sum::<f64>() / std::f64::consts::E;
        let sets = 1 << 24;
        assert!((hit_probability(Distance::new(sets), sets, 4) - poisson).abs() < 1e-7);
        // d = S·A with many ways: the middle of the binomial, about one half.
        let middle = hit_probability(Distance::new(1_000_000_000), 100_000, 10_000);
        assert!((0.49..0.51).contains(&middle), "{middle}");
        // Far below the middle all hit, far above none does, and between it never rises.
        let model = SetAssociative::new(1024, 16);
        let mut last = 1.0;
        for items in (0..1 << 17).step_by(64) {
            let hit = model.hit_probability(Distance::new(items));
            assert!(
                hit <= last + 1e-12 && (0.0..=1.0).contains(&hit),
                "{items}: {hit} after {last}"
            );
            last = hit;
        }
        assert!(last < 1e-30);
    }

    #[test]
    fn one_set_equals_fully_associative() {
        let (mut exact, mut fine) = (ExactHistogram::new(), FineHistogram::new());
        for items in 0..3000 {
            exact.add(Distance::new(items), items % 7 + 1);
            fine.add(Distance::new(items), items % 7 + 1);
        }
        exact.add(Distance::COLD, 11);
        let model = SetAssociative::new(1, 512);
        assert_eq!(model.misses(&exact), exact.misses(512) as f64);
        assert_eq!(model.misses(&fine), fine.misses(512) as f64);
        assert_eq!(
            SetAssociative::new(0, 4).misses(&exact),
            exact.accesses() as f64
        );
    }

    #[test]
    fn fine_bins_are_narrow_enough() {
        let (mut exact, mut fine) = (ExactHistogram::new(), FineHistogram::new());
        for items in 0..20_000 {
            exact.add(Distance::new(items), 3);
            fine.add(Distance::new(items), 3);
        }
        for (sets, ways) in [(64, 8), (64, 12), (1024, 16), (2, 4096)] {
            let model = SetAssociative::new(sets, ways);
            let (by_exact, by_fine) = (model.miss_ratio(&exact), model.miss_ratio(&fine));
            assert!(
                (by_exact - by_fine).abs() < 2e-3,
                "{sets}×{ways}: {by_exact} {by_fine}"
            );
        }
    }
}
