//! [`Processor`](super::Processor) with vectors of 512 bits, as functions for [`super::Avx512`].
//!
//! A method of a trait cannot be compiled for a level of its own, so `Avx512` calls these free
//! functions. They are as fast as if they were inlined only where the caller is compiled for
//! `Icelake` too, which entry points see to. The test compares each with its plain loop.

use std::arch::x86_64::*;

use reuselens_simd::compiled_for;

use crate::access_group::{AccessGroup, FEW_OPERANDS, GROUP_ACCESSES};

compiled_for! {
    Icelake:
    /// The rows whose class byte has one of the bits `of`.
    pub(super) fn rows_with(classes: &[u8; 64], of: u8) -> u64 {
        // SAFETY: the reference is to 64 bytes.
        let classes = unsafe { _mm512_loadu_epi8(classes.as_ptr().cast()) };
        _mm512_test_epi8_mask(classes, _mm512_set1_epi8(of.cast_signed()))
    }
}

compiled_for! {
    Icelake:
    /// The rows whose `sizes[i]` bytes from `addrs[i]` on reach beyond the bits of `mask`.
    pub(super) fn rows_over(addrs: &[u64; 64], sizes: &[u8; 64], mask: u64) -> u64 {
        let below = _mm512_set1_epi64(mask.cast_signed());
        let most = _mm512_add_epi64(below, _mm512_set1_epi64(1));
        let mut over = 0;
        let (addrs, sizes) = (addrs.as_chunks::<8>().0, sizes.as_chunks::<8>().0);
        for (eight, (addrs, sizes)) in addrs.iter().zip(sizes).enumerate() {
            // SAFETY: the references are to eight numbers and to eight bytes.
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
}

compiled_for! {
    Icelake:
    /// Copies the numbers of the rows `which` to the beginning of `into`; how many they are.
    pub(super) fn compress(numbers: &[u64; 64], which: u64, into: &mut [u64; 64]) -> usize {
        let mut count = 0;
        for (numbers, which) in numbers.as_chunks::<8>().0.iter().zip(which.to_le_bytes()) {
            // Never `None`: no more numbers were stored than were looked at, and those are a
            // multiple of eight below 64.
            let Some(into) = into[count..].first_chunk_mut::<8>() else {
                return count;
            };
            // SAFETY: the reference is to eight numbers.
            let all = unsafe { _mm512_loadu_epi64(numbers.as_ptr().cast()) };
            let some = _mm512_maskz_compress_epi64(which, all);
            // SAFETY: as above. All eight are stored; the next store overwrites what is too much.
            unsafe { _mm512_storeu_epi64(into.as_mut_ptr().cast(), some) };
            count += which.count_ones() as usize;
        }
        count
    }
}

compiled_for! {
    Icelake:
    /// As [`super::Processor::add_steps`]: the compiler makes vectors of the plain loop.
    pub(super) fn add_steps(addrs: &mut [u64], steps: &[u64]) {
        for (addr, step) in addrs.iter_mut().zip(steps) {
            *addr = addr.wrapping_add(*step);
        }
    }
}

compiled_for! {
    Icelake:
    /// As [`super::Processor::copy_if_in_items`]: the compiler makes vectors of the plain loop.
    pub(super) fn copy_if_in_items(
        addrs: &[u64],
        sizes: &[u64],
        mask: u64,
        into: &mut [u64],
    ) -> bool {
        let mut is_over = 0;
        for ((addr, size), into) in addrs.iter().zip(sizes).zip(into) {
            *into = *addr;
            is_over |= u64::from((addr & mask) + size > mask + 1);
        }
        is_over == 0
    }
}

compiled_for! {
    Icelake:
    /// As [`super::Processor::complete`].
    #[inline]
    pub(super) fn complete(
        group: &AccessGroup,
        operands: &[u64; FEW_OPERANDS],
        mask: u64,
        into: &mut [u64; GROUP_ACCESSES],
    ) -> bool {
        let (low, high) = operands.split_at(8);
        // SAFETY: each reference is to eight numbers.
        let (low, high, displacements) = unsafe {
            (
                _mm512_loadu_epi64(low.as_ptr().cast()),
                _mm512_loadu_epi64(high.as_ptr().cast()),
                _mm512_loadu_epi64(group.displacements.as_ptr().cast()),
            )
        };
        // SAFETY: each reference is to eight bytes.
        let (places, sizes, lengths) = unsafe {
            (
                _mm_loadl_epi64(group.operands.as_ptr().cast()),
                _mm_loadl_epi64(group.sizes.as_ptr().cast()),
                _mm_loadl_epi64(group.lengths.as_ptr().cast()),
            )
        };
        let (places, sizes) = (_mm512_cvtepu8_epi64(places), _mm512_cvtepu8_epi64(sizes));
        let lengths = _mm512_cvtepu8_epi64(lengths);
        // A look-up among sixteen operands, and 0 for accesses without one.
        let bases = _mm512_maskz_permutex2var_epi64(group.relative, low, places, high);
        let addrs = _mm512_add_epi64(bases, displacements);
        // SAFETY: as above.
        unsafe { _mm512_storeu_epi64(into.as_mut_ptr().cast(), addrs) };
        let lengths = _mm512_permutex2var_epi64(low, lengths, high);
        let bytes = _mm512_mask_mov_epi64(sizes, group.variable, lengths);
        let below = _mm512_set1_epi64(mask.cast_signed());
        let most = _mm512_add_epi64(below, _mm512_set1_epi64(1));
        let room = _mm512_sub_epi64(most, _mm512_and_epi64(addrs, below));
        let over = _mm512_cmpgt_epu64_mask(bytes, room);
        let empty = _mm512_mask_testn_epi64_mask(group.variable, bytes, bytes);
        over | empty == 0
    }
}

#[cfg(test)]
mod tests {
    use crate::access_group::{AccessGroup, FEW_OPERANDS};
    use crate::processor::{Avx512, Processor};
    use reuselens_io::varint::Portable;
    use reuselens_simd::{Icelake, Level};

    #[test]
    fn vectors_give_what_plain_loops_give() {
        let Some(wide) = Icelake::of(Level::best()).map(Avx512::with) else {
            println!("this processor lacks the instructions");
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
            assert_eq!(wide.rows_with(&bytes, of), Portable.rows_with(&bytes, of));
            let over = Portable.rows_over(&numbers, &bytes, mask);
            assert_eq!(wide.rows_over(&numbers, &bytes, mask), over);
            let (mut one, mut other) = ([0; 64], [0; 64]);
            let count = wide.compress(&numbers, which, &mut one);
            assert_eq!(Portable.compress(&numbers, which, &mut other), count);
            assert_eq!(count, which.count_ones() as usize);
            assert_eq!(one[..count], other[..count]);
            let sizes = bytes.map(|byte| u64::from(byte % 4));
            let fits = wide.copy_if_in_items(&numbers, &sizes, mask, &mut one);
            assert_eq!(
                Portable.copy_if_in_items(&numbers, &sizes, mask, &mut other),
                fits
            );
            assert_eq!((one, fits), (other, over_of(&numbers, &sizes, mask) == 0));
            let steps = other;
            // Some are lengths that fit, some are none.
            for number in &mut numbers[8..16] {
                *number %= 1 << (random() % 64);
            }
            let some: &[u64; FEW_OPERANDS] = numbers.first_chunk().unwrap();
            let group = AccessGroup {
                displacements: std::array::from_fn(|_| random() >> (random() % 64)),
                operands: std::array::from_fn(|_| random() as u8 % 16),
                sizes: std::array::from_fn(|_| random() as u8 % 9),
                lengths: std::array::from_fn(|_| random() as u8 % 16),
                relative: random() as u8,
                variable: (random() & random()) as u8,
                few_operands: true,
                accesses: 8,
            };
            let (mut one, mut other) = ([0; 8], [0; 8]);
            let fits = wide.complete(&group, some, mask, &mut one);
            assert_eq!(Portable.complete(&group, some, mask, &mut other), fits);
            assert_eq!(one, other);
            let mut others = numbers;
            wide.add_steps(&mut numbers, &steps);
            Portable.add_steps(&mut others, &steps);
            assert_eq!(numbers, others);
        }
    }

    fn over_of(addrs: &[u64; 64], sizes: &[u64; 64], mask: u64) -> usize {
        let over = |(addr, size): (&u64, &u64)| (addr & mask) + size > mask + 1;
        addrs.iter().zip(sizes).filter(|pair| over(*pair)).count()
    }
}
