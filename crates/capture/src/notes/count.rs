//! Rows are counted without being made, where the program has left their records.

use std::sync::atomic::{AtomicU64, Ordering};

use reuselens_memory::prefetch;
use reuselens_trace::Kind;
use reuselens_wire::{CODED, NOTE, WireKind};

use super::rows::{count_some, times};
use super::table::{Descriptor, Table};
use super::{Notes, find, kind_of, plain_kind};

/// A word of a record: a copy, or where it lies, where the program may still write to it.
pub(super) trait Word {
    /// What it is now.
    fn get(&self) -> u64;

    /// Asks for the word at a place, which is read soon.
    fn soon(words: &[Self], place: usize)
    where
        Self: Sized;
}

/// So far ahead words are asked for that another core has written: two kilobytes.
pub(super) const AHEAD: usize = 256;

impl Word for u64 {
    #[inline(always)]
    fn get(&self) -> u64 {
        *self
    }

    #[inline(always)]
    fn soon(_: &[Self], _: usize) {}
}

impl Word for AtomicU64 {
    #[inline(always)]
    fn get(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn soon(words: &[Self], place: usize) {
        prefetch(words, place);
    }
}

impl Notes {
    /// Counts the rows of records of a process, if rows are to be counted, up to the first that has
    /// to be looked at in another way: a control record, or a note that is not known. How many
    /// records that were.
    pub fn count_in_place(&mut self, process: u32, words: &[AtomicU64]) -> usize {
        let Some(counted) = &mut self.counted else {
            return 0;
        };
        let tables = self.tables.get(&process).map_or(&[][..], Vec::as_slice);
        let mut recent = tables.first();
        let mut position = 0;
        loop {
            let before = position;
            self.dictionary.count(words, &mut position, counted);
            count_plain(words, &mut position, counted);
            let Some(head) = words.get(2 * position + 1).map(Word::get) else {
                break;
            };
            if kind_of(head) == WireKind::Enter as u8 && position > before {
                continue;
            }
            let found = match kind_of(head) {
                NOTE => find(tables, &mut recent, head),
                CODED => self.dictionary.find(head),
                _ => None,
            };
            let Some((table, found)) = found else {
                break;
            };
            let records = usize::from(found.records);
            let repeats = table.repeats_of(found);
            let (mut often, first) = (0, position);
            // A loop writes the same note again and again.
            while let Some(note) = words.get(2 * position..2 * (position + records))
                && note[1].get() == head
            {
                Word::soon(words, 2 * position + AHEAD);
                match (repeats, found.conditions) {
                    (None, None) => often += 1,
                    (None, Some(first)) => {
                        count_some(table, found, first as usize, note, counted);
                    }
                    (Some(repeats), _) => match times(repeats, found, note) {
                        Some(times) => often += times,
                        None => break,
                    },
                }
                position += records;
            }
            if position == first {
                break;
            }
            self.seen |= kind_of(head) == NOTE;
            add(table, found, often, counted);
        }
        position
    }
}

/// Counts the records from `position` on that are rows as they stand.
fn count_plain(words: &[AtomicU64], position: &mut usize, counted: &mut [u64; 16]) {
    let (mut loads, mut stores, mut at) = (0, 0, *position);
    while let Some(kind) = words
        .get(2 * at + 1)
        .and_then(|word| plain_kind(word.get()))
    {
        Word::soon(words, 2 * at + AHEAD);
        // Most are of these, in any order: no branch can tell which comes next.
        loads += u64::from(kind == Kind::Load);
        stores += u64::from(kind == Kind::Store);
        if !matches!(kind, Kind::Load | Kind::Store) {
            counted[kind as usize % 16] += 1;
        }
        at += 1;
    }
    counted[Kind::Load as usize] += loads;
    counted[Kind::Store as usize] += stores;
    *position = at;
}

/// Counts the rows of so many notes.
pub(super) fn add(table: &Table, found: &Descriptor, count: usize, counted: &mut [u64; 16]) {
    let tally = found.tally;
    counted[Kind::Load as usize] += u64::from(tally.loads) * count as u64;
    counted[Kind::Store as usize] += u64::from(tally.stores) * count as u64;
    if !tally.others {
        return;
    }
    let groups = table.groups_of(found).iter();
    let is_other = |kind: &Kind| !matches!(kind, Kind::Load | Kind::Store);
    let kinds = groups.flat_map(|group| group.kinds);
    for kind in kinds.take(usize::from(found.rows)).filter(is_other) {
        counted[kind as usize % 16] += count as u64;
    }
}
