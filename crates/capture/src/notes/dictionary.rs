//! The descriptors of rewritten code, from the segment's dictionary, each read when the first note names it.

use std::sync::Arc;

use reuselens_wire::{EntryRow, unpack_head};

use super::Found;
use super::table::Table;
use crate::segment::Segment;

/// What is known of the dictionary so far.
#[derive(Default)]
pub(super) struct Dictionary {
    segment: Option<Arc<Segment>>,
    table: Table,
    /// By the number of an entry the place of its descriptor + 1, or 0.
    index: Vec<u32>,
    rows: Vec<EntryRow>,
}

impl Dictionary {
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
        let entry = self.segment.as_ref()?.entry(number, &mut self.rows)?;
        let place = self.table.add_entry(&entry, &self.rows)?;
        let at = number as usize;
        if self.index.len() <= at {
            self.index.resize((at + 1).next_power_of_two(), 0);
        }
        self.index[at] = place + 1;
        Some(place)
    }
}
