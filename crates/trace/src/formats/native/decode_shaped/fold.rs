//! Words of shapes to rows, but for those of shapes that are there already.

use super::{GROUP, Group, Note, Notes, ROWS, ShapeDecoder, fill};
use crate::formats::native::bytes::Damage;
use crate::formats::native::decode_shaped::group::GROUPS;
use crate::formats::native::dispatch::Squeeze;
use crate::formats::native::rows::Streams;
use crate::shaped::{SHAPE_ROWS_MOST, SHAPE_WORDS_MOST};
use crate::{Again, Columns, Folds, Pattern};

/// Numbers that there is room for behind those that are there: of a shape, and what is written beyond.
const SLACK: usize = SHAPE_ROWS_MOST + GROUPS * GROUP;

/// Which pattern of a block a shape is: the block's number, and the pattern's. By the first of the shape's groups.
#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    block: u32,
    pattern: u32,
}

impl ShapeDecoder {
    /// Fills the columns of a block with those rows of its notes that did not come before, and says of the others where they come; how many rows
    /// are there. The columns are longer by [`SLACK`](super::SLACK).
    #[inline(always)]
    pub(in super::super) fn fold_here(
        &mut self,
        squeeze: impl Squeeze,
        streams: &mut Streams<'_>,
        notes: Notes,
        (columns, folds): (&mut Columns<'_>, &mut Folds),
    ) -> Result<usize, Damage> {
        self.read(squeeze, streams, notes)?;
        self.begin_folding();
        // Taken out, so that its length need not be in memory.
        let mut numbers = std::mem::take(&mut folds.numbers);
        let (mut at, mut used) = (0, 0);
        for note in &self.notes {
            let first = note.first_group as usize;
            let words = self.values[note.first_word as usize..].first_chunk();
            let count = usize::from(note.rows).div_ceil(GROUP);
            let groups = self.groups.get(first..first + count.max(GROUPS));
            let known = self.known.get_mut(first);
            let (Some(words), Some(groups), Some(known)) = (words, groups, known) else {
                return Err(ROWS);
            };
            let rows = usize::from(note.rows);
            if note.can_fold && known.block == self.block {
                folds.agains.push(Again {
                    before: at as u32,
                    pattern: known.pattern,
                    laps: 0,
                });
                if numbers.len() < used + SLACK {
                    numbers.resize((used + SLACK).next_power_of_two(), 0);
                }
                addresses(groups, words, &mut numbers[used..]);
                used += rows;
                continue;
            }
            fill(groups, words, at, columns);
            if note.can_fold {
                *known = Known {
                    block: self.block,
                    pattern: folds.patterns.len() as u32,
                };
                folds.patterns.push(Pattern {
                    first: at as u32,
                    rows: rows as u32,
                });
            }
            at += rows;
        }
        numbers.truncate(used);
        folds.numbers = numbers;
        folds.rows += used as u64;
        Ok(at)
    }

    /// A block begins, of which no pattern is there.
    fn begin_folding(&mut self) {
        if self.known.len() < self.groups.len() {
            self.known.resize(self.groups.len(), Known::default());
        }
        self.block = match self.block.checked_add(1) {
            Some(next) => next,
            None => {
                self.known.fill(Known::default());
                1
            }
        };
    }
}

/// The addresses of the rows of some groups.
#[inline(always)]
fn addresses(groups: &[Group], words: &[u64; SHAPE_WORDS_MOST], into: &mut [u64]) {
    for (group, into) in groups.iter().zip(into.as_chunks_mut::<GROUP>().0) {
        *into = group.addrs(words);
    }
}

impl Note {
    /// Whether a shape of these rows may be left out where it comes again.
    pub(super) fn folds(rows: &[crate::ShapeRow]) -> bool {
        crate::formats::native::folding::is_whole(rows.iter().map(|row| row.kind))
    }
}
