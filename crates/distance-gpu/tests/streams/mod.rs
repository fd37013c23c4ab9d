//! Random streams: few items and many, in order and not, with 32 bits and 64. And what devices and
//! an LRU list give for them.
#![allow(dead_code, reason = "each binary of tests uses a part")]

use std::num::NonZeroUsize;
use std::ops::Range;

use reuselens_baselines::{Adjustment, BlockCount, BruteForce, HpRda, HpRdaSettings};
use reuselens_cuda::Device;
use reuselens_distance::Engine;
use reuselens_distance::generate::Random;
use reuselens_distance_gpu::{GpuExact, HpRdaGpu};
use reuselens_units::Distance;

/// Lengths around those of warps, rounds, blocks and tiles.
const BORDERS: [u64; 9] = [1, 2, 31, 32, 33, 255, 256, 257, 512];

/// A stream of 0 to some hundred items.
pub fn random_items(random: &mut Random) -> Vec<u64> {
    let length = match random.below(3) {
        0 => BORDERS[random.below(BORDERS.len() as u64) as usize],
        _ => {
            let most = [20, 150, 400][random.below(3) as usize];
            random.below(most)
        }
    };
    items_of(length, random)
}

/// A stream of this length.
pub fn items_of(length: u64, random: &mut Random) -> Vec<u64> {
    let most = [1, 2, 5, 40, 300][random.below(5) as usize];
    let items = 1 + random.below(most);
    // Half of the streams differ in more than 32 bits.
    let stride = 1 << random.below(64);
    let kind = random.below(6);
    let item = |at: u64, random: &mut Random| {
        let number = match kind {
            0 => random.below(items),
            1 => random.below(items) * random.below(items) / items,
            2 => at % items,
            3 => at / 2 + random.below(3),
            4 => at,
            _ => 7,
        };
        // Around both ends of the numbers: 0 and the largest are items too.
        number.wrapping_sub(items / 2).wrapping_mul(stride)
    };
    (0..length).map(|at| item(at, random)).collect()
}

/// Pieces of a stream of `length` items, one after the other, some of them empty: each has up to
/// one of the numbers in `sizes`.
fn random_pieces(length: usize, sizes: &[u64], random: &mut Random) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < length {
        let most = sizes[random.below(sizes.len() as u64) as usize];
        let end = (at + random.below(most + 1) as usize).min(length);
        pieces.push(at..end);
        at = end;
    }
    pieces
}

/// A chunk for a stream of a length: few at most, since each takes many launches.
pub fn random_chunk(length: u64, random: &mut Random) -> u64 {
    match random.below(3) {
        0 => length.max(1),
        1 => 1 + length / 2,
        _ => 1 + length / 3 + random.below(length / 3 + 1),
    }
}

/// The distances of all items, fed in pieces of random sizes.
pub fn distances<D: Device>(
    mut engine: GpuExact<D>,
    items: &[u64],
    random: &mut Random,
) -> Vec<Distance> {
    let mut found = Vec::new();
    for piece in random_pieces(items.len(), &[1, 40, 5000], random) {
        engine.feed(&items[piece]);
        if engine.is_full() {
            found.extend(engine.analyse().unwrap());
        }
    }
    found.extend(engine.finish().unwrap().distances);
    found
}

/// The same by an LRU list.
pub fn list(items: &[u64]) -> Vec<Distance> {
    let mut distances = vec![Distance::ZERO; items.len()];
    BruteForce::new().process(items, &mut distances);
    distances
}

/// Chunks of some references, chunks for a block, and blocks; on one thread.
pub fn settings(chunk: usize, chunks_per_block: usize, blocks: usize) -> HpRdaSettings {
    HpRdaSettings {
        chunk,
        chunks_per_block,
        blocks,
        threads: NonZeroUsize::MIN,
        block_count: BlockCount::Chunks,
    }
}

/// The indices of the references that are kept, their merged distances, and the adjustment.
pub type Found = (Vec<usize>, Vec<Distance>, Adjustment);

/// HP-RDA on the processor.
pub fn on_processor(settings: HpRdaSettings, items: &[u64]) -> Found {
    let mut rda = HpRda::new(settings);
    let mut kept = Vec::new();
    rda.feed(items, &mut kept);
    let finished = rda.finish();
    (kept, finished.distances, finished.adjustment)
}

/// The same on a device, fed in pieces of random sizes.
pub fn on_device<D: Device>(mut rda: HpRdaGpu<D>, items: &[u64], random: &mut Random) -> Found {
    let (mut kept, mut places, mut merged) = (Vec::new(), Vec::new(), Vec::new());
    for piece in random_pieces(items.len(), &[1, 3, 70, 5000], random) {
        rda.feed(&items[piece.clone()], &mut kept);
        places.extend(kept.iter().map(|index| piece.start + index));
        if rda.is_full() {
            merged.extend(rda.analyse().unwrap());
        }
    }
    let finished = rda.finish().unwrap();
    merged.extend(finished.distances);
    (places, merged, finished.adjustment)
}

/// Chunks of a reference to some hundred, for some threads and blocks.
pub fn random_settings(random: &mut Random) -> HpRdaSettings {
    let most = [3, 70, 500][random.below(3) as usize];
    let mut below = |most| 1 + random.below(most) as usize;
    HpRdaSettings {
        block_count: [BlockCount::Chunks, BlockCount::Distinct][below(2) - 1],
        ..settings(below(most), below(5), below(4))
    }
}
