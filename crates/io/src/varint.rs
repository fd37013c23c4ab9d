//! Numbers of variable length (LEB128): seven bits in each byte, lowest first; the top bit is set
//! in all bytes but the last. Signed differences are mapped to such numbers by zig-zag coding.
//! Functions here append numbers to bytes, and [`Cursor`] reads them.
//!
//! Most code here exists twice: for one number, and for several at once without a branch over each
//! number's length, which is faster. [`Squeeze`] has the part that processors with special
//! instructions (`pext`, `pdep`) do faster.

/// Gathers and spreads the bits of numbers. A processor may have instructions for that.
pub trait Squeeze: Copy {
    /// The number in the bytes of `word`, without their top bits. See [`squeezed`].
    fn squeeze(self, word: u64) -> u64;

    /// A number of 56 bits with seven of them in each byte. See [`spread`].
    fn spread(self, number: u64) -> u64;

    /// Fills `into` with numbers that end in the first bytes of `bytes`. See [`several`].
    fn several(self, bytes: &[u8], into: &mut [u64]) -> (usize, usize);
}

/// [`Squeeze`] on any processor.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl Squeeze for Portable {
    #[inline(always)]
    fn squeeze(self, word: u64) -> u64 {
        squeezed(word)
    }

    #[inline(always)]
    fn spread(self, number: u64) -> u64 {
        spread(number)
    }

    #[inline(always)]
    fn several(self, bytes: &[u8], into: &mut [u64]) -> (usize, usize) {
        several(self, bytes, into)
    }
}

/// Error: the bytes are not those that the writer writes. The text is for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage(pub &'static str);

/// Appends `value` in one to ten bytes.
#[inline]
pub fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Appends a difference: few bytes if it is small, up or down.
#[inline]
pub fn put_signed(bytes: &mut Vec<u8>, difference: u64) {
    put(bytes, zigzag(difference));
}

/// Appends the length and the bytes.
#[inline]
pub fn put_bytes(bytes: &mut Vec<u8>, value: &[u8]) {
    put(bytes, value.len() as u64);
    bytes.extend_from_slice(value);
}

/// The most bytes of a number.
pub const LONGEST: usize = 10;

/// Writes `value` at offset `at`, where at least [`LONGEST`] bytes are zero, and moves `at` after
/// it.
#[inline(always)]
pub fn put_at(bytes: &mut [u8], at: &mut usize, mut value: u64) {
    if value == 0 {
        *at += 1;
        return;
    }
    while value >= 0x80 {
        bytes[*at] = value as u8 | 0x80;
        value >>= 7;
        *at += 1;
    }
    bytes[*at] = value as u8;
    *at += 1;
}

#[cold]
#[inline(never)]
fn put_long(bytes: &mut [u8], at: &mut usize, value: u64) {
    put_at(bytes, at, value);
}

/// As [`put_at`], without a branch over the length of most numbers; overwrites up to eight bytes.
#[inline(always)]
fn put_any(squeeze: impl Squeeze, bytes: &mut [u8], at: &mut usize, value: u64) {
    if value >> 56 != 0 {
        return put_long(bytes, at, value);
    }
    let length = (70 - (value | 1).leading_zeros()) / 7;
    let others = ENDS & !(u64::MAX << (8 * (length - 1)));
    if let Some(into) = bytes[*at..].first_chunk_mut() {
        *into = (squeeze.spread(value) | others).to_le_bytes();
    }
    *at += length as usize;
}

/// Writes numbers into `bytes`, which must have [`LONGEST`] for each and eight more; with `SIGNED`,
/// zig-zag coded. Returns the number of bytes written.
#[inline(always)]
pub fn pack_here<const SIGNED: bool>(
    squeeze: impl Squeeze,
    numbers: &[u64],
    bytes: &mut [u8],
) -> usize {
    let mut at = 0;
    for &number in numbers {
        let number = if SIGNED { zigzag(number) } else { number };
        put_any(squeeze, bytes, &mut at, number);
    }
    at
}

/// A number of 56 bits with seven of them in each byte.
#[inline(always)]
pub const fn spread(bits: u64) -> u64 {
    let bits = (bits & 0x0fff_ffff) | ((bits << 4) & 0x0fff_ffff_0000_0000);
    let bits = (bits & 0x0000_3fff_0000_3fff) | ((bits << 2) & 0x3fff_0000_3fff_0000);
    (bits & 0x007f_007f_007f_007f) | ((bits << 1) & 0x7f00_7f00_7f00_7f00)
}

/// A difference as a number that is small if the difference is small, up or down.
#[inline]
pub const fn zigzag(difference: u64) -> u64 {
    let signed = difference.cast_signed();
    ((signed << 1) ^ (signed >> 63)).cast_unsigned()
}

/// The difference of which [`zigzag`] made this number.
#[inline]
pub const fn unzigzag(coded: u64) -> u64 {
    (coded >> 1) ^ (coded & 1).wrapping_neg()
}

/// The top bits of eight bytes. One that is not set marks the last byte of a number.
pub const ENDS: u64 = 0x8080_8080_8080_8080;

/// The number in the bytes of `word`: removes their top bits.
#[inline(always)]
pub const fn squeezed(word: u64) -> u64 {
    let bits = word & !ENDS;
    let bits = (bits & 0x007f_007f_007f_007f) | ((bits & 0x7f00_7f00_7f00_7f00) >> 1);
    let bits = (bits & 0x0000_3fff_0000_3fff) | ((bits & 0x3fff_0000_3fff_0000) >> 2);
    (bits & 0x0fff_ffff) | ((bits & 0x0fff_ffff_0000_0000) >> 4)
}

/// Bytes of which [`several`] decodes the numbers at once.
const LOOKED_AT: usize = 32;
/// These bytes, and the rest of a word that begins with the last of them.
const SEVERAL: usize = LOOKED_AT + 8;

/// Fills `into` with numbers that end in the first `LOOKED_AT` of `bytes`. Returns how many, and
/// how many bytes they take. Stops before a number of more than eight bytes; reads none if there
/// are fewer than `SEVERAL` bytes.
#[inline(always)]
pub fn several(squeeze: impl Squeeze, bytes: &[u8], into: &mut [u64]) -> (usize, usize) {
    let Some(bytes) = bytes.first_chunk::<SEVERAL>() else {
        return (0, 0);
    };
    let mut ends = ends(bytes);
    let (mut start, mut taken) = (0, 0);
    for number in into {
        let end = ends.trailing_zeros() as usize;
        let length = end + 1 - start;
        if length > 8 || end >= LOOKED_AT {
            break;
        }
        let word = bytes[start..].first_chunk::<8>();
        let word = word.map_or(0, |word| u64::from_le_bytes(*word));
        *number = squeeze.squeeze(word & (u64::MAX >> (64 - 8 * length)));
        ends &= ends - 1;
        start = end + 1;
        taken += 1;
    }
    (taken, start)
}

/// A bit for each of the first [`LOOKED_AT`] bytes: whether a number ends there.
#[inline(always)]
fn ends(bytes: &[u8; SEVERAL]) -> u64 {
    /// Moves the lowest bit of byte i to bit 56 + i.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut ends = 0;
    for (eight, bytes) in bytes[..LOOKED_AT].as_chunks::<8>().0.iter().enumerate() {
        let flags = (!u64::from_le_bytes(*bytes) & ENDS) >> 7;
        ends |= (flags.wrapping_mul(GATHER) >> 56) << (8 * eight);
    }
    ends
}

/// A reader of bytes in memory. Reading past the end is [`Damage`].
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At byte `at` of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor { bytes, at }
    }

    /// The offset of the next byte.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    #[inline]
    pub fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// Whether no bytes are left.
    #[inline]
    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The next variable-length number.
    #[inline(always)]
    pub fn number(&mut self) -> Result<u64, Damage> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => self.any_number(Portable),
        }
    }

    /// The next variable-length number, without a branch over the length of most.
    #[inline(always)]
    pub fn any_number(&mut self, squeeze: impl Squeeze) -> Result<u64, Damage> {
        let Some(word) = self.word() else {
            return self.long_number();
        };
        let ends = !word & ENDS;
        if ends == 0 {
            return self.long_number();
        }
        self.at += (ends.trailing_zeros() / 8 + 1) as usize;
        // Keeps the bytes up to the first that ends a number.
        Ok(squeeze.squeeze(word & (ends ^ (ends - 1))))
    }

    /// Skips `count` bytes, which must exist.
    #[inline(always)]
    pub fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// Whether the next 32 bytes exist and are all 0.
    #[inline(always)]
    pub fn begins_with_zeros(&self) -> bool {
        let rest = self.bytes.get(self.at..);
        rest.and_then(<[u8]>::first_chunk::<32>)
            .is_some_and(|bytes| *bytes == [0; 32])
    }

    /// How many of the next `most` bytes are 0, up to the first other one.
    #[inline]
    pub fn zeros(&self, most: usize) -> usize {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let rest = &rest[..rest.len().min(most)];
        let chunks = rest.chunks_exact(32).take_while(|bytes| **bytes == [0; 32]);
        let in_chunks = chunks.count() * 32;
        let others = rest[in_chunks..].iter().take_while(|&&byte| byte == 0);
        in_chunks + others.count()
    }

    /// Reads the next eight numbers. Returns `true` if they are eight bytes of 0; `into` is then
    /// zero, too.
    #[inline(always)]
    pub fn eight(&mut self, squeeze: impl Squeeze, into: &mut [u64; 8]) -> Result<bool, Damage> {
        if let Some(word) = self.word()
            && word & ENDS == 0
        {
            self.at += 8;
            for (number, byte) in into.iter_mut().zip(word.to_le_bytes()) {
                *number = u64::from(byte);
            }
            return Ok(word == 0);
        }
        self.numbers(squeeze, into)?;
        Ok(false)
    }

    /// The next numbers, as many as `into` takes.
    #[inline(always)]
    pub fn numbers(&mut self, squeeze: impl Squeeze, into: &mut [u64]) -> Result<(), Damage> {
        let mut filled = 0;
        while filled < into.len() {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let (taken, bytes) = squeeze.several(rest, &mut into[filled..]);
            filled += taken;
            self.at += bytes;
            // A number of more than eight bytes, or near the end.
            if taken == 0 {
                into[filled] = self.number()?;
                filled += 1;
            }
        }
        Ok(())
    }

    /// The next eight bytes, if there are as many; the position stays.
    #[inline(always)]
    fn word(&self) -> Option<u64> {
        let bytes = self.bytes.get(self.at..)?.first_chunk::<8>()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// The next difference.
    #[inline(always)]
    pub fn signed(&mut self) -> Result<u64, Damage> {
        Ok(unzigzag(self.number()?))
    }

    /// The next byte.
    ///
    /// # Errors
    /// [`Damage`] at the end.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Damage> {
        let &byte = self.bytes.get(self.at).ok_or(END)?;
        self.at += 1;
        Ok(byte)
    }

    /// The next number, if it fits.
    #[inline]
    pub fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Damage> {
        T::try_from(self.number()?).map_err(|_| Damage("a number is too large"))
    }

    /// The next length and that many bytes.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], Damage> {
        let length: usize = self.small()?;
        self.some(length)
    }

    /// The next `length` bytes.
    #[inline]
    pub fn some(&mut self, length: usize) -> Result<&'a [u8], Damage> {
        let end = self.at.checked_add(length).ok_or(END)?;
        let bytes = self.bytes.get(self.at..end).ok_or(END)?;
        self.at = end;
        Ok(bytes)
    }

    /// The next length and that many bytes, which are UTF-8.
    pub fn text(&mut self) -> Result<String, Damage> {
        let text = std::str::from_utf8(self.bytes()?);
        text.map(str::to_owned)
            .map_err(|_| Damage("a text is no UTF-8"))
    }

    #[cold]
    #[inline(never)]
    fn long_number(&mut self) -> Result<u64, Damage> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Damage("a number is longer than 64 bits"))
    }
}

/// The error of reading past the end.
pub const END: Damage = Damage("a chunk ends in the middle of a number or text");

#[cfg(test)]
mod tests;
