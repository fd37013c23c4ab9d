//! Notes become rows.
//!
//! Code that the LLVM pass has seen writes notes: the address of a descriptor, and those words of the addresses that only
//! the running program knows. The descriptors are in the program's file, so that is where they are read.

mod table;

pub(crate) use table::SECTION;

use std::collections::BTreeMap;
use std::sync::Arc;

use reuselens_trace::{Block, Columns, Kind};
use reuselens_wire::{NOTE, NOTE_BYTES_MOST, Record};

use crate::decode::{PLAIN, ROWS_WANTED};
use crate::segment::words_of;
pub(crate) use table::Table;
use table::{Condition, Descriptor, GROUP, Group, ROWS_MOST};

/// Words of the longest note; a power of two.
const WORDS: usize = NOTE_BYTES_MOST / 8;

/// The descriptors of all processes.
#[derive(Debug, Default)]
pub struct Notes {
    /// By process; those of the module that was loaded last come first.
    tables: BTreeMap<u32, Vec<Arc<Table>>>,
    /// Whether there was any note.
    pub seen: bool,
    /// Stretches of records that could not be read.
    pub lost: u64,
    /// Counts rows by their kinds in place of making them.
    pub counted: Option<[u64; 16]>,
}

impl Notes {
    /// Adds what a module of a process has.
    pub fn add(&mut self, process: u32, table: Arc<Table>) {
        self.tables.entry(process).or_default().insert(0, table);
    }

    /// Makes rows of the notes from `position` on, from row `at` of the block on, and of the records between them that are rows, up to
    /// the first other record or until there are enough rows. Returns where it stopped; what cannot be read is counted, and nothing behind it is read.
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
        let room = end + ROWS_MOST.max(OPERANDS_MOST);
        let mut columns = block.overwrite(room + GROUP);
        let mut recent = tables.first();
        let words = words_of(records);
        while 2 * position < words.len() {
            let address = words[2 * position + 1];
            // A row and its operands are never parted.
            let belongs = plain_kind(address) == Some(Kind::Operand) && at < room;
            if at >= end && !belongs {
                break;
            }
            if !is_note(address) {
                // Taken along, because to stop and begin again costs more.
                let Some(kind) = plain_kind(address) else {
                    break;
                };
                let record = Record {
                    word0: words[2 * position],
                    word1: address,
                };
                put(record, kind, at, &mut columns);
                (at, position) = (at + 1, position + 1);
                continue;
            }
            let found = find(tables, &mut recent, address);
            let notes = &mut words[2 * position..];
            // A loop writes the same note again and again.
            let repeats = |found: &Found<'_>| repeated(notes, address, found.1, end - at);
            let count = found.as_ref().map_or(0, repeats);
            let (Some((table, found)), 1..) = (found, count) else {
                self.lost += 1;
                position = words.len() / 2;
                break;
            };
            position += usize::from(found.records) * count;
            match (&mut self.counted, found.conditions) {
                (Some(counted), None) => add(table, found, count, counted),
                (_, None) => {
                    let groups = table.groups_of(found);
                    code(groups, found.rows, count, at, &mut columns);
                    addresses(groups, found, notes, count, &mut columns.addrs[at..]);
                    at += usize::from(found.rows) * count;
                }
                (_, Some(first)) => {
                    for note in 0..count {
                        let note = take(notes, note * usize::from(found.records));
                        at = some(table, found, first as usize, &note, at, &mut columns);
                    }
                }
            }
        }
        block.truncate(at);
        position
    }
}

/// Operands that a row may have: those of a name of 4096 bytes, and three.
const OPERANDS_MOST: usize = 4096 / 8 + 3;

/// A descriptor and the table that it is in.
type Found<'a> = (&'a Table, &'a Descriptor);

/// The descriptor at an address; `recent` is where the one before was.
#[inline(always)]
fn find<'a>(
    tables: &'a [Arc<Table>],
    recent: &mut Option<&'a Arc<Table>>,
    address: u64,
) -> Option<Found<'a>> {
    let of = |table: &'a Arc<Table>| Some((&**table, table.find(address)?));
    if let Some(found) = recent.and_then(of) {
        return Some(found);
    }
    *recent = tables.iter().find(|table| table.find(address).is_some());
    recent.and_then(of)
}

/// Whether the second word of a record says that it is a note.
#[inline(always)]
fn is_note(word1: u64) -> bool {
    Record { word0: 0, word1 }.kind() == NOTE
}

/// The row's kind, if the record with this second word is a row as it stands.
#[inline(always)]
fn plain_kind(word1: u64) -> Option<Kind> {
    PLAIN[usize::from(Record { word0: 0, word1 }.kind())]
}

/// Writes a record that is a row.
#[inline(always)]
fn put(record: Record, kind: Kind, at: usize, columns: &mut Columns<'_>) {
    columns.kinds[at] = kind;
    columns.sizes[at] = record.size();
    columns.pcs[at] = record.pc();
    columns.addrs[at] = record.word0;
}

/// Counts the rows of so many notes.
fn add(table: &Table, found: &Descriptor, count: usize, counted: &mut [u64; 16]) {
    let groups = table.groups_of(found).iter();
    let kinds = groups.flat_map(|group| group.kinds);
    for kind in kinds.take(usize::from(found.rows)) {
        counted[kind as usize % 16] += count as u64;
    }
}

/// How many whole notes of this descriptor follow one another; as many as make `rows` rows at most.
#[inline(always)]
fn repeated(words: &[u64], address: u64, found: &Descriptor, rows: usize) -> usize {
    // Counted by adding up: most notes come alone, and a division would cost more than all the rest.
    let (step, each) = (
        2 * usize::from(found.records),
        usize::from(found.rows.max(1)),
    );
    let (mut at, mut made, mut count) = (0, 0, 0);
    while made < rows && at + step <= words.len() && words[at + 1] == address {
        at += step;
        made += each;
        count += 1;
    }
    count
}

/// The note at a record. Accesses without a word take the descriptor's place for theirs, so that becomes 0.
#[inline(always)]
fn take(notes: &mut [u64], at: usize) -> [u64; WORDS] {
    let rest = &mut notes[2 * at..];
    rest[1] = 0;
    match rest.first_chunk() {
        Some(note) => *note,
        None => last(rest),
    }
}

/// The last note of a stretch, and nothing behind it.
#[cold]
fn last(rest: &[u64]) -> [u64; WORDS] {
    std::array::from_fn(|index| rest.get(index).copied().unwrap_or(0))
}

/// Writes the rows' kinds, sizes and program counters: those of one note, and then over and over again.
#[inline(always)]
fn code(groups: &[Group], rows: u16, count: usize, at: usize, columns: &mut Columns<'_>) {
    let rows = usize::from(rows);
    let kinds = columns.kinds[at..].as_chunks_mut().0;
    let sizes = columns.sizes[at..].as_chunks_mut().0;
    let pcs = columns.pcs[at..].as_chunks_mut().0;
    for (((group, kinds), sizes), pcs) in groups.iter().zip(kinds).zip(sizes).zip(pcs) {
        *kinds = group.kinds;
        *sizes = group.sizes;
        *pcs = group.pcs;
    }
    if count > 1 {
        let all = at..at + rows * count;
        repeat(&mut columns.kinds[all.clone()], rows);
        repeat(&mut columns.sizes[all.clone()], rows);
        repeat(&mut columns.pcs[all], rows);
    }
}

/// Fills a column with its first rows.
fn repeat<T: Copy>(column: &mut [T], rows: usize) {
    let mut done = rows;
    while done < column.len() {
        let (from, to) = column.split_at_mut(done);
        let next = done.min(to.len());
        to[..next].copy_from_slice(&from[..next]);
        done += next;
    }
}

/// Writes the addresses of the rows of `count` notes, whole groups at a time: what is too much is written over, or taken
/// off at the end.
#[inline(always)]
fn addresses(
    groups: &[Group],
    found: &Descriptor,
    notes: &mut [u64],
    count: usize,
    column: &mut [u64],
) {
    let (length, rows) = (usize::from(found.records), usize::from(found.rows));
    for note in 0..count {
        let rest = &mut notes[2 * length * note..];
        rest[1] = 0;
        let padded;
        let words: &[u64; WORDS] = match rest.first_chunk() {
            Some(words) => words,
            None => {
                padded = last(rest);
                &padded
            }
        };
        let column = column[note * rows..].as_chunks_mut().0;
        for (group, column) in groups.iter().zip(column) {
            *column = std::array::from_fn::<u64, GROUP, _>(|lane| {
                let word = words[usize::from(group.words[lane]) % WORDS];
                word.wrapping_add(group.displacements[lane])
            });
        }
    }
}

/// Those rows of a descriptor whose conditions hold.
fn some(
    table: &Table,
    found: &Descriptor,
    conditions: usize,
    words: &[u64; WORDS],
    mut at: usize,
    columns: &mut Columns<'_>,
) -> usize {
    let word = |place: u16| words[usize::from(place) % WORDS];
    for row in 0..usize::from(found.rows) {
        let group = &table.groups[found.group as usize + row / GROUP];
        let lane = row % GROUP;
        let mut address = word(group.words[lane]).wrapping_add(group.displacements[lane]);
        let mut size = group.sizes[lane];
        match table.conditions[conditions + row] {
            Condition::Always => {}
            Condition::OneLane(place, bit) => {
                if word(place) >> bit & 1 == 0 {
                    continue;
                }
            }
            Condition::Lanes(place, lanes) => {
                let active = word(place) & (u64::MAX >> (64 - lanes));
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
        let rows = block
            .rows()
            .map(|row| (row.kind, row.size, row.pc, row.addr));
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
            &[
                (6, 1, 0, 0),
                (14, 0, 1, 0),
                (1, 8, 2, -8),
                (2, 4, HERE, 0x20),
                (3, 4, 2, 4),
            ],
        );
        let note = [record(0x7000, LOW), record(0x5555, 0x600)];
        let twice = &mut [note, note].concat()[..];
        let (rows, lost) = rows(&[one], twice);
        let expected = [
            (Kind::Enter, 1, 0x5001, 0x7000),
            (Kind::Operand, 0, 0, 0x5555),
            (Kind::Load, 8, 0x5003, 0x5f8),
            (Kind::Store, 4, 0x5004, LOW + 8 + 3 * 8 + 4 + 0x20),
            (Kind::Atomic, 4, 0x5005, 0x604),
        ];
        assert_eq!(rows, [expected, expected].concat());
        assert_eq!(lost, 0);
    }

    #[test]
    fn masks_say_which_lanes_are_there() {
        let contiguous = bytes(0, 2, &[(1, 4, 0, 0), (0x41, 0, 1, 8)]);
        let gather = bytes(
            0,
            3,
            &[(1, 8, 0, 0), (0x40, 0, 2, 0), (1, 8, 1, 0), (0x40, 0, 2, 1)],
        );
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
        for bad in [
            vec![record(1, 0x9999)],
            vec![record(1, LOW)],
            vec![record(1, 0)],
        ] {
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

    #[test]
    fn a_row_keeps_its_operand_wherever_the_cut_falls() {
        for before in ROWS_WANTED - 3..ROWS_WANTED + 3 {
            let one = bytes(0, 1, &[(1, 8, 0, 0)]);
            let mut notes = Notes::default();
            notes.add(0, Arc::new(table(&[one], LOW)));
            let mut records = vec![record(8, LOW); before];
            records.push(Record::new(reuselens_wire::WireKind::Alloc, 0, 9, 0x5000));
            records.push(Record::new(reuselens_wire::WireKind::Operand, 0, 0, 64));
            let (mut position, mut kinds) = (0, Vec::new());
            while position < records.len() {
                let mut block = Block::new();
                position = notes.expand(0, &mut records, position, 0, &mut block);
                assert_ne!(block.kinds()[0], Kind::Operand, "{before}");
                kinds.extend_from_slice(block.kinds());
            }
            assert_eq!(kinds.len(), before + 2);
            assert_eq!(kinds[before..], [Kind::Alloc, Kind::Operand]);
        }
    }
}
