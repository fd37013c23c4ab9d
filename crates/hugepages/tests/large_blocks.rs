//! Tests which freed blocks the C library returns to the system. The figures are of the entire
//! process, so this is the only test of its binary.
#![cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]

use std::hint::black_box;

use reuselens_hugepages::Allocator;

const MIB: usize = 1 << 20;

/// Bytes of blocks that are mapped by themselves, and of the heaps.
fn held() -> (usize, usize) {
    // SAFETY: it returns numbers.
    let info = unsafe { libc::mallinfo2() };
    (info.hblkhd, info.arena)
}

/// A block of so many MiB.
fn block(mebibytes: usize) -> Vec<u8> {
    black_box(vec![1; mebibytes * MIB])
}

#[test]
fn large_blocks_are_given_back_and_small_ones_stay_in_the_heap() {
    Allocator::prepare(|| {});
    // After the first that is freed, glibc would take blocks like it from its heap.
    drop(block(8));
    let (before, _) = held();
    let large = block(8);
    let (with, _) = held();
    assert!(with >= before + 8 * MIB, "{before} to {with}");
    drop(large);
    let (after, _) = held();
    assert!(after + 8 * MIB <= with, "{with} to {after}");

    let (_, before) = held();
    let small = block(2);
    let (_, with) = held();
    assert!(with >= before + MIB, "{before} to {with}");
    drop(small);
    let (_, after) = held();
    assert!(after + MIB > with, "{with} to {after}");
}
