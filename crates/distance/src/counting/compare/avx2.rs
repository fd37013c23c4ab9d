//! With vectors of 256 bits.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi8, _mm256_andnot_si256, _mm256_blendv_epi8, _mm256_castsi256_pd,
    _mm256_cmpeq_epi8, _mm256_cmpeq_epi64, _mm256_loadu_si256, _mm256_max_epu8,
    _mm256_movemask_epi8, _mm256_movemask_pd, _mm256_or_si256, _mm256_set1_epi8,
    _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_storeu_si256, _mm256_sub_epi8,
};

use super::Compare;
use crate::counting::lags::{BACK, BLOCK, FAR, Lags};
use crate::counting::line::Line;

/// Four numbers, or 32 bytes, at a time. Made by [`Avx2::new`] alone.
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

    /// Half of a block's lags, from `at` on.
    #[inline(always)]
    fn load(self, lags: &Lags, at: usize) -> __m256i {
        assert!(at + 32 <= lags.len());
        // SAFETY: there is a value of this type, so the processor has AVX2; all 32 bytes are in `lags`.
        unsafe { _mm256_loadu_si256(lags.as_ptr().add(at).cast()) }
    }
}

impl Compare for Avx2 {
    #[inline(always)]
    fn equal(self, line: &Line, item: u64) -> u32 {
        // SAFETY: there is a value of this type, so the processor has AVX2; the 32 bytes read are the
        // first four items.
        let four = unsafe {
            let four = _mm256_loadu_si256(line.items.as_ptr().cast());
            let equal = _mm256_cmpeq_epi64(four, _mm256_set1_epi64x(item as i64));
            _mm256_movemask_pd(_mm256_castsi256_pd(equal))
        };
        four as u32 | u32::from(line.items[4] == item) << 4
    }

    #[inline(always)]
    fn nearest<const LEAST: usize, const WINDOW: usize>(self, recent: &[u64]) -> [u64; 8] {
        assert!(recent.len() >= WINDOW + 8 && WINDOW >= LEAST + 15);
        let mut found = [0; 8];
        for half in [0, 4] {
            // SAFETY: there is a value of this type, so the processor has AVX2; the assertion has all 32
            // bytes of every load in `recent`; `found` has two halves of 32 bytes.
            unsafe {
                let load = |at: usize| _mm256_loadu_si256(recent.as_ptr().add(at).cast());
                let mine = load(WINDOW + half);
                let mut nearest = _mm256_set1_epi64x(FAR.into());
                for back in (LEAST..LEAST + 16).rev() {
                    let equal = _mm256_cmpeq_epi64(load(WINDOW + half - back), mine);
                    let back = _mm256_set1_epi64x(back as i64);
                    nearest = _mm256_blendv_epi8(nearest, back, equal);
                }
                _mm256_storeu_si256(found.as_mut_ptr().add(half).cast(), nearest);
            }
        }
        found
    }

    #[inline(always)]
    fn between(self, lags: &Lags) -> [u8; BLOCK] {
        let mut counts = [0; BLOCK];
        for half in [0, 32] {
            let mine = self.load(lags, BACK + half);
            // SAFETY: there is a value of this type, so the processor has AVX2; `counts` has two halves of
            // 32 bytes.
            unsafe {
                let mut count = _mm256_setzero_si256();
                for back in 1..FAR {
                    let step = _mm256_set1_epi8(back as i8);
                    let there = _mm256_add_epi8(self.load(lags, BACK + half - back as usize), step);
                    let reaches = _mm256_cmpeq_epi8(_mm256_max_epu8(there, mine), there);
                    let beyond = _mm256_cmpeq_epi8(_mm256_max_epu8(step, mine), step);
                    count = _mm256_sub_epi8(count, _mm256_andnot_si256(beyond, reaches));
                }
                _mm256_storeu_si256(counts.as_mut_ptr().add(half).cast(), count);
            }
        }
        counts
    }

    #[inline(always)]
    fn far(self, lags: &Lags) -> u64 {
        let half = |half: usize| {
            let mine = self.load(lags, BACK + half);
            // SAFETY: there is a value of this type, so the processor has AVX2.
            unsafe {
                _mm256_movemask_epi8(_mm256_cmpeq_epi8(mine, _mm256_set1_epi8(FAR as i8))) as u32
            }
        };
        u64::from(half(0)) | u64::from(half(32)) << 32
    }

    #[inline(always)]
    fn leaving(self, lags: &Lags) -> u64 {
        let half = |half: usize| {
            let mine = self.load(lags, half);
            // SAFETY: there is a value of this type, so the processor has AVX2.
            unsafe {
                let mut stays = _mm256_cmpeq_epi8(mine, _mm256_setzero_si256());
                for after in 1..FAR {
                    let there = self.load(lags, half + after as usize);
                    let renews = _mm256_cmpeq_epi8(there, _mm256_set1_epi8(after as i8));
                    stays = _mm256_or_si256(stays, renews);
                }
                !(_mm256_movemask_epi8(stays) as u32)
            }
        };
        u64::from(half(0)) | u64::from(half(32)) << 32
    }
}
