//! How many distinct items there are about, and how they lie, from a few of the accesses.

use reuselens_distance::Expected;
use reuselens_distance::dense_ids::{most_pages, page, same_low_bits};
use reuselens_distance::generate::Random;
use reuselens_units::Items;

/// One access in so many is looked at, but no fewer and no more than these.
const ONE_IN: usize = 1 << 10;
const SAMPLE: [usize; 2] = [1 << 16, 1 << 18];
/// Neighbouring accesses that are looked at together, and how often: few many times, and many a few
/// times.
const WINDOWS: [(usize, usize); 2] = [(1 << 10, 1 << 8), (1 << 15, 1 << 3)];
/// Items met twice from which on their number says something.
const SOME: u64 = 64;

/// The number of distinct items of a trace, about, and whether their ids lie close together:
/// *about* is good enough for what a table begins as and where work is divided, and no result
/// depends on it. Nothing for short traces, in which nothing is to be gained.
///
/// From how many items a sample meets once and twice (Chao & Lin, *Nonparametric lower bounds for
/// species richness and shared species richness under sampling without replacement*, Biometrics 68,
/// 2012), and not more than neighbouring accesses say, which are often to one item. Too small where
/// items occur rarely, which are not seen, and beyond 30 million (500 million in traces of 270
/// million accesses or more), where the sample is too small; too large where items come again after
/// some ten thousand accesses, and then no more. Pages of ids likewise, of which a single long
/// sweep meets none twice: it is taken to be scattered. Cost: 10 to 30 ms; 1 to 4 MiB.
pub(super) fn expected_of(items: &[u64]) -> Expected {
    let [least, most] = SAMPLE;
    let stride = items.len() / (items.len() / ONE_IN).clamp(least, most);
    if stride < 16 {
        return Expected::default();
    }
    let mut random = Random::new(0);
    // One from each stretch of that length, so that all parts of the trace have their say.
    let one_of = |stretch: &[u64]| stretch[random.below(stretch.len() as u64) as usize];
    let mut sample: Vec<u64> = items.chunks_exact(stride).map(one_of).collect();
    let distinct = classes(&mut sample, stride).min(distinct_at_most(items));
    let shift = same_low_bits(sample.iter().copied());
    let mut pages: Vec<u64> = sample.iter().map(|id| page(*id, shift)).collect();
    let is_crowded = classes(&mut pages, stride) <= most_pages(distinct);
    Expected {
        distinct: Items(distinct),
        dense_shift: is_crowded.then_some(shift),
    }
}

/// How many different numbers there are about where these come from, one of `stride` each. They are
/// put in order.
fn classes(sample: &mut [u64], stride: usize) -> u64 {
    sample.sort_unstable();
    let (mut distinct, mut once, mut twice) = (0, 0, 0);
    for same in sample.chunk_by(|one, next| one == next) {
        distinct += 1;
        once += u64::from(same.len() == 1);
        twice += u64::from(same.len() == 2);
    }
    // The share of what was looked at: where every item comes twice, without it twice as many would
    // come out.
    let looked_at = once / (stride as u64 - 1);
    distinct + once * once / (2 * twice + looked_at).max(2 * SOME)
}

/// What the trace would have if items never came again but in windows of neighbouring accesses.
fn distinct_at_most(items: &[u64]) -> u64 {
    let bounds = WINDOWS.map(|(length, count)| {
        let stretch = (items.len() / count).max(length);
        let (mut looked_at, mut distinct) = (0, 0);
        for stretch in items.chunks_exact(stretch) {
            let mut window = stretch[..length].to_vec();
            window.sort_unstable();
            looked_at += length as u64;
            distinct += window.chunk_by(|one, next| one == next).count() as u64;
        }
        let share = distinct as f64 / looked_at.max(1) as f64;
        (items.len() as f64 * share) as u64
    });
    bounds.into_iter().fold(u64::MAX, u64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_distance::generate::{Generator, Loop, Uniform, Zipf};

    fn expected(stream: &mut dyn Generator, length: usize) -> Expected {
        let mut items = vec![0; length];
        stream.fill(&mut items);
        expected_of(&items)
    }

    fn about(stream: &mut dyn Generator, length: usize) -> u64 {
        expected(stream, length).distinct.get()
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
        // Swept once, twice, and often.
        for items in [LENGTH, LENGTH / 2, LENGTH / 3, LENGTH / 20] {
            let found = about(&mut Loop::new(0, 1, items as u64), LENGTH);
            assert!(near(found, items as u64), "{items}: {found}");
        }
        // Accesses that come in bursts, as those of a program that goes through an array: each
        // looks alone in the sample.
        for burst in [8, 64] {
            let mut numbers = vec![0; LENGTH / burst];
            Uniform::new(1 << 60, 1).fill(&mut numbers);
            let items: Vec<u64> = numbers.iter().flat_map(|&n| vec![n; burst]).collect();
            let found = expected_of(&items).distinct.get();
            assert!(near(found, numbers.len() as u64), "{burst}: {found}");
        }
    }

    /// Two thousand items after each other, a hundred times, and then others: too many for a small
    /// window, and in a long trace too seldom for a sample.
    #[test]
    fn working_sets_that_come_once_are_seen_by_neighbours() {
        let items: Vec<u64> = (0..2_000_000_u64)
            .map(|at| at / 200_000 * 2_000 + at % 2_000)
            .collect();
        let at_most = distinct_at_most(&items);
        assert!((20_000..150_000).contains(&at_most), "{at_most}");
    }

    #[test]
    fn ids_are_crowded_where_they_fill_their_pages() {
        const LENGTH: u64 = 3 << 20;
        let crowded = |id: fn(u64) -> u64| {
            let mut random = Random::new(1);
            let items: Vec<u64> = (0..LENGTH).map(|_| id(random.below(200_000))).collect();
            expected_of(&items).dense_shift
        };
        assert_eq!(crowded(|number| number), Some(0));
        assert_eq!(crowded(|number| (0x7f00_0000_0000 + number) << 6), Some(6));
        assert_eq!(crowded(|number| number * 3 + 1), Some(0));
        assert_eq!(crowded(|number| number * 10 + 1), None);
        let mut scattered = vec![0; LENGTH as usize];
        Uniform::new(200_000, 1).fill(&mut scattered);
        assert_eq!(expected_of(&scattered).dense_shift, None);
    }
}
