//! The words and SCSI codes by which a table says that an access reads or writes: `r`, `write`,
//! `28`.
//!
//! Used by `reader` and `slow_line`, and by `ambiguity` to recognise words for reads and writes.
//!
//! `Kinds` remembers the word for a load and the one for a store that the slow path read last, so
//! that the fast path compares one 64-bit word.

use crate::number::{before, eight, equal};
use reuselens_trace::Kind;

const LOADS: &[&str] = &["r", "read", "rd", "l", "ld", "load", "get", "gets", "0"];
const STORES: &[&str] = &[
    "w", "write", "wr", "s", "st", "store", "set", "put", "add", "replace", "append", "prepend",
    "delete", "1",
];
const BOTH: &[&str] = &[
    "m", "modify", "rmw", "atomic", "update", "cas", "incr", "decr",
];

/// Codes of SCSI commands that read and write, in hexadecimal: READ and WRITE of 6, 10, 12 and 16
/// bytes, WRITE AND VERIFY of 10, 12 and 16. Source: SCSI Block Commands (SBC-3), table of
/// commands. libCacheSim's tables have them.
const SCSI_READS: &[&str] = &["08", "28", "a8", "88"];
const SCSI_WRITES: &[&str] = &["0a", "2a", "aa", "8a", "2e", "ae", "8e"];

/// Whether the SCSI command with this code writes.
#[inline(always)]
pub(crate) fn is_scsi_write(code: u16) -> bool {
    matches!(code, 0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e)
}

/// The words for a load and a store that this table uses, as far as they occurred: up to seven
/// bytes, the first lowest, followed by a one.
pub(super) struct Kinds {
    load: u64,
    store: u64,
}

impl Kinds {
    /// None has occurred: no word has eight bytes of ones.
    pub(super) fn new() -> Kinds {
        Kinds {
            load: u64::MAX,
            store: u64::MAX,
        }
    }

    /// The kind that the field at `at` says, and where the field ends, if it is one of the two
    /// words that are remembered.
    #[inline(always)]
    pub(super) fn fast_line(&self, text: &[u8], at: usize, delimiter: u8) -> Option<(Kind, usize)> {
        let word = eight(text, at)?;
        let ends = equal(word, delimiter) | equal(word, b'\n') | equal(word, b'\r');
        let end = (ends & ends.wrapping_neg()) >> 7;
        let key = (word & end.wrapping_sub(1)) | end;
        let store = key == self.store;
        if ends == 0 || (!store && key != self.load) {
            return None;
        }
        let kind = if store { Kind::Store } else { Kind::Load };
        Some((kind, at + before(ends)))
    }

    /// The kind that a field says. Its word is remembered.
    pub(super) fn read(&mut self, field: &[u8]) -> Option<Kind> {
        let is = |words: &[&str]| {
            words
                .iter()
                .any(|word| field.eq_ignore_ascii_case(word.as_bytes()))
        };
        let code = field.strip_prefix(b"0x").unwrap_or(field);
        let is_code = |codes: &[&str]| {
            codes
                .iter()
                .any(|known| code.eq_ignore_ascii_case(known.as_bytes()))
        };
        let kind = if is(LOADS) || is_code(SCSI_READS) {
            Kind::Load
        } else if is(STORES) || is_code(SCSI_WRITES) {
            Kind::Store
        } else if is(BOTH) {
            Kind::Atomic
        } else {
            return None;
        };
        let mut bytes = [0; 8];
        if let (Some(place), Kind::Load | Kind::Store) = (bytes[..7].get_mut(..field.len()), kind) {
            place.copy_from_slice(field);
            bytes[field.len()] = 1;
            let word = u64::from_le_bytes(bytes);
            if kind == Kind::Load {
                self.load = word;
            } else {
                self.store = word;
            }
        }
        Some(kind)
    }
}

/// Whether a field is one of the words, and not one of the numbers, that are understood.
pub(crate) fn is_kind(field: &[u8]) -> bool {
    let words = [LOADS, STORES, BOTH];
    let is = |word: &&str| field.eq_ignore_ascii_case(word.as_bytes());
    !field.iter().all(u8::is_ascii_digit) && words.iter().any(|words| words.iter().any(is))
}

/// The words that are understood, for messages.
pub(super) fn understood() -> String {
    let words = [LOADS, STORES, BOTH].concat().join(", ");
    let codes = [SCSI_READS, SCSI_WRITES].concat().join(", ");
    format!("{words}, and the codes of SCSI commands {codes}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_path_knows_a_kind_after_the_slow_path_read_it() {
        let mut kinds = Kinds::new();
        let text = b"Read,W\nREAD,Readx,,Read\0,W\x01\0\0\0\0\0\0\0........";
        assert_eq!(kinds.fast_line(text, 0, b','), None);
        assert_eq!(kinds.read(b"Read"), Some(Kind::Load));
        assert_eq!(kinds.read(b"W"), Some(Kind::Store));
        assert_eq!(kinds.fast_line(text, 0, b','), Some((Kind::Load, 4)));
        assert_eq!(kinds.fast_line(text, 5, b','), Some((Kind::Store, 6)));
        for other in [7, 12, 18, 19, 25] {
            assert_eq!(kinds.fast_line(text, other, b','), None, "{other}");
        }
        assert_eq!(kinds.read(b"prepend"), Some(Kind::Store));
        assert_eq!(kinds.read(b"cas"), Some(Kind::Atomic));
        assert_eq!(kinds.read(b""), None);
        assert_eq!(kinds.read(b"walk"), None);
    }

    #[test]
    fn codes_of_scsi_commands_are_reads_and_writes() {
        let mut kinds = Kinds::new();
        for (code, kind) in [
            ("28", Some(Kind::Load)),
            ("0x88", Some(Kind::Load)),
            ("2A", Some(Kind::Store)),
            ("8e", Some(Kind::Store)),
            ("35", None),
            ("8", None),
        ] {
            assert_eq!(kinds.read(code.as_bytes()), kind, "{code}");
        }
        assert_eq!(
            kinds.fast_line(b"8e,1,23456789", 0, b','),
            Some((Kind::Store, 2))
        );
        for code in 0..=0x1ff_u16 {
            let text = format!("{code:02x}");
            let is_write = SCSI_WRITES.contains(&&*text);
            assert_eq!(is_scsi_write(code), is_write, "{text}");
        }
        // An item of a plain text may look like a code.
        assert!(!is_kind(b"2a"));
    }
}
