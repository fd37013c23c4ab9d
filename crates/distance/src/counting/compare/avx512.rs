//! [`Avx512`]: [`Compare`] with vectors of 512 bits.

use std::arch::x86_64::{
    __m512i, _mm_loadl_epi64, _mm256_and_si256, _mm256_cmpeq_epi64_mask, _mm256_cvtepu8_epi32,
    _mm256_loadu_si256, _mm256_mmask_i32gather_epi32, _mm256_set1_epi32, _mm256_set1_epi64x,
    _mm256_storeu_si256, _mm512_add_epi8, _mm512_add_epi32, _mm512_add_epi64,
    _mm512_cmpeq_epi8_mask, _mm512_cmple_epu8_mask, _mm512_cmple_epu64_mask,
    _mm512_cmpneq_epi64_mask, _mm512_cvtepu8_epi64, _mm512_i64gather_epi64, _mm512_loadu_si512,
    _mm512_mask_add_epi8, _mm512_mask_add_epi64, _mm512_mask_cmpeq_epi8_mask,
    _mm512_mask_cmpneq_epi8_mask, _mm512_mask_mov_epi8, _mm512_maskz_compress_epi8,
    _mm512_maskz_compress_epi32, _mm512_maskz_compress_epi64, _mm512_maskz_expand_epi8,
    _mm512_maskz_sub_epi64, _mm512_or_si512, _mm512_set_epi32, _mm512_set_epi64, _mm512_set1_epi8,
    _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_storeu_si512,
    _mm512_test_epi8_mask, _mm512_test_epi64_mask, _mm512_xor_si512, _pdep_u64,
};

use reuselens_simd::Icelake;

use super::Compare;
use crate::counting::line::TableLine;
use crate::counting::window_layout::{
    BACK, BLOCK, FAR, Kept, Keys, LEAVES, Lags, Pieces, Reach, Todo, WINDOW,
};

/// Eight numbers, or 64 bytes, at a time.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(Icelake);

impl Avx512 {
    /// For a processor that has the instructions.
    #[inline(always)]
    pub(crate) fn with(proof: Icelake) -> Self {
        Avx512(proof)
    }

    /// 64 bytes, from `at` on.
    #[inline(always)]
    fn load(self, bytes: &[u8], at: usize) -> __m512i {
        assert!(at + 64 <= bytes.len());
        // SAFETY: there is a value of this type, so the processor has AVX-512; all 64 bytes are in
        // `bytes`.
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
    fn equal(self, line: &TableLine, item: u64) -> u32 {
        // Not all of the line in one load: that would wait for the last step to be written.
        // SAFETY: there is a value of this type, so the processor has AVX-512; the 32 bytes read
        // are the first four items.
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
        // SAFETY: there is a value of this type, so the processor has AVX-512. No lag is taken for
        // more than WINDOW, and the first place is WINDOW: all numbers that are gathered are in
        // `recent`.
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
    fn keep(self, items: &[u64; BLOCK + 1], start: Option<usize>, (to, numbers): Kept<'_>) -> u64 {
        assert!(to.len() >= BLOCK + 8 && numbers.len() >= BLOCK + 16);
        let (mut kept, mut len) = (0, 0);
        for sixteen in (0..BLOCK).step_by(16) {
            // SAFETY: there is a value of this type, so the processor has AVX-512; `items` has one
            // more than a block, at most a block is written, and a vector from the last on.
            unsafe {
                let first = numbers.as_mut_ptr().add(len);
                let mut both = 0;
                for eight in [0, 8] {
                    let before = items.as_ptr().add(sixteen + eight);
                    let mine = _mm512_loadu_si512(before.add(1).cast());
                    let changes = _mm512_cmpneq_epi64_mask(mine, _mm512_loadu_si512(before.cast()));
                    let mine = _mm512_maskz_compress_epi64(changes, mine);
                    _mm512_storeu_si512(to.as_mut_ptr().add(len).cast(), mine);
                    len += changes.count_ones() as usize;
                    both |= u16::from(changes) << eight;
                }
                if let Some(start) = start {
                    let places = _mm512_add_epi32(
                        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                        _mm512_set1_epi32((start + sixteen) as i32),
                    );
                    let places = _mm512_maskz_compress_epi32(both, places);
                    _mm512_storeu_si512(first.cast(), places);
                }
                kept |= u64::from(both) << sixteen;
            }
        }
        kept
    }

    #[inline(always)]
    fn spread(self, from: &[u8; BLOCK], kept: u64) -> [u8; BLOCK] {
        let from = self.load(from, 0);
        // SAFETY: there is a value of this type, so the processor has AVX-512 with VBMI2.
        self.store(unsafe { _mm512_maskz_expand_epi8(kept, from) })
    }

    #[inline(always)]
    fn tally(self, from: &[u8; BLOCK], which: u64, counts: &mut [u64; WINDOW]) {
        let from = self.load(from, 0);
        for (number, count) in (0..).zip(counts) {
            // SAFETY: there is a value of this type, so the processor has AVX-512.
            let equal =
                unsafe { _mm512_mask_cmpeq_epi8_mask(which, from, _mm512_set1_epi8(number)) };
            *count += u64::from(equal.count_ones());
        }
    }

    #[inline(always)]
    fn pieces(self, todo: Todo<'_>, (items, accesses): Pieces<'_>) -> usize {
        /// Of two pieces of each access, the one that leaves and the far one.
        const BOTH: (u64, u64) = (0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa);
        /// Marks the far one.
        const IS_FAR: u8 = 0x80;
        /// The two pieces of each of 32 accesses: which access.
        const PIECES: [[u8; BLOCK]; 2] = {
            let mut pieces = [[0; BLOCK]; 2];
            let mut piece = 0;
            while piece < 2 * BLOCK {
                let far = if piece % 2 == 1 { IS_FAR } else { 0 };
                pieces[piece / BLOCK][piece % BLOCK] = (piece / 2) as u8 | far;
                piece += 1;
            }
            pieces
        };
        assert!(items.len() >= 2 * BLOCK + 16 && accesses.len() >= 2 * BLOCK + 16);
        let mut places = [0_u8; 3 * BLOCK];
        let mut len = 0;
        for (half, pieces) in [0, 32].into_iter().zip(&PIECES) {
            // SAFETY: there is a value of this type, so the processor has AVX-512 with VBMI2, and
            // BMI2; at most 2 · BLOCK places are written, and a vector from the last on.
            unsafe {
                let kept =
                    _pdep_u64(todo.leaving >> half, BOTH.0) | _pdep_u64(todo.far >> half, BOTH.1);
                let pieces = _mm512_maskz_compress_epi8(kept, self.load(pieces, 0));
                _mm512_storeu_si512(places.as_mut_ptr().add(len).cast(), pieces);
                len += kept.count_ones() as usize;
            }
        }
        for eight in (0..len).step_by(8) {
            // SAFETY: as above. Places are accesses of a block, with or without the mark; those
            // after the last are 0. Where items leave they lead into the first BLOCK of
            // `todo.items`, else into the last. At most 2 · BLOCK pieces are written, and a vector
            // of eight from the last on.
            unsafe {
                let place = _mm_loadl_epi64(places.as_ptr().add(eight).cast());
                let wide = _mm512_cvtepu8_epi64(place);
                let far = _mm512_test_epi64_mask(wide, _mm512_set1_epi64(IS_FAR.into()));
                let behind = _mm512_set1_epi64(BACK as i64 - i64::from(IS_FAR));
                let wide = _mm512_mask_add_epi64(wide, far, wide, behind);
                let found = _mm512_i64gather_epi64::<8>(wide, todo.items.as_ptr().cast());
                _mm512_storeu_si512(items.as_mut_ptr().add(eight).cast(), found);
                let access = _mm256_and_si256(
                    _mm256_cvtepu8_epi32(place),
                    _mm256_set1_epi32(i32::from(IS_FAR - 1)),
                );
                let leaves = _mm256_set1_epi32(LEAVES as i32);
                let numbers = todo.numbers.as_ptr().cast();
                let found = _mm256_mmask_i32gather_epi32::<4>(leaves, far, access, numbers);
                _mm256_storeu_si256(accesses.as_mut_ptr().add(eight).cast(), found);
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
