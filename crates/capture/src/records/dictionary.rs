//! The descriptors of rewritten code, from the segment's dictionary, each read when the first note
//! names it.

use std::sync::Arc;

use reuselens_trace::{Columns, ShapedBlock, WORDS_AT_ONCE};
use reuselens_wire::{CODED, DICTIONARY_BYTES, Entry, EntryRow, entry_bytes, unpack_head};

use super::descriptors::{GROUP, Table};
use super::expand::one;
use super::{Found, Shaping, WORDS};
use crate::segment::Segment;

/// What is known of the dictionary so far.
#[derive(Default)]
pub(super) struct Dictionary {
    segment: Option<Arc<Segment>>,
    table: Table,
    /// By the number of an entry the place of its descriptor + 1, or 0.
    index: Vec<u32>,
    /// By the same what is needed of those whose rows are always there.
    quick: Vec<Quick>,
    rows: Vec<EntryRow>,
    /// By the number of an entry its shape, once a note was to be one.
    shapes: Vec<ShapeOf>,
    /// The places of shapes' words in notes.
    places: Vec<u8>,
    /// Bytes of all entries read. Entries do not overlap, so there are never more than the
    /// dictionary has; a program that has written over it must not cost more either.
    bytes: usize,
}

/// What most notes need, in eight bytes.
#[derive(Clone, Copy, Default)]
struct Quick {
    /// Its first group.
    group: u32,
    rows: u16,
    /// Records of the note; 0 if nothing is known of it, or not all rows are always there.
    records: u16,
}

/// How a note becomes words of a shape, in sixteen bytes.
#[derive(Clone, Copy, Default)]
struct ShapeOf {
    shape: u32,
    /// Where the places of its words are.
    first: u32,
    words: u16,
    rows: u16,
    /// Records of the note; 0 if nothing is known of it.
    records: u16,
    /// Whether it has few words, and no place but the head's is left out.
    few: bool,
    /// Whether it is known to have no shape.
    none: bool,
}

/// After so many equal notes there are likely more: who goes through all of them at once is faster.
const RUN: u32 = 8;

impl Dictionary {
    /// Makes rows of the notes from `position` on that are known and whose rows are always there,
    /// as long as they differ, up to row `end`. Most notes of most programs are such, and this loop
    /// is all that they cost. `position` and `at` move on; there must be room for the rows of one
    /// note behind `end`.
    pub fn rows(
        &self,
        words: &mut [u64],
        position: &mut usize,
        (at, end): (&mut usize, usize),
        columns: &mut Columns<'_>,
    ) {
        let (mut last, mut equal) = (0, 0);
        while *at < end {
            let rest = words.get_mut(2 * *position..).unwrap_or_default();
            let Some(note) = rest.first_chunk_mut::<WORDS>() else {
                return;
            };
            let head = note[1];
            let (number, records) = unpack_head(head as u32);
            let known = self.quick.get(number as usize).copied();
            let quick = known.unwrap_or_default();
            equal = if head == last { equal + 1 } else { 0 };
            last = head;
            let is_quick = usize::from(quick.records) == records && records > 0;
            if head >> 56 != u64::from(CODED) || !is_quick || equal > RUN {
                return;
            }
            note[1] = 0;
            let count = usize::from(quick.rows).div_ceil(GROUP);
            let first = quick.group as usize;
            let groups = self.table.groups.get(first..first + count);
            one(groups.unwrap_or_default(), note, *at, columns);
            *position += records;
            *at += usize::from(quick.rows);
        }
    }

    /// Appends the notes from `position` on that are known and whose rows are always there, up to
    /// `wanted` rows. `position` moves on.
    pub fn shape(
        &mut self,
        words: &mut [u64],
        position: &mut usize,
        wanted: usize,
        (shaping, into): (&mut Shaping, &mut ShapedBlock),
    ) {
        while into.rows() < wanted {
            let Some(&head) = words.get(2 * *position + 1) else {
                return;
            };
            if head >> 56 != u64::from(CODED) {
                return;
            }
            let (number, records) = unpack_head(head as u32);
            let mut of = self
                .shapes
                .get(number as usize)
                .copied()
                .unwrap_or_default();
            if usize::from(of.records) != records || records == 0 {
                match self.learn_shape(number, head, shaping) {
                    Some(learnt) => of = learnt,
                    None => return,
                }
            }
            let rest = &words[2 * *position..];
            if rest.len() < 2 * records {
                return;
            }
            let rows = usize::from(of.rows);
            match rest.first_chunk::<{ WORDS_AT_ONCE + 1 }>() {
                Some(note) if of.few => {
                    // Nothing is put in the place of the head first: to read on over what has just
                    // been written would have to wait for that.
                    if let Some(words) = note[1..].first_chunk() {
                        into.push_few(of.shape, rows, note[0], words, usize::from(of.words));
                    }
                }
                _ if of.none => return,
                _ => {
                    if rows > 0 {
                        let note = &rest[..2 * records];
                        let first = of.first as usize;
                        let places = &self.places[first..first + usize::from(of.words)];
                        let mut words = [0; WORDS];
                        for (word, &place) in words.iter_mut().zip(places) {
                            *word = note.get(usize::from(place)).copied().unwrap_or(0);
                        }
                        into.push(of.shape, rows, &words[..places.len()]);
                    }
                }
            }
            *position += records;
        }
    }

    /// The shape of the notes with this head, or that they have none; `None` if nothing is known of
    /// them.
    #[cold]
    #[inline(never)]
    fn learn_shape(&mut self, number: u32, head: u64, shaping: &mut Shaping) -> Option<ShapeOf> {
        let (_, found) = self.find(head)?;
        let found = *found;
        let first = self.places.len();
        let shape = match found.rows {
            _ if found.conditions.is_some() => None,
            0 => Some(u32::MAX),
            _ => shaping.of(&self.table, &found, &mut self.places),
        };
        let places = &self.places[first..];
        let next = |index: usize| if index == 0 { 0 } else { index + 1 };
        let dense =
            (places.iter().enumerate()).all(|(index, &place)| usize::from(place) == next(index));
        let of = ShapeOf {
            few: dense && found.rows > 0 && places.len() <= WORDS_AT_ONCE && shape.is_some(),
            none: shape.is_none(),
            shape: shape.unwrap_or(u32::MAX),
            first: first as u32,
            words: (self.places.len() - first) as u16,
            rows: found.rows,
            records: found.records,
        };
        if self.shapes.len() <= number as usize {
            let length = (number as usize + 1).next_power_of_two();
            self.shapes.resize(length, ShapeOf::default());
        }
        self.shapes[number as usize] = of;
        Some(of)
    }

    pub fn new(segment: Arc<Segment>) -> Dictionary {
        Dictionary {
            segment: Some(segment),
            ..Dictionary::default()
        }
    }

    /// What a note's head stands for, if it is one.
    #[inline(always)]
    pub fn find(&mut self, head: u64) -> Option<Found<'_>> {
        let (number, records) = unpack_head(head as u32);
        let place = match self.index.get(number as usize) {
            Some(&place) if place != 0 => place - 1,
            _ => self.learn(number)?,
        };
        let found = self.table.at(place)?;
        (usize::from(found.records) == records && records > 0).then_some((&self.table, found))
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

    /// Adds an entry whose rows are the first of entry `whole`.
    fn add_part(
        &mut self,
        number: u32,
        entry: &Entry,
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
        let place = self.table.add_part(entry, whole)?;
        self.enter(number, place)
    }

    /// Adds an entry; the place of its descriptor, or `None` if it makes no sense.
    pub(super) fn add(&mut self, number: u32, entry: &Entry, rows: &[EntryRow]) -> Option<u32> {
        let bytes = self.bytes + entry_bytes(rows.len());
        if bytes > DICTIONARY_BYTES {
            return None;
        }
        let place = self.table.add_entry(entry, rows)?;
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
        let found = self.table.at(place)?;
        if found.conditions.is_none() {
            self.quick[at] = Quick {
                group: found.group,
                rows: found.rows,
                records: found.records,
            };
        }
        Some(place)
    }
}

#[cfg(test)]
mod tests;
