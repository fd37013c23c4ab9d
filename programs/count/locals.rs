//! Local arrays of a function that is called three times: `stream` has 512 elements, each stored and
//! loaded once per call, and `hot` has 8, of which one is loaded for each.

use std::hint::black_box;
use std::ptr::{read_volatile, write_volatile};

#[inline(never)]
fn work(n: u64) -> u64 {
    let mut stream = [0_u64; 512];
    let mut hot = [n; 8];
    black_box(&mut hot);
    for (index, place) in stream.iter_mut().enumerate() {
        // SAFETY: both are references.
        unsafe { write_volatile(place, read_volatile(&hot[index % 8])) };
    }
    // SAFETY: each is a reference.
    stream.iter().map(|place| unsafe { read_volatile(place) }).sum()
}

fn main() {
    let total: u64 = (0..3).map(|n| work(black_box(n))).sum();
    assert_eq!(total, 3 * 512);
}
