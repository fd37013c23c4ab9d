//! Eight numbers at once to variable-length bytes and back, on processors of about 2020 and later
//! (AVX-512 with VBMI2).
//!
//! One instruction takes the eight groups of seven bits of each number apart, a second closes the
//! gaps behind the bytes that it needs. And back: one instruction spreads the bytes of each number,
//! two multiply and add them up.

use std::arch::x86_64::*;

use crate::processor::ROOM;
use reuselens_io::varint::{ENDS, LONGEST, put_at, zigzag};

/// As [`reuselens_io::varint::pack_here`]. `None` if the processor cannot, or if there are no
/// [`ROOM`] bytes more than that asks for.
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

/// The bytes of eight numbers, eight for each, and which of them are needed. `None` if a number
/// needs more.
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

/// As [`reuselens_io::varint::several`], eight numbers at a time: none if there are not so many,
/// and no more than end in 64 bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,bmi2")]
pub(super) fn unpack(bytes: &[u8], into: &mut [u64]) -> (usize, usize) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    /// The number of each byte.
    const PLACES: [u8; 64] = {
        let mut places = [0; 64];
        let mut place = 0;
        while place < 64 {
            places[place] = place as u8;
            place += 1;
        }
        places
    };
    /// By a length its lowest bits, so many.
    const LOWEST: [u8; 16] = [0, 1, 3, 7, 15, 31, 63, 127, 255, 0, 0, 0, 0, 0, 0, 0];
    // Of the second half some bytes are read, and none is needed.
    let Some(bytes) = bytes.first_chunk::<128>() else {
        return (0, 0);
    };
    // SAFETY: 64 bytes lie in each place, 16 in the last.
    let (all, counted, lowest) = unsafe {
        (
            _mm512_loadu_epi8(bytes.as_ptr().cast()),
            _mm512_loadu_epi8(PLACES.as_ptr().cast()),
            _mm_loadu_epi8(LOWEST.as_ptr().cast()),
        )
    };
    let mut ends = !_mm512_movepi8_mask(all);
    let (mut start, mut taken) = (0, 0);
    for eight in into.as_chunks_mut::<8>().0 {
        let eighth = _pdep_u64(1 << 7, ends);
        let own = ends & eighth.wrapping_sub(1) | eighth;
        let places = _mm512_maskz_compress_epi8(own, counted);
        // Behind which byte each number ends, and how many it has.
        let ended = (_mm_cvtsi128_si64(_mm512_castsi512_si128(places)) as u64).wrapping_add(ONES);
        let lengths = ended.wrapping_sub(ended << 8 | start as u64);
        let longer_than_a_word = lengths.wrapping_add(0x77 * ONES) & ENDS;
        if eighth == 0 || longer_than_a_word != 0 {
            break;
        }
        let lengths = _mm_cvtsi64_si128(lengths.cast_signed());
        let own = _mm_cvtsi128_si64(_mm_shuffle_epi8(lowest, lengths)).cast_unsigned();
        // SAFETY: `start` is at most 64, and so many bytes lie behind.
        let from = unsafe { _mm512_loadu_epi8(bytes.as_ptr().add(start).cast()) };
        let numbers = join(_mm512_maskz_expand_epi8(own, from));
        // SAFETY: eight numbers lie there.
        unsafe { _mm512_storeu_epi64(eight.as_mut_ptr().cast(), numbers) };
        ends &= !(eighth | (eighth - 1));
        start = (ended >> 56) as usize;
        taken += 8;
    }
    (taken, start)
}

/// The number in each eight bytes: seven bits of each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn join(bytes: __m512i) -> __m512i {
    let sevens = _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f));
    // 1 and 128 for each two bytes, then 1 and 128² for each two of those.
    let pairs = _mm512_maddubs_epi16(_mm512_set1_epi16(0x8001_u16.cast_signed()), sevens);
    let quads = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x4000_0001));
    let low = _mm512_and_si512(quads, _mm512_set1_epi64(0xffff_ffff));
    let high = _mm512_slli_epi64::<28>(_mm512_srli_epi64::<32>(quads));
    _mm512_or_si512(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::{Processor, widest};
    use reuselens_io::varint::{Cursor, Damage, Portable, pack_here};

    fn same<const SIGNED: bool>(numbers: &[u64]) {
        let mut narrow = vec![0x55; numbers.len() * LONGEST + ROOM];
        let length = pack_here::<SIGNED>(Portable, numbers, &mut narrow);
        let mut wide = vec![0xaa; narrow.len()];
        match pack::<SIGNED>(numbers, &mut wide) {
            Some(written) => assert_eq!(wide[..written], narrow[..length]),
            None => println!("this processor has not the instructions"),
        }
    }

    /// What a reader makes of bytes, and where it stops.
    fn read(
        squeeze: impl Processor,
        bytes: &[u8],
        count: usize,
    ) -> (Result<Vec<u64>, Damage>, usize) {
        let mut cursor = Cursor::new(bytes, 0);
        let mut numbers = vec![0; count];
        let read = cursor.numbers(squeeze, &mut numbers).map(|()| numbers);
        (read, cursor.at())
    }

    /// Bytes of numbers come back from the place where they were cut off at, too.
    fn comes_back(numbers: &[u64]) {
        let Some(wide) = widest() else {
            println!("this processor has not the instructions");
            return;
        };
        let mut bytes = vec![0; numbers.len() * LONGEST + ROOM];
        let length = pack_here::<false>(Portable, numbers, &mut bytes);
        // Numbers that are longer than they need to be, and than any are.
        for (from, fill) in [(length, 0), (length, 0x80), (length / 2, 0xff)] {
            bytes[from..].fill(fill);
            for end in [bytes.len(), length, length.saturating_sub(1), from] {
                let bytes = &bytes[..end];
                let (one, other) = (
                    read(Portable, bytes, numbers.len()),
                    read(wide, bytes, numbers.len()),
                );
                assert_eq!(one.0, other.0);
                if let Ok(read) = one.0 {
                    assert_eq!(one.1, other.1);
                    assert!(from < length || read == numbers);
                }
            }
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
            comes_back(&numbers);
            // Short ones, as most are.
            let numbers: Vec<u64> = numbers
                .iter()
                .map(|number| number >> (number % 64))
                .collect();
            comes_back(&[&numbers[..], &numbers].concat());
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
