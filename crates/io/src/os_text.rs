//! Names of files and words of commands as text, and back: [`text_of`] and [`path_of`]. The system
//! takes any bytes in them, and text must be UTF-8. [`text_of_bytes`] is for other names that may
//! have any bytes: those of symbols and of debug information.
//!
//! A byte that is in no UTF-8 becomes one of the 128 characters from U+EF80 on (the private use
//! that MirBSD's OPTU-16 makes of them); these characters themselves become those of their three
//! bytes. So each name has a text of its own, and text without such characters is its own name.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The character of byte 0, of which only those of 0x80 to 0xff are used.
const BASE: u32 = 0xef00;

/// The byte that a character stands for, if it stands for one.
fn byte_of(letter: char) -> Option<u8> {
    let byte = u32::from(letter).checked_sub(BASE)?;
    u8::try_from(byte).ok().filter(|&byte| byte >= 0x80)
}

/// The character that stands for a byte of 0x80 to 0xff.
fn letter_of(byte: u8) -> char {
    char::from_u32(BASE + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// A name as text, which [`path_of`] turns into the same name.
pub fn text_of(name: impl AsRef<OsStr>) -> String {
    text_of_bytes(name.as_ref().as_bytes()).into_owned()
}

/// A name of any bytes as text, which [`path_of`] turns into the same bytes: names that differ have
/// texts that differ. Cost: linear in the name; ordinary names are not copied.
pub fn text_of_bytes(name: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(name)
        && (text.is_ascii() || text.chars().all(|letter| byte_of(letter).is_none()))
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::new();
    for chunk in name.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match byte_of(letter) {
                None => text.push(letter),
                Some(_) => {
                    let mut bytes = [0; 4];
                    let bytes = letter.encode_utf8(&mut bytes).bytes();
                    text.extend(bytes.map(letter_of));
                }
            }
        }
        text.extend(chunk.invalid().iter().copied().map(letter_of));
    }
    Cow::Owned(text)
}

/// The name of which this is the text.
pub fn path_of(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    for letter in text.chars() {
        match byte_of(letter) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_comes_back_from_its_text() {
        let mut state = 7_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 16
        };
        for _ in 0..20_000 {
            // Bytes that begin and continue characters, those from U+EF00 on among them.
            let pieces = [
                &[0xee, 0xbe, 0x81][..],
                &[0xc3, 0xa4],
                &[0xef, 0xbe],
                b"a.",
                &[0xf6],
            ];
            let mut bytes = Vec::new();
            for _ in 0..next() % 6 {
                match next() as usize % 6 {
                    5 => bytes.push(next() as u8),
                    piece => bytes.extend_from_slice(pieces[piece]),
                }
            }
            let name = OsStr::from_bytes(&bytes);
            assert_eq!(path_of(&text_of(name)).as_os_str(), name, "{bytes:02x?}");
        }
    }

    #[test]
    fn ordinary_names_are_their_own_text() {
        for name in ["", "a/b.rlprof", "grün", "\u{ee80}", "日本"] {
            assert_eq!(text_of(name), name);
            assert_eq!(path_of(name).as_os_str(), name);
        }
        assert_eq!(text_of(OsStr::from_bytes(b"h\xf6")), "h\u{eff6}");
    }
}
