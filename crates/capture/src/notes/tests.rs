//! Notes become the rows that they stand for.

use super::table::tests::{bytes, table};
use super::*;

const LOW: u64 = 0x4000;
const HERE: u16 = 0xffff;

/// The rows of notes in a process with one table, as kind, size, pc, address; how many stretches were lost.
fn rows(descriptors: &[Vec<u8>], records: &mut [Record]) -> (Vec<(Kind, u8, u64, u64)>, u64) {
    let mut notes = Notes::default();
    notes.add(3, Arc::new(table(descriptors, LOW)));
    let mut block = Block::new();
    notes.expand(of(3), records, 0, 0, &mut block);
    let rows = block
        .rows()
        .map(|row| (row.kind, row.size, row.pc, row.addr));
    (rows.collect(), notes.lost)
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
        position = notes.expand(of(0), &mut records, position, 0, &mut block);
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
            position = notes.expand(of(0), &mut records, position, 0, &mut block);
            assert_ne!(block.kinds()[0], Kind::Operand, "{before}");
            kinds.extend_from_slice(block.kinds());
        }
        assert_eq!(kinds.len(), before + 2);
        assert_eq!(kinds[before..], [Kind::Alloc, Kind::Operand]);
    }
}
