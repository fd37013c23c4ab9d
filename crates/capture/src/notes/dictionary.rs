//! The descriptors of rewritten code, from the segment's dictionary, each read when the first note names it.

use std::sync::Arc;

use reuselens_trace::Columns;
use reuselens_wire::{CODED, Entry, EntryRow, unpack_head};

use super::rows::one;
use super::table::{GROUP, Table};
use super::{Found, WORDS};
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

/// After so many equal notes there are likely more: who goes through all of them at once is faster.
const RUN: u32 = 8;

impl Dictionary {
    /// Makes rows of the notes from `position` on that are known and whose rows are always there, as long as they differ,
    /// up to row `end`. Most notes of most programs are such, and this loop is all that they cost. `position` and `at` move
    /// on; there must be room for the rows of one note behind `end`.
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
        let place = self.add(number, &entry, &rows);
        self.rows = rows;
        place
    }

    /// Adds an entry; the place of its descriptor, or `None` if it makes no sense.
    pub(super) fn add(&mut self, number: u32, entry: &Entry, rows: &[EntryRow]) -> Option<u32> {
        let place = self.table.add_entry(entry, rows)?;
        let at = number as usize;
        if self.index.len() <= at {
            self.index.resize((at + 1).next_power_of_two(), 0);
        }
        self.index[at] = place + 1;
        self.quick.resize(self.index.len(), Quick::default());
        if let Some(found) = self.table.at(place)
            && found.conditions.is_none()
        {
            self.quick[at] = Quick {
                group: found.group,
                rows: found.rows,
                records: found.records,
            };
        }
        Some(place)
    }
}
