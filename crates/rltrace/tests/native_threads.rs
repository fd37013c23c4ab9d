//! A native file decoded by threads: the same pieces and the same errors as without any.

use std::io::Cursor;

use proptest::prelude::*;
use reuselens_io::Input;
use reuselens_rltrace::Reader;
use reuselens_testing::traces::{Piece, Random, drain, expanded, native, pieces, sample};
use reuselens_trace::{Block, Event, Kind, Note, Projection, Row, Source, Step};
use reuselens_units::Bytes;

/// All that `threads` threads find in a file, `with_repeats` or not, and the error in words.
fn read(bytes: &[u8], threads: usize, with_repeats: bool) -> (Vec<Piece>, Option<String>) {
    read_within(bytes, threads, with_repeats, Bytes(u64::MAX))
}

/// [`read`], with so many bytes of blocks ahead.
fn read_within(
    bytes: &[u8],
    threads: usize,
    with_repeats: bool,
    ahead: Bytes,
) -> (Vec<Piece>, Option<String>) {
    let input = Input::seekable(Cursor::new(bytes.to_vec()), "trace").unwrap();
    match Reader::with_threads(input, threads) {
        Ok(mut reader) => {
            assert!(!with_repeats || reader.project(Projection::Repeats));
            reader.read_ahead_within(ahead);
            let (pieces, error) = drain(&mut reader);
            let pieces = if with_repeats {
                expanded(pieces)
            } else {
                pieces
            };
            (pieces, error.map(|error| error.to_string()))
        }
        Err(error) => (Vec::new(), Some(error.to_string())),
    }
}

fn same_for_all(bytes: &[u8]) -> (Vec<Piece>, Option<String>) {
    let serial = read(bytes, 1, false);
    for (threads, with_repeats) in [(2, false), (5, false), (1, true), (3, true)] {
        assert!(
            read(bytes, threads, with_repeats) == serial,
            "{threads} threads, with_repeats: {with_repeats}: {:?}",
            serial.1
        );
    }
    for ahead in [0, 10_000, 1 << 20] {
        let within = read_within(bytes, 4, ahead > 0, Bytes(ahead));
        assert!(within == serial, "{ahead} bytes: {:?}", serial.1);
    }
    serial
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn threads_deliver_what_was_written(pieces in pieces(), flush_every in 1..4_usize) {
        let bytes = native(&pieces, flush_every);
        let (read, error) = same_for_all(&bytes);
        prop_assert_eq!(error, None);
        prop_assert_eq!(read, pieces);
    }
}

/// Whether no row is missing: an index that is damaged or cut off is a remark and no error.
fn is_complete(read: &[Piece]) -> bool {
    reuselens_testing::traces::rows(read) == reuselens_testing::traces::rows(&sample())
}

#[test]
fn damaged_files_end_at_the_same_place() {
    let bytes = native(&sample(), 1);
    for length in (1..bytes.len()).step_by(5) {
        let (read, error) = same_for_all(&bytes[..length]);
        assert!(error.is_some() || is_complete(&read), "{length}");
    }
    let mut random = Random(4);
    for _ in 0..300 {
        let mut changed = bytes.clone();
        changed[random.below(bytes.len())] ^= 1 << random.below(8);
        let (read, error) = same_for_all(&changed);
        assert!(error.is_some() || is_complete(&read));
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(same_for_all(&longer).1.unwrap().contains("after the end"));
}

/// Many chunks of a few blocks, some with unpredictable rows.
fn many() -> Vec<Piece> {
    let mut random = Random(5);
    let block = |index: u64| {
        let mut block = Block::new();
        for row in 0..1 + random.next() % 5000 {
            let kind = if row % 3 == 0 {
                Kind::Store
            } else {
                Kind::Load
            };
            block.push(Row {
                kind,
                size: 8,
                pc: row % 7,
                addr: if index.is_multiple_of(2) {
                    row * 8
                } else {
                    random.next()
                },
            });
        }
        Piece::Block(block)
    };
    (0..200).map(block).collect()
}

#[test]
fn chunks_are_delivered_in_order() {
    let whole = many();
    let bytes = native(&whole, 3);
    let (read, error) = same_for_all(&bytes);
    assert_eq!(error, None);
    assert!(read == whole);
}

#[test]
fn very_large_chunk_is_read() {
    let note = Note {
        code: "x".into(),
        message: String::new(),
        hint: String::new(),
    };
    let mut whole: Vec<Piece> = (0..200_000)
        .map(|_| Piece::Event(Event::Note(note.clone())))
        .collect();
    let mut block = Block::new();
    for addr in 0..3_500_000 {
        block.push(Row {
            kind: Kind::Load,
            size: 1,
            pc: 1,
            addr,
        });
    }
    whole.push(Piece::Block(block));
    whole.push(whole[0].clone());
    let (read, error) = same_for_all(&native(&whole, usize::MAX));
    assert_eq!(error, None);
    assert!(read == whole);
}

#[test]
fn threads_end_with_the_reader() {
    let bytes = native(&many(), 1);
    for steps in [0, 1, 7, 100] {
        let input = Input::seekable(Cursor::new(bytes.clone()), "trace").unwrap();
        let mut reader = Reader::with_threads(input, 4).unwrap();
        // Its threads wait for room when it is dropped.
        reader.read_ahead_within(Bytes(10_000));
        let mut block = Block::new();
        for _ in 0..steps {
            assert_eq!(reader.next(&mut block).unwrap(), Step::Block);
        }
        // Waits for its threads: returns only if they all do.
        drop(reader);
    }
}
