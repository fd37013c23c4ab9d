//! Parser of the number literals of PTX.

use super::ast::Operand;

/// The value of a number without a sign.
pub fn value(text: &str) -> Option<Operand> {
    let two = text.get(..2).unwrap_or_default();
    let rest = text.get(2..).unwrap_or_default();
    match two {
        "0f" | "0F" if rest.len() == 8 => {
            Some(Operand::Single(u32::from_str_radix(rest, 16).ok()?))
        }
        "0d" | "0D" if rest.len() == 16 => {
            Some(Operand::Double(u64::from_str_radix(rest, 16).ok()?))
        }
        _ if text.contains('.') || is_exponential(text) => {
            Some(Operand::Double(text.parse::<f64>().ok()?.to_bits()))
        }
        _ => integer(text).map(Operand::Integer),
    }
}

fn is_exponential(text: &str) -> bool {
    !text.starts_with("0x") && !text.starts_with("0X") && text.contains(['e', 'E'])
}

/// An integer: decimal, hexadecimal, octal or binary, maybe with the `U` of an unsigned one.
pub fn integer(text: &str) -> Option<u64> {
    let text = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', b'b' | b'B', ..] => (&text[2..], 2),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    // `from_str_radix` would take a sign.
    let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| u64::from_str_radix(digits, radix).ok())?
}
