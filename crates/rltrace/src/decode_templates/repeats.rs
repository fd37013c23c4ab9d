//! Words of shapes to rows, but for those of shapes that are there already.

use super::{GROUP, Group, Note, Notes, ROWS, SLACK, ShapeDecoder, fill};
use crate::decode_rows::Streams;
use crate::decode_templates::row_group::GROUPS;
use crate::processor::Processor;
use reuselens_io::varint::Damage;
use reuselens_trace::SHAPE_WORDS_MOST;
use reuselens_trace::{Columns, Repeat, RepeatOf, Repeats, RowTemplate};

/// The number of no template.
pub(super) const NO_PATTERN: u32 = u32::MAX;

impl ShapeDecoder {
    /// How many shapes of the chunk are templates so far.
    pub(in super::super) fn templates(&self) -> u32 {
        self.templates
    }

    /// Fills the columns of a block with those rows of its notes that did not come before in the
    /// chunk, and says of the others where they come; how many rows are there. The columns are
    /// longer by [`SLACK`].
    #[inline(always)]
    pub(in super::super) fn fold_here(
        &mut self,
        squeeze: impl Processor,
        streams: &mut Streams<'_>,
        notes: Notes,
        (columns, repeats): (&mut Columns<'_>, &mut Repeats),
    ) -> Result<usize, Damage> {
        self.read(squeeze, streams, notes)?;
        self.known
            .resize(self.groups.len().max(self.known.len()), NO_PATTERN);
        repeats.known = self.templates;
        // Taken out, so that its length need not be in memory. It is longer than what is in it, and
        // not made anew.
        let mut numbers = std::mem::take(&mut self.numbers);
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
            if *known != NO_PATTERN {
                repeats.entries.push(Repeat {
                    before: at as u32,
                    rows: rows as u32,
                    what: RepeatOf::Template(*known),
                });
                // As columns must be, to be filled.
                if numbers.len() < used + SLACK {
                    numbers.resize((used + SLACK).next_power_of_two(), 0);
                }
                addresses(groups, words, &mut numbers[used..]);
                used += rows;
                continue;
            }
            fill(groups, words, at, columns);
            if note.can_fold {
                *known = self.templates;
                self.templates += 1;
                repeats.templates.push(RowTemplate {
                    first: at as u32,
                    rows: rows as u32,
                });
            }
            at += rows;
        }
        repeats.numbers.extend_from_slice(&numbers[..used]);
        self.numbers = numbers;
        repeats.rows += used as u64;
        Ok(at)
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
    pub(super) fn folds(rows: &[reuselens_trace::ShapeRow]) -> bool {
        crate::repeat_sink::is_whole(rows.iter().map(|row| row.kind))
    }
}
