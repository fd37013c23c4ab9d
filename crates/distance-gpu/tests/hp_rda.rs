//! HP-RDA on the device gives what HP-RDA on the processor does, number for number.

mod streams;

use reuselens_baselines::{BlockCount, BruteForce, HpRdaSettings};
use reuselens_cuda::Interpreter;
use reuselens_distance::Engine;
use reuselens_distance::generate::{Generator, Random, Uniform, Zipf};
use reuselens_distance_gpu::{HpRdaGpu, KernelCode, interpreter};
use reuselens_locality::ExactHistogram;
use reuselens_ptx::{Ignore, Options};
use reuselens_units::Distance;

use streams::{on_device, on_processor, random_items, random_settings, settings};

const MEMORY: u64 = 1 << 28;

/// A device and code for it, in a random order of blocks and warps for some seeds.
fn any_rda(seed: u64, settings: HpRdaSettings) -> HpRdaGpu<Interpreter<Ignore>> {
    let options = Options {
        threads: 1 + seed as usize % 2,
        seed: seed.is_multiple_of(3).then_some(seed),
        check_races: seed.is_multiple_of(5),
        ..Options::default()
    };
    let device = Interpreter::new(MEMORY, options, Ignore);
    let code = [KernelCode::CLANG, KernelCode::NVCC][seed as usize % 2];
    HpRdaGpu::with_code(device, settings, &code).unwrap()
}

#[test]
fn distances_equal_those_of_the_processor_for_random_settings() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let items = random_items(&mut random);
        let settings = random_settings(&mut random);
        let found = on_device(any_rda(seed, settings), &items, &mut random);
        let expected = on_processor(settings, &items);
        assert_eq!(found, expected, "seed {seed}, {settings:?}: {items:?}");
    }
}

/// The published settings, over several blocks; items enough that tables collide and grow.
#[test]
fn distances_equal_those_of_the_processor_for_published_settings() {
    let mut items = vec![0; 300_000];
    Zipf::new(20_000, 0.7, 4).fill(&mut items);
    Uniform::new(30_000, 4).fill(&mut items[100_000..200_000]);
    for block_count in [BlockCount::Chunks, BlockCount::Distinct] {
        let settings = HpRdaSettings {
            blocks: 2,
            block_count,
            ..HpRdaSettings::default()
        };
        let rda = HpRdaGpu::new(interpreter(MEMORY, 2), settings).unwrap();
        let found = on_device(rda, &items, &mut Random::new(3));
        assert!(found == on_processor(settings, &items), "{block_count:?}");
    }
}

/// Figures 6 and 8 of the publication: 16 references in chunks of 6.
#[test]
fn the_worked_example() {
    let items: Vec<u64> = "dacbcgefafbabaga".bytes().map(u64::from).collect();
    for (chunks_per_block, blocks) in [(64, 16), (1, 1), (2, 1), (1, 3)] {
        let rda = any_rda(1, settings(6, chunks_per_block, blocks));
        let (_, distances, adjustment) = on_device(rda, &items, &mut Random::new(1));
        // g: 0 + 4 + 2, where the true distance is 4.
        assert_eq!(distances[14], Distance::new(6));
        assert_eq!((adjustment.distinct().get(), adjustment.counts()), (7, 12));
    }
}

#[test]
fn one_chunk_is_exact() {
    let mut items = vec![0; 2048];
    Uniform::new(700, 9).fill(&mut items);
    items.dedup();
    let mut exact = vec![Distance::ZERO; items.len()];
    BruteForce::new().process(&items, &mut exact);
    let rda = any_rda(2, settings(2048, 1, 1));
    assert_eq!(on_device(rda, &items, &mut Random::new(2)).1, exact);
}

/// Each step has its time, and the histogram is adjusted as its distances are.
#[test]
fn times_have_every_step_and_histograms_are_adjusted() {
    let mut items = vec![0; 3000];
    Uniform::new(150, 9).fill(&mut items);
    let mut rda = any_rda(1, settings(50, 4, 2));
    rda.feed(&items, &mut Vec::new());
    let mut merged = ExactHistogram::new();
    merged.add_column(rda.analyse().unwrap());
    let mut finished = rda.finish().unwrap();
    merged.add_column(&finished.distances);
    let adjusted = finished.adjust(&merged);
    let mut expected = ExactHistogram::new();
    for (distance, accesses) in merged.iter() {
        let distance = finished.adjustment.adjust(Distance::new(distance));
        expected.add(distance, accesses);
    }
    expected.add(Distance::COLD, merged.cold());
    assert_eq!(adjusted, expected);
    assert_ne!(adjusted, merged);
    let (times, steps) = (finished.times, finished.times.steps);
    for step in [
        times.transfer,
        steps.preprocess,
        steps.local,
        steps.thread_merge,
        steps.block_merge,
        steps.adjust,
    ] {
        assert!(!step.is_zero(), "{times:?}");
    }
    assert_eq!(times.total(), times.transfer + steps.total());
}
