//! Numbers of variable length to bytes and back, eight at once, with vectors of 512 bits.
//!
//! The format is that of `reuselens_io::varint`: seven bits a byte, low ones first, the top bit set
//! in all bytes but a number's last. [`pack`] splits each number into eight bytes of seven bits by
//! one instruction (VPMULTISHIFTQB), and closes the gaps after the bytes that it needs by another
//! (VPCOMPRESSB). [`unpack`] spreads the bytes of each number by one instruction (VPEXPANDB), and
//! joins them by two that multiply and add. Numbers of more than 56 bits go one by one.
//!
//! Called by [`super::Avx512`] only, which has the proof that the processor can. The tests compare
//! both directions with the portable ones.

use std::arch::x86_64::*;

use reuselens_io::varint::{ENDS, LONGEST, put_at, zigzag};
use reuselens_simd::compiled_for;

compiled_for! {
    Icelake:
    /// As [`reuselens_io::varint::pack_here`]. Needs [`PACK_SLACK`](super::PACK_SLACK) bytes more
    /// than that asks for, which the caller checks.
    pub(super) fn pack<const SIGNED: bool>(numbers: &[u64], bytes: &mut [u8]) -> usize {
        let (eights, rest) = numbers.as_chunks::<8>();
        let mut at = 0;
        for eight in eights {
            // SAFETY: the reference is to eight numbers.
            let all = unsafe { _mm512_loadu_epi64(eight.as_ptr().cast()) };
            let all = if SIGNED { zigzag_eight(all) } else { all };
            let Some((spread, needed)) = spread_eight(all) else {
                for &number in eight {
                    put_one::<SIGNED>(bytes, &mut at, number);
                }
                continue;
            };
            let Some(into) = bytes[at..].first_chunk_mut::<64>() else {
                return at;
            };
            let packed = _mm512_maskz_compress_epi8(needed, spread);
            // SAFETY: the reference is to 64 bytes. What is stored after the needed bytes is
            // overwritten by the numbers that follow, or is in the slack.
            unsafe { _mm512_storeu_epi8(into.as_mut_ptr().cast(), packed) };
            at += needed.count_ones() as usize;
        }
        for &number in rest {
            put_one::<SIGNED>(bytes, &mut at, number);
        }
        at
    }
}

compiled_for! {
    Icelake:
    #[inline]
    fn zigzag_eight(all: __m512i) -> __m512i {
        _mm512_xor_si512(_mm512_slli_epi64::<1>(all), _mm512_srai_epi64::<63>(all))
    }
}

compiled_for! {
    Icelake:
    /// The bytes of eight numbers, eight for each, and which of them are needed. `None` if a number
    /// has more than 56 bits.
    #[inline]
    fn spread_eight(all: __m512i) -> Option<(__m512i, u64)> {
        /// The bit at which each byte begins: 0, 7, 14, …
        const FROM: i64 = 0x312a_231c_150e_0700;
        if _mm512_test_epi64_mask(all, _mm512_set1_epi64(0xff << 56)) != 0 {
            return None;
        }
        let eights = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(FROM), all);
        let sevens = _mm512_and_si512(eights, _mm512_set1_epi8(0x7f));
        // Every number needs its first byte, and all bytes up to its last that is not 0: each set
        // bit is copied to all bits below it within its number's eight.
        let mut needed = _mm512_test_epi8_mask(sevens, sevens) | 0x0101_0101_0101_0101;
        needed |= (needed >> 1) & 0x7f7f_7f7f_7f7f_7f7f;
        needed |= (needed >> 2) & 0x3f3f_3f3f_3f3f_3f3f;
        needed |= (needed >> 4) & 0x0f0f_0f0f_0f0f_0f0f;
        let not_last = (needed >> 1) & 0x7f7f_7f7f_7f7f_7f7f;
        let more = _mm512_maskz_set1_epi8(not_last, i8::MIN);
        Some((_mm512_or_si512(sevens, more), needed))
    }
}

/// Writes one number.
#[cold]
#[inline(never)]
fn put_one<const SIGNED: bool>(bytes: &mut [u8], at: &mut usize, number: u64) {
    let number = if SIGNED { zigzag(number) } else { number };
    // `put_at` expects zeros; a store of 64 bytes may have left others here.
    bytes[*at..*at + LONGEST].fill(0);
    put_at(bytes, at, number);
}

compiled_for! {
    Icelake:
    /// Fills `into` with numbers from the beginning of `bytes`, eight at a time, as long as they
    /// end in the first 64 bytes and have at most eight bytes each. Returns how many numbers were
    /// read and how many bytes they take; (0, 0) if there are fewer than 128 bytes.
    #[inline]
    pub(super) fn unpack(bytes: &[u8], into: &mut [u64]) -> (usize, usize) {
        const ONES: u64 = 0x0101_0101_0101_0101;
        /// Byte i is i.
        const PLACES: [u8; 64] = {
            let mut places = [0; 64];
            let mut place = 0;
            while place < 64 {
                places[place] = place as u8;
                place += 1;
            }
            places
        };
        /// Entry n has the lowest n bits set.
        const LOWEST: [u8; 16] = [0, 1, 3, 7, 15, 31, 63, 127, 255, 0, 0, 0, 0, 0, 0, 0];
        // Loads from byte `start`, at most 64, read up to 64 bytes beyond the first 64.
        let Some(bytes) = bytes.first_chunk::<128>() else {
            return (0, 0);
        };
        // SAFETY: the references are to 128, to 64 and to 16 bytes.
        let (all, counted, lowest) = unsafe {
            (
                _mm512_loadu_epi8(bytes.as_ptr().cast()),
                _mm512_loadu_epi8(PLACES.as_ptr().cast()),
                _mm_loadu_epi8(LOWEST.as_ptr().cast()),
            )
        };
        // The bytes that end numbers not read yet.
        let mut ends = !_mm512_movepi8_mask(all);
        let (mut start, mut taken) = (0, 0);
        for eight in into.as_chunks_mut::<8>().0 {
            // The last byte of the eighth number, and the last bytes of all eight.
            let eighth = _pdep_u64(1 << 7, ends);
            let own = ends & eighth.wrapping_sub(1) | eighth;
            let places = _mm512_maskz_compress_epi8(own, counted);
            // Byte i of `ended`: the place after number i. Byte i of `lengths`: its bytes.
            let ended =
                (_mm_cvtsi128_si64(_mm512_castsi512_si128(places)) as u64).wrapping_add(ONES);
            let lengths = ended.wrapping_sub(ended << 8 | start as u64);
            let longer_than_a_word = lengths.wrapping_add(0x77 * ONES) & ENDS;
            if eighth == 0 || longer_than_a_word != 0 {
                break;
            }
            // For each number a byte with as many bits as it has bytes: where its bytes go.
            let lengths = _mm_cvtsi64_si128(lengths.cast_signed());
            let own = _mm_cvtsi128_si64(_mm_shuffle_epi8(lowest, lengths)).cast_unsigned();
            // SAFETY: `start` is at most 64, and 64 of the 128 bytes are after that.
            let from = unsafe { _mm512_loadu_epi8(bytes.as_ptr().add(start).cast()) };
            let numbers = join(_mm512_maskz_expand_epi8(own, from));
            // SAFETY: the reference is to eight numbers.
            unsafe { _mm512_storeu_epi64(eight.as_mut_ptr().cast(), numbers) };
            ends &= !(eighth | (eighth - 1));
            start = (ended >> 56) as usize;
            taken += 8;
        }
        (taken, start)
    }
}

compiled_for! {
    Icelake:
    /// The number in each eight bytes: seven bits of each byte.
    #[inline]
    fn join(bytes: __m512i) -> __m512i {
        let sevens = _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f));
        // Pairs of bytes times 1 and 128, then pairs of those times 1 and 128².
        let pairs = _mm512_maddubs_epi16(_mm512_set1_epi16(0x8001_u16.cast_signed()), sevens);
        let quads = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x4000_0001));
        let low = _mm512_and_si512(quads, _mm512_set1_epi64(0xffff_ffff));
        let high = _mm512_slli_epi64::<28>(_mm512_srli_epi64::<32>(quads));
        _mm512_or_si512(low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::{Avx512, PACK_SLACK, Processor};
    use reuselens_io::varint::{Cursor, Damage, Portable, pack_here};
    use reuselens_simd::{Icelake, Level};

    fn avx512() -> Option<Avx512> {
        Icelake::of(Level::best()).map(Avx512::with)
    }

    fn packs_the_same<const SIGNED: bool>(numbers: &[u64]) {
        let mut narrow = vec![0x55; numbers.len() * LONGEST + PACK_SLACK];
        let length = pack_here::<SIGNED>(Portable, numbers, &mut narrow);
        let mut wide_bytes = vec![0xaa; narrow.len()];
        match avx512().map(|wide| wide.pack::<SIGNED>(numbers, &mut wide_bytes)) {
            Some(written) => assert_eq!(wide_bytes[..written], narrow[..length]),
            None => println!("this processor lacks the instructions"),
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

    /// Numbers are read the same, also from bytes that are cut off or forged.
    fn unpacks_the_same(numbers: &[u64]) {
        let Some(wide) = avx512() else {
            println!("this processor lacks the instructions");
            return;
        };
        let mut bytes = vec![0; numbers.len() * LONGEST + PACK_SLACK];
        let length = pack_here::<false>(Portable, numbers, &mut bytes);
        // Numbers with more bytes than they need, and with more than any has.
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
    fn eight_at_once_give_what_one_by_one_gives() {
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
            packs_the_same::<false>(&numbers);
            packs_the_same::<true>(&numbers);
            unpacks_the_same(&numbers);
            // Short ones, as most are.
            let numbers: Vec<u64> = numbers
                .iter()
                .map(|number| number >> (number % 64))
                .collect();
            unpacks_the_same(&[&numbers[..], &numbers].concat());
        }
        packs_the_same::<false>(&[0; 16]);
        packs_the_same::<false>(&[u64::MAX; 16]);
        packs_the_same::<true>(&[
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
