//! A native file in segments: together they deliver what the file does.

use std::io::Cursor;

use proptest::prelude::*;
use reuselens_io::Input;
use reuselens_rltrace::Reader;
use reuselens_testing::traces::{Piece, Random, drain, native, pieces};
use reuselens_trace::{
    AnySegment, Block, Event, ItemProjection, Kind, Note, Projection, Row, Segmented, Selection,
    Source, Step, Stop, Stoppable, TraceError, TraceSegment,
};
use reuselens_units::{Accesses, Granularity};

fn reader(bytes: &[u8]) -> Reader {
    let input = Input::seekable(Cursor::new(bytes.to_vec()), "trace").unwrap();
    Reader::with_threads(input, 1).unwrap()
}

/// Items of all accesses.
fn projection() -> ItemProjection {
    ItemProjection::new(Granularity::LINE_64, |_| true)
}

fn segments(bytes: &[u8], most: usize) -> Vec<AnySegment> {
    let mut reader = reader(bytes);
    reader.segments(projection(), most, Accesses(1)).unwrap()
}

fn items_of(bytes: &[u8]) -> (Vec<Piece>, Option<String>) {
    let mut reader = reader(bytes);
    assert!(reader.project(Projection::Items(projection())));
    let (pieces, error) = drain(&mut reader);
    (pieces, error.map(|error| error.to_string()))
}

/// What segments deliver one after the other, up to the first error. Each begins with the events
/// of those before.
fn together(segments: Vec<AnySegment>) -> (Vec<Piece>, Option<String>) {
    let mut all: Vec<Piece> = Vec::new();
    for mut segment in segments {
        let (pieces, error) = drain(&mut segment);
        let event = |piece: &&Piece| matches!(piece, Piece::Event(_));
        let before: Vec<Piece> = all.iter().filter(event).cloned().collect();
        let (repeated, own) = pieces.split_at(before.len());
        assert_eq!(repeated, before);
        all.extend_from_slice(own);
        if let Some(error) = error {
            return (all, Some(error.to_string()));
        }
    }
    (all, None)
}

/// A load of each address.
fn loads(addrs: impl Iterator<Item = u64>) -> Piece {
    let mut block = Block::new();
    for addr in addrs {
        block.push(Row {
            kind: Kind::Load,
            size: 8,
            pc: 1,
            addr,
        });
    }
    Piece::Block(block)
}

/// Some blocks, and an event after every tenth.
fn some() -> Vec<Piece> {
    let event = |at: u64| {
        Piece::Event(Event::Note(Note {
            code: format!("note-{at}"),
            message: String::new(),
            hint: String::new(),
        }))
    };
    let one = |at: u64| {
        let loads = loads((0..100 + at).map(|row| at * 1000 + row * 8));
        let event = at.is_multiple_of(10).then(|| event(at));
        std::iter::once(loads).chain(event)
    };
    (0..40).flat_map(one).collect()
}

/// The pieces up to the first block whose named accesses may be to several items.
fn before_straddling(
    (mut pieces, error): (Vec<Piece>, Option<String>),
) -> (Vec<Piece>, Option<String>) {
    let straddles =
        |piece: &Piece| matches!(piece, Piece::Block(block) if block.item_batch.elements_straddle);
    let Some(place) = pieces.iter().position(straddles) else {
        return (pieces, error);
    };
    pieces.truncate(place);
    (pieces, None)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn segments_deliver_what_the_file_does(pieces in pieces(), flush_every in 1..4_usize, most in 1..9_usize) {
        let bytes = native(&pieces, flush_every);
        let segments = segments(&bytes, most);
        prop_assert!((1..=most).contains(&segments.len()) || pieces.is_empty());
        prop_assert_eq!(before_straddling(together(segments)), before_straddling(items_of(&bytes)));
    }
}

#[test]
fn segments_are_as_many_and_as_long_as_asked_for() {
    let bytes = native(&some(), 2);
    let whole = items_of(&bytes);
    for most in 1..9 {
        let segments = segments(&bytes, most);
        assert_eq!(segments.len(), most);
        assert_eq!(together(segments), whole);
    }
    let accesses = (0..40).map(|at| 100 + at).sum::<u64>();
    let loads = |pieces: &[Piece]| {
        let items = pieces.iter().map(|piece| match piece {
            Piece::Block(block) => block.item_batch.items.len() as u64,
            Piece::Event(_) => 0,
        });
        items.sum::<u64>()
    };
    for (shortest, some) in [
        (accesses / 4, 2..=4),
        (accesses / 2 + 1, 1..=1),
        (accesses + 1, 1..=1),
    ] {
        let mut reader = reader(&bytes);
        let mut segments = || {
            reader
                .segments(projection(), 8, Accesses(shortest))
                .unwrap()
        };
        assert_eq!(together(segments()), whole);
        let lengths = segments()
            .into_iter()
            .map(|mut segment| loads(&drain(&mut segment).0));
        let lengths: Vec<u64> = lengths.collect();
        assert!(some.contains(&lengths.len()), "{lengths:?}");
        assert!(lengths.len() == 1 || lengths.iter().all(|length| *length >= shortest));
        // The file itself is as it was.
        assert!(reader.project(Projection::Items(projection())));
        assert_eq!(drain(&mut reader).0, whole.0);
    }
}

/// Whenever a segment is split, it ends where its half begins.
#[test]
fn split_segments_deliver_the_same() {
    let bytes = native(&some(), 2);
    let whole = items_of(&bytes);
    let (mut random, mut all_splits) = (Random(6), 0);
    for _ in 0..30 {
        let mut source = reader(&bytes);
        let mut waiting = source.segments(projection(), 2, Accesses(1)).unwrap();
        let (mut all, mut splits) = (Vec::new(), 0);
        while !waiting.is_empty() {
            let (mut segment, mut events) = (waiting.remove(0), 0);
            let before = all
                .iter()
                .filter(|piece| matches!(piece, Piece::Event(_)))
                .count();
            let mut block = Block::new();
            loop {
                if random.below(3) == 0
                    && let Some(half) = segment.split_off(Accesses(400)).unwrap()
                {
                    waiting.insert(0, half);
                    splits += 1;
                }
                match segment.next(&mut block).unwrap() {
                    Step::Block => all.push(Piece::Block(block.clone())),
                    Step::Event(_) if events < before => events += 1,
                    Step::Event(event) => all.push(Piece::Event(event)),
                    Step::End => break,
                }
            }
        }
        assert_eq!(all, whole.0, "{splits} splits");
        all_splits += splits;
    }
    assert!(all_splits > 30, "{all_splits}");
    let mut short = reader(&bytes)
        .segments(projection(), 1, Accesses(1))
        .unwrap();
    let accesses = (0..40).map(|at| 100 + at).sum::<u64>();
    assert!(
        short[0]
            .split_off(Accesses(accesses / 2 + 1))
            .unwrap()
            .is_none()
    );
    // A file that is no segment is not split.
    assert!(reader(&bytes).split_off(Accesses(1)).unwrap().is_none());
}

#[test]
fn sources_without_index_have_no_segments() {
    let bytes = native(&some(), 2);
    let piped = Input::new(Cursor::new(bytes.clone()), "pipe");
    let mut piped = Reader::new(piped).unwrap();
    assert!(
        piped
            .segments(projection(), 2, Accesses(1))
            .unwrap()
            .is_empty()
    );
    let mut part = reader(&bytes);
    part.select(Selection {
        rows: 0..7,
        ..Selection::default()
    })
    .unwrap();
    assert!(
        part.segments(projection(), 2, Accesses(1))
            .unwrap()
            .is_empty()
    );
    let mut small = reader(&bytes);
    let small_items = ItemProjection::new(Granularity::BYTE, |_| true);
    let segments = small.segments(small_items, 2, Accesses(1)).unwrap();
    assert!(segments.is_empty());
    let mut begun = reader(&bytes);
    begun.next(&mut Block::new()).unwrap();
    assert!(
        begun
            .segments(projection(), 2, Accesses(1))
            .unwrap()
            .is_empty()
    );
    // Cut off: no index.
    let mut cut = reader(&bytes[..bytes.len() - 1]);
    assert!(
        cut.segments(projection(), 2, Accesses(1))
            .unwrap()
            .is_empty()
    );
}

/// Whatever is wrong, nothing is delivered before the first error that the file would not deliver.
#[test]
fn damaged_file_is_delivered_up_to_the_damage() {
    let bytes = native(&some(), 2);
    let (mut random, mut damaged) = (Random(3), 0);
    for _ in 0..400 {
        let mut changed = bytes.clone();
        changed[random.below(bytes.len())] ^= 1 << random.below(8);
        let Ok(mut reader) = Reader::with_threads(
            Input::seekable(Cursor::new(changed.clone()), "trace").unwrap(),
            1,
        ) else {
            continue;
        };
        let segments = reader.segments(projection(), 3, Accesses(1)).unwrap();
        if !segments.is_empty() {
            assert_eq!(together(segments), items_of(&changed));
            damaged += 1;
        }
    }
    assert!(damaged > 100, "{damaged}");
}

/// The bytes from the index on: the last 24 say where that is.
fn index_of(bytes: &[u8]) -> &[u8] {
    let at = u64::from_le_bytes(*bytes[bytes.len() - 16..].first_chunk().unwrap());
    &bytes[at as usize..]
}

/// A file with the index of another, under good checksums.
fn with_index_of(bytes: &[u8], other: &[u8]) -> Vec<u8> {
    let offset = bytes.len() - index_of(bytes).len();
    let mut mixed = [&bytes[..offset], index_of(other)].concat();
    let trailer = mixed.len() - 24;
    mixed[trailer + 8..trailer + 16].copy_from_slice(&(offset as u64).to_le_bytes());
    let check = crc32fast::hash(&mixed[trailer..trailer + 20]);
    mixed[trailer + 20..].copy_from_slice(&check.to_le_bytes());
    mixed
}

#[test]
fn wrong_index_is_an_error_where_a_segment_ends() {
    let (some, mut other) = (some(), some());
    other.rotate_left(2);
    let bytes = native(&some, 2);
    assert_eq!(segments(&with_index_of(&bytes, &bytes), 3).len(), 3);
    let mixed = with_index_of(&bytes, &native(&other, 2));
    let mut segments = segments(&mixed, 3);
    assert_eq!(segments.len(), 3);
    let (_, error) = drain(&mut segments[0]);
    assert!(error.unwrap().to_string().contains("what the index lists"));
}

#[test]
fn index_with_other_events_is_an_error_at_the_first() {
    let (some, mut other) = (some(), some());
    for piece in &mut other {
        if let Piece::Event(Event::Note(note)) = piece {
            note.code = note.code.replace("note-2", "n0te-2");
        }
    }
    let mixed = with_index_of(&native(&some, 2), &native(&other, 2));
    let mut errors = 0;
    for segment in &mut segments(&mixed, 3) {
        errors += usize::from(drain(segment).1.is_some());
    }
    assert_eq!(errors, 1);
}

#[test]
fn segments_of_a_stoppable_source_stop() {
    let stop = Stop::default();
    let mut source = Stoppable::new(reader(&native(&some(), 2)), stop.clone());
    let mut segments = source.segments(projection(), 2, Accesses(1)).unwrap();
    stop.ask(2);
    for segment in &mut segments {
        let stopped = segment.next(&mut Block::new());
        assert!(matches!(stopped, Err(TraceError::Stopped { signal: 2 })));
        assert_eq!(segment.next(&mut Block::new()).unwrap(), Step::End);
    }
}
