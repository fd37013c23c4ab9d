//! A hint to the processor, safe to give for any place in a slice.

/// Asks for the cache line of `slice[index]` ahead of its use. An index past the end asks for
/// nothing, and so does any index on architectures without a stable prefetch.
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
