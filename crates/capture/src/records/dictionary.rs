//! [`Dictionary`]: the entries of the segment's dictionary that block records of rewritten code
//! have named so far. An entry is read, checked and kept when the first block record names it;
//! after that the segment is not asked again.
//!
//! This also has the two fast loops over block records of rewritten code: [`Dictionary::rows`]
//! makes rows, [`Dictionary::append_templates`] makes templates and operands.

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
    /// By entry: 1 + the place of its descriptor, or 0 if it is not known.
    index: Vec<u32>,
    /// By entry: what the fast loop needs, if all its rows are unconditional.
    fast_entries: Vec<FastEntry>,
    rows: Vec<EntryRow>,
    /// By entry: its template, once one was asked for.
    templates: Vec<TemplateOf>,
    /// Where in block records the operands of templates are.
    places: Vec<u8>,
    /// Bytes of all entries read. Entries do not overlap, so these are at most the bytes of the
    /// dictionary; if a program has written over it, reading stops at that limit.
    bytes: usize,
}

/// What the fast loop needs of an entry, in eight bytes.
#[derive(Clone, Copy, Default)]
struct FastEntry {
    /// Its first group.
    group: u32,
    rows: u16,
    /// Length of the block record in [`Record`](reuselens_wire::Record)s; 0 if the entry is not
    /// known, or has conditional rows.
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
    /// Length of the block record in records; 0 if the entry is not known.
    records: u16,
    /// Whether [`TemplateBlock::push_few`] can copy its operands: they are at most
    /// [`OPERANDS_AT_ONCE`], and are exactly the first words of the block record without its head.
    copied_at_once: bool,
    /// Whether it is known to have no template.
    none: bool,
}

/// After this many block records with the same head there are probably more, and the code that
/// expands all of them at once is faster.
const RUN: u32 = 8;

impl Dictionary {
    /// Makes rows of the block records from `position` on, up to row `end`. Stops at one that is
    /// not known yet or has conditional rows, and after [`RUN`] with the same head. This loop
    /// handles most block records of most programs. Advances `position` and `at`. There must be
    /// room for the rows of one block record after `end`.
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
            let known = self.fast_entries.get(number as usize).copied();
            let entry = known.unwrap_or_default();
            equal = if head == last { equal + 1 } else { 0 };
            last = head;
            let is_fast = usize::from(entry.records) == records && records > 0;
            if head >> 56 != u64::from(REWRITTEN_BLOCK_RECORD) || !is_fast || equal > RUN {
                return;
            }
            record[1] = 0;
            let count = usize::from(entry.rows).div_ceil(GROUP);
            let first = entry.group as usize;
            let groups = self.descriptors.groups.get(first..first + count);
            write_one(groups.unwrap_or_default(), record, *at, columns);
            *position += records;
            *at += usize::from(entry.rows);
        }
    }

    /// Appends the block records from `position` on as templates and operands, up to `wanted` rows.
    /// Stops at one without a template. Advances `position`.
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
                Some(record) if of.copied_at_once => {
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

    /// Finds the template of block records with this head, or that they have none, and keeps that.
    /// `None` if the entry is not known.
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
            copied_at_once: dense
                && found.rows > 0
                && places.len() <= OPERANDS_AT_ONCE
                && template.is_some(),
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

    /// The descriptor of block records with this head. `None` if its entry does not exist, makes no
    /// sense, or has another length than the head.
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
            Some(longer) => self.add_part(number, &entry, longer, &mut rows),
        };
        self.rows = rows;
        place
    }

    /// Adds an entry whose rows are the first rows of entry `longer`.
    fn add_part(
        &mut self,
        number: u32,
        entry: &DictionaryEntry,
        longer: u32,
        rows: &mut Vec<EntryRow>,
    ) -> Option<u32> {
        let known = self.index.get(longer as usize).copied().unwrap_or(0);
        let longer = match known.checked_sub(1) {
            Some(place) => place,
            None => {
                let found = self.segment.as_ref()?.entry(longer, rows)?;
                (found.of == 0).then(|| self.add(longer, &found, rows))??
            }
        };
        let place = self.descriptors.add_part(entry, longer)?;
        self.enter(number, place)
    }

    /// Adds an entry, and returns the place of its descriptor. `None` if it makes no sense.
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

    /// Keeps the place of an entry's descriptor.
    fn enter(&mut self, number: u32, place: u32) -> Option<u32> {
        let at = number as usize;
        if self.index.len() <= at {
            self.index.resize((at + 1).next_power_of_two(), 0);
        }
        self.index[at] = place + 1;
        self.fast_entries
            .resize(self.index.len(), FastEntry::default());
        let found = self.descriptors.at(place)?;
        if found.conditions.is_none() {
            self.fast_entries[at] = FastEntry {
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
