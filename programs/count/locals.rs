//! Local arrays of a function that is called three times: `stream` has 512 elements, each stored
//! and loaded once per call, and `hot` has 8, of which one is loaded for each. Atomic, so that the
//! compiler does none of that for several at a time.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[inline(never)]
fn work(n: u64) -> u64 {
    let stream = [const { AtomicU64::new(0) }; 512];
    let hot = [const { AtomicU64::new(0) }; 8];
    black_box((&stream, &hot));
    for place in &hot {
        place.store(n, Relaxed);
    }
    for (index, place) in stream.iter().enumerate() {
        place.store(hot[index % 8].load(Relaxed), Relaxed);
    }
    stream.iter().map(|place| place.load(Relaxed)).sum()
}

fn main() {
    let total: u64 = (0..3).map(|n| work(black_box(n))).sum();
    assert_eq!(total, 3 * 512);
}
