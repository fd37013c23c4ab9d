//! Notes become rows.
//!
//! Code that the LLVM pass has seen writes notes: the address of a descriptor, and those words of the addresses that only
//! the running program knows. The descriptors are in the program's file, so that is where they are read.

mod table;

use std::collections::BTreeMap;
use std::sync::Arc;

use reuselens_trace::{Block, Columns};
use reuselens_wire::{NOTE, Record};

use crate::decode::ROWS_WANTED;
use table::{Condition, Descriptor, GROUP, ROWS_MOST};
pub(crate) use table::Table;

/// The descriptors of all processes.
#[derive(Debug, Default)]
pub struct Notes {
    /// By process; those of the module that was loaded last come first.
    tables: BTreeMap<u32, Vec<Arc<Table>>>,
    /// Whether there was any note.
    pub seen: bool,
    /// Stretches of records that could not be read.
    pub lost: u64,
}

impl Notes {
    /// Adds what a module of a process has.
    pub fn add(&mut self, process: u32, table: Arc<Table>) {
        self.tables.entry(process).or_default().insert(0, table);
    }

    /// Makes rows of the notes from `position` on, from row `at` of the block on, up to the first record that is none or until
    /// there are enough rows. Returns where it stopped; what cannot be read is counted, and nothing behind it is read.
    pub fn expand(
        &mut self,
        process: u32,
        records: &mut [Record],
        mut position: usize,
        mut at: usize,
        block: &mut Block,
    ) -> usize {
        self.seen = true;
        let tables = self.tables.get(&process).map_or(&[][..], Vec::as_slice);
        let end = at.max(ROWS_WANTED);
        let mut columns = block.overwrite(end + ROWS_MOST + GROUP);
        let mut recent = tables.first();
        while at < end && records.get(position).is_some_and(|record| record.kind() == NOTE) {
            let address = records[position].word1;
            let mut found = recent.and_then(|table| table.find(address));
            if found.is_none() {
                recent = tables.iter().find(|table| table.find(address).is_some());
                found = recent.and_then(|table| table.find(address));
            }
            let rest = &mut records[position..];
            let note = found.and_then(|found| rest.get_mut(..usize::from(found.records)));
            let (Some(table), Some(found), Some(note)) = (recent, found, note) else {
                self.lost += 1;
                position = records.len();
                break;
            };
            note[0].word1 = 0;
            at = match found.conditions {
                None => plain(table, found, note, at, &mut columns),
                Some(first) => some(table, found, first as usize, note, at, &mut columns),
            };
            position += usize::from(found.records);
        }
        block.truncate(at);
        position
    }
}

/// The eight bytes at a place of a note.
#[inline(always)]
fn word(note: &[Record], place: u16) -> u64 {
    let record = &note[usize::from(place / 2)];
    if place.is_multiple_of(2) { record.word0 } else { record.word1 }
}

/// All rows of a descriptor, whole groups at a time: what is too much is written over, or taken off at the end.
#[inline(always)]
fn plain(table: &Table, found: &Descriptor, note: &[Record], at: usize, columns: &mut Columns<'_>) -> usize {
    let rows = usize::from(found.rows);
    let first = found.group as usize;
    for (index, group) in table.groups[first..first + rows.div_ceil(GROUP)].iter().enumerate() {
        let from = at + index * GROUP;
        let to = from..from + GROUP;
        columns.kinds[to.clone()].copy_from_slice(&group.kinds);
        columns.sizes[to.clone()].copy_from_slice(&group.sizes);
        columns.pcs[to.clone()].copy_from_slice(&group.pcs);
        let addrs = &mut columns.addrs[to];
        for lane in 0..GROUP {
            addrs[lane] = word(note, group.words[lane]).wrapping_add(group.displacements[lane]);
        }
    }
    at + rows
}

/// Those rows of a descriptor whose conditions hold.
fn some(
    table: &Table,
    found: &Descriptor,
    conditions: usize,
    note: &[Record],
    mut at: usize,
    columns: &mut Columns<'_>,
) -> usize {
    for row in 0..usize::from(found.rows) {
        let group = &table.groups[found.group as usize + row / GROUP];
        let lane = row % GROUP;
        let mut address = word(note, group.words[lane]).wrapping_add(group.displacements[lane]);
        let mut size = group.sizes[lane];
        match table.conditions[conditions + row] {
            Condition::Always => {}
            Condition::OneLane(place, bit) => {
                if word(note, place) >> bit & 1 == 0 {
                    continue;
                }
            }
            Condition::Lanes(place, lanes) => {
                let active = word(note, place) & (u64::MAX >> (64 - lanes));
                if active == 0 {
                    continue;
                }
                let first = active.trailing_zeros();
                let count = 64 - active.leading_zeros() - first;
                address = address.wrapping_add(u64::from(first) * u64::from(size));
                size = (u32::from(size) * count).min(255) as u8;
            }
        }
        columns.kinds[at] = group.kinds[lane];
        columns.sizes[at] = size;
        columns.pcs[at] = group.pcs[lane];
        columns.addrs[at] = address;
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use reuselens_trace::Kind;

    use super::table::tests::{bytes, table};
    use super::*;

    const LOW: u64 = 0x4000;
    const HERE: u16 = 0xffff;

    /// The rows of notes in a process with one table, as kind, size, pc, address; how many stretches were lost.
    fn rows(descriptors: &[Vec<u8>], records: &mut [Record]) -> (Vec<(Kind, u8, u64, u64)>, u64) {
        let mut notes = Notes::default();
        notes.add(3, Arc::new(table(descriptors, LOW)));
        let mut block = Block::new();
        notes.expand(3, records, 0, 0, &mut block);
        let rows = block.rows().map(|row| (row.kind, row.size, row.pc, row.addr));
        (rows.collect(), notes.lost)
    }

    fn record(word0: u64, word1: u64) -> Record {
        Record { word0, word1 }
    }

    #[test]
    fn addresses_are_words_and_displacements() {
        let one = bytes(
            0x1000,
            3,
            &[(6, 1, 0, 0), (14, 0, 1, 0), (1, 8, 2, -8), (2, 4, HERE, 0x20), (3, 4, 2, 4)],
        );
        let note = [record(0x7000, LOW), record(0x5555, 0x600)];
        let twice = &mut [note, note].concat()[..];
        let (rows, lost) = rows(&[one], twice);
        let expected = [
            (Kind::Enter, 1, 0x5000, 0x7000),
            (Kind::Operand, 0, 0, 0x5555),
            (Kind::Load, 8, 0x5002, 0x5f8),
            (Kind::Store, 4, 0x5003, LOW + 8 + 3 * 8 + 4 + 0x20),
            (Kind::Atomic, 4, 0x5004, 0x604),
        ];
        assert_eq!(rows, [expected, expected].concat());
        assert_eq!(lost, 0);
    }

    #[test]
    fn masks_say_which_lanes_are_there() {
        let contiguous = bytes(0, 2, &[(1, 4, 0, 0), (0x41, 0, 1, 8)]);
        let gather = bytes(0, 3, &[(1, 8, 0, 0), (0x40, 0, 2, 0), (1, 8, 1, 0), (0x40, 0, 2, 1)]);
        let second = LOW + contiguous.len() as u64;
        let mut records = [
            record(0x100, LOW),
            record(0b0011_0100, 0),
            record(0x200, LOW),
            record(0, 0),
            record(0x300, second),
            record(0x400, 0b10),
        ];
        let (rows, lost) = rows(&[contiguous, gather], &mut records);
        let addresses: Vec<_> = rows.iter().map(|row| (row.1, row.3)).collect();
        assert_eq!(addresses, [(16, 0x108), (8, 0x400)]);
        assert_eq!(lost, 0);
    }

    #[test]
    fn unknown_and_torn_notes_are_counted_and_end_the_stretch() {
        let one = bytes(0, 3, &[(1, 8, 2, 0)]);
        for bad in [vec![record(1, 0x9999)], vec![record(1, LOW)], vec![record(1, 0)]] {
            let good = vec![record(1, LOW), record(2, 0x700)];
            let (rows, lost) = rows(std::slice::from_ref(&one), &mut [good, bad].concat());
            assert_eq!((rows.len(), rows[0].3, lost), (1, 0x700, 1));
        }
    }

    #[test]
    fn long_stretches_are_cut_between_notes() {
        let one = bytes(0, 1, &vec![(1, 8, 0, 0); 200]);
        let mut notes = Notes::default();
        notes.add(0, Arc::new(table(&[one], LOW)));
        let mut records = vec![record(8, LOW); 50];
        let (mut position, mut total) = (0, 0);
        while position < records.len() {
            let mut block = Block::new();
            position = notes.expand(0, &mut records, position, 0, &mut block);
            assert!(block.len() <= ROWS_WANTED + ROWS_MOST);
            total += block.len();
        }
        assert_eq!(total, 50 * 200);
    }
}
