//! A cache line of the table: five items and the steps of their last accesses.

use reuselens_memory::Zeroable;

/// Items of a line.
pub(crate) const ITEMS: usize = 5;

/// The step that no access has: with it, a place is empty.
pub(crate) const NEVER: u32 = 0;

/// Five items, filled from the front. An empty place has item 0 and step [`NEVER`].
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Line {
    pub items: [u64; ITEMS],
    pub steps: [u32; ITEMS + 1],
}

// SAFETY: plain numbers, of which all are valid.
unsafe impl Zeroable for Line {}

/// A way of comparing all items of a line at once. Values exist only where the processor has it.
pub(crate) trait Compare: Copy {
    /// Bit i is set if `line.items[i]` is `item`; for an empty place that is so if `item` is 0.
    fn equal(self, line: &Line, item: u64) -> u32;
}

/// One after the other.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Compare for Portable {
    #[inline(always)]
    fn equal(self, line: &Line, item: u64) -> u32 {
        let bits = line.items.iter().zip(0..);
        bits.map(|(there, bit)| u32::from(*there == item) << bit)
            .sum()
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm256_castsi256_pd, _mm256_cmpeq_epi64, _mm256_cmpeq_epi64_mask, _mm256_loadu_si256,
        _mm256_movemask_pd, _mm256_set1_epi64x,
    };

    use super::{Compare, Line};

    /// Four and one. Made by [`Avx2::new`] alone.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(());

    impl Avx2 {
        /// If the processor has all that the functions compiled for it use.
        pub(crate) fn new() -> Option<Self> {
            let all = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            all.then_some(Avx2(()))
        }
    }

    impl Compare for Avx2 {
        #[inline(always)]
        fn equal(self, line: &Line, item: u64) -> u32 {
            // SAFETY: that there is a value of this type says that the processor has AVX2; the 32 bytes
            // read are the first four items.
            let four = unsafe {
                let four = _mm256_loadu_si256(line.items.as_ptr().cast());
                let equal = _mm256_cmpeq_epi64(four, _mm256_set1_epi64x(item as i64));
                _mm256_movemask_pd(_mm256_castsi256_pd(equal))
            };
            four as u32 | u32::from(line.items[4] == item) << 4
        }
    }

    /// All at once. Made by [`Avx512::new`] alone.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512(());

    impl Avx512 {
        /// If the processor has all that the functions compiled for it use.
        pub(crate) fn new() -> Option<Self> {
            let all = Avx2::new().is_some()
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vpopcntdq");
            all.then_some(Avx512(()))
        }
    }

    impl Compare for Avx512 {
        #[inline(always)]
        fn equal(self, line: &Line, item: u64) -> u32 {
            // Not the whole line in one load: it would have to wait for the last step to be written.
            // SAFETY: that there is a value of this type says that the processor has AVX-512; the 32
            // bytes read are the first four items.
            let four = unsafe {
                let four = _mm256_loadu_si256(line.items.as_ptr().cast());
                _mm256_cmpeq_epi64_mask(four, _mm256_set1_epi64x(item as i64))
            };
            u32::from(four) | u32::from(line.items[4] == item) << 4
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_comparing_agrees() {
        let line = Line {
            items: [7, u64::MAX, 0, 7, 1 << 63],
            steps: [1, 2, 3, 4, 5, 0],
        };
        for item in [0, 7, u64::MAX, 1 << 63, 5] {
            let expected = Portable.equal(&line, item);
            let by_hand: u32 = (0..5)
                .map(|bit| u32::from(line.items[bit] == item) << bit)
                .sum();
            assert_eq!(expected, by_hand);
            #[cfg(target_arch = "x86_64")]
            {
                assert!(Avx2::new().is_none_or(|ways| ways.equal(&line, item) == expected));
                assert!(Avx512::new().is_none_or(|ways| ways.equal(&line, item) == expected));
            }
        }
        assert_eq!((size_of::<Line>(), align_of::<Line>()), (64, 64));
    }
}
