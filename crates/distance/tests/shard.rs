//! Streams cut at random and put together again in any order: every distance as the oracle has it.

use reuselens_baselines::BruteForce;
use reuselens_distance::generate::{Generator, Jacobi, Loop, Random, Uniform, Zipf};
use reuselens_distance::{CountingTree, Engine, Recency, Shard};
use reuselens_units::Distance;

/// A part of a stream on its way to the whole: where its accesses lie, and its firsts among them.
struct Piece {
    recency: Recency,
    /// For each unresolved first: its place in the whole stream.
    places: Vec<usize>,
}

/// Analyses `items[from..to]` in blocks of random sizes into `distances`.
fn analyse(
    items: &[u64],
    (from, to): (usize, usize),
    distances: &mut [Distance],
    random: &mut Random,
) -> Piece {
    let mut shard = Shard::new();
    let mut at = from;
    while at < to {
        let end = (at + random.below(90) as usize).min(to);
        shard.process(&items[at..end], &mut distances[at..end]);
        at = end;
    }
    let places: Vec<usize> = (from..to).filter(|&at| distances[at].is_cold()).collect();
    assert_eq!(shard.firsts(), places.len());
    Piece {
        recency: shard.into_recency(),
        places,
    }
}

/// Two neighbours as one.
fn merge(one: Piece, two: Piece, distances: &mut [Distance]) -> Piece {
    let mut column = vec![Distance::ZERO; 5];
    let mut shard = Shard::from_recency(one.recency);
    shard.absorb(two.recency, &mut column);
    let mut places = one.places;
    for (place, distance) in two.places.into_iter().zip(column) {
        distances[place] = distance;
        if distance.is_cold() {
            places.push(place);
        }
    }
    Piece {
        recency: shard.into_recency(),
        places,
    }
}

/// The distances of `items`, cut at `cuts`, merged as a random tree.
fn cut_and_merged(items: &[u64], cuts: &[usize], random: &mut Random) -> (Vec<Distance>, Recency) {
    let mut distances = vec![Distance::ZERO; items.len()];
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([items.len()]);
    let mut pieces: Vec<Piece> = starts
        .zip(ends)
        .map(|range| analyse(items, range, &mut distances, random))
        .collect();
    while pieces.len() > 1 {
        let at = random.below(pieces.len() as u64 - 1) as usize;
        let two = pieces.remove(at + 1);
        let one = std::mem::replace(
            &mut pieces[at],
            Piece {
                recency: Recency::default(),
                places: Vec::new(),
            },
        );
        pieces[at] = merge(one, two, &mut distances);
    }
    let whole = pieces.remove(0);
    (distances, whole.recency)
}

fn random_cuts(length: usize, cuts: u64, random: &mut Random) -> Vec<usize> {
    let mut cuts: Vec<usize> = (0..cuts)
        .map(|_| random.below(length as u64 + 1) as usize)
        .collect();
    cuts.sort_unstable();
    cuts
}

fn stream(kind: u64, items: u64, seed: u64) -> Box<dyn Generator> {
    match kind {
        0 => Box::new(Uniform::new(items, seed)),
        1 => Box::new(Zipf::new(items as u32, 0.99, seed)),
        2 => Box::new(Loop::new(u64::MAX - 3, 1, items)),
        _ => Box::new(Jacobi::new(3 + items % 20)),
    }
}

/// What is left of a stream: its items by first and by last access.
fn recency_of(items: &[u64]) -> Recency {
    let mut recency = Recency::default();
    for (at, item) in items.iter().enumerate() {
        if !items[..at].contains(item) {
            recency.firsts.push(*item);
        }
        if !items[at + 1..].contains(item) {
            recency.lasts.push(*item);
        }
    }
    recency
}

#[test]
fn segments_joined_in_any_order_give_all_distances() {
    for seed in 0..3_000 {
        let mut random = Random::new(seed);
        let length = random.below(400) as usize;
        let items = 1 + random.below(120);
        let mut column = vec![0; length];
        stream(seed % 4, items, seed).fill(&mut column);
        let mut expected = vec![Distance::ZERO; length];
        BruteForce::new().process(&column, &mut expected);
        let number = random.below(9);
        let cuts = random_cuts(length, number, &mut random);
        let (found, recency) = cut_and_merged(&column, &cuts, &mut random);
        assert_eq!(found, expected, "seed {seed}, cuts {cuts:?}: {column:?}");
        assert_eq!(recency, recency_of(&column), "seed {seed}, cuts {cuts:?}");
    }
}

/// Long enough for compactions on the way, and for stretches of many firsts.
#[test]
fn cuts_of_long_streams_change_no_distance() {
    for kind in 0..4 {
        let mut random = Random::new(kind);
        let mut items = vec![0; 300_000];
        stream(kind, 20_000, 7).fill(&mut items);
        let mut expected = vec![Distance::ZERO; items.len()];
        CountingTree::new().process(&items, &mut expected);
        for number in [1, 2, 6, 15] {
            let cuts = random_cuts(items.len(), number, &mut random);
            let (found, _) = cut_and_merged(&items, &cuts, &mut random);
            assert!(found == expected, "stream {kind}, {cuts:?}");
        }
    }
}

/// A chain in which each segment passes its firsts to the one before meanwhile: no recency
/// needed.
#[test]
fn chains_pass_first_accesses_on() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut items = vec![0; 500];
        stream(seed % 4, 60, seed).fill(&mut items);
        let mut expected = vec![Distance::ZERO; items.len()];
        BruteForce::new().process(&items, &mut expected);
        let cuts = random_cuts(items.len(), 4, &mut random);
        let bounds = [&[0][..], &cuts, &[items.len()]].concat();
        let mut found = Vec::new();
        let mut waiting: Vec<u64> = Vec::new();
        for stretch in bounds.windows(2).rev() {
            let own = &items[stretch[0]..stretch[1]];
            let mut shard = Shard::new();
            let mut distances = vec![Distance::ZERO; own.len()];
            shard.process(own, &mut distances);
            let mut firsts = shard.take_firsts();
            found.extend(distances.iter().filter(|distance| !distance.is_cold()));
            distances.resize(waiting.len(), Distance::ZERO);
            shard.process(&waiting, &mut distances);
            found.extend(distances.iter().filter(|distance| !distance.is_cold()));
            firsts.extend(shard.take_firsts());
            waiting = firsts;
        }
        found.extend(waiting.iter().map(|_| Distance::COLD));
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "seed {seed}, cuts {cuts:?}");
    }
}
