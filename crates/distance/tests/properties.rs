//! Random streams, cut at random: every engine against the oracle, distance by distance.

use reuselens_baselines::{BruteForce, FenwickTree, OlkenTree};
use reuselens_distance::generate::{Generator, Random, Uniform};
use reuselens_distance::{CountingTree, Engine, Tally};
use reuselens_units::{Bytes, Distance, Granularity};

/// Feeds a stream in blocks of random sizes, empty ones among them, and as items of 32 bits where
/// they are.
fn distances(engine: &mut dyn Engine, items: &[u64], random: &mut Random) -> Vec<Distance> {
    let mut distances = vec![Distance::ZERO; items.len()];
    let mut at = 0;
    while at < items.len() {
        let most = [1, 3, 70, 5000][random.below(4) as usize];
        let end = (at + random.below(most + 1) as usize).min(items.len());
        let (block, into) = (&items[at..end], &mut distances[at..end]);
        let narrow: Result<Vec<u32>, _> = block.iter().map(|&item| item.try_into()).collect();
        match narrow {
            Ok(narrow) if random.below(2) == 0 => engine.process_u32(&narrow, into),
            _ => engine.process(block, into),
        }
        at = end;
    }
    distances
}

fn engines() -> [Box<dyn Engine>; 3] {
    [
        Box::new(CountingTree::new()),
        Box::new(FenwickTree::new()),
        Box::new(OlkenTree::new()),
    ]
}

/// Holds the engines to the oracle, and to what every histogram must add up to.
fn check(items: &[u64], random: &mut Random, what: &str) {
    let mut expected = vec![Distance::ZERO; items.len()];
    BruteForce::new().process(items, &mut expected);
    for mut engine in engines() {
        let (mut tally, mut at) = (Tally::new(), 0);
        while at < items.len() {
            let end = (at + random.below(3000) as usize).min(items.len());
            engine.tally(&items[at..end], &mut tally);
            at = end;
        }
        let near = (0..).zip(tally.near());
        let near = near.flat_map(|(near, count)| vec![Distance::new(near); *count as usize]);
        let mut counted: Vec<_> = tally.rest().iter().copied().chain(near).collect();
        counted.sort_unstable();
        let mut sorted = expected.clone();
        sorted.sort_unstable();
        assert_eq!(counted, sorted, "{} tallies {what}", engine.name());
    }
    for mut engine in engines() {
        let found = distances(engine.as_mut(), items, random);
        assert_eq!(found, expected, "{} on {what}: {items:?}", engine.name());
        let cold = found.iter().filter(|distance| distance.is_cold()).count() as u64;
        assert_eq!(cold, engine.distinct().get(), "{} on {what}", engine.name());
        let farthest = found.iter().filter_map(|distance| distance.items()).max();
        assert!(
            farthest.is_none_or(|items| items < cold),
            "{} on {what}",
            engine.name()
        );
    }
}

/// The next item of each shape of stream.
struct Shape {
    kind: u64,
    items: u64,
    stride: u64,
    at: u64,
}

impl Shape {
    const KINDS: [&str; 6] = ["uniform", "skewed", "loop", "walk", "sweep", "mixed"];

    fn new(random: &mut Random) -> Self {
        let most = [2, 5, 40, 300][random.below(4) as usize];
        let stride = 1 << random.below(64);
        Shape {
            kind: random.below(6),
            items: 1 + random.below(most),
            stride,
            at: 0,
        }
    }

    fn next(&mut self, random: &mut Random) -> u64 {
        let kind = if self.kind == 5 {
            random.below(5)
        } else {
            self.kind
        };
        let number = match kind {
            0 => random.below(self.items),
            1 => random.below(self.items) * random.below(self.items) / self.items,
            2 => self.at % self.items,
            3 => self.at / 2 + random.below(3),
            _ if self.at / self.items % 2 == 1 => self.items - 1 - self.at % self.items,
            _ => self.at % self.items,
        };
        self.at += 1;
        // Around both ends of the numbers: 0 and the largest are items too.
        number
            .wrapping_sub(self.items / 2)
            .wrapping_mul(self.stride)
    }
}

#[test]
fn engines_equal_the_oracle_on_random_streams() {
    for seed in 0..9_000 {
        let mut random = Random::new(seed);
        let mut shape = Shape::new(&mut random);
        let most = [20, 150, 400][random.below(3) as usize];
        let length = random.below(most);
        let items: Vec<u64> = (0..length).map(|_| shape.next(&mut random)).collect();
        check(&items, &mut random, Shape::KINDS[shape.kind as usize]);
    }
}

#[test]
fn engines_equal_the_oracle_at_every_granularity() {
    for seed in 0..1_500 {
        let mut random = Random::new(1 << 32 | seed);
        let granularity = Granularity::new(1 << random.below(13)).unwrap();
        let base = [0, 0x7fff_0000_0000, u64::MAX - 4000][random.below(3) as usize];
        let mut items = Vec::new();
        for _ in 0..random.below(120) {
            let reach = 1 << random.below(13);
            let address = base.wrapping_add(random.below(reach));
            let (first, last) =
                granularity.cover(address, [0, 1, 4, 8, 64][random.below(5) as usize]);
            items.extend(first..=last);
        }
        check(
            &items,
            &mut random,
            &format!("addresses by {} bytes", granularity.bytes()),
        );
    }
}

/// Streams long enough for the time axis to be compacted many times, against the oracle.
#[test]
fn engines_equal_the_oracle_through_compactions() {
    for seed in 0..4 {
        let mut random = Random::new(seed);
        let mut items = vec![0; 150_000];
        Uniform::new(1 + 30 * seed, seed).fill(&mut items);
        let expected = distances(&mut BruteForce::new(), &items, &mut random);
        let engines: [Box<dyn Engine>; 2] =
            [Box::new(CountingTree::new()), Box::new(FenwickTree::new())];
        for mut engine in engines {
            let found = distances(engine.as_mut(), &items, &mut random);
            assert!(found == expected, "{}, seed {seed}", engine.name());
        }
    }
}

/// A million accesses to more than 64 Ki items: growth, all levels of counts, compaction, and the
/// borders of 16-bit counters; one exact engine against the others.
#[test]
fn the_trees_agree_on_large_working_sets() {
    let mut random = Random::new(99);
    let mut items = vec![0; 1_000_000];
    for (at, item) in items.iter_mut().enumerate() {
        *item = match at / 250_000 {
            0 => random.below(200_000),
            1 => at as u64 % 90_000,
            2 => random.below(400) * random.below(400),
            _ => random.below(300_000) << 20,
        };
    }
    let olken = distances(&mut OlkenTree::new(), &items, &mut random);
    let engines: [Box<dyn Engine>; 2] =
        [Box::new(CountingTree::new()), Box::new(FenwickTree::new())];
    for mut engine in engines {
        let found = distances(engine.as_mut(), &items, &mut random);
        let differs = found
            .iter()
            .zip(&olken)
            .position(|(one, other)| one != other);
        assert_eq!(differs, None, "{}", engine.name());
    }
}

/// Memory grows with the distinct items, not with the length of the stream.
#[test]
fn memory_does_not_grow_with_time() {
    let mut engine = CountingTree::new();
    let mut generator = Uniform::new(10_000, 3);
    let (mut items, mut column) = (vec![0; 100_000], vec![Distance::ZERO; 100_000]);
    let mut memory = Vec::new();
    for _ in 0..20 {
        generator.fill(&mut items);
        engine.process(&items, &mut column);
        memory.push(engine.memory());
    }
    assert_eq!(engine.distinct().get(), 10_000);
    assert!(memory.iter().all(|bytes| *bytes == memory[1]), "{memory:?}");
    // 16 to 32 Ki slots of 16 bytes, and the bits of one chunk.
    assert!(memory[1].get() < 32 * 1024 * 16 + 64 * 1024, "{memory:?}");
}

#[test]
fn a_look_ahead_is_never_less_than_what_comes() {
    const PIECE: usize = 1 << 12;
    let mut random = Random::new(1);
    let (mut piece, mut distances) = (vec![0; PIECE], vec![Distance::ZERO; PIECE]);
    for items in [30_000_u64, 300_000] {
        for spread in [1, 0x9e37_79b9_7f4a_7c15] {
            let mut engine = CountingTree::new();
            let mut warned = 0;
            for _ in 0..3 * items / PIECE as u64 {
                let ahead = engine.memory_ahead(PIECE as u64);
                let (known, before) = (engine.distinct().get(), engine.memory());
                piece.fill_with(|| random.below(items).wrapping_mul(spread));
                engine.process(&piece, &mut distances);
                let new = engine.distinct().get() - known;
                warned += usize::from(ahead > before);
                if new <= known / 2 && spread > 1 {
                    assert!(engine.memory() <= ahead, "{known} and {new} items");
                }
                // Shadow pages come one by one, 2 KiB for each item at the most.
                let pages = Bytes(new * 2100 + (1 << 20));
                assert!(spread > 1 || engine.memory() <= ahead + pages);
            }
            assert!(warned > 0 || spread == 1);
        }
    }
}

/// A limit on memory must not stop what would have fitted: a table that grows takes what it
/// becomes, and what it was.
#[test]
fn a_look_ahead_is_not_much_more_than_what_can_come() {
    for items in [1_u64, 100, 700, 1000, 5000, 20_000, 60_000, 200_000] {
        let mut engine = CountingTree::new();
        let empty = engine.memory_ahead(1 << 17).get();
        let items: Vec<_> = (0..items)
            .map(|item| item.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect();
        let mut distances = vec![Distance::ZERO; items.len()];
        engine.process(&items, &mut distances);
        let ahead = engine.memory_ahead(1 << 17).get();
        let most = empty + 62 * items.len() as u64;
        assert!(ahead <= most, "{ahead} bytes for {} items", items.len());
    }
}
