//! `printf` in kernels: the text of each lane, in the order of the lanes.
//!
//! Formats are those of C, as far as CUDA documents them; a conversion that is none is printed
//! unchanged. Arguments are one after the other in memory, each at a multiple of its size.

use crate::decode::kernel::{LocalPlace, NamedSpace, PrintOp};
use crate::lanes::WARP;

use super::fault::Fault;
use super::memory::BlockMemory;
use super::warp::Warp;
use super::windows;

/// Longer formats and strings are cut.
pub const MAX_STRING: usize = 1 << 16;
/// Longer fields are cut.
const MAX_WIDTH: usize = 1 << 10;
/// Text of a block beyond that is not kept.
const MAX_TEXT: usize = 1 << 20;

/// Prints for the lanes of the mask. The result is the number of arguments, as CUDA has it.
#[cold]
pub fn print(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    op: &PrintOp,
    mask: u32,
) -> Result<(), Box<Fault>> {
    for lane in (0..WARP).filter(|lane| mask >> lane & 1 != 0) {
        let handed = |place: LocalPlace| {
            let address = place.address(&warp.registers, lane);
            memory.read(NamedSpace::Local, warp, address, 8, lane)
        };
        let mut arguments = Arguments {
            memory,
            warp,
            lane,
            next: handed(op.arguments),
            taken: 0,
        };
        let format = arguments.string(handed(op.format), MAX_STRING)?;
        let room = MAX_TEXT.saturating_sub(memory.printed.len());
        let text = format_text(&format, &mut arguments, room)?;
        let taken = arguments.taken;
        memory.printed.extend(text);
        if let Some(result) = op.result {
            let result = result.address(&warp.registers, lane);
            memory.write(NamedSpace::Local, warp, result, 4, taken, lane);
        }
    }
    Ok(())
}

/// The arguments of one lane, taken one by one.
struct Arguments<'a, 'm> {
    memory: &'a BlockMemory<'m>,
    warp: &'a Warp,
    lane: usize,
    /// Address of the next one.
    next: u64,
    taken: u64,
}

impl Arguments<'_, '_> {
    /// The next argument, of 4 or 8 bytes.
    fn take(&mut self, bytes: u64) -> Result<u64, Box<Fault>> {
        let address = self.next.wrapping_add(bytes - 1) & !(bytes - 1);
        self.next = address.wrapping_add(bytes);
        self.taken += 1;
        self.read(address, bytes, "read of an argument of printf")
    }

    fn read(&self, address: u64, bytes: u64, what: &str) -> Result<u64, Box<Fault>> {
        read(self.memory, self.warp, self.lane, address, bytes, what)
    }

    /// The string at an address, up to `most` bytes of it.
    fn string(&self, address: u64, most: usize) -> Result<Vec<u8>, Box<Fault>> {
        string_at(self.memory, self.warp, self.lane, address, most)
    }
}

/// Up to eight bytes at a generic address.
fn read(
    memory: &BlockMemory<'_>,
    warp: &Warp,
    lane: usize,
    address: u64,
    bytes: u64,
    what: &str,
) -> Result<u64, Box<Fault>> {
    let space = windows::of(address);
    let place = address - windows::base(space).unwrap_or(0);
    if memory.allows(space, warp, place, bytes, lane as u32, what)? {
        Ok(memory.read(space, warp, place, bytes as u8, lane))
    } else {
        Ok(0)
    }
}

/// The string at a generic address, as a lane sees it, up to `most` bytes of it.
pub fn string_at(
    memory: &BlockMemory<'_>,
    warp: &Warp,
    lane: usize,
    address: u64,
    most: usize,
) -> Result<Vec<u8>, Box<Fault>> {
    let mut text = Vec::new();
    while text.len() < most.min(MAX_STRING) {
        let at = address.wrapping_add(text.len() as u64);
        match read(memory, warp, lane, at, 1, "read of a string")? {
            0 => break,
            byte => text.push(byte as u8),
        }
    }
    Ok(text)
}

/// What is between `%` and the letter.
#[derive(Clone, Copy, Debug, Default)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    /// Bytes of a number.
    bytes: u64,
}

/// The text of a call, up to `most` bytes of it.
fn format_text(
    format: &[u8],
    arguments: &mut Arguments<'_, '_>,
    most: usize,
) -> Result<Vec<u8>, Box<Fault>> {
    let mut text = Vec::new();
    let mut rest = format;
    while text.len() < most
        && let Some(at) = rest.iter().position(|&byte| byte == b'%')
    {
        text.extend(&rest[..at]);
        rest = &rest[at..];
        let (conversion, letter, length) = conversion(&rest[1..], arguments)?;
        match letter {
            Some(b'%') => text.push(b'%'),
            Some(letter) if is_known(letter) => {
                text.extend(convert(&conversion, letter, arguments)?);
            }
            _ => text.extend(&rest[..=length]),
        }
        rest = &rest[1 + length..];
    }
    text.extend(rest);
    text.truncate(most);
    Ok(text)
}

fn is_known(letter: u8) -> bool {
    b"diouxXfFeEgGcsp".contains(&letter)
}

/// Reads what follows a `%`: the conversion, its letter, and how many bytes it has.
fn conversion(
    rest: &[u8],
    arguments: &mut Arguments<'_, '_>,
) -> Result<(Conversion, Option<u8>, usize), Box<Fault>> {
    let mut it = Conversion {
        bytes: 4,
        ..Conversion::default()
    };
    let mut at = 0;
    while let Some(&flag) = rest.get(at) {
        match flag {
            b'-' => it.left = true,
            b'+' => it.plus = true,
            b' ' => it.space = true,
            b'#' => it.alternate = true,
            b'0' => it.zeros = true,
            _ => break,
        }
        at += 1;
    }
    let width = number(rest, &mut at, arguments)?.unwrap_or(0);
    it.left |= width < 0;
    it.width = (width.unsigned_abs() as usize).min(MAX_WIDTH);
    if rest.get(at) == Some(&b'.') {
        at += 1;
        let precision = number(rest, &mut at, arguments)?.unwrap_or(0);
        it.precision = usize::try_from(precision).ok().map(|p| p.min(MAX_WIDTH));
    }
    // The lengths of C on a GPU: `l`, `ll`, `j`, `z` and `t` are of 64 bits.
    let lengths: [(&[u8], u64); 7] = [
        (b"hh", 1),
        (b"h", 2),
        (b"ll", 8),
        (b"l", 8),
        (b"j", 8),
        (b"z", 8),
        (b"t", 8),
    ];
    let length = lengths
        .iter()
        .find(|(name, _)| rest[at..].starts_with(name));
    if let Some((name, bytes)) = length {
        at += name.len();
        it.bytes = *bytes;
    }
    let letter = rest.get(at).copied();
    Ok((it, letter, at + usize::from(letter.is_some())))
}

/// A number in digits, or `*` for the next argument.
fn number(
    rest: &[u8],
    at: &mut usize,
    arguments: &mut Arguments<'_, '_>,
) -> Result<Option<i32>, Box<Fault>> {
    if rest.get(*at) == Some(&b'*') {
        *at += 1;
        return Ok(Some(arguments.take(4)? as u32 as i32));
    }
    let digits = rest[*at..].iter().take_while(|byte| byte.is_ascii_digit());
    let digits: String = digits.map(|&byte| char::from(byte)).collect();
    *at += digits.len();
    Ok((!digits.is_empty()).then(|| digits.parse().unwrap_or(i32::MAX)))
}

fn convert(
    it: &Conversion,
    letter: u8,
    arguments: &mut Arguments<'_, '_>,
) -> Result<Vec<u8>, Box<Fault>> {
    let is_wide = it.bytes == 8;
    Ok(match letter {
        b'd' | b'i' => {
            let value = arguments.take(if is_wide { 8 } else { 4 })? as i64;
            let value = match it.bytes {
                1 => i64::from(value as i8),
                2 => i64::from(value as i16),
                4 => i64::from(value as i32),
                _ => value,
            };
            integer(it, value < 0, value.unsigned_abs().to_string(), "")
        }
        b'o' | b'u' | b'x' | b'X' => {
            let value = arguments.take(if is_wide { 8 } else { 4 })?;
            let value = value & (u64::MAX >> (64 - 8 * it.bytes));
            let (digits, prefix) = match letter {
                b'o' => (format!("{value:o}"), "0"),
                b'x' => (format!("{value:x}"), "0x"),
                b'X' => (format!("{value:X}"), "0X"),
                _ => (value.to_string(), ""),
            };
            let shows = it.alternate && value != 0;
            let unsigned = Conversion {
                plus: false,
                space: false,
                ..*it
            };
            integer(&unsigned, false, digits, if shows { prefix } else { "" })
        }
        b'c' => padded(it, vec![arguments.take(4)? as u8]),
        b's' => {
            let address = arguments.take(8)?;
            let text = arguments.string(address, it.precision.unwrap_or(MAX_STRING))?;
            padded(it, text)
        }
        b'p' => {
            let text = format!("{:#x}", arguments.take(8)?);
            padded(it, text.into_bytes())
        }
        _ => real(it, letter, f64::from_bits(arguments.take(8)?)),
    })
}

/// An integer: sign, prefix, zeros, digits.
fn integer(it: &Conversion, is_negative: bool, mut digits: String, prefix: &str) -> Vec<u8> {
    if it.precision == Some(0) && digits == "0" {
        digits.clear();
    }
    let least = it.precision.unwrap_or(0);
    let mut zeros = least.saturating_sub(digits.len());
    let begin = format!("{}{prefix}", sign(it, is_negative));
    if it.zeros && !it.left && it.precision.is_none() {
        zeros = it.width.saturating_sub(begin.len() + digits.len());
    }
    let text = format!("{begin}{}{digits}", "0".repeat(zeros));
    padded(it, text.into_bytes())
}

fn sign(it: &Conversion, is_negative: bool) -> &'static str {
    match (is_negative, it.plus, it.space) {
        (true, _, _) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    }
}

fn real(it: &Conversion, letter: u8, value: f64) -> Vec<u8> {
    let size = value.abs();
    let precision = it.precision.unwrap_or(6);
    let digits = match letter.to_ascii_lowercase() {
        _ if value.is_nan() => "nan".to_owned(),
        _ if value.is_infinite() => "inf".to_owned(),
        b'f' => format!("{size:.precision$}"),
        b'e' => scientific(size, precision),
        _ => shortest(size, precision.max(1), it.alternate),
    };
    let digits = if letter.is_ascii_uppercase() {
        digits.to_ascii_uppercase()
    } else {
        digits
    };
    let begin = sign(it, value.is_sign_negative() && !value.is_nan());
    let zeros = if it.zeros && !it.left && value.is_finite() {
        it.width.saturating_sub(begin.len() + digits.len())
    } else {
        0
    };
    let text = format!("{begin}{}{digits}", "0".repeat(zeros));
    padded(it, text.into_bytes())
}

/// As C's `%e`: an exponent of two digits at least, with its sign.
fn scientific(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

/// As C's `%g`: `%e` or `%f` with `precision` digits, without zeros at the end.
fn shortest(value: f64, precision: usize, keeps_zeros: bool) -> String {
    let text = scientific(value, precision - 1);
    let exponent = text.split_once('e').map_or("0", |(_, exponent)| exponent);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| {
        if text.contains('.') && !keeps_zeros {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-4..precision as i32).contains(&exponent) {
        let decimals = (precision as i32 - 1 - exponent) as usize;
        return trim(&format!("{value:.decimals$}"));
    }
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{}e{exponent}", trim(digits)),
        None => text,
    }
}

/// Spaces on the side that the flags say, up to the width.
fn padded(it: &Conversion, mut text: Vec<u8>) -> Vec<u8> {
    let missing = it.width.saturating_sub(text.len());
    let spaces = vec![b' '; missing];
    if it.left {
        text.extend(spaces)
    } else {
        text.splice(0..0, spaces);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(conversion: Conversion, letter: u8, value: f64) -> String {
        String::from_utf8(real(&conversion, letter, value)).unwrap()
    }

    #[test]
    fn reals_are_printed_as_by_c() {
        let plain = Conversion::default();
        let cases = [
            (b'f', 1.5, "1.500000"),
            (b'e', 12345.678, "1.234568e+04"),
            (b'g', 0.0001, "0.0001"),
            (b'g', 0.00001234, "1.234e-05"),
            (b'g', 1e6, "1e+06"),
            (b'g', 999_999.5, "1e+06"),
            (b'g', 100_000.0, "100000"),
            (b'G', 1e-10, "1E-10"),
            (b'g', 0.0, "0"),
            (b'f', f64::NEG_INFINITY, "-inf"),
            (b'F', f64::NAN, "NAN"),
            (b'e', 0.0, "0.000000e+00"),
        ];
        for (letter, value, expected) in cases {
            assert_eq!(shown(plain, letter, value), expected);
        }
        let wide = Conversion {
            zeros: true,
            width: 9,
            precision: Some(2),
            ..plain
        };
        assert_eq!(shown(wide, b'f', -2.5), "-00002.50");
    }
}
