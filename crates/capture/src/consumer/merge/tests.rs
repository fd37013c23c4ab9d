//! Tests of the order in which pieces of blocks are delivered.

use std::sync::Arc;

use reuselens_wire::RECORD_BYTES;

use super::*;

/// Bytes of a block with this number of records.
fn bytes(records: usize) -> usize {
    BLOCK_HEADER_BYTES + records * RECORD_BYTES
}

/// A segment with blocks whose thread is their number, and their marks: stamps, and records before
/// them.
fn segment(blocks: &[&[(u64, usize)]]) -> Segment {
    let segment = Segment::create(0).unwrap();
    for (block, marked) in (0..).zip(blocks) {
        let header = segment.block(block).unwrap();
        header.thread.store(block, Ordering::Relaxed);
        for &(stamp, records) in *marked {
            let marks = segment.marks(block).unwrap();
            assert!(header.mark(marks, stamp, bytes(records) as u64));
        }
    }
    segment
}

/// Cuts parts that begin with their blocks: the pieces, and the records before the tail.
fn raws(segment: &Segment, parts: &[(u32, usize, u64)]) -> (Vec<RawBlock>, usize) {
    let part = |&(block, records, end): &(u32, usize, u64)| Unread {
        block,
        from: BLOCK_HEADER_BYTES,
        to: bytes(records),
        begin: 1,
        end,
    };
    let parts: Vec<Unread> = parts.iter().map(part).collect();
    let mut into = Vec::new();
    let tail = cut(segment, &parts, &mut into);
    (into, (tail.from - BLOCK_HEADER_BYTES) / RECORD_BYTES)
}

/// As [`raws`]; thread and records of each piece.
fn pieces(segment: &Segment, parts: &[(u32, usize, u64)]) -> (Vec<(u32, usize)>, usize) {
    let (raws, tail) = raws(segment, parts);
    let pieces = raws.iter().map(|raw| (raw.thread, raw.records.len()));
    (pieces.collect(), tail)
}

#[test]
fn pieces_are_ordered_by_their_marks() {
    // Two threads hand over to each other every 100 records.
    let segment = segment(&[&[(10, 100), (30, 200), (50, 300)], &[(20, 100), (40, 200)]]);
    let found = pieces(&segment, &[(0, 350, 60), (1, 250, 60)]);
    let right = vec![(0, 100), (1, 100), (0, 100), (1, 100), (0, 150)];
    assert_eq!(found, (right, 200));
}

#[test]
fn adjacent_pieces_of_a_thread_are_joined() {
    let segment = segment(&[&[(10, 5), (12, 9)], &[(20, 3)]]);
    let found = pieces(&segment, &[(0, 9, 60), (1, 8, 60)]);
    assert_eq!(found, (vec![(0, 9), (1, 3)], 3));
}

#[test]
fn part_without_marks_is_ordered_by_its_end() {
    let segment = segment(&[&[], &[]]);
    let found = pieces(&segment, &[(0, 40, 60), (1, 70, 60)]);
    assert_eq!(found, (vec![(0, 40)], 0));
}

#[test]
fn records_marked_later_are_not_delivered_yet() {
    let segment = segment(&[&[(10, 5), (70, 8), (80, 9)]]);
    assert_eq!(before(&segment, 0, bytes(20), 60), bytes(8));
    assert_eq!(before(&segment, 0, bytes(7), 60), bytes(7));
    assert_eq!(before(&segment, 0, bytes(20), 90), bytes(20));
}

#[test]
fn overwritten_marks_lose_no_records() {
    let segment = segment(&[&[(10, 5), (3, 2), (12, 1 << 20)], &[]]);
    let header = segment.block(0).unwrap();
    header.marks.store(u32::MAX, Ordering::Relaxed);
    let (found, rest) = pieces(&segment, &[(1, 4, 60), (0, 9, 60)]);
    assert_eq!((found, rest), (vec![(0, 9), (1, 4)], 9));
}

#[test]
fn piece_begins_when_its_thread_has_waited() {
    // The first thread waits from 10 to 30 while the second one works.
    let segment = segment(&[&[(10, 5), (30, 5), (40, 9)], &[(12, 0), (25, 7)]]);
    let (found, _) = raws(&segment, &[(1, 7, 50), (0, 9, 50)]);
    let times = found
        .iter()
        .map(|raw| (raw.thread, raw.first_stamp, raw.last_stamp));
    assert_eq!(
        times.collect::<Vec<_>>(),
        [(0, 1, 10), (1, 12, 25), (0, 30, 40)]
    );
}

/// What a thread left: when its block began, its records and its marks.
fn left(thread: u32, begin: u64, records: usize, marks: &[(u64, usize)]) -> Remains {
    let raw = RawBlock {
        thread,
        first_stamp: begin,
        records: vec![Default::default(); records],
        ..RawBlock::default()
    };
    let marks = marks.to_vec();
    Remains { raw, marks }
}

#[test]
fn remains_of_a_process_are_ordered_by_their_marks() {
    let remains = vec![
        left(1, 5, 7, &[(20, 3)]),
        left(0, 2, 9, &[(10, 4), (30, 8)]),
        left(2, 1, 0, &[]),
    ];
    let found = cut_remains(remains);
    let found = found.iter().map(|raw| (raw.thread, raw.records.len()));
    let right = [(0, 4), (1, 3), (0, 5), (1, 4)];
    assert_eq!(found.collect::<Vec<_>>(), right);
}

#[test]
fn block_shorter_than_what_was_read_has_no_marked_records() {
    let segment = segment(&[&[(10, 5)]]);
    let found = marked_records(&segment, 0, bytes(9), bytes(2));
    assert_eq!(found, vec![(10, 0)]);
}

#[test]
fn remains_of_a_living_thread_end_after_they_begin() {
    let segment = Arc::new(segment(&[&[]]));
    segment
        .block(0)
        .unwrap()
        .first_stamp
        .store(10, Ordering::Relaxed);
    let slot = segment.slot(0).unwrap();
    slot.block.store(0, Ordering::Relaxed);
    slot.cursor.store(bytes(3) as u64, Ordering::Relaxed);
    let mut consumer = Consumer::new(Arc::clone(&segment));
    consumer.read[0].part_stamp = 50;
    let raw = consumer.look_at(0).unwrap().raw;
    assert_eq!((raw.first_stamp, raw.last_stamp), (50, 50));
    assert_eq!(raw.records.len(), 3);
}
