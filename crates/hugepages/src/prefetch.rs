//! [`prefetch`]: a hint to the processor that a place in a slice will be used soon.

/// Requests the cache line of `slice[index]` before its use. Does nothing for an index past the
/// end, and on architectures without a stable prefetch.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    if let Some(place) = slice.get(index) {
        hint(place);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn hint<T>(place: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads and writes nothing that the program can see and faults on no
    // address, and this one is that of a live reference; SSE is part of every x86-64 processor.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast::<i8>()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn hint<T>(_place: &T) {}
