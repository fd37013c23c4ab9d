//! Tests of the decoder with records as programs write them, cut off, and damaged.

use super::*;
use reuselens_wire::enter_words;

fn decoder(records: Vec<Record>) -> Decoder {
    let mut decoder = Decoder::default();
    decoder.begin(RawBlock {
        thread: 3,
        stack_high: 0x8000,
        records,
        ..RawBlock::default()
    });
    decoder
}

fn record(kind: WireKind, size: u8, pc: u64, word0: u64) -> Record {
    Record::new(kind, size, pc, word0)
}

#[test]
fn rows_and_events_keep_their_order() {
    let mut decoder = decoder(vec![
        record(WireKind::Load, 8, 0x10, 0x100),
        record(WireKind::Thread, 0, 0, 77),
        record(WireKind::Operand, 0, 0, 0x4000),
        record(WireKind::Operand, 0, 0, 0x8000),
        record(WireKind::Operand, 0, 0, 4),
        record(
            WireKind::Operand,
            0,
            0,
            u64::from_le_bytes(*b"left\0\0\0\0"),
        ),
        enter_words(0x20, 0x30, 0x10),
        record(WireKind::Store, 4, 0x12, 0x104),
    ]);
    let mut block = Block::new();
    assert_eq!(decoder.next(&mut block), Some(Step::Block));
    assert_eq!(
        block.row(0),
        Some(Row {
            kind: Kind::Load,
            size: 8,
            pc: 0x10,
            addr: 0x100
        })
    );
    let Some(Step::Event(Event::Thread(thread))) = decoder.next(&mut block) else {
        panic!("a thread event follows");
    };
    assert_eq!(
        (thread.tid, thread.stack_low, thread.id, &*thread.name),
        (77, 0x4000, ThreadId(3), "left")
    );
    assert_eq!(decoder.next(&mut block), Some(Step::Block));
    assert_eq!(block.kinds(), [Kind::Enter, Kind::Operand, Kind::Store]);
    assert_eq!(block.addrs(), [0x8000 - 0x80, 0x30, 0x104]);
    assert_eq!(decoder.next(&mut block), None);
}

#[test]
fn torn_end_or_garbage_ends_the_block_without_its_rows() {
    for last in [
        record(WireKind::Alloc, 0, 1, 0x500),
        Record {
            word0: 1,
            word1: 0x2f << 56,
        },
    ] {
        let mut decoder = decoder(vec![record(WireKind::Load, 8, 0x10, 0x100), last]);
        let mut block = Block::new();
        assert_eq!(decoder.next(&mut block), Some(Step::Block));
        assert_eq!(block.len(), 1);
        assert_eq!(decoder.next(&mut block), None);
    }
}

#[test]
fn renamed_thread_is_announced_again() {
    let number = |word| record(WireKind::Operand, 0, 0, word);
    let text = |name: &[u8; 8]| number(u64::from_le_bytes(*name));
    let named = record(WireKind::ThreadName, 0, 0, 0);
    let mut records = vec![record(WireKind::Process, 0, 0, 9), number(0), number(2)];
    records.extend([number(8), text(b"/bin/abc")]);
    records.extend([record(WireKind::Thread, 0, 0, 77), number(1), number(2)]);
    // The program's own name, that of a link to it, is none; the same again is no news.
    records.extend([number(3), text(b"lnk\0\0\0\0\0"), named, number(3)]);
    records.extend([
        text(b"lnk\0\0\0\0\0"),
        named,
        number(4),
        text(b"left\0\0\0\0"),
    ]);
    records.extend([named, number(4), text(b"left\0\0\0\0")]);
    // Cut off.
    records.extend([named, number(9), text(b"leftmost")]);
    let mut decoder = decoder(records);
    let mut block = Block::new();
    let mut names = Vec::new();
    while let Some(step) = decoder.next(&mut block) {
        if let Step::Event(Event::Thread(thread)) = step {
            assert_eq!(
                (thread.tid, thread.stack_low, thread.id),
                (77, 1, ThreadId(3))
            );
            names.push(thread.name);
        }
    }
    assert_eq!(names, ["", "left"]);
}

/// Threads come to the measured part of a burst one after the other, and hand on what they did
/// before it later.
#[test]
fn only_what_a_thread_does_in_the_measured_part_is_measured() {
    let burst = |number: u64| Stratum::of(number << 18).unwrap().burst(5);
    let (one, two) = (burst(8), burst(9));
    let mut decoder = Decoder {
        strata: Some(5),
        ..Decoder::default()
    };
    let begin = |decoder: &mut Decoder, thread| {
        decoder.begin(RawBlock {
            thread,
            ..RawBlock::default()
        });
        decoder.events.pop_front()
    };
    let filling = |first| Some(Sampling::Filling { first });
    let measured = |first| {
        Some(Sampling::Measured {
            first,
            stands_for: Stratum::STANDS_FOR,
        })
    };
    assert_eq!(begin(&mut decoder, 0), None);
    // What no burst begins with, and what is no number at all.
    for wild in [one.begin + 1, 5, u64::MAX] {
        assert_eq!(decoder.sampling(wild), None);
    }
    assert_eq!(decoder.sampling(one.begin), filling(one.begin));
    assert_eq!(decoder.sampling(one.measured), measured(one.begin));
    assert_eq!(decoder.sampling(one.measured), None);
    // A thread that is not there yet, which then comes there.
    assert_eq!(
        begin(&mut decoder, 1),
        filling(one.begin).map(Event::Sampling)
    );
    assert_eq!(decoder.sampling(one.measured), measured(one.begin));
    assert_eq!(begin(&mut decoder, 0), None);
    // The next burst. The other thread is late, and stays so.
    assert_eq!(decoder.sampling(two.measured), measured(two.begin));
    assert_eq!(
        begin(&mut decoder, 1),
        filling(two.begin).map(Event::Sampling)
    );
    assert_eq!(decoder.sampling(one.begin), None);
    assert_eq!(
        begin(&mut decoder, 0),
        measured(two.begin).map(Event::Sampling)
    );
}
