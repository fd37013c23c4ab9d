//! Tests of the rows that block records are expanded to.

use super::descriptors::tests::{bytes, descriptors};
use super::*;
use reuselens_wire::{DictionaryEntry, EntryRow, NO_WORD, block_record_head, head_word};

const LOW: u64 = 0x4000;
const HERE: u16 = 0xffff;
/// Rows that a block is filled up to.
const WANTED: usize = 4096;

/// Rows as kind, size, pc, address.
type Rows = Vec<(Kind, u8, u64, u64)>;

/// The rows of block records in a process with these descriptors; how many raw blocks were lost.
fn rows(all: &[Vec<u8>], records: &mut [Record]) -> (Rows, u64) {
    let mut block_records = BlockRecords::default();
    block_records.add(3, Arc::new(descriptors(all, LOW)));
    let mut block = Block::new();
    block_records.expand(of(3), records, 0, 0, WANTED, &mut block);
    let rows = block
        .rows()
        .map(|row| (row.kind, row.size, row.pc, row.addr));
    (rows.collect(), block_records.lost)
}

fn of(process: u32) -> Origin {
    Origin {
        process,
        ..Origin::default()
    }
}

fn record(word0: u64, word1: u64) -> Record {
    Record { word0, word1 }
}

#[test]
fn address_is_operand_plus_displacement() {
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
    let once = [record(0x7000, LOW), record(0x5555, 0x600)];
    let twice = &mut [once, once].concat()[..];
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
fn lanes_outside_the_mask_are_skipped() {
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
fn unknown_or_torn_record_ends_the_block_and_counts() {
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
fn long_block_is_cut_between_records() {
    let one = bytes(0, 1, &vec![(1, 8, 0, 0); 200]);
    let mut block_records = BlockRecords::default();
    block_records.add(0, Arc::new(descriptors(&[one], LOW)));
    let mut records = vec![record(8, LOW); 50];
    let (mut position, mut total) = (0, 0);
    while position < records.len() {
        let mut block = Block::new();
        position = block_records.expand(of(0), &mut records, position, 0, WANTED, &mut block);
        assert!(block.len() <= WANTED + ROWS_MOST);
        total += block.len();
    }
    assert_eq!(total, 50 * 200);
}

#[test]
fn cut_keeps_row_and_operand_together() {
    for before in WANTED - 3..WANTED + 3 {
        let one = bytes(0, 1, &[(1, 8, 0, 0)]);
        let mut block_records = BlockRecords::default();
        block_records.add(0, Arc::new(descriptors(&[one], LOW)));
        let mut records = vec![record(8, LOW); before];
        records.push(Record::new(reuselens_wire::WireKind::Alloc, 0, 9, 0x5000));
        records.push(Record::new(reuselens_wire::WireKind::Operand, 0, 0, 64));
        let (mut position, mut kinds) = (0, Vec::new());
        while position < records.len() {
            let mut block = Block::new();
            position = block_records.expand(of(0), &mut records, position, 0, WANTED, &mut block);
            assert_ne!(block.kinds()[0], Kind::Operand, "{before}");
            kinds.extend_from_slice(block.kinds());
        }
        assert_eq!(kinds.len(), before + 2);
        assert_eq!(kinds[before..], [Kind::Alloc, Kind::Operand]);
    }
}

/// A generator of pseudo-random numbers, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(99);
        (self.0 >> 33) % below
    }
}

#[test]
fn repeated_record_expands_to_each_iteration() {
    const FROM_ZERO: u16 = 0xfffe;
    let mut numbers = Numbers(3);
    for _ in 0..300 {
        let (words, rows) = (2 + numbers.next(6) as u16, 1 + numbers.next(14));
        let most = ROWS_MOST as u64 / rows;
        let (mut entries, mut moves) = (vec![(0x42, 0, 1, 0)], Vec::new());
        for _ in 0..rows {
            let word = numbers.next(u64::from(words)) as u16;
            let row = (
                1 + numbers.next(2) as u8,
                8,
                word,
                numbers.next(99) as i32 - 50,
            );
            entries.push(row);
            let by = [FROM_ZERO, numbers.next(u64::from(words)) as u16][numbers.next(2) as usize];
            let plus = numbers.next(64) as i32 - 32;
            let moved = numbers.next(4) > 0;
            if moved {
                entries.push((0x43, 0, by, plus));
            }
            moves.push((row, moved.then_some((by, plus))));
        }
        let descriptor = bytes(0, words, &entries);
        let (mut records, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..20 {
            let mut record: Vec<u64> = (0..words).map(|_| numbers.next(1 << 40)).collect();
            record[1] = 1 + numbers.next(most);
            for time in 0..record[1] {
                for ((kind, size, word, displacement), step) in &moves {
                    let by = step.map_or(0, |(by, plus)| {
                        let word = record.get(usize::from(by)).copied().unwrap_or(0);
                        word.wrapping_add_signed(i64::from(plus))
                    });
                    let last =
                        record[usize::from(*word)].wrapping_add_signed(i64::from(*displacement));
                    let back = by.wrapping_mul(record[1] - 1 - time);
                    let kind = Kind::from_u8(*kind).unwrap();
                    expected.push((kind, *size, last.wrapping_sub(back)));
                }
            }
            record.insert(1, LOW);
            record.resize(record.len().next_multiple_of(2), 77);
            let pairs = record.as_chunks().0.iter();
            records.extend(pairs.map(|[a, b]| self::record(*a, *b)));
        }
        let mut block_records = BlockRecords::default();
        let found = descriptors(std::slice::from_ref(&descriptor), LOW);
        block_records.add(3, Arc::new(found));
        let (mut position, mut found) = (0, Vec::new());
        while position < records.len() {
            let mut block = Block::new();
            position = block_records.expand(of(3), &mut records, position, 0, WANTED, &mut block);
            found.extend(block.rows().map(|row| (row.kind, row.size, row.addr)));
        }
        assert_eq!(block_records.lost, 0);
        assert!(found == expected);
    }
}

#[test]
fn absurd_iteration_count_ends_the_block() {
    let one = bytes(0, 2, &[(0x42, 0, 1, 0), (1, 8, 0, 0), (2, 8, 0, 0)]);
    for (times, made) in [(128, 256), (0, 0), (129, 0), (u64::MAX, 0), (1 << 63, 0)] {
        let mut records = [record(0x100, LOW), record(times, 0)];
        let (rows, lost) = rows(std::slice::from_ref(&one), &mut records);
        assert_eq!((rows.len(), lost), (made, u64::from(made == 0)), "{times}");
    }
    let torn = &mut [record(0x100, LOW)];
    assert_eq!(rows(&[one], torn), (Vec::new(), 1));
}

/// A row of an entry, and what it becomes in a block record of these words.
fn row_of(row: &EntryRow, words: &[u64]) -> Option<(Kind, u8, u64, u64)> {
    let record = record(0, row.meta);
    let (word, mask) = row.words();
    let base = if word == NO_WORD {
        0
    } else {
        words[usize::from(word)]
    };
    let (mut size, mut address) = (record.size(), base.wrapping_add(row.displacement));
    if let Some((mask, lanes)) = mask {
        let active: Vec<u64> = (0..u64::from(lanes))
            .filter(|lane| words[usize::from(mask)] >> lane & 1 == 1)
            .collect();
        let (first, last) = (*active.first()?, *active.last()?);
        address = address.wrapping_add(first * u64::from(size));
        size = (u64::from(size) * (last - first + 1)).min(255) as u8;
    }
    let kind = Kind::from_u8(record.kind()).unwrap();
    Some((kind, size, record.pc(), address))
}

#[test]
fn block_records_of_rewritten_code_expand_by_their_entries() {
    let (expected, found, block_records) = rewritten();
    assert_eq!(block_records.lost, 0);
    assert!(!block_records.has_compiled);
    assert!(found.len() > 50_000);
    assert!(found == expected);
}

#[test]
fn equal_conditional_records_are_cut() {
    let masked = bytes(
        0,
        2,
        &[
            (1, 64, 0, 0),
            (0x41, 0, 1, 1),
            (2, 64, 0, 0),
            (0x41, 0, 1, 1),
        ],
    );
    let mut block_records = BlockRecords::default();
    block_records.add(0, Arc::new(descriptors(std::slice::from_ref(&masked), LOW)));
    let mut records = [record(0x100, LOW), record(1, 0)].repeat(2000);
    let (mut position, mut total) = (0, 0);
    while position < records.len() {
        let mut block = Block::new();
        position = block_records.expand(of(0), &mut records, position, 0, WANTED, &mut block);
        total += block.len();
    }
    assert_eq!((total, block_records.lost), (4000, 0));
}

/// The rows that a stream of many block records stands for, the rows that it is expanded to, and
/// what has expanded it.
fn rewritten() -> (Rows, Rows, BlockRecords) {
    let mut block_records = BlockRecords::default();
    let (words, expected) = stream(&mut block_records);
    let pairs = words.as_chunks().0.iter();
    let mut records: Vec<Record> = pairs.map(|[a, b]| record(*a, *b)).collect();
    let (mut position, mut found) = (0, Vec::new());
    while position < records.len() {
        let mut block = Block::new();
        position = block_records.expand(of(1), &mut records, position, 0, WANTED, &mut block);
        let rows = block.rows();
        found.extend(rows.map(|row| (row.kind, row.size, row.pc, row.addr)));
    }
    (expected, found, block_records)
}

/// A stream of many block records of rewritten code, whose entries are now known, and the rows that
/// it stands for.
fn stream(block_records: &mut BlockRecords) -> (Vec<u64>, Rows) {
    let mut numbers = Numbers(7);
    let mut entries = Vec::new();
    for index in 0..40_u32 {
        let words = 2 * (1 + numbers.next(9) as u32);
        let rows: Vec<EntryRow> = (0..numbers.next(14))
            .map(|_| {
                let kind = [WireKind::Load, WireKind::Store][numbers.next(2) as usize];
                let size = 1 << numbers.next(4);
                let pc = 0x4000 + numbers.next(1000);
                let row = EntryRow {
                    meta: Record::new(kind, size, pc, 0).word1,
                    displacement: numbers.next(5000),
                    word: numbers.next(u64::from(words)),
                };
                // Each eighth entry has conditional rows.
                if index % 8 == 0 {
                    row.masked(numbers.next(u64::from(words)) as u16 & !1, 16)
                } else {
                    row
                }
            })
            .collect();
        let entry = DictionaryEntry {
            rows: rows.len() as u32,
            words,
            ..DictionaryEntry::default()
        };
        block_records
            .dictionary
            .add(index * 30, &entry, &rows)
            .unwrap();
        entries.push((words, rows));
    }
    let (mut words, mut expected) = (Vec::new(), Vec::new());
    for _ in 0..3000 {
        let index = numbers.next(40) as usize;
        let (count, rows) = &entries[index];
        // Many block records are alone, some have many equal neighbours.
        for _ in 0..[1, 1, 1, 1, 2, 40][numbers.next(6) as usize] {
            let mut record: Vec<u64> = (0..*count).map(|_| numbers.next(1 << 30)).collect();
            expected.extend(rows.iter().filter_map(|row| row_of(row, &record)));
            record[1] = head_word(block_record_head(index as u32 * 30, *count));
            words.extend(record);
        }
    }
    (words, expected)
}

#[test]
fn unknown_head_or_absurd_entry_is_refused() {
    let mut block_records = BlockRecords::default();
    let entry = |words| DictionaryEntry {
        rows: 1,
        words,
        ..DictionaryEntry::default()
    };
    let row = |kind: u64, word| EntryRow {
        meta: kind << 56,
        displacement: 0,
        word,
    };
    let add = |block_records: &mut BlockRecords, words, kind, word| {
        let rows = [row(kind, word)];
        block_records
            .dictionary
            .add(4, &entry(words), &rows)
            .is_some()
    };
    assert!(
        !add(&mut block_records, 2, 1, 2),
        "an operand after the block record"
    );
    assert!(
        !add(&mut block_records, 66, 1, 2),
        "a block record that is too long"
    );
    assert!(!add(&mut block_records, 2, 200, 0), "no kind");
    assert!(add(&mut block_records, 2, 1, 0));
    for (head, lost) in [
        (block_record_head(4, 2), 0),
        (block_record_head(4, 4), 1),
        (block_record_head(5, 2), 2),
    ] {
        let mut records = [record(8, head_word(head)), record(0, 0)];
        block_records.expand(of(1), &mut records[..1], 0, 0, WANTED, &mut Block::new());
        assert_eq!(block_records.lost, lost);
    }
}
