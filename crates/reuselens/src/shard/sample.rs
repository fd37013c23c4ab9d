//! How many distinct items there are about, from a few of the accesses.

use reuselens_distance::generate::Random;
use reuselens_units::Items;

/// Accesses looked at.
const SAMPLE: usize = 1 << 16;
/// Neighbouring accesses that are looked at together, and how often.
const WINDOW: usize = 1 << 10;
const WINDOWS: usize = 1 << 8;
/// Items met twice from which on their number says something.
const SOME: u64 = 64;

/// The number of distinct items of a trace, about: *about* is good enough for how long a table is and where work is
/// divided, and no result depends on it. 0 for short traces, in which nothing is to be gained.
///
/// From how many items a sample meets once and twice (the estimator of Chao, *Nonparametric estimation of the number
/// of classes in a population*, Scandinavian Journal of Statistics 11, 1984), and not more than neighbouring accesses say, which are often
/// to one item. Too small where items occur rarely, which are not seen, and beyond 30 million, where the sample is too small; too large where
/// items come again after some thousand accesses, and then no more. Cost: a few milliseconds; 512 KiB.
pub(super) fn distinct_about(items: &[u64]) -> Items {
    let stride = items.len() / SAMPLE;
    if stride < 16 {
        return Items(0);
    }
    let mut random = Random::new(0);
    // One from each stretch of that length, so that all parts of the trace have their say.
    let one_of = |stretch: &[u64]| stretch[random.below(stretch.len() as u64) as usize];
    let mut sample: Vec<u64> = items.chunks_exact(stride).map(one_of).collect();
    sample.sort_unstable();
    let (mut distinct, mut once, mut twice) = (0, 0, 0);
    for same in sample.chunk_by(|one, next| one == next) {
        distinct += 1;
        once += u64::from(same.len() == 1);
        twice += u64::from(same.len() == 2);
    }
    let unseen = once * once / (2 * twice.max(SOME));
    Items((distinct + unseen).min(distinct_at_most(items)))
}

/// What the trace would have if items never came again but in windows of neighbouring accesses.
fn distinct_at_most(items: &[u64]) -> u64 {
    let stretch = (items.len() / WINDOWS).max(WINDOW);
    let (mut looked_at, mut distinct) = (0, 0);
    for stretch in items.chunks_exact(stretch) {
        let mut window = stretch[..WINDOW].to_vec();
        window.sort_unstable();
        looked_at += WINDOW as u64;
        distinct += window.chunk_by(|one, next| one == next).count() as u64;
    }
    let share = distinct as f64 / looked_at.max(1) as f64;
    (items.len() as f64 * share) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_distance::generate::{Generator, Loop, Uniform, Zipf};

    fn about(stream: &mut dyn Generator, length: usize) -> u64 {
        let mut items = vec![0; length];
        stream.fill(&mut items);
        distinct_about(&items).get()
    }

    #[test]
    fn estimates_are_near_where_items_are_alike_and_below_where_not() {
        const LENGTH: usize = 3 << 20;
        let near = |found: u64, truth: u64| found.abs_diff(truth) * 5 < truth;
        assert_eq!(about(&mut Uniform::new(5, 1), 1 << 20), 5);
        assert!(near(about(&mut Uniform::new(200_000, 1), LENGTH), 200_000));
        assert!(near(about(&mut Loop::new(0, 64, 500_000), LENGTH), 500_000));
        let zipf = about(&mut Zipf::new(1_000_000, 0.99, 1), LENGTH);
        assert!((20_000..600_000).contains(&zipf), "{zipf}");
        assert_eq!(about(&mut Loop::new(0, 1, 1 << 40), LENGTH), LENGTH as u64);
        assert_eq!(about(&mut Uniform::new(1 << 60, 1), 1000), 0);
        // Accesses that come in bursts, as those of a program that goes through an array: each looks alone in the sample.
        for burst in [8, 64] {
            let mut numbers = vec![0; LENGTH / burst];
            Uniform::new(1 << 60, 1).fill(&mut numbers);
            let items: Vec<u64> = numbers.iter().flat_map(|&n| vec![n; burst]).collect();
            let found = distinct_about(&items).get();
            assert!(near(found, numbers.len() as u64), "{burst}: {found}");
        }
    }
}
