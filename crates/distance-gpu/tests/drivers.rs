//! Distances by a driver: that of the stand-in, whose GPU is the interpreter.

#[path = "../../cuda-driver/tests/inside/mod.rs"]
mod inside;
mod streams;

use inside::{done, inside};
use reuselens_cuda_driver::DriverDevice;
use reuselens_distance::generate::Random;
use reuselens_distance_gpu::{ExactSettings, GpuExact, HpRdaGpu};
use reuselens_locality::ExactHistogram;

use streams::{
    distances, list, on_device, on_processor, random_chunk, random_items, random_settings,
};

/// Streams of the exact engine, and of HP-RDA.
const STREAMS: u64 = 520;
const SETTINGS: u64 = 220;

fn driver() -> DriverDevice {
    DriverDevice::open(0).unwrap()
}

#[test]
fn distances_by_a_driver_equal_an_lru_list() {
    let inside = inside("exact_inside_of_the_stand_in", "");
    inside.passes("random streams");
    let counts = done(&inside.kernels);
    for (name, launches) in [("dominance_last", 500), ("distance_histogram", 50)] {
        let kernel = counts.iter().find(|kernel| kernel.name == name);
        assert!(
            kernel.is_some_and(|kernel| kernel.launches > launches),
            "{name}"
        );
    }
    assert!(inside.kernels.iter().all(|kernel| kernel.failed == 0));
}

#[test]
#[ignore = "runs in a process with the stand-in, which another test starts"]
fn exact_inside_of_the_stand_in() {
    for seed in 0..STREAMS {
        let mut random = Random::new(seed);
        let items = random_items(&mut random);
        let chunk = random_chunk(items.len() as u64, &mut random);
        let settings = ExactSettings { chunk: Some(chunk) };
        let engine = GpuExact::new(driver(), settings).unwrap();
        let expected = list(&items);
        let found = distances(engine, &items, &mut random);
        assert_eq!(found, expected, "seed {seed}, chunks of {chunk}: {items:?}");
        // The histogram of some, added up on the device.
        if !seed.is_multiple_of(8) {
            continue;
        }
        let mut engine = GpuExact::new(driver(), settings).unwrap();
        engine.feed(&items);
        let (mut found, mut histogram) = (ExactHistogram::new(), ExactHistogram::new());
        engine.finish_tally(&mut found).unwrap();
        histogram.add_column(&expected);
        assert_eq!(found, histogram, "seed {seed}, chunks of {chunk}");
    }
}

#[test]
fn hp_rda_by_a_driver_equals_that_of_the_processor() {
    let inside = inside("hp_rda_inside_of_the_stand_in", "");
    inside.passes("random settings");
    let counts = done(&inside.kernels);
    assert!(counts.iter().any(|kernel| kernel.name == "hp_merge_block"));
    assert!(inside.kernels.iter().all(|kernel| kernel.failed == 0));
}

#[test]
#[ignore = "runs in a process with the stand-in, which another test starts"]
fn hp_rda_inside_of_the_stand_in() {
    for seed in 0..SETTINGS {
        let mut random = Random::new(seed);
        let items = random_items(&mut random);
        let settings = random_settings(&mut random);
        let rda = HpRdaGpu::new(driver(), settings).unwrap();
        let found = on_device(rda, &items, &mut random);
        let expected = on_processor(settings, &items);
        assert_eq!(found, expected, "seed {seed}, {settings:?}: {items:?}");
    }
}
