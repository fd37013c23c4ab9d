//! Distances by a driver: that of the stand-in, whose GPU is the interpreter.

#[path = "../../cuda-driver/tests/inside/mod.rs"]
mod inside;

use inside::{CASE, done, inside, interpreter};
use reuselens_baselines::HpRdaSettings;
use reuselens_cuda::Device;
use reuselens_cuda_driver::DriverDevice;
use reuselens_distance::generate::{Generator, Uniform};
use reuselens_distance_gpu::{ExactSettings, GpuExact, HpRdaGpu};
use reuselens_locality::ExactHistogram;

/// Distances and a histogram of several chunks, and distances of HP-RDA.
fn found<D: Device>(device: impl Fn() -> D) -> String {
    let mut items = vec![0; 3_000];
    Uniform::new(700, 3).fill(&mut items);
    let settings = ExactSettings { chunk: Some(1_700) };
    let mut exact = GpuExact::new(device(), settings).unwrap();
    exact.feed(&items);
    let distances = exact.finish().unwrap().distances;
    let mut exact = GpuExact::new(device(), settings).unwrap();
    exact.feed(&items);
    let mut histogram = ExactHistogram::new();
    exact.finish_tally(&mut histogram).unwrap();
    let settings = HpRdaSettings {
        chunk: 100,
        chunks_per_block: 4,
        blocks: 3,
        ..HpRdaSettings::default()
    };
    let mut rda = HpRdaGpu::new(device(), settings).unwrap();
    rda.feed(&items, &mut Vec::new());
    let merged = rda.finish().unwrap();
    let counts: Vec<(u64, u64)> = histogram.iter().collect();
    format!(
        "{distances:?} {counts:?} {:?} {:?}",
        merged.distances, merged.adjustment
    )
}

#[test]
fn distances_by_a_driver_equal_those_of_the_interpreter() {
    let expected = found(interpreter);
    let inside = inside("distances_inside_of_the_stand_in", &expected);
    inside.passes("a stream");
    let counts = done(&inside.kernels);
    for name in ["dominance_last", "distance_histogram", "hp_merge_block"] {
        assert!(counts.iter().any(|kernel| kernel.name == name), "{name}");
    }
    assert!(inside.kernels.iter().all(|kernel| kernel.failed == 0));
}

#[test]
#[ignore = "runs in a process with the stand-in, which another test starts"]
fn distances_inside_of_the_stand_in() {
    let found = found(|| DriverDevice::open(0).unwrap());
    assert_eq!(found, std::env::var(CASE).unwrap());
}
