//! Words as ids.

use std::ops::Range;

use hashbrown::HashMap;

use crate::formats::number::number;

/// The ids of names. Numbers of this range in a text are treated as names, so that no name and no
/// number ever share an id.
const NAMES: Range<u64> = 1 << 63..(1 << 63) + (1 << 32);

/// Whether a number can be its own id.
#[inline(always)]
pub(super) fn is_free(number: u64) -> bool {
    !NAMES.contains(&number)
}

/// The names seen so far. A number is its own id; names are numbered from 2^63 in the order in which
/// they appear. Memory grows with the number of distinct names.
#[derive(Default)]
pub(super) struct Names {
    ids: HashMap<Box<[u8]>, u64>,
}

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
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_meets_a_name() {
        let mut names = Names::default();
        let a = names.id(b"a");
        let clash = names.id(a.to_string().as_bytes());
        assert_ne!(a, clash);
        assert_eq!(clash, names.id(format!("{a:#x}").as_bytes()));
        assert_eq!(a, names.id(b"a"));
        assert_eq!(names.id(b"0x10"), 16);
    }
}
