//! With vectors of 512 bits.

use std::arch::x86_64::{
    __m512i, _mm256_cmpeq_epi64_mask, _mm256_loadu_si256, _mm256_set1_epi64x, _mm512_add_epi8,
    _mm512_cmpeq_epi8_mask, _mm512_cmpeq_epi64_mask, _mm512_loadu_si512, _mm512_mask_add_epi8,
    _mm512_mask_cmpge_epu8_mask, _mm512_mask_cmpgt_epu8_mask, _mm512_mask_cmpneq_epi8_mask,
    _mm512_mask_mov_epi64, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_storeu_si512, _mm512_test_epi8_mask,
};

use super::{Avx2, Compare};
use crate::counting::lags::{BACK, BLOCK, FAR, Lags};
use crate::counting::line::Line;

/// Eight numbers, or 64 bytes, at a time. Made by [`Avx512::new`] alone.
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

    /// A block's lags, from `at` on.
    #[inline(always)]
    fn load(self, lags: &Lags, at: usize) -> __m512i {
        assert!(at + 64 <= lags.len());
        // SAFETY: there is a value of this type, so the processor has AVX-512; all 64 bytes are in `lags`.
        unsafe { _mm512_loadu_si512(lags.as_ptr().add(at).cast()) }
    }
}

impl Compare for Avx512 {
    #[inline(always)]
    fn equal(self, line: &Line, item: u64) -> u32 {
        // Not the whole line in one load: that would have to wait for the last step to be written.
        // SAFETY: there is a value of this type, so the processor has AVX-512; the 32 bytes read are the
        // first four items.
        let four = unsafe {
            let four = _mm256_loadu_si256(line.items.as_ptr().cast());
            _mm256_cmpeq_epi64_mask(four, _mm256_set1_epi64x(item as i64))
        };
        u32::from(four) | u32::from(line.items[4] == item) << 4
    }

    #[inline(always)]
    fn nearest<const LEAST: usize, const WINDOW: usize>(self, recent: &[u64]) -> [u64; 8] {
        assert!(recent.len() >= WINDOW + 8 && WINDOW >= LEAST + 15);
        let mut found = [0; 8];
        // SAFETY: there is a value of this type, so the processor has AVX-512; the assertion has all 64
        // bytes of every load in `recent`; `found` has 64 bytes.
        unsafe {
            let load = |at: usize| _mm512_loadu_si512(recent.as_ptr().add(at).cast());
            let mine = load(WINDOW);
            let mut nearest = _mm512_set1_epi64(FAR.into());
            for back in (LEAST..LEAST + 16).rev() {
                let equal = _mm512_cmpeq_epi64_mask(load(WINDOW - back), mine);
                nearest = _mm512_mask_mov_epi64(nearest, equal, _mm512_set1_epi64(back as i64));
            }
            _mm512_storeu_si512(found.as_mut_ptr().cast(), nearest);
        }
        found
    }

    #[inline(always)]
    fn between(self, lags: &Lags) -> [u8; BLOCK] {
        let mut counts = [0; BLOCK];
        let mine = self.load(lags, BACK);
        // SAFETY: there is a value of this type, so the processor has AVX-512; `counts` has 64 bytes.
        unsafe {
            let mut count = _mm512_setzero_si512();
            for back in 1..FAR {
                let step = _mm512_set1_epi8(back as i8);
                let there = _mm512_add_epi8(self.load(lags, BACK - back as usize), step);
                let inside = _mm512_mask_cmpgt_epu8_mask(u64::MAX, mine, step);
                let reaches = _mm512_mask_cmpge_epu8_mask(inside, there, mine);
                count = _mm512_mask_add_epi8(count, reaches, count, _mm512_set1_epi8(1));
            }
            _mm512_storeu_si512(counts.as_mut_ptr().cast(), count);
        }
        counts
    }

    #[inline(always)]
    fn far(self, lags: &Lags) -> u64 {
        let mine = self.load(lags, BACK);
        // SAFETY: there is a value of this type, so the processor has AVX-512.
        unsafe { _mm512_cmpeq_epi8_mask(mine, _mm512_set1_epi8(FAR as i8)) }
    }

    #[inline(always)]
    fn leaving(self, lags: &Lags) -> u64 {
        let mine = self.load(lags, 0);
        // SAFETY: there is a value of this type, so the processor has AVX-512.
        unsafe {
            // Four chains, as each comparison under a mask waits for the mask.
            let mut leaves = [_mm512_test_epi8_mask(mine, mine); 4];
            for after in 1..FAR {
                let there = self.load(lags, after as usize);
                let chain = &mut leaves[after as usize % 4];
                let after = _mm512_set1_epi8(after as i8);
                *chain = _mm512_mask_cmpneq_epi8_mask(*chain, there, after);
            }
            leaves.iter().fold(u64::MAX, |all, chain| all & chain)
        }
    }
}
