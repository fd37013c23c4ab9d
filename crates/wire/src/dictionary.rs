//! What rewritten code notes, and where it is written what that means.
//!
//! A block of rewritten code does not write records. It writes those words that only the running
//! program knows, and a *head*: the number of an [`Entry`] in the segment's dictionary, which says
//! what rows the words stand for. Notes that stand for plain accesses go to the analysing side as
//! they are, which makes rows of them.
//!
//! ```text
//! words of a note:     word 0, head, word 2, word 3 ...     a whole number of records
//! head:                ones (33 bits) | special (1) | records (6) | number of the entry (24)
//! ```
//!
//! The head stands in a record's second word, where its upper byte is its kind ([`crate::CODED`]):
//! it is a negative number of 32 bits, which one instruction stores. Entries are added and never
//! changed, by all processes alike; what is forked goes on with the numbers of its parent.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::NOTE_BYTES_MOST;

/// Bytes of the dictionary. Untouched ones cost no memory. Blocks that find it full make records
/// themselves.
pub const DICTIONARY_BYTES: usize = 256 << 20;
/// Entries begin at multiples of this many bytes; their numbers count in it.
pub const ENTRY_UNIT: usize = 16;
/// The most rows of an entry.
pub const ENTRY_ROWS_MOST: usize = 256;
/// The word of an access whose address is its displacement: the head's, which counts as 0.
pub const NO_WORD: u16 = 1;
/// In a head: more than plain accesses; its number is one that only the process knows.
pub const SPECIAL: u32 = 1 << 30;

const HEAD: u32 = 1 << 31;
const NUMBER_BITS: u32 = 24;
const _: () = assert!(DICTIONARY_BYTES / ENTRY_UNIT <= 1 << NUMBER_BITS);

/// What a note means; its [`EntryRow`]s follow, unless they are the first of another entry's.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Entry {
    /// For who wrote it: nobody else reads it.
    pub own: u64,
    /// For who wrote it.
    pub pc: u64,
    /// Number of rows.
    pub rows: u32,
    /// Words of a note, the head included: an even number.
    pub words: u32,
    /// The number of the entry, plus one, whose first rows these are; 0 if the rows follow.
    pub of: u32,
    /// Nothing.
    pub unused: u32,
}

/// A row: its address is the displacement, plus a word of the note.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct EntryRow {
    /// The second word of its record: kind, size, program counter.
    pub meta: u64,
    /// What is added to the word.
    pub displacement: u64,
    /// The word, or [`NO_WORD`]; for [`EntryRow::masked`], and then also where its mask is.
    pub word: u64,
}

impl EntryRow {
    /// A row that is there if any of the lowest `lanes` bits of the word `mask` is set: from the
    /// first of these lanes to the last, each as large as the row says.
    pub const fn masked(self, mask: u16, lanes: u8) -> EntryRow {
        EntryRow {
            word: self.word | (mask as u64) << 16 | (lanes as u64) << 32,
            ..self
        }
    }

    /// Its word; and its mask's and the lanes, if it has one.
    pub const fn words(self) -> (u16, Option<(u16, u8)>) {
        let lanes = (self.word >> 32) as u8;
        let mask = ((self.word >> 16) as u16, lanes);
        (self.word as u16, if lanes > 0 { Some(mask) } else { None })
    }
}

/// Bytes of an entry with so many rows.
pub const fn entry_bytes(rows: usize) -> usize {
    (size_of::<Entry>() + rows * size_of::<EntryRow>()).next_multiple_of(ENTRY_UNIT)
}

/// The head of notes of so many words that entry `number` explains.
pub const fn note_head(number: u32, words: u32) -> u32 {
    HEAD | (words / 2) << NUMBER_BITS | number
}

/// The head of notes of so many words that mean what only the process knows, by its number
/// `number`. Of those that are longer than notes may be that are handed on, it says that they have
/// no records.
pub const fn special_head(number: u32, words: u32) -> u32 {
    let records = if words as usize * 8 <= NOTE_BYTES_MOST {
        words / 2
    } else {
        0
    };
    HEAD | SPECIAL | records << NUMBER_BITS | number
}

/// A head as the word of a note that it is.
#[inline(always)]
pub const fn head_word(head: u32) -> u64 {
    head as i32 as i64 as u64
}

/// The most numbers of heads that only a process knows.
pub const SPECIALS_MOST: u32 = 1 << NUMBER_BITS;

/// The number of the entry, and how many records a note with this head is long.
#[inline(always)]
pub const fn unpack_head(head: u32) -> (u32, usize) {
    let records = head >> NUMBER_BITS & 0x3f;
    (head & ((1 << NUMBER_BITS) - 1), records as usize)
}

/// Takes room for `bytes` of an entry; the entry's number. `used` is the header's count.
pub fn take_entry(used: &AtomicU32, bytes: usize) -> Option<u32> {
    let units = (bytes / ENTRY_UNIT) as u32;
    let most = (DICTIONARY_BYTES / ENTRY_UNIT) as u32;
    let more = |used: u32| used.checked_add(units).filter(|after| *after <= most);
    used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_pack_and_unpack() {
        for (number, words) in [(0, 2), (0xff_ffff, 64), (7, 38)] {
            let head = note_head(number, words);
            assert_eq!(head & SPECIAL, 0);
            assert_eq!(unpack_head(head), (number, words as usize / 2));
            let record = crate::Record {
                word0: 0,
                word1: head_word(head),
            };
            assert_eq!(record.kind(), crate::CODED);
        }
    }

    #[test]
    fn heads_of_a_process_say_how_long_their_notes_are() {
        for (number, words, records) in [(0, 2, 1), (0xff_ffff, 64, 32), (7, 66, 0), (7, 400, 0)] {
            let head = special_head(number, words);
            assert_ne!(head & SPECIAL, 0);
            assert_eq!(unpack_head(head), (number, records));
        }
    }

    #[test]
    fn masks_pack_and_unpack() {
        let row = EntryRow {
            word: 5,
            ..EntryRow::default()
        };
        assert_eq!(row.words(), (5, None));
        assert_eq!(row.masked(63, 64).words(), (5, Some((63, 64))));
    }

    #[test]
    fn full_dictionary_refuses_and_stays_full() {
        let used = AtomicU32::new(0);
        assert_eq!(take_entry(&used, entry_bytes(1)), Some(0));
        assert_eq!(take_entry(&used, entry_bytes(3)), Some(4));
        let whole = DICTIONARY_BYTES - 2 * ENTRY_UNIT;
        assert_eq!(take_entry(&used, whole), None);
        assert_eq!(take_entry(&used, entry_bytes(1)), Some(11));
    }
}
