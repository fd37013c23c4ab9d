//! The dictionary of block records, and the heads by which block records refer to it.
//!
//! A block of rewritten code (crate `dbi`) does not write one [`Record`](crate::Record) for each of
//! its accesses. It writes one *block record*: the words that are known only when the block runs,
//! and a *head* with the number of a [`DictionaryEntry`]. The entry lists the rows that the words
//! stand for. Where a block makes plain accesses only, the rewriter passes its block records on
//! unchanged, and the analysing side (crate `capture`, `records`) makes rows of them.
//!
//! ```text
//! words of a block record:  word 0, head, word 2, word 3 ...      an even number of words
//! head:                     ones (33 bits) | special (1) | records (6) | number of the entry (24)
//! ```
//!
//! The head is in the place of a record's second word, so its upper byte is in the place of the
//! record's kind: [`crate::REWRITTEN_BLOCK_RECORD`]. A head is a negative number of 32 bits, which
//! one instruction stores as 64 bits.
//!
//! Entries are only added, never changed, by all processes of a run. After a fork, the child uses
//! its parent's numbers, too.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::BLOCK_RECORD_BYTES_MOST;

/// Bytes of the dictionary. Unused ones take no memory. Block records without an entry, because
/// the dictionary is full, are expanded to records in the measured program.
pub const DICTIONARY_BYTES: usize = 256 << 20;
/// Entries begin at multiples of this many bytes; an entry's number is its offset in this unit.
pub const ENTRY_UNIT: usize = 16;
/// The most rows of an entry.
pub const ENTRY_ROWS_MOST: usize = 256;
/// The word of a row whose address is its displacement alone: that of the head, which counts as 0.
pub const NO_WORD: u16 = 1;
/// Bit in a head: the block record stands for more than plain accesses. The head's number is then
/// no entry's, but one of a list in the process that wrote it (`Special` of crate `dbi`).
pub const SPECIAL: u32 = 1 << 30;

const HEAD: u32 = 1 << 31;
const NUMBER_BITS: u32 = 24;
const _: () = assert!(DICTIONARY_BYTES / ENTRY_UNIT <= 1 << NUMBER_BITS);

/// What a block record means. The entry's [`EntryRow`]s follow it in memory, unless they are the
/// first rows of another entry (`of`).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct DictionaryEntry {
    /// Address of the rewriter's descriptor of the block; only the process that wrote it reads it.
    pub own: u64,
    /// Address by which the block's function is found, 0 if the block is a stub; only the process
    /// that wrote it reads it.
    pub pc: u64,
    /// Number of rows.
    pub rows: u32,
    /// Words of a block record, the head included: an even number.
    pub words: u32,
    /// 1 + the number of the entry whose first rows these are; 0 if the rows follow here.
    pub of: u32,
    /// By which the rewriter counts accesses that are not recorded; only the process that wrote it
    /// reads it.
    pub summary: u32,
}

/// A row: its address is the displacement plus a word of the block record.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct EntryRow {
    /// The second word of its record: kind, size, program counter.
    pub meta: u64,
    /// What is added to the word.
    pub displacement: u64,
    /// Number of the word, or [`NO_WORD`]; with a mask ([`EntryRow::masked`]), also where that is.
    pub word: u64,
}

impl EntryRow {
    /// The row with a mask: the lowest `lanes` bits of word `mask`. The access is made if any of
    /// them is set, from the first lane whose bit is set to the last; the row's size is that of a
    /// lane.
    pub const fn masked(self, mask: u16, lanes: u8) -> EntryRow {
        EntryRow {
            word: self.word | (mask as u64) << 16 | (lanes as u64) << 32,
            ..self
        }
    }

    /// Number of the row's word; and, if it has a mask, the number of the mask's word and the
    /// lanes.
    pub const fn words(self) -> (u16, Option<(u16, u8)>) {
        let lanes = (self.word >> 32) as u8;
        let mask = ((self.word >> 16) as u16, lanes);
        (self.word as u16, if lanes > 0 { Some(mask) } else { None })
    }
}

/// Bytes of an entry with `rows` rows.
pub const fn entry_bytes(rows: usize) -> usize {
    (size_of::<DictionaryEntry>() + rows * size_of::<EntryRow>()).next_multiple_of(ENTRY_UNIT)
}

/// The head of block records of `words` words that entry `number` explains.
pub const fn block_record_head(number: u32, words: u32) -> u32 {
    HEAD | (words / 2) << NUMBER_BITS | number
}

/// The head of block records of `words` words whose meaning has number `number` in a list of the
/// process itself. Its count of records is 0 if the block records are too long to be passed on.
pub const fn special_head(number: u32, words: u32) -> u32 {
    let records = if words as usize * 8 <= BLOCK_RECORD_BYTES_MOST {
        words / 2
    } else {
        0
    };
    HEAD | SPECIAL | records << NUMBER_BITS | number
}

/// A head as a word of a block record: extended by its sign to 64 bits.
#[inline(always)]
pub const fn head_word(head: u32) -> u64 {
    head as i32 as i64 as u64
}

/// The most entries of a process's own list; see [`special_head`].
pub const SPECIALS_MOST: u32 = 1 << NUMBER_BITS;

/// The number in a head, and the length of its block records in records.
#[inline(always)]
pub const fn unpack_head(head: u32) -> (u32, usize) {
    let records = head >> NUMBER_BITS & 0x3f;
    (head & ((1 << NUMBER_BITS) - 1), records as usize)
}

/// Reserves `bytes` for an entry and returns the entry's number; `None` if the dictionary is full.
/// `used` is [`Header::dictionary_used`](crate::Header::dictionary_used).
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
            let head = block_record_head(number, words);
            assert_eq!(head & SPECIAL, 0);
            assert_eq!(unpack_head(head), (number, words as usize / 2));
            let record = crate::Record {
                word0: 0,
                word1: head_word(head),
            };
            assert_eq!(record.kind(), crate::REWRITTEN_BLOCK_RECORD);
        }
    }

    #[test]
    fn special_heads_have_the_length_up_to_the_limit() {
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
    fn full_dictionary_refuses_large_entries_and_takes_small_ones() {
        let used = AtomicU32::new(0);
        assert_eq!(take_entry(&used, entry_bytes(1)), Some(0));
        assert_eq!(take_entry(&used, entry_bytes(3)), Some(4));
        let too_many = DICTIONARY_BYTES - 2 * ENTRY_UNIT;
        assert_eq!(take_entry(&used, too_many), None);
        assert_eq!(take_entry(&used, entry_bytes(1)), Some(11));
    }
}
