//! What a device refuses is an error with what to do, and nothing is counted in part.

use std::sync::atomic::Ordering;

use reuselens_baselines::HpRdaSettings;
use reuselens_cuda::{Device, GpuFault, Status};
use reuselens_distance_gpu::{ExactSettings, GpuDistanceError, GpuExact, HpRdaGpu, interpreter};
use reuselens_locality::ExactHistogram;
use reuselens_units::Bytes;

fn settings(chunk: u64) -> ExactSettings {
    ExactSettings { chunk: Some(chunk) }
}

#[test]
fn a_chunk_that_does_not_fit_is_refused_with_the_largest_that_does() {
    let free = 1 << 20;
    let Err(error) = GpuExact::new(interpreter(free, 1), settings(1 << 20)) else {
        panic!("1 MiB is not enough");
    };
    let GpuDistanceError::TooLittleMemory { most, .. } = error else {
        panic!("{error}");
    };
    let message = error.to_string();
    assert!(message.contains("1 MiB are free"), "{message}");
    assert!(
        message.contains(&format!("chunks of {most} at most")),
        "{message}"
    );
    // What it says is right.
    let mut engine = GpuExact::new(interpreter(free, 1), settings(most)).unwrap();
    engine.feed(&[1, 2, 1]);
    assert_eq!(engine.finish().unwrap().distances[2].items(), Some(1));
}

#[test]
fn a_device_without_memory_for_a_tile_is_refused() {
    for chunk in [None, Some(2048)] {
        let error = GpuExact::new(interpreter(10_000, 1), ExactSettings { chunk });
        let message = error.err().unwrap().to_string();
        assert!(
            message.contains("2048 references at a time take"),
            "{message}"
        );
        assert!(message.contains("--engine counting"), "{message}");
    }
}

#[test]
fn chunks_beyond_numbers_of_32_bits_are_refused() {
    let most = 1 << 31;
    let references = most + 1;
    let error = GpuExact::new(interpreter(u64::MAX, 1), settings(references))
        .err()
        .unwrap();
    assert_eq!(error, GpuDistanceError::TooLong { references, most });
    assert!(
        error.to_string().contains("ask for 2147483648 at most"),
        "{error}"
    );
}

#[test]
fn chunks_keep_to_the_memory_that_there_is() {
    let of = |host, device| {
        ExactSettings::within(Bytes(host), Bytes(device))
            .chunk
            .unwrap()
    };
    assert_eq!(of(0, 0), 2048);
    assert_eq!(of(u64::MAX, u64::MAX), 64 << 20);
    assert!(of(52 << 20, u64::MAX) <= 1 << 20);
    let chunk = of(u64::MAX, 1 << 22);
    GpuExact::new(interpreter(1 << 22, 1), settings(chunk))
        .map(drop)
        .unwrap();
}

#[test]
fn a_device_that_is_lost_counts_nothing_of_its_chunk_and_nothing_after() {
    let device = interpreter(1 << 24, 1);
    let stop = device.stop();
    let mut engine = GpuExact::new(device, settings(4)).unwrap();
    let mut histogram = ExactHistogram::new();
    engine.feed(&[1, 2, 1, 2]);
    engine.tally(&mut histogram).unwrap();
    let before = histogram.clone();
    stop.store(true, Ordering::Relaxed);
    engine.feed(&[1, 2, 1, 2, 3]);
    let error = engine.tally(&mut histogram).unwrap_err();
    let GpuDistanceError::Gpu(GpuFault::Device { task, fault }) = &error else {
        panic!("{error}");
    };
    assert_eq!((*task, fault.status), ("run a kernel", Status::TIMEOUT));
    assert!(error.to_string().contains("--engine counting"), "{error}");
    assert_eq!(histogram, before);
    // A chunk is missing, so nothing that follows is right, if the device is back or not.
    stop.store(false, Ordering::Relaxed);
    engine.feed(&[1, 2, 1, 2]);
    assert_eq!(engine.analyse(), Err(error.clone()));
    assert_eq!(engine.tally(&mut histogram), Err(error.clone()));
    assert_eq!(engine.finish_tally(&mut histogram), Err(error));
    assert_eq!(histogram, before);
}

#[test]
fn hp_rda_refuses_what_its_device_refuses_and_nothing_after() {
    let device = interpreter(1 << 24, 1);
    let stop = device.stop();
    let settings = HpRdaSettings {
        chunk: 2,
        chunks_per_block: 2,
        blocks: 1,
        ..HpRdaSettings::default()
    };
    let mut rda = HpRdaGpu::new(device, settings).unwrap();
    let mut kept = Vec::new();
    rda.feed(&[1, 2, 1, 2], &mut kept);
    assert_eq!(rda.analyse().unwrap().len(), 4);
    stop.store(true, Ordering::Relaxed);
    rda.feed(&[1, 2, 1, 2], &mut kept);
    let error = rda.analyse().unwrap_err();
    assert!(error.to_string().contains("run a kernel"), "{error}");
    stop.store(false, Ordering::Relaxed);
    assert_eq!(rda.analyse(), Err(error.clone()));
    assert_eq!(rda.finish(), Err(error));
    let small = HpRdaGpu::new(interpreter(1 << 20, 1), HpRdaSettings::default());
    let message = small.err().unwrap().to_string();
    assert!(message.starts_with("131072 references"), "{message}");
}

/// The table of all items is larger than what is left of the device.
#[test]
fn hp_rda_refuses_more_items_than_fit_the_device() {
    let settings = HpRdaSettings {
        chunk: 100,
        chunks_per_block: 4,
        blocks: 4,
        ..HpRdaSettings::default()
    };
    let mut rda = HpRdaGpu::new(interpreter(1 << 20, 1), settings).unwrap();
    let items: Vec<u64> = (0..30_000).collect();
    rda.feed(&items, &mut Vec::new());
    let GpuDistanceError::Gpu(GpuFault::Device { fault, .. }) = rda.finish().unwrap_err() else {
        panic!("30,000 items take more than 1 MiB");
    };
    assert_eq!(fault.status, Status::MEMORY_ALLOCATION);
}
