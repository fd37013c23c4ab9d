//! A stream that does not fit into memory, for what an engine needs in the long run.

use std::fs;
use std::time::Duration;

use reuselens_distance::Simd;
use reuselens_distance::generate::{Generator, Uniform};
use reuselens_units::Bytes;
use serde::Serialize;

use super::BenchError;
use super::clock::Clock;
use super::contender::engine as named;
use crate::TalliedHistogram;

/// The distinct items of the long run.
pub const LONG_ITEMS: u64 = 1_000_000;
/// References generated at a time.
const BLOCK: usize = 1 << 16;

/// What a long run took.
#[derive(Clone, Debug, Serialize)]
pub struct Long {
    /// The engine.
    pub engine: &'static str,
    /// Its length.
    pub references: u64,
    /// Its distinct items.
    pub distinct: u64,
    /// Processor time in engine and histogram, in seconds; making the items is not in it.
    pub seconds: f64,
    /// References per second, in millions.
    pub mega_references_per_second: f64,
    /// What the engine says that it holds.
    pub engine_bytes: u64,
    /// Of that, per distinct item.
    pub engine_bytes_per_item: f64,
    /// The largest memory that the process ever had, as the operating system says (`VmHWM`); with
    /// it the program, the histogram and the items at hand.
    pub peak_resident_bytes: Option<u64>,
    /// That, per distinct item.
    pub peak_resident_bytes_per_item: Option<f64>,
}

/// Runs one engine over `references` items drawn uniformly from a million ([`LONG_ITEMS`]), made as
/// they are needed. The peak is that of the process so far: run it first, or alone.
///
/// # Errors
/// If there is no such engine.
pub fn long(
    engine: &str,
    references: u64,
    simd: Simd,
    tick: &mut dyn FnMut(u64),
) -> Result<Long, BenchError> {
    let mut engine = named(engine, simd)?;
    let mut generator = Uniform::new(LONG_ITEMS, 1);
    let mut histogram = TalliedHistogram::new();
    let mut items = vec![0; BLOCK];
    let (mut left, mut elapsed) = (references, Duration::ZERO);
    while left > 0 {
        let block = left.min(BLOCK as u64) as usize;
        let items = &mut items[..block];
        generator.fill(items);
        let start = Clock::start();
        histogram.add(|tally| engine.tally(items, tally));
        elapsed += start.elapsed().time;
        left -= block as u64;
        tick(block as u64);
    }
    let start = Clock::start();
    let histogram = histogram.finish();
    elapsed += start.elapsed().time;
    let seconds = elapsed.as_secs_f64().max(1e-9);
    let distinct = histogram.cold();
    let per_item = |bytes: u64| bytes as f64 / distinct.max(1) as f64;
    let engine_bytes = engine.memory().get();
    let peak = peak_resident().map(Bytes::get);
    Ok(Long {
        engine: engine.name(),
        references,
        distinct,
        seconds,
        mega_references_per_second: references as f64 / seconds / 1e6,
        engine_bytes,
        engine_bytes_per_item: per_item(engine_bytes),
        peak_resident_bytes: peak,
        peak_resident_bytes_per_item: peak.map(per_item),
    })
}

/// The largest memory that this process ever had; `None` where the system does not say.
fn peak_resident() -> Option<Bytes> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kib << 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_is_run_and_the_peak_holds_the_engine() {
        let mut done = 0;
        let long = long("auto", 200_001, Simd::best(), &mut |more| done += more).unwrap();
        assert_eq!(
            (long.engine, long.references, done),
            ("counting", 200_001, 200_001)
        );
        assert!(
            (150_000..200_001).contains(&long.distinct),
            "{}",
            long.distinct
        );
        assert!(long.engine_bytes_per_item > 16.0);
        assert!(
            long.peak_resident_bytes
                .is_none_or(|peak| peak > long.engine_bytes)
        );
    }
}
