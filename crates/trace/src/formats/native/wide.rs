//! Eight numbers at once to variable-length bytes, on processors of about 2020 and later (AVX-512 with VBMI2).
//!
//! One instruction takes the eight groups of seven bits of each number apart, a second closes the gaps behind the bytes that
//! it needs.

use std::arch::x86_64::*;

use crate::formats::native::bytes::{LONGEST, put_at, zigzag};
use crate::formats::native::dispatch::ROOM;

/// As [`super::bytes::pack_here`]. `None` if the processor cannot, or if there are no [`ROOM`] bytes more than that asks for.
pub(super) fn pack<const SIGNED: bool>(numbers: &[u64], bytes: &mut [u8]) -> Option<usize> {
    let seen = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("popcnt");
    if !seen || bytes.len() < numbers.len() * LONGEST + ROOM {
        return None;
    }
    // SAFETY: all extensions were seen that the function is compiled for.
    Some(unsafe { pack_wide::<SIGNED>(numbers, bytes) })
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
fn pack_wide<const SIGNED: bool>(numbers: &[u64], bytes: &mut [u8]) -> usize {
    let (eights, rest) = numbers.as_chunks::<8>();
    let mut at = 0;
    for eight in eights {
        // SAFETY: eight numbers lie there.
        let all = unsafe { _mm512_loadu_epi64(eight.as_ptr().cast()) };
        let all = if SIGNED { zigzag_wide(all) } else { all };
        let Some((spread, needed)) = spread_wide(all) else {
            for &number in eight {
                put_zero_first::<SIGNED>(bytes, &mut at, number);
            }
            continue;
        };
        let Some(into) = bytes[at..].first_chunk_mut::<64>() else {
            return at;
        };
        let packed = _mm512_maskz_compress_epi8(needed, spread);
        // SAFETY: 64 bytes lie there.
        unsafe { _mm512_storeu_epi8(into.as_mut_ptr().cast(), packed) };
        at += needed.count_ones() as usize;
    }
    for &number in rest {
        put_zero_first::<SIGNED>(bytes, &mut at, number);
    }
    at
}

#[inline]
#[target_feature(enable = "avx512f")]
fn zigzag_wide(all: __m512i) -> __m512i {
    _mm512_xor_si512(_mm512_slli_epi64::<1>(all), _mm512_srai_epi64::<63>(all))
}

/// The bytes of eight numbers, eight for each, and which of them are needed. `None` if a number needs more.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn spread_wide(all: __m512i) -> Option<(__m512i, u64)> {
    /// Where the bits of each byte begin.
    const FROM: i64 = 0x312a_231c_150e_0700;
    if _mm512_test_epi64_mask(all, _mm512_set1_epi64(0xff << 56)) != 0 {
        return None;
    }
    let eights = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(FROM), all);
    let sevens = _mm512_and_si512(eights, _mm512_set1_epi8(0x7f));
    // Every number needs its first byte, and all up to its last that is not 0.
    let mut needed = _mm512_test_epi8_mask(sevens, sevens) | 0x0101_0101_0101_0101;
    needed |= (needed >> 1) & 0x7f7f_7f7f_7f7f_7f7f;
    needed |= (needed >> 2) & 0x3f3f_3f3f_3f3f_3f3f;
    needed |= (needed >> 4) & 0x0f0f_0f0f_0f0f_0f0f;
    let not_last = (needed >> 1) & 0x7f7f_7f7f_7f7f_7f7f;
    let more = _mm512_maskz_set1_epi8(not_last, i8::MIN);
    Some((_mm512_or_si512(sevens, more), needed))
}

/// A number by itself.
#[cold]
#[inline(never)]
fn put_zero_first<const SIGNED: bool>(bytes: &mut [u8], at: &mut usize, number: u64) {
    let number = if SIGNED { zigzag(number) } else { number };
    // What is to be written over may be anything.
    bytes[*at..*at + LONGEST].fill(0);
    put_at(bytes, at, number);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::native::bytes::pack_here;
    use crate::formats::native::dispatch::Portable;

    fn same<const SIGNED: bool>(numbers: &[u64]) {
        let mut narrow = vec![0x55; numbers.len() * LONGEST + ROOM];
        let length = pack_here::<SIGNED>(Portable, numbers, &mut narrow);
        let mut wide = vec![0xaa; narrow.len()];
        match pack::<SIGNED>(numbers, &mut wide) {
            Some(written) => assert_eq!(wide[..written], narrow[..length]),
            None => println!("this processor has not the instructions"),
        }
    }

    #[test]
    fn eight_at_once_are_as_one_after_the_other() {
        let mut state = 1_u64;
        for round in 0..3000 {
            let numbers: Vec<u64> = (0..round % 70)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    let most = if round % 3 == 0 { 64 } else { 57 };
                    let number = (state ^ (state >> 29)) >> (64 - (state >> 40) % most).min(63);
                    if round % 2 == 0 {
                        number
                    } else {
                        number.wrapping_neg()
                    }
                })
                .collect();
            same::<false>(&numbers);
            same::<true>(&numbers);
        }
        same::<false>(&[0; 16]);
        same::<false>(&[u64::MAX; 16]);
        same::<true>(&[
            1 << 63,
            1,
            u64::MAX,
            1 << 55,
            (1 << 55) - 1,
            (1 << 54) - 1,
            0,
            7,
        ]);
    }
}
