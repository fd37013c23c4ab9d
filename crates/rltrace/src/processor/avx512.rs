//! Many rows at once on processors with AVX-512: what [`super::Widest`] does for touches.
//! Functions of their own, as they are called by code that is compiled for any processor.

use std::arch::x86_64::*;

use crate::decode_templates::items::{Eight, FEW_WORDS};

/// Bit i is set if byte i has one of these bits.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn bits(bytes: &[u8; 64], of: u8) -> u64 {
    // SAFETY: 64 bytes lie there.
    let bytes = unsafe { _mm512_loadu_epi8(bytes.as_ptr().cast()) };
    _mm512_test_epi8_mask(bytes, _mm512_set1_epi8(of.cast_signed()))
}

/// Bit i is set if `sizes[i]` bytes from `addrs[i]` on reach beyond the bits of `mask`.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn over(addrs: &[u64; 64], sizes: &[u8; 64], mask: u64) -> u64 {
    let below = _mm512_set1_epi64(mask.cast_signed());
    let most = _mm512_add_epi64(below, _mm512_set1_epi64(1));
    let mut over = 0;
    let (addrs, sizes) = (addrs.as_chunks::<8>().0, sizes.as_chunks::<8>().0);
    for (eight, (addrs, sizes)) in addrs.iter().zip(sizes).enumerate() {
        // SAFETY: eight numbers lie in each place.
        let (addrs, sizes) = unsafe {
            let addrs = _mm512_loadu_epi64(addrs.as_ptr().cast());
            (addrs, _mm_loadl_epi64(sizes.as_ptr().cast()))
        };
        let from = _mm512_and_epi64(addrs, below);
        let end = _mm512_add_epi64(from, _mm512_cvtepu8_epi64(sizes));
        over |= u64::from(_mm512_cmpgt_epu64_mask(end, most)) << (8 * eight);
    }
    over
}

/// Puts those numbers together whose bit is set; how many they are. What is behind them is
/// anything.
#[target_feature(enable = "avx512f,popcnt")]
pub(super) fn compress(numbers: &[u64; 64], which: u64, into: &mut [u64; 64]) -> usize {
    let mut count = 0;
    for (numbers, which) in numbers.as_chunks::<8>().0.iter().zip(which.to_le_bytes()) {
        // No more were put than were looked at.
        let Some(into) = into[count..].first_chunk_mut::<8>() else {
            return count;
        };
        // SAFETY: eight numbers lie there.
        let all = unsafe { _mm512_loadu_epi64(numbers.as_ptr().cast()) };
        let some = _mm512_maskz_compress_epi64(which, all);
        // SAFETY: as above.
        unsafe { _mm512_storeu_epi64(into.as_mut_ptr().cast(), some) };
        count += which.count_ones() as usize;
    }
    count
}

/// As [`super::Processor::step`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn step(addrs: &mut [u64], steps: &[u64]) {
    for (addr, step) in addrs.iter_mut().zip(steps) {
        *addr = addr.wrapping_add(*step);
    }
}

/// As [`super::Processor::copy`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn copy(addrs: &[u64], sizes: &[u64], mask: u64, into: &mut [u64]) -> bool {
    let mut over = 0;
    for ((addr, size), into) in addrs.iter().zip(sizes).zip(into) {
        *into = *addr;
        over |= u64::from((addr & mask) + size > mask + 1);
    }
    over == 0
}

/// As [`super::Processor::complete`].
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn complete(
    of: &Eight,
    words: &[u64; FEW_WORDS],
    mask: u64,
    into: &mut [u64; 8],
) -> bool {
    let (low, high) = words.split_at(8);
    // SAFETY: eight numbers lie in each place.
    let (low, high, displacements) = unsafe {
        (
            _mm512_loadu_epi64(low.as_ptr().cast()),
            _mm512_loadu_epi64(high.as_ptr().cast()),
            _mm512_loadu_epi64(of.displacements.as_ptr().cast()),
        )
    };
    // SAFETY: as above.
    let (places, sizes, lengths) = unsafe {
        (
            _mm_loadl_epi64(of.words.as_ptr().cast()),
            _mm_loadl_epi64(of.sizes.as_ptr().cast()),
            _mm_loadl_epi64(of.lengths.as_ptr().cast()),
        )
    };
    let (places, sizes) = (_mm512_cvtepu8_epi64(places), _mm512_cvtepu8_epi64(sizes));
    let lengths = _mm512_cvtepu8_epi64(lengths);
    let words = _mm512_maskz_permutex2var_epi64(of.relative, low, places, high);
    let addrs = _mm512_add_epi64(words, displacements);
    // SAFETY: as above.
    unsafe { _mm512_storeu_epi64(into.as_mut_ptr().cast(), addrs) };
    let lengths = _mm512_permutex2var_epi64(low, lengths, high);
    let bytes = _mm512_mask_mov_epi64(sizes, of.variable, lengths);
    let below = _mm512_set1_epi64(mask.cast_signed());
    let most = _mm512_add_epi64(below, _mm512_set1_epi64(1));
    let room = _mm512_sub_epi64(most, _mm512_and_epi64(addrs, below));
    let over = _mm512_cmpgt_epu64_mask(bytes, room);
    over | _mm512_mask_testn_epi64_mask(of.variable, bytes, bytes) == 0
}

#[cfg(test)]
mod tests {
    use super::{Eight, FEW_WORDS};
    use crate::processor::{Processor, widest};
    use reuselens_io::varint::Portable;

    #[test]
    fn many_at_once_are_as_one_after_the_other() {
        let Some(wide) = widest() else {
            println!("this processor has not the instructions");
            return;
        };
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state ^ state >> 31
        };
        for _ in 0..300 {
            let mut numbers: [u64; 64] = std::array::from_fn(|_| random() >> (random() % 64));
            let bytes: [u8; 64] = std::array::from_fn(|_| random() as u8);
            let (which, of) = (random() & random(), 1 << (random() % 8));
            let mask = (1 << (random() % 32)) - 1;
            assert_eq!(wide.bits(&bytes, of), Portable.bits(&bytes, of));
            let over = Portable.over(&numbers, &bytes, mask);
            assert_eq!(wide.over(&numbers, &bytes, mask), over);
            let (mut one, mut other) = ([0; 64], [0; 64]);
            let count = wide.compress(&numbers, which, &mut one);
            assert_eq!(Portable.compress(&numbers, which, &mut other), count);
            assert_eq!(count, which.count_ones() as usize);
            assert_eq!(one[..count], other[..count]);
            let sizes = bytes.map(|byte| u64::from(byte % 4));
            let fits = wide.copy(&numbers, &sizes, mask, &mut one);
            assert_eq!(Portable.copy(&numbers, &sizes, mask, &mut other), fits);
            assert_eq!((one, fits), (other, over_of(&numbers, &sizes, mask) == 0));
            let steps = other;
            // Some are lengths that fit, some are none.
            for number in &mut numbers[8..16] {
                *number %= 1 << (random() % 64);
            }
            let some: &[u64; FEW_WORDS] = numbers.first_chunk().unwrap();
            let eight = Eight {
                displacements: std::array::from_fn(|_| random() >> (random() % 64)),
                words: std::array::from_fn(|_| random() as u8 % 16),
                sizes: std::array::from_fn(|_| random() as u8 % 9),
                lengths: std::array::from_fn(|_| random() as u8 % 16),
                relative: random() as u8,
                variable: (random() & random()) as u8,
                few_words: true,
                accesses: 8,
            };
            let (mut one, mut other) = ([0; 8], [0; 8]);
            let fits = wide.complete(&eight, some, mask, &mut one);
            assert_eq!(Portable.complete(&eight, some, mask, &mut other), fits);
            assert_eq!(one, other);
            let mut again = numbers;
            wide.step(&mut numbers, &steps);
            Portable.step(&mut again, &steps);
            assert_eq!(numbers, again);
        }
    }

    fn over_of(addrs: &[u64; 64], sizes: &[u64; 64], mask: u64) -> usize {
        let over = |(addr, size): (&u64, &u64)| (addr & mask) + size > mask + 1;
        addrs.iter().zip(sizes).filter(|pair| over(*pair)).count()
    }
}
