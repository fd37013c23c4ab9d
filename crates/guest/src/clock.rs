//! The time-stamp counter: one clock for all cores on every x86-64 machine of this decade.

use core::arch::x86_64::{_mm_lfence, _rdtsc};

/// The counter, read at about this place of the code.
#[inline]
pub fn stamp() -> u64 {
    // SAFETY: the instruction exists on every x86-64 processor.
    unsafe { _rdtsc() }
}

/// The counter, read after all earlier instructions are done.
#[inline]
pub fn ordered_stamp() -> u64 {
    // SAFETY: the instruction exists on every x86-64 processor.
    unsafe { _mm_lfence() };
    stamp()
}
