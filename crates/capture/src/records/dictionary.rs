//! The descriptors of rewritten code, from the segment's dictionary. Each is read when the first
//! block record names it.

use std::sync::Arc;

use reuselens_trace::{Columns, OPERANDS_AT_ONCE, TemplateBlock};
use reuselens_wire::{
    DICTIONARY_BYTES, DictionaryEntry, EntryRow, REWRITTEN_BLOCK_RECORD, entry_bytes, unpack_head,
};

use super::descriptors::{Descriptors, GROUP};
use super::expand::write_one;
use super::{Found, TemplateBuilder, WORDS_MOST};
use crate::segment::Segment;

/// The part of the dictionary that block records have named so far. Entries are known by their
/// numbers.
#[derive(Default)]
pub(super) struct Dictionary {
    segment: Option<Arc<Segment>>,
    descriptors: Descriptors,
    /// By entry: the place of its descriptor + 1, or 0.
    index: Vec<u32>,
    /// By entry: what is needed of those whose rows are unconditional.
    quick: Vec<Quick>,
    rows: Vec<EntryRow>,
    /// By entry: its template, once one was asked for.
    templates: Vec<TemplateOf>,
    /// Where in block records the operands of templates are.
    places: Vec<u8>,
    /// Bytes of all entries read. Entries do not overlap, so there are never more than the
    /// dictionary has; a program that has written over it must not cost more either.
    bytes: usize,
}

/// What most block records need, in eight bytes.
#[derive(Clone, Copy, Default)]
struct Quick {
    /// Its first group.
    group: u32,
    rows: u16,
    /// Length of the block record in [`Record`](reuselens_wire::Record)s; 0 if the entry is not
    /// known, or has rows that are conditional.
    records: u16,
}

/// How a block record becomes a template and operands, in sixteen bytes.
#[derive(Clone, Copy, Default)]
struct TemplateOf {
    template: u32,
    /// Where in [`Dictionary::places`] its operands begin.
    first: u32,
    words: u16,
    rows: u16,
    /// Length of the block record; 0 if the entry is not known.
    records: u16,
    /// Whether it has few operands, which are all words of the block record but its head.
    few: bool,
    /// Whether it is known to have no template.
    none: bool,
}

/// After this many equal block records there are likely more, and the loop that goes through all of
/// them at once is faster.
const RUN: u32 = 8;

impl Dictionary {
    /// Makes rows of the block records from `position` on that are known and unconditional, as long
    /// as they differ, up to row `end`. Most block records of most programs are such, and this loop
    /// is all that they cost. Moves `position` and `at` on. There must be room for the rows of one
    /// block record after `end`.
    pub fn rows(
        &self,
        words: &mut [u64],
        position: &mut usize,
        at: &mut usize,
        end: usize,
        columns: &mut Columns<'_>,
    ) {
        let (mut last, mut equal) = (0, 0);
        while *at < end {
            let rest = words.get_mut(2 * *position..).unwrap_or_default();
            let Some(record) = rest.first_chunk_mut::<WORDS_MOST>() else {
                return;
            };
            let head = record[1];
            let (number, records) = unpack_head(head as u32);
            let known = self.quick.get(number as usize).copied();
            let quick = known.unwrap_or_default();
            equal = if head == last { equal + 1 } else { 0 };
            last = head;
            let is_quick = usize::from(quick.records) == records && records > 0;
            if head >> 56 != u64::from(REWRITTEN_BLOCK_RECORD) || !is_quick || equal > RUN {
                return;
            }
            record[1] = 0;
            let count = usize::from(quick.rows).div_ceil(GROUP);
            let first = quick.group as usize;
            let groups = self.descriptors.groups.get(first..first + count);
            write_one(groups.unwrap_or_default(), record, *at, columns);
            *position += records;
            *at += usize::from(quick.rows);
        }
    }

    /// Appends the block records from `position` on that have templates, up to `wanted` rows. Moves
    /// `position` on.
    pub fn append_templates(
        &mut self,
        words: &mut [u64],
        position: &mut usize,
        wanted: usize,
        builder: &mut TemplateBuilder,
        into: &mut TemplateBlock,
    ) {
        while into.rows() < wanted {
            let Some(&head) = words.get(2 * *position + 1) else {
                return;
            };
            if head >> 56 != u64::from(REWRITTEN_BLOCK_RECORD) {
                return;
            }
            let (number, records) = unpack_head(head as u32);
            let mut of = self
                .templates
                .get(number as usize)
                .copied()
                .unwrap_or_default();
            if usize::from(of.records) != records || records == 0 {
                match self.learn_template(number, head, builder) {
                    Some(learnt) => of = learnt,
                    None => return,
                }
            }
            let rest = &words[2 * *position..];
            if rest.len() < 2 * records {
                return;
            }
            let rows = usize::from(of.rows);
            match rest.first_chunk::<{ OPERANDS_AT_ONCE + 1 }>() {
                Some(record) if of.few => {
                    // The head is skipped, not overwritten: a vector load over a word just stored
                    // would wait for the store.
                    if let Some(words) = record[1..].first_chunk() {
                        into.push_few(of.template, rows, record[0], words, usize::from(of.words));
                    }
                }
                _ if of.none => return,
                _ => {
                    if rows > 0 {
                        let record = &rest[..2 * records];
                        let first = of.first as usize;
                        let places = &self.places[first..first + usize::from(of.words)];
                        let mut words = [0; WORDS_MOST];
                        for (word, &place) in words.iter_mut().zip(places) {
                            *word = record.get(usize::from(place)).copied().unwrap_or(0);
                        }
                        into.push(of.template, rows, &words[..places.len()]);
                    }
                }
            }
            *position += records;
        }
    }

    /// Finds out the template of the block records with this head, or that they have none. `None`
    /// if the entry is not known.
    #[cold]
    #[inline(never)]
    fn learn_template(
        &mut self,
        number: u32,
        head: u64,
        builder: &mut TemplateBuilder,
    ) -> Option<TemplateOf> {
        let found = *self.find(head)?.descriptor;
        let first = self.places.len();
        let template = match found.rows {
            _ if found.conditions.is_some() => None,
            0 => Some(u32::MAX),
            _ => builder.add(&self.descriptors, &found, &mut self.places),
        };
        let places = &self.places[first..];
        let next = |index: usize| if index == 0 { 0 } else { index + 1 };
        let dense =
            (places.iter().enumerate()).all(|(index, &place)| usize::from(place) == next(index));
        let of = TemplateOf {
            few: dense && found.rows > 0 && places.len() <= OPERANDS_AT_ONCE && template.is_some(),
            none: template.is_none(),
            template: template.unwrap_or(u32::MAX),
            first: first as u32,
            words: (self.places.len() - first) as u16,
            rows: found.rows,
            records: found.length,
        };
        if self.templates.len() <= number as usize {
            let length = (number as usize + 1).next_power_of_two();
            self.templates.resize(length, TemplateOf::default());
        }
        self.templates[number as usize] = of;
        Some(of)
    }

    pub fn new(segment: Arc<Segment>) -> Dictionary {
        Dictionary {
            segment: Some(segment),
            ..Dictionary::default()
        }
    }

    /// What the head of a block record names, if that is known.
    #[inline(always)]
    pub fn find(&mut self, head: u64) -> Option<Found<'_>> {
        let (number, records) = unpack_head(head as u32);
        let place = match self.index.get(number as usize) {
            Some(&place) if place != 0 => place - 1,
            _ => self.learn(number)?,
        };
        let found = self.descriptors.at(place)?;
        (usize::from(found.length) == records && records > 0).then_some(Found {
            descriptors: &self.descriptors,
            descriptor: found,
        })
    }

    #[cold]
    fn learn(&mut self, number: u32) -> Option<u32> {
        let mut rows = std::mem::take(&mut self.rows);
        let entry = self.segment.as_ref()?.entry(number, &mut rows)?;
        let place = match entry.of.checked_sub(1) {
            None => self.add(number, &entry, &rows),
            Some(whole) => self.add_part(number, &entry, whole, &mut rows),
        };
        self.rows = rows;
        place
    }

    /// Adds an entry whose rows are the first ones of entry `whole`.
    fn add_part(
        &mut self,
        number: u32,
        entry: &DictionaryEntry,
        whole: u32,
        rows: &mut Vec<EntryRow>,
    ) -> Option<u32> {
        let known = self.index.get(whole as usize).copied().unwrap_or(0);
        let whole = match known.checked_sub(1) {
            Some(place) => place,
            None => {
                let found = self.segment.as_ref()?.entry(whole, rows)?;
                (found.of == 0).then(|| self.add(whole, &found, rows))??
            }
        };
        let place = self.descriptors.add_part(entry, whole)?;
        self.enter(number, place)
    }

    /// Adds an entry; the place of its descriptor, or `None` if it makes no sense.
    pub(super) fn add(
        &mut self,
        number: u32,
        entry: &DictionaryEntry,
        rows: &[EntryRow],
    ) -> Option<u32> {
        let bytes = self.bytes + entry_bytes(rows.len());
        if bytes > DICTIONARY_BYTES {
            return None;
        }
        let place = self.descriptors.add_entry(entry, rows)?;
        self.bytes = bytes;
        self.enter(number, place)
    }

    /// Remembers where the descriptor of an entry is.
    fn enter(&mut self, number: u32, place: u32) -> Option<u32> {
        let at = number as usize;
        if self.index.len() <= at {
            self.index.resize((at + 1).next_power_of_two(), 0);
        }
        self.index[at] = place + 1;
        self.quick.resize(self.index.len(), Quick::default());
        let found = self.descriptors.at(place)?;
        if found.conditions.is_none() {
            self.quick[at] = Quick {
                group: found.group,
                rows: found.rows,
                records: found.length,
            };
        }
        Some(place)
    }
}

#[cfg(test)]
mod tests;
