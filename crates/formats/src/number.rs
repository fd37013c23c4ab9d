//! Parses numbers in text, eight characters at a time, for all text formats.
//!
//! The fast functions (`decimal`, `hexadecimal`, `either`) return `None` for numbers that they
//! cannot read, and close to the end of the bytes; the caller then uses the slow ones, `number` and
//! `digits`.
//!
//! Eight characters are one 64-bit word; each test and each sum below works on all of them at once
//! (the technique is described in Lamport, "Multiple byte processing with full-word instructions",
//! CACM 18 (1975) 8). The first character is the lowest byte.

/// A byte repeated in all eight places.
const fn all(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

const HIGH: u64 = all(0x80);

/// The eight bytes from `at` on; `None` close to the end.
#[inline(always)]
pub(super) fn eight(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*bytes))
}

/// How many bytes precede the first that is marked by its high bit.
#[inline(always)]
pub(super) const fn before(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
}

/// Marks the bytes that are `byte`. Marks above the first may be wrong.
#[inline(always)]
pub(super) const fn equal(word: u64, byte: u8) -> u64 {
    let zero = word ^ all(byte);
    zero.wrapping_sub(all(1)) & !zero & HIGH
}

/// The position of the first of three bytes at or after `at`. `None` close to the end.
#[inline(always)]
pub(super) fn find3(bytes: &[u8], mut at: usize, sought: [u8; 3]) -> Option<usize> {
    loop {
        let word = eight(bytes, at)?;
        let marks = equal(word, sought[0]) | equal(word, sought[1]) | equal(word, sought[2]);
        if marks != 0 {
            return Some(at + before(marks));
        }
        at += 8;
    }
}

/// The position of the first control character or space at or after `at`. `None` close to the end.
#[inline(always)]
pub(super) fn find_control(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let word = eight(bytes, at)?;
        let low = word.wrapping_sub(all(0x21)) & !word & HIGH;
        let marks = low | equal(word, 0x7f);
        if marks != 0 {
            return Some(at + before(marks));
        }
        at += 8;
    }
}

/// Marks the bytes that are no decimal digits.
#[inline(always)]
const fn not_decimal(word: u64) -> u64 {
    let value = word ^ all(b'0');
    // A digit is below 10: adding 118 does not reach the high bit.
    (((value & !HIGH) + all(118)) | value) & HIGH
}

/// Marks the letters `a` to `f` and `A` to `F`.
#[inline(always)]
const fn hex_letters(word: u64) -> u64 {
    let place = (word | all(0x20)) ^ all(0x60);
    let low = place & !HIGH;
    // From 1 to 6: adding 127 reaches the high bit, adding 121 does not.
    (low + all(127)) & !(low + all(121)) & !place & HIGH
}

/// Moves `count` leading characters to the end, with zeros before them; any others are dropped.
#[inline(always)]
const fn last(word: u64, count: usize) -> u64 {
    let half = 32 - 4 * count as u32;
    word << half << half
}

/// The number that eight decimal digits, as values, write.
#[inline(always)]
const fn sum_decimal(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let first = (pairs & 0xff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let second = ((pairs >> 16) & 0xff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    first.wrapping_add(second) >> 32
}

/// The number that eight hexadecimal digits, as values, write.
#[inline(always)]
const fn sum_hex(digits: u64) -> u64 {
    let pairs = ((digits << 4) | (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = ((pairs << 8) | (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    ((fours << 16) | (fours >> 32)) & 0xffff_ffff
}

/// The value of the leading decimal digits of a word, and how many they are.
#[inline(always)]
const fn decimal_part(word: u64) -> (u64, usize) {
    let count = before(not_decimal(word));
    (sum_decimal(last(word ^ all(b'0'), count)), count)
}

/// The value of the leading hexadecimal digits of a word, and how many they are.
#[inline(always)]
const fn hex_part(word: u64) -> (u64, usize) {
    let letters = hex_letters(word);
    let count = before(not_decimal(word) & !letters);
    let values = (word & all(0x0f)) + (letters >> 7) * 9;
    (sum_hex(last(values, count)), count)
}

const TENS: [u64; 9] = [
    1,
    10,
    100,
    1000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
];

/// The decimal number from `at` on and where it ends. `None` if there is none, if it is too large
/// or has over 20 digits, or close to the end of the bytes: then look again, slowly.
#[inline(always)]
pub(super) fn decimal(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let (value, count) = decimal_part(eight(bytes, at)?);
    if count < 8 {
        return (count > 0).then_some((value, at + count));
    }
    let (low, count) = decimal_part(eight(bytes, at + 8)?);
    let value = value * TENS[count] + low;
    if count < 8 {
        return Some((value, at + 8 + count));
    }
    let (low, count) = decimal_part(eight(bytes, at + 16)?);
    if count > 4 {
        return None;
    }
    let value = value.checked_mul(TENS[count])?.checked_add(low)?;
    Some((value, at + 16 + count))
}

/// [`decimal`] for numbers of one or two digits.
#[inline(always)]
pub(super) fn short_decimal(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let &digits = bytes.get(at..)?.first_chunk::<2>()?;
    let [first, second] = digits.map(|digit| digit.wrapping_sub(b'0'));
    if first > 9 {
        return None;
    }
    let two = second <= 9;
    let value = if two { 10 * first + second } else { first };
    Some((value.into(), at + 1 + usize::from(two)))
}

/// [`decimal`] for hexadecimal digits, of which there may be 16.
#[inline(always)]
pub(super) fn hexadecimal(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let (value, count) = hex_part(eight(bytes, at)?);
    if count < 8 {
        return (count > 0).then_some((value, at + count));
    }
    let (low, count) = hex_part(eight(bytes, at + 8)?);
    if count < 8 {
        return Some(((value << (4 * count)) | low, at + 8 + count));
    }
    let more = bytes.get(at + 16)?.is_ascii_hexdigit();
    (!more).then_some(((value << 32) | low, at + 16))
}

/// [`decimal`], or [`hexadecimal`] after `0x`.
#[inline(always)]
pub(super) fn either(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let (value, end) = decimal(bytes, at)?;
    if value == 0 && end == at + 1 && bytes.get(end)? | 0x20 == b'x' {
        return hexadecimal(bytes, at + 2);
    }
    Some((value, end))
}

/// The number that a word of decimal digits writes, or of hexadecimal digits after `0x`, if it fits
/// into 64 bits.
pub(super) fn number(word: &[u8]) -> Option<u64> {
    let (digits, radix) = match word {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        digits => (digits, 10),
    };
    self::digits(digits, radix)
}

/// The number that digits of that radix write, if they are at least one and it fits into 64 bits.
pub(super) fn digits(digits: &[u8], radix: u32) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, &digit| {
        let digit = char::from(digit).to_digit(radix)?;
        value
            .checked_mul(u64::from(radix))?
            .checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests;
