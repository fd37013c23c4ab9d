//! [`Avx2`]: [`Compare`] with vectors of 256 bits.

use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_blendv_epi8, _mm256_castsi256_pd, _mm256_cmpeq_epi8,
    _mm256_cmpeq_epi64, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8,
    _mm256_movemask_pd, _mm256_or_si256, _mm256_set1_epi8, _mm256_set1_epi64x,
    _mm256_setzero_si256, _mm256_storeu_si256, _mm256_sub_epi8,
};

use reuselens_simd::V3;

use super::Compare;
use crate::counting::line::TableLine;
use crate::counting::window_layout::{BACK, BLOCK, FAR, Keys, Lags, Reach, WINDOW};

/// Four numbers, or 32 bytes, at a time.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(V3);

impl Avx2 {
    /// For a processor that has the instructions.
    #[inline(always)]
    pub(crate) fn with(proof: V3) -> Self {
        Avx2(proof)
    }

    /// 32 bytes, from `at` on.
    #[inline(always)]
    fn load(self, bytes: &[u8], at: usize) -> __m256i {
        assert!(at + 32 <= bytes.len());
        // SAFETY: there is a value of this type, so the processor has AVX2; all 32 bytes are in
        // `bytes`.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().add(at).cast()) }
    }

    /// As an array.
    #[inline(always)]
    fn store(self, halves: [__m256i; 2]) -> [u8; BLOCK] {
        let mut bytes = [0; BLOCK];
        for (half, bytes) in halves.iter().zip(bytes.chunks_exact_mut(32)) {
            // SAFETY: as above; `bytes` has 32 bytes.
            unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), *half) };
        }
        bytes
    }
}

/// Half a block each. Functions of their own, not closures: those are not always put in the place
/// of their calls, and a closure that is compiled by itself is compiled without AVX2.
impl Avx2 {
    #[inline(always)]
    fn nearest_half(self, keys: Keys<&[u8]>, half: usize) -> __m256i {
        let mine = WINDOW + half;
        let (low, high) = (self.load(keys.low, mine), self.load(keys.high, mine));
        // SAFETY: there is a value of this type, so the processor has AVX2.
        unsafe {
            let mut nearest = _mm256_set1_epi8(FAR as i8);
            for_each_back!(AGO => {
                let equal = _mm256_and_si256(
                    _mm256_cmpeq_epi8(self.load(keys.low, mine - AGO), low),
                    _mm256_cmpeq_epi8(self.load(keys.high, mine - AGO), high),
                );
                nearest = _mm256_blendv_epi8(nearest, _mm256_set1_epi8(AGO as i8), equal);
            });
            nearest
        }
    }

    #[inline(always)]
    fn reaching_half(self, reach: &Reach, half: usize) -> __m256i {
        let mine = self.load(reach, BACK + half);
        // SAFETY: there is a value of this type, so the processor has AVX2.
        unsafe {
            let mut count = _mm256_setzero_si256();
            for_each_back!(AGO => {
                let there = self.load(reach, BACK + half - AGO);
                let reaches = _mm256_cmpeq_epi8(_mm256_min_epu8(there, mine), there);
                count = _mm256_sub_epi8(count, reaches);
            });
            count
        }
    }

    #[inline(always)]
    fn far_half(self, lags: &Lags, half: usize) -> u64 {
        let mine = self.load(lags, BACK + half);
        // SAFETY: there is a value of this type, so the processor has AVX2.
        let far = unsafe {
            _mm256_movemask_epi8(_mm256_cmpeq_epi8(mine, _mm256_set1_epi8(FAR as i8))) as u32
        };
        u64::from(far)
    }

    #[inline(always)]
    fn leaving_half(self, lags: &Lags, half: usize) -> u64 {
        let mine = self.load(lags, half);
        // SAFETY: there is a value of this type, so the processor has AVX2.
        unsafe {
            let mut stays = _mm256_cmpeq_epi8(mine, _mm256_setzero_si256());
            for_each_back!(AFTER => {
                let there = self.load(lags, half + AFTER);
                let renews = _mm256_cmpeq_epi8(there, _mm256_set1_epi8(AFTER as i8));
                stays = _mm256_or_si256(stays, renews);
            });
            u64::from(!(_mm256_movemask_epi8(stays) as u32))
        }
    }
}

impl Compare for Avx2 {
    #[inline(always)]
    fn equal(self, line: &TableLine, item: u64) -> u32 {
        // SAFETY: there is a value of this type, so the processor has AVX2; the 32 bytes read are
        // the first four items.
        let four = unsafe {
            let four = _mm256_loadu_si256(line.items.as_ptr().cast());
            let equal = _mm256_cmpeq_epi64(four, _mm256_set1_epi64x(item as i64));
            _mm256_movemask_pd(_mm256_castsi256_pd(equal))
        };
        four as u32 | u32::from(line.items[4] == item) << 4
    }

    #[inline(always)]
    fn nearest(self, keys: Keys<&[u8]>) -> [u8; BLOCK] {
        self.store([self.nearest_half(keys, 0), self.nearest_half(keys, 32)])
    }

    #[inline(always)]
    fn reaching(self, reach: &Reach) -> [u8; BLOCK] {
        self.store([self.reaching_half(reach, 0), self.reaching_half(reach, 32)])
    }

    #[inline(always)]
    fn tally(self, from: &[u8; BLOCK], which: u64, counts: &mut [u64; WINDOW]) {
        let (low, high) = (self.load(from, 0), self.load(from, 32));
        for (number, count) in (0..).zip(counts) {
            // SAFETY: there is a value of this type, so the processor has AVX2.
            let [low, high] = unsafe {
                let number = _mm256_set1_epi8(number);
                [low, high].map(|half| _mm256_movemask_epi8(_mm256_cmpeq_epi8(half, number)) as u32)
            };
            let equal = u64::from(low) | u64::from(high) << 32;
            *count += u64::from((equal & which).count_ones());
        }
    }

    #[inline(always)]
    fn far(self, lags: &Lags) -> u64 {
        self.far_half(lags, 0) | self.far_half(lags, 32) << 32
    }

    #[inline(always)]
    fn leaving(self, lags: &Lags) -> u64 {
        self.leaving_half(lags, 0) | self.leaving_half(lags, 32) << 32
    }
}
