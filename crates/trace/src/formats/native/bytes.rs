//! Variable-length numbers: seven bits a byte, low ones first; signed ones zig-zag.

/// The bytes are not what the writer writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage(pub(crate) &'static str);

/// Appends `value` in one to ten bytes.
#[inline]
pub(crate) fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Appends a difference, small in bytes if it is small in size.
#[inline]
pub(crate) fn put_signed(bytes: &mut Vec<u8>, difference: u64) {
    put(bytes, zigzag(difference));
}

/// Appends the length and the bytes.
pub(crate) fn put_bytes(bytes: &mut Vec<u8>, value: &[u8]) {
    put(bytes, value.len() as u64);
    bytes.extend_from_slice(value);
}

#[inline]
const fn zigzag(difference: u64) -> u64 {
    let signed = difference.cast_signed();
    ((signed << 1) ^ (signed >> 63)).cast_unsigned()
}

#[inline]
const fn unzigzag(coded: u64) -> u64 {
    (coded >> 1) ^ (coded & 1).wrapping_neg()
}

/// A place in a run of bytes. Reading past the end is [`Damage`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor { bytes, at }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The next variable-length number.
    #[inline(always)]
    pub(crate) fn number(&mut self) -> Result<u64, Damage> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => self.longer_number(),
        }
    }

    /// The next eight bytes, if there are so many; they are not taken.
    #[inline(always)]
    pub(crate) fn eight(&self) -> Option<u64> {
        let bytes = self.bytes.get(self.at..)?.first_chunk::<8>()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Goes on by that many bytes, which are there.
    #[inline(always)]
    pub(crate) fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// A number of two to eight bytes without a branch for each, or any other.
    #[inline(always)]
    fn longer_number(&mut self) -> Result<u64, Damage> {
        const ENDS: u64 = 0x8080_8080_8080_8080;
        let Some(word) = self.eight() else {
            return self.long_number();
        };
        let ends = !word & ENDS;
        if ends == 0 {
            return self.long_number();
        }
        self.at += (ends.trailing_zeros() / 8 + 1) as usize;
        // Keeps the bytes up to the first that ends a number, then closes the gaps of their top bits.
        let bits = word & (ends ^ (ends - 1)) & !ENDS;
        let bits = (bits & 0x007f_007f_007f_007f) | ((bits & 0x7f00_7f00_7f00_7f00) >> 1);
        let bits = (bits & 0x0000_3fff_0000_3fff) | ((bits & 0x3fff_0000_3fff_0000) >> 2);
        Ok((bits & 0x0fff_ffff) | ((bits & 0x0fff_ffff_0000_0000) >> 4))
    }

    /// The next difference.
    #[inline(always)]
    pub(crate) fn signed(&mut self) -> Result<u64, Damage> {
        Ok(unzigzag(self.number()?))
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Damage> {
        let &byte = self.bytes.get(self.at).ok_or(END)?;
        self.at += 1;
        Ok(byte)
    }

    /// The next number, if it fits.
    pub(crate) fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Damage> {
        T::try_from(self.number()?).map_err(|_| Damage("a number is too large"))
    }

    /// The next length and that many bytes.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Damage> {
        let length: usize = self.small()?;
        let end = self.at.checked_add(length).ok_or(END)?;
        let bytes = self.bytes.get(self.at..end).ok_or(END)?;
        self.at = end;
        Ok(bytes)
    }

    pub(crate) fn text(&mut self) -> Result<String, Damage> {
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

const END: Damage = Damage("a chunk ends in the middle of a number or text");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let numbers = [
            0,
            1,
            127,
            128,
            16383,
            16384,
            u64::MAX >> 1,
            u64::MAX - 1,
            u64::MAX,
        ];
        let mut bytes = Vec::new();
        for number in numbers {
            put(&mut bytes, number);
            put_signed(&mut bytes, number);
        }
        let mut cursor = Cursor::new(&bytes, 0);
        for number in numbers {
            assert_eq!(cursor.number(), Ok(number));
            assert_eq!(cursor.signed(), Ok(number));
        }
        assert!(cursor.is_at_end());
    }

    #[test]
    fn numbers_of_every_length_come_back_before_any_bytes() {
        for bits in 0..=64 {
            for number in [
                (1_u128 << bits) - 1,
                1_u128 << bits,
                (1_u128 << bits) * 2 / 3,
            ] {
                let number = number as u64;
                for after in [&[][..], &[0; 9], &[0xff; 9], &[0x7f, 0x80]] {
                    let mut bytes = Vec::new();
                    put(&mut bytes, number);
                    let length = bytes.len();
                    bytes.extend_from_slice(after);
                    let mut cursor = Cursor::new(&bytes, 0);
                    assert_eq!(cursor.number(), Ok(number), "{number:#x}");
                    assert_eq!(cursor.at(), length, "{number:#x}");
                }
            }
        }
    }

    #[test]
    fn small_steps_back_are_one_byte() {
        let mut bytes = Vec::new();
        put_signed(&mut bytes, 8_u64.wrapping_neg());
        assert_eq!(bytes.len(), 1);
    }

    #[test]
    fn what_is_cut_or_too_long_is_damage() {
        assert!(Cursor::new(&[0x80; 3], 0).number().is_err());
        assert!(Cursor::new(&[0xff; 11], 0).number().is_err());
        let too_large = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02];
        assert!(Cursor::new(&too_large, 0).number().is_err());
        assert!(Cursor::new(&[5, b'a'], 0).bytes().is_err());
        assert!(Cursor::new(&[1, 0xff], 0).text().is_err());
    }
}
