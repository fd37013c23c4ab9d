//! The scheduler against a brute-force oracle, with segments of numbers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use reuselens_baselines::BruteForce;
use reuselens_distance::Engine;
use reuselens_locality::ExactHistogram;
use reuselens_units::Distance;

use super::scheduler::{Divisible, Reading};
use super::*;

/// Items that are read in pieces of random lengths, and cut at random places.
struct RandomPieces<'a> {
    left: &'a [u64],
    read: u64,
    random: Random,
    /// What happens when this item is read.
    at: Option<(u64, Trouble)>,
}

#[derive(Clone, Copy)]
enum Trouble {
    Panic,
    Failure,
}

impl<'a> RandomPieces<'a> {
    fn new(left: &'a [u64], seed: u64) -> Self {
        RandomPieces {
            left,
            read: 0,
            random: Random::new(seed),
            at: None,
        }
    }
}

impl Divisible for RandomPieces<'_> {
    fn read(&mut self, count: &mut dyn FnMut(&[u64])) -> Reading {
        if self.left.is_empty() {
            return Reading::End;
        }
        // Some calls yield nothing, and some yield several pieces.
        for _ in 0..self.random.below(3) {
            let most = 1 + self.left.len().min(50) as u64;
            let (piece, left) = self.left.split_at(self.random.below(most) as usize);
            match self.at {
                Some((item, Trouble::Panic)) if piece.contains(&item) => {
                    std::panic::panic_any("the segment")
                }
                Some((item, Trouble::Failure)) if piece.contains(&item) => return Reading::Failed,
                _ => count(piece),
            }
            self.left = left;
            self.read += piece.len() as u64;
        }
        Reading::More
    }

    fn split_off(&mut self, shortest: Accesses) -> Option<Self> {
        let shortest = shortest.get().max(1);
        let places = (self.left.len() as u64 + 1).checked_sub(2 * shortest)?;
        let place = shortest + self.random.below(places.max(1));
        if places == 0 {
            return None;
        }
        let (left, half) = self.left.split_at(place as usize);
        self.left = left;
        Some(RandomPieces {
            at: self.at,
            ..RandomPieces::new(half, self.random.below(u64::MAX))
        })
    }

    fn position(&self) -> u64 {
        self.read
    }

    fn memory(&self) -> Bytes {
        Bytes(0)
    }
}

/// Items of some distinct ones, of which new ones may come until the end.
fn items(random: &mut Random) -> Vec<u64> {
    let length = random.below(3_000);
    let (few, growth) = (1 + random.below(60), random.below(3));
    let item = |at| random.below(few + growth * at / 8);
    (0..length).map(item).collect()
}

/// The items cut at random places, some of them perhaps equal.
fn cut<'a>(items: &'a [u64], random: &mut Random) -> Vec<RandomPieces<'a>> {
    let mut cuts: Vec<u64> = (0..random.below(6))
        .map(|_| random.below(items.len() as u64 + 1))
        .collect();
    cuts.sort_unstable();
    let ends = cuts.iter().map(|cut| *cut as usize).chain([items.len()]);
    let mut start = 0;
    ends.map(|end| {
        let piece = &items[std::mem::replace(&mut start, end)..end];
        RandomPieces::new(piece, random.below(u64::MAX))
    })
    .collect()
}

fn by_brute_force(items: &[u64]) -> ExactHistogram {
    let mut distances = vec![Distance::COLD; items.len()];
    BruteForce::new().process(items, &mut distances);
    let mut histogram = ExactHistogram::new();
    histogram.add_column(&distances);
    histogram
}

/// With any cuts, on 1 to 8 threads, with and without threads that wait for halves, the histogram
/// is that of a list of items by recency.
#[test]
fn segments_come_to_what_brute_force_does() {
    let (mut random, mut split_off) = (Random::new(11), 0);
    for round in 0..400 {
        let items = items(&mut random);
        let expected = by_brute_force(&items);
        let segments = cut(&items, &mut random);
        let (few, threads) = (segments.len(), 1 + round % 8);
        // Idle threads that never take anything have segments split all the time.
        let idle = [0, 1, 20][round / 8 % 3];
        let shortest = Accesses(1 + random.below(40));
        let scheduler = Scheduler::new(shortest, Bytes(u64::MAX)).with_idle(idle);
        let (mut accesses, mut read) = (0, 0);
        let mut progress = |now: Accesses, bytes| {
            assert!(now.get() >= accesses && bytes >= read, "round {round}");
            (accesses, read) = (now.get(), bytes);
        };
        let finished = scheduler.run(segments, threads, Expected::default(), &mut progress);
        let finished = finished.unwrap();
        assert_eq!((accesses, read), (items.len() as u64, items.len() as u64));
        split_off += finished.len() - few;
        let mut histogram = ExactHistogram::new();
        let mut counted = 0;
        for (at, segment) in finished.iter().enumerate() {
            assert!(segment.segment.left.is_empty());
            assert!(
                at == 0 || segment.histogram.cold() == 0,
                "only the first knows what is cold"
            );
            histogram.merge(&segment.histogram);
            counted += segment.accesses;
        }
        assert_eq!(counted, items.len() as u64, "round {round}");
        assert_eq!(histogram, expected, "round {round}, {threads} threads");
    }
    assert!(split_off > 500, "{split_off}");
}

/// Seven segments, one of which has trouble in its middle.
fn troubled(items: &[u64], trouble: Trouble) -> Vec<RandomPieces<'_>> {
    let segments = items.chunks(items.len() / 7).zip(0..);
    let segment = |(piece, seed)| RandomPieces {
        at: Some((items[items.len() / 2], trouble)),
        ..RandomPieces::new(piece, seed)
    };
    segments.map(segment).collect()
}

#[test]
fn a_panic_in_a_segment_reaches_the_caller_and_leaves_nobody_waiting() {
    let items: Vec<u64> = (0..7_000).collect();
    for threads in 1..=8 {
        let scheduler = Scheduler::new(Accesses(10), Bytes(u64::MAX));
        let segments = troubled(&items, Trouble::Panic);
        let run = || scheduler.run(segments, threads, Expected::default(), &mut |_, _| {});
        let panic = catch_unwind(AssertUnwindSafe(run)).err().unwrap();
        assert_eq!(panic.downcast_ref(), Some(&"the segment"), "{threads}");
    }
}

#[test]
fn a_segment_that_fails_ends_all() {
    let items: Vec<u64> = (0..7_000).collect();
    for threads in 1..=8 {
        let scheduler = Scheduler::new(Accesses(10), Bytes(u64::MAX));
        let segments = troubled(&items, Trouble::Failure);
        let finished = scheduler.run(segments, threads, Expected::default(), &mut |_, _| {});
        assert!(finished.is_none(), "{threads}");
    }
}

#[test]
fn segments_that_hold_too_much_are_given_up() {
    let items: Vec<u64> = (0..7_000).collect();
    for (limit, fits) in [(1_000, false), (1 << 30, true)] {
        let segments = items
            .chunks(1_000)
            .map(|piece| RandomPieces::new(piece, 1))
            .collect();
        let scheduler = Scheduler::new(Accesses(10), Bytes(limit));
        let finished = scheduler.run(segments, 2, Expected::default(), &mut |_, _| {});
        assert_eq!(finished.is_some(), fits);
    }
}
