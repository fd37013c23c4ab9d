//! With vectors of 512 bits.

use std::arch::x86_64::{
    __m512i, _mm_loadl_epi64, _mm256_cmpeq_epi64_mask, _mm256_loadu_si256, _mm256_set1_epi64x,
    _mm512_add_epi8, _mm512_add_epi32, _mm512_add_epi64, _mm512_cmpeq_epi8_mask,
    _mm512_cmple_epu8_mask, _mm512_cmple_epu64_mask, _mm512_cvtepu8_epi64, _mm512_i64gather_epi64,
    _mm512_loadu_si512, _mm512_mask_add_epi8, _mm512_mask_cmpeq_epi8_mask,
    _mm512_mask_cmpneq_epi8_mask, _mm512_mask_mov_epi8, _mm512_mask_mov_epi32,
    _mm512_maskz_compress_epi32, _mm512_maskz_compress_epi64, _mm512_maskz_sub_epi64,
    _mm512_or_si512, _mm512_permutex2var_epi64, _mm512_set_epi32, _mm512_set_epi64,
    _mm512_set1_epi8, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_storeu_si512, _mm512_test_epi8_mask, _mm512_test_epi64_mask, _mm512_xor_si512,
    _pdep_u32,
};

use super::{Avx2, Compare};
use crate::counting::lags::{BACK, BLOCK, FAR, Keys, Lags, Reach, WINDOW};
use crate::counting::line::Line;
use crate::counting::work::{LEAVES, Pieces};

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

    /// 64 bytes, from `at` on.
    #[inline(always)]
    fn load(self, bytes: &[u8], at: usize) -> __m512i {
        assert!(at + 64 <= bytes.len());
        // SAFETY: there is a value of this type, so the processor has AVX-512; all 64 bytes are in `bytes`.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().add(at).cast()) }
    }

    /// As an array.
    #[inline(always)]
    fn store(self, vector: __m512i) -> [u8; BLOCK] {
        let mut bytes = [0; BLOCK];
        // SAFETY: as above; `bytes` has 64 bytes.
        unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), vector) };
        bytes
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
    fn nearest(self, keys: Keys<&[u8]>) -> [u8; BLOCK] {
        let (low, high) = (self.load(keys.low, WINDOW), self.load(keys.high, WINDOW));
        // SAFETY: there is a value of this type, so the processor has AVX-512.
        unsafe {
            let mut nearest = _mm512_set1_epi8(FAR as i8);
            for_each_back!(AGO => {
                let equal = _mm512_cmpeq_epi8_mask(self.load(keys.low, WINDOW - AGO), low);
                let there = self.load(keys.high, WINDOW - AGO);
                let equal = _mm512_mask_cmpeq_epi8_mask(equal, there, high);
                nearest = _mm512_mask_mov_epi8(nearest, equal, _mm512_set1_epi8(AGO as i8));
            });
            self.store(nearest)
        }
    }

    #[inline(always)]
    fn lead_to_same(self, recent: &[u64; WINDOW + BLOCK], lags: &[u8; BLOCK]) -> bool {
        // SAFETY: there is a value of this type, so the processor has AVX-512. No lag is taken for more than
        // WINDOW, and the first place is WINDOW: all numbers that are gathered lie in `recent`.
        unsafe {
            let mut different = _mm512_setzero_si512();
            for eight in 0..BLOCK / 8 {
                let lags = _mm_loadl_epi64(lags.as_ptr().add(eight * 8).cast());
                let lags = _mm512_cvtepu8_epi64(lags);
                let near = _mm512_cmple_epu64_mask(lags, _mm512_set1_epi64(WINDOW as i64));
                let back = _mm512_maskz_sub_epi64(near, _mm512_setzero_si512(), lags);
                let places = _mm512_add_epi64(back, _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
                let block = recent.as_ptr().add(WINDOW + eight * 8);
                let there = _mm512_i64gather_epi64::<8>(places, block.cast());
                let mine = _mm512_loadu_si512(block.cast());
                let differs = _mm512_xor_si512(there, mine);
                different = _mm512_or_si512(different, differs);
            }
            _mm512_test_epi64_mask(different, different) == 0
        }
    }

    #[inline(always)]
    fn reaching(self, reach: &Reach) -> [u8; BLOCK] {
        let mine = self.load(reach, BACK);
        // SAFETY: there is a value of this type, so the processor has AVX-512.
        unsafe {
            let one = _mm512_set1_epi8(1);
            // Two chains, as each addition waits for the one before.
            let mut counts = [_mm512_setzero_si512(); 2];
            for_each_back!(AGO => {
                let reaches = _mm512_cmple_epu8_mask(self.load(reach, BACK - AGO), mine);
                let count = counts[AGO % 2];
                counts[AGO % 2] = _mm512_mask_add_epi8(count, reaches, count, one);
            });
            self.store(_mm512_add_epi8(counts[0], counts[1]))
        }
    }

    #[inline(always)]
    fn pieces(
        self,
        back: &[u64; BLOCK],
        block: &[u64; BLOCK],
        at: usize,
        far: u64,
        leaving: u64,
        (items, accesses): Pieces<'_>,
    ) -> usize {
        /// Of sixteen pieces of eight accesses, those that leave and those that are far.
        const BOTH: (u32, u32) = (0x5555, 0xaaaa);
        assert!(items.len() >= 2 * BLOCK + 16 && accesses.len() >= 2 * BLOCK + 16);
        let mut len = 0;
        for eight in (0..BLOCK).step_by(8) {
            // SAFETY: there is a value of this type, so the processor has AVX-512 and BMI2; eight numbers are
            // read below BLOCK; at most 2 · BLOCK pieces are written, and a vector of sixteen from the last on.
            unsafe {
                let load =
                    |from: &[u64; BLOCK]| _mm512_loadu_si512(from.as_ptr().add(eight).cast());
                let (back, block) = (load(back), load(block));
                let kept = _pdep_u32((leaving >> eight) as u32 & 0xff, BOTH.0)
                    | _pdep_u32((far >> eight) as u32 & 0xff, BOTH.1);
                let first = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
                let last = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
                let numbers = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
                let numbers = _mm512_add_epi32(numbers, _mm512_set1_epi32((at + eight) as i32));
                let leaves = _mm512_set1_epi32(LEAVES as i32);
                let numbers = _mm512_mask_mov_epi32(numbers, BOTH.0 as u16, leaves);
                let numbers = _mm512_maskz_compress_epi32(kept as u16, numbers);
                _mm512_storeu_si512(accesses.as_mut_ptr().add(len).cast(), numbers);
                for (half, order) in [(kept as u8, first), ((kept >> 8) as u8, last)] {
                    let both = _mm512_permutex2var_epi64(back, order, block);
                    let both = _mm512_maskz_compress_epi64(half, both);
                    _mm512_storeu_si512(items.as_mut_ptr().add(len).cast(), both);
                    len += half.count_ones() as usize;
                }
            }
        }
        len
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
            for_each_back!(AFTER => {
                let there = self.load(lags, AFTER);
                let after = _mm512_set1_epi8(AFTER as i8);
                leaves[AFTER % 4] = _mm512_mask_cmpneq_epi8_mask(leaves[AFTER % 4], there, after);
            });
            leaves.iter().fold(u64::MAX, |all, chain| all & chain)
        }
    }
}
