//! Distances of the device are those of an LRU list and of the engine of the processor, for every
//! trace and every size of a chunk.

mod streams;

use std::collections::BTreeMap;

use reuselens_cuda::Interpreter;
use reuselens_distance::generate::{Generator, Random, Uniform, Zipf};
use reuselens_distance::{CountingTree, Engine};
use reuselens_distance_gpu::{ExactSettings, GpuExact, KernelCode, interpreter};
use reuselens_locality::ExactHistogram;
use reuselens_ptx::{Ignore, Options};
use reuselens_units::Distance;

use streams::{distances, items_of, list, random_chunk, random_items};

const MEMORY: u64 = 1 << 26;

fn settings(chunk: u64) -> ExactSettings {
    ExactSettings { chunk: Some(chunk) }
}

fn tree(items: &[u64]) -> Vec<Distance> {
    let mut distances = vec![Distance::ZERO; items.len()];
    CountingTree::new().process(items, &mut distances);
    distances
}

fn histogram(distances: &[Distance]) -> ExactHistogram {
    let mut histogram = ExactHistogram::new();
    histogram.add_column(distances);
    histogram
}

/// A device that runs blocks and warps in a random order, for some seeds.
fn any_device(seed: u64) -> Interpreter<Ignore> {
    let options = Options {
        threads: 1 + seed as usize % 2,
        seed: seed.is_multiple_of(3).then_some(seed),
        check_races: seed.is_multiple_of(5),
        ..Options::default()
    };
    Interpreter::new(MEMORY, options, Ignore)
}

fn any_code(seed: u64) -> &'static KernelCode {
    match seed % 2 {
        0 => &KernelCode::CLANG,
        _ => &KernelCode::NVCC,
    }
}

#[test]
fn distances_equal_an_lru_list_on_random_streams() {
    let mut lengths = BTreeMap::<u64, u64>::new();
    for seed in 0..540 {
        let mut random = Random::new(seed);
        let items = random_items(&mut random);
        let length = items.len() as u64;
        let chunk = random_chunk(length, &mut random);
        let engine =
            GpuExact::with_code(any_device(seed), settings(chunk), any_code(seed)).unwrap();
        let found = distances(engine, &items, &mut random);
        assert_eq!(
            found,
            list(&items),
            "seed {seed}, chunks of {chunk}: {items:?}"
        );
        *lengths.entry(length.div_ceil(chunk)).or_default() += 1;
    }
    // One chunk and several.
    assert!(lengths.len() > 2, "{lengths:?}");
}

/// Streams whose lengths are around those of tiles, so that passes over several tiles run: with
/// buckets that are full and not, and with digits of several widths.
#[test]
fn distances_equal_an_lru_list_around_the_borders_of_tiles() {
    let lengths = [2047, 2048, 2049, 4095, 4096, 4097, 6200, 8193];
    for (seed, length) in (0..).zip(lengths) {
        let mut random = Random::new(seed);
        let mut items = vec![0; length];
        match seed % 3 {
            0 => Uniform::new(length as u64 / 3, seed).fill(&mut items),
            1 => Zipf::new(1000, 0.9, seed).fill(&mut items),
            _ => items = items_of(length as u64, &mut random),
        }
        let chunk = [length, length - 1, 2049][seed as usize % 3] as u64;
        let engine =
            GpuExact::with_code(any_device(seed), settings(chunk), any_code(seed)).unwrap();
        let found = distances(engine, &items, &mut random);
        assert!(
            found == list(&items),
            "{length} references, chunks of {chunk}"
        );
    }
}

/// Long enough for two passes over several tiles, the second over many buckets.
#[test]
fn long_streams_take_several_passes() {
    let length = (1 << 19) + 3000;
    let mut items = vec![0; length];
    Uniform::new(70_000, 3).fill(&mut items);
    let mut engine = GpuExact::new(interpreter(MEMORY, 2), settings(length as u64)).unwrap();
    engine.feed(&items);
    let mut found = ExactHistogram::new();
    let finished = engine.finish_tally(&mut found).unwrap();
    assert_eq!(found, histogram(&tree(&items)));
    assert_eq!(finished.distinct.get(), found.cold());
}

/// Items of all widths that sorting knows, with bits that differ at both ends.
#[test]
fn items_that_differ_in_any_bits_are_distinguished() {
    for bit in 0..64 {
        let items: Vec<u64> = (0..40_u64)
            .map(|at| (at % 3) << bit | (at / 20) << 63 | (at % 2))
            .collect();
        let mut engine = GpuExact::new(interpreter(MEMORY, 1), settings(40)).unwrap();
        engine.feed(&items);
        assert_eq!(
            engine.finish().unwrap().distances,
            list(&items),
            "bit {bit}"
        );
    }
    // The widest that are sorted as 32 bits, and the narrowest that are not.
    for most in [u64::from(u32::MAX), 1 << 32] {
        let items = [5, 5 + most, 5, 5 + most, 6, 4 + most, 5];
        let mut engine = GpuExact::new(interpreter(MEMORY, 1), settings(40)).unwrap();
        engine.feed(&items);
        assert_eq!(engine.finish().unwrap().distances, list(&items), "{most}");
    }
}

/// Histograms are equal for every chunk, and for items that come as 32 bits.
#[test]
fn histograms_equal_those_of_the_counting_tree_for_every_chunk() {
    let mut items = vec![0; 3000];
    Zipf::new(900, 0.8, 5).fill(&mut items);
    let narrow: Vec<u32> = items.iter().map(|&item| item as u32).collect();
    let expected = histogram(&tree(&items));
    for chunk in [100, 999, 1000, 2048, 2999, 3000, 9000] {
        let mut engine = GpuExact::new(interpreter(MEMORY, 1), settings(chunk)).unwrap();
        let mut found = ExactHistogram::new();
        for narrow in narrow.chunks(700) {
            engine.feed_u32(narrow);
            if engine.is_full() {
                engine.tally(&mut found).unwrap();
            }
        }
        engine.finish_tally(&mut found).unwrap();
        assert_eq!(found, expected, "chunks of {chunk}");
    }
}

#[test]
fn nothing_gives_nothing() {
    let mut engine = GpuExact::new(interpreter(MEMORY, 1), ExactSettings::default()).unwrap();
    assert!(engine.analyse().unwrap().is_empty());
    let finished = engine.finish().unwrap();
    assert!(finished.distances.is_empty());
    assert_eq!(finished.distinct.get(), 0);
}

/// Time is counted where it goes, and device memory does not grow with the stream.
#[test]
fn times_have_every_step_and_memory_stays() {
    let mut engine = GpuExact::new(interpreter(MEMORY, 1), settings(300)).unwrap();
    let mut items = vec![0; 3000];
    Uniform::new(200, 3).fill(&mut items);
    let mut found = ExactHistogram::new();
    let mut held = Vec::new();
    for items in items.chunks(300) {
        engine.feed(items);
        engine.tally(&mut found).unwrap();
        held.push((engine.memory(), engine.memory_ahead()));
    }
    let times = engine.times();
    for step in [times.transfer, times.sort, times.previous, times.dominance] {
        assert!(!step.is_zero(), "{times:?}");
    }
    assert!(
        !times.histogram.is_zero() && !times.resolve.is_zero(),
        "{times:?}"
    );
    assert!(times.total() >= times.sort + times.dominance);
    for (now, ahead) in &held[4..] {
        assert!(now.get() * 10 < held[3].0.get() * 11, "{held:?}");
        assert!(ahead.get() * 10 < held[3].1.get() * 11, "{held:?}");
    }
}
