//! Ids for the words of a text: a number is its own id, and any other word gets the next number
//! from 2^63 on.
//!
//! Used by text and csv. Numbers from 2^63 to 2^63 + 2^32 get an id like a name, so that a number
//! and a name never have the same id. Memory grows with the number of distinct names.

use std::ops::Range;

use hashbrown::HashMap;
use reuselens_units::Bytes;

use crate::number::number;

/// The ids of names. Numbers of this range in a text are treated as names, so that no name and no
/// number ever share an id.
const NAMES: Range<u64> = 1 << 63..(1 << 63) + (1 << 32);

/// Whether a number can be its own id.
#[inline(always)]
pub(super) fn is_free(number: u64) -> bool {
    !NAMES.contains(&number)
}

/// The names seen so far. A number is its own id; names are numbered from 2^63 in the order in
/// which they appear. Memory grows with the number of distinct names.
#[derive(Default)]
pub(super) struct Names {
    ids: HashMap<Box<[u8]>, u64>,
    /// Bytes of the words, each with what its allocation takes.
    words: u64,
    /// What these were when the block began.
    before: u64,
}

/// Bytes of new words after which a block ends: whoever keeps to a limit on memory looks at it
/// between blocks, and a word may be as long as a line.
const BLOCK: u64 = 1 << 20;

/// Bytes that an allocation takes in addition to what is asked for, rounded up to a multiple of
/// itself: of the C library's on 64 bits.
const ALLOCATION: u64 = 16;

impl Names {
    /// The id of a word.
    pub(super) fn id(&mut self, word: &[u8]) -> u64 {
        match number(word) {
            Some(id) if is_free(id) => id,
            Some(id) => self.named(id.to_string().as_bytes()),
            None => self.named(word),
        }
    }

    fn named(&mut self, word: &[u8]) -> u64 {
        if let Some(&id) = self.ids.get(word) {
            return id;
        }
        let id = NAMES.start + self.ids.len() as u64;
        self.ids.insert(word.into(), id);
        self.words += (word.len() as u64).next_multiple_of(ALLOCATION) + ALLOCATION;
        id
    }

    /// A block begins.
    pub(super) fn begin_block(&mut self) {
        self.before = self.words;
    }

    /// Whether the words that are new in this block are so long that it ends before the next one.
    #[inline]
    pub(super) fn fill_a_block(&self) -> bool {
        self.words - self.before >= BLOCK
    }

    /// The memory held, and what the table takes while it grows, if it soon does.
    pub(super) fn memory(&self) -> Bytes {
        let table = self.ids.allocation_size() as u64;
        let soon = self.ids.len() > self.ids.capacity() / 8 * 7;
        Bytes(self.words + if soon { 3 * table } else { table })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_has_the_id_of_a_name() {
        let mut names = Names::default();
        let a = names.id(b"a");
        let clash = names.id(a.to_string().as_bytes());
        assert_ne!(a, clash);
        assert_eq!(clash, names.id(format!("{a:#x}").as_bytes()));
        assert_eq!(a, names.id(b"a"));
        assert_eq!(names.id(b"0x10"), 16);
    }

    #[test]
    fn memory_of_names_matches_their_allocations() {
        let mut names = Names::default();
        assert_eq!(names.memory(), Bytes(0));
        (0..10_000).for_each(|number| {
            names.id(format!("a name of 20 b {number:05}").as_bytes());
        });
        let held = names.memory().get();
        // An allocation of 32 bytes with 16 more for it, and a place in the table of 25, half of
        // them in use.
        assert!(
            (10_000 * 48 + 10_000 * 25..10_000 * 200).contains(&held),
            "{held}"
        );
        names.id(&[b'x'; 60_000]);
        assert!(names.memory().get() >= held + 60_000);
    }
}
