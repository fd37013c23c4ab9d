//! A part of a trace is what a filter over all of it leaves, with and without an index.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::path::Path;

use proptest::prelude::*;
use reuselens_formats::Survey;
use reuselens_io::Input;
use reuselens_rltrace::Reader;
use reuselens_testing::traces::{Piece, drain, native, open, pieces, sample};
use reuselens_trace::{
    Block, Event, Extent, Kind, Note, Place, Selected, Selection, Summary, ThreadId,
};

/// What is to be left: row by row, as the documentation says.
fn filtered(whole: &[Piece], wanted: &Selection) -> Vec<Piece> {
    let (mut number, mut left) = (0, Vec::new());
    for piece in whole {
        let Piece::Block(block) = piece else {
            left.push(piece.clone());
            continue;
        };
        let mut kept = Block::new();
        (kept.process, kept.thread) = (block.process, block.thread);
        (kept.first_stamp, kept.last_stamp) = (block.first_stamp, block.last_stamp);
        let thread = wanted.threads.is_empty() || wanted.threads.contains(&block.thread);
        let all_time = wanted.stamps == (0..u64::MAX);
        let stamped = (block.first_stamp, block.last_stamp) != (0, 0);
        let then = block.last_stamp >= wanted.stamps.start && block.first_stamp < wanted.stamps.end;
        let over = stamped && block.first_stamp >= wanted.stamps.end;
        let (mut first, mut kind) = (number, Kind::Load);
        for row in block.rows() {
            if row.kind != Kind::Operand {
                (first, kind) = (number, row.kind);
            }
            let itself = wanted.rows.contains(&first) && thread && (all_time || stamped && then);
            let before = first < wanted.rows.end && !over;
            if itself || (wanted.state && kind.is_state() && before) {
                kept.push(row);
            }
            number += 1;
        }
        if !kept.is_empty() {
            left.push(Piece::Block(kept));
        }
    }
    left
}

fn reader(bytes: &[u8], threads: usize) -> Reader {
    let input = Input::seekable(Cursor::new(bytes.to_vec()), "trace").unwrap();
    Reader::with_threads(input, threads).unwrap()
}

fn selected(bytes: &[u8], threads: usize, wanted: &Selection) -> Vec<Piece> {
    part_of(reader(bytes, threads), wanted)
}

/// A part of a file of which the index cannot be looked at first.
fn selected_of_pipe(bytes: &[u8], wanted: &Selection) -> Vec<Piece> {
    let input = Input::new(Cursor::new(bytes.to_vec()), "trace");
    part_of(Reader::new(input).unwrap(), wanted)
}

fn part_of(mut reader: Reader, wanted: &Selection) -> Vec<Piece> {
    reader.select(wanted.clone()).unwrap();
    let (read, error) = drain(&mut reader);
    assert!(error.is_none(), "{error:?}");
    read
}

fn selection() -> impl Strategy<Value = Selection> {
    let rows = prop_oneof![1 => Just(0..u64::MAX), 3 => (0..300_u64, 0..300_u64).prop_map(|(one, two)| one..one + two)];
    let stamp = || {
        prop_oneof![
            Just(0),
            0..64_u64,
            0x7f00_0000_0000..0x7f00_0000_1000_u64,
            Just(u64::MAX)
        ]
    };
    let stamps = prop_oneof![2 => Just(0..u64::MAX), 1 => (stamp(), stamp()).prop_map(|(one, two)| one..two)];
    let threads = prop::collection::btree_set((0..4_u32).prop_map(ThreadId), 0..3);
    (rows, stamps, threads, any::<bool>()).prop_map(|(rows, stamps, threads, state)| Selection {
        rows,
        stamps,
        threads,
        state,
    })
}

/// Where the chunks of a file begin, its index and ending among them, and where the last of them
/// ends.
fn chunks(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![16 + "a test".len() + 4];
    while let Some(&at) = starts.last().filter(|&&at| at + 24 < bytes.len()) {
        let stored = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap());
        starts.push(at + 24 + stored as usize);
    }
    starts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_selected_part_equals_the_filtered_trace(
        whole in pieces(),
        flush_every in 1..5_usize,
        wanted in selection(),
    ) {
        let bytes = native(&whole, flush_every);
        let left = if wanted.is_all() { whole.clone() } else { filtered(&whole, &wanted) };
        for threads in [1, 3] {
            prop_assert_eq!(&selected(&bytes, threads, &wanted), &left, "{} threads", threads);
        }
        prop_assert_eq!(&selected_of_pipe(&bytes, &wanted), &left, "without an index");
        if !wanted.is_all() {
            let mut any = Selected::new(open(&bytes, None).unwrap(), wanted);
            prop_assert_eq!(&drain(&mut any).0, &left, "of any source");
        }
    }

    #[test]
    fn the_index_agrees_with_a_full_read(whole in pieces(), flush_every in 1..5_usize) {
        let bytes = native(&whole, flush_every);
        let (all, error) = Summary::of(&mut *open(&bytes, None).unwrap()).unwrap();
        prop_assert!(error.is_none());
        let (quick, slow) = (surveyed(&bytes), surveyed(&zstd::bulk::compress(&bytes, 1).unwrap()));
        prop_assert!(quick.no_index.is_none() && slow.no_index.is_some());
        prop_assert_eq!(quick.chunks, slow.chunks);
        prop_assert_eq!(&quick.summary, &all);
        prop_assert_eq!(&slow.summary, &all);
        let rows = whole.iter().filter_map(|piece| match piece {
            Piece::Block(block) => Some(block.len() as u64),
            Piece::Event(_) => None,
        });
        prop_assert_eq!(all.rows, rows.sum::<u64>());
        prop_assert_eq!(all.rows, all.kinds().map(|(_, rows)| rows).sum::<u64>());
    }
}

/// A request of any size is one row of a table.
#[test]
fn part_of_a_table_counts_its_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let line = |at: u64| format!("{},{},R\n", at * 4096, [8, 4096, 300][at as usize % 3]);
    let lines: String = (0..100_000).map(line).collect();
    std::fs::write(&path, format!("address,size,op\n{lines}")).unwrap();
    let survey = |part: &Selection| reuselens_formats::survey(&path, None, part).unwrap();
    assert_eq!(survey(&Selection::default()).extent().rows, 100_000);
    for rows in [
        0..50,
        7..8,
        0..100_000,
        40_001..90_003,
        99_999..u64::MAX,
        200_000..300_000,
    ] {
        let part = Selection {
            rows: rows.clone(),
            ..Selection::default()
        };
        let expected: Vec<u64> = rows
            .clone()
            .take_while(|&at| at < 100_000)
            .map(|at| at * 4096)
            .collect();
        let mut source = reuselens_formats::open_part(&path, None, part.clone()).unwrap();
        let rows_of_part = reuselens_testing::traces::rows(&drain(&mut source).0);
        let accesses = rows_of_part.iter().filter(|row| row.kind.is_access());
        let found: Vec<u64> = accesses.map(|row| row.addr).collect();
        assert!(found == expected, "{rows:?}");
        assert_eq!(survey(&part).summary.accesses(), expected.len() as u64);
    }
}

/// What the file holds, by its path.
fn surveyed(bytes: &[u8]) -> Survey {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.rltrace");
    std::fs::write(&path, bytes).unwrap();
    reuselens_formats::survey(&path, None, &Selection::default()).unwrap()
}

/// The rows from 81 on: the allocation with its operand, and the named array.
fn the_end() -> Selection {
    Selection {
        rows: 80..u64::MAX,
        ..Selection::default()
    }
}

#[test]
fn only_chunks_of_the_selected_part_are_decoded() {
    let whole = sample();
    let mut bytes = native(&whole, 1);
    let starts = chunks(&bytes);
    // The chunk of the first block, which is piece 3.
    bytes[starts[3] + 30] ^= 1;
    let wanted = Selection {
        threads: BTreeSet::from([ThreadId(1)]),
        ..Selection::default()
    };
    for threads in [1, 3] {
        assert_eq!(
            selected(&bytes, threads, &wanted),
            filtered(&whole, &wanted)
        );
    }
    let mut reader = reader(&bytes, 1);
    reader.select(the_end()).unwrap();
    assert!(
        drain(&mut reader)
            .1
            .unwrap()
            .to_string()
            .contains("checksum")
    );
}

#[test]
fn a_damaged_index_leads_to_a_full_read() {
    let whole = sample();
    let bytes = native(&whole, 2);
    let sound = surveyed(&bytes);
    let starts = chunks(&bytes);
    let [.., index, ending, end] = starts[..] else {
        panic!("there are an index and an ending")
    };
    for at in (index..ending).chain(end..bytes.len()) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        let survey = surveyed(&damaged);
        assert!(survey.no_index.is_some(), "byte {at}");
        // A damaged head of the index hides the ending; of all other damage it is known that
        // nothing is missing.
        let mut summary = survey.summary.clone();
        if survey.incomplete.is_none() {
            let note = summary.events.pop();
            assert!(
                matches!(&note, Some(Event::Note(note)) if note.code == Note::DAMAGED_INDEX),
                "byte {at}: reading all finds the damage too: {note:?}"
            );
        } else {
            assert!((index..index + 24).contains(&at), "byte {at}");
        }
        assert_eq!(summary, sound.summary, "byte {at}");
        let mut reader = reader(&damaged, 1);
        reader.select(the_end()).unwrap();
        let mut read = drain(&mut reader).0;
        if survey.incomplete.is_none() {
            read.pop();
        }
        assert_eq!(read, filtered(&whole, &the_end()), "byte {at}");
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_surveyed_up_to_there() {
    let bytes = native(&sample(), 2);
    for length in 30..bytes.len() {
        let survey = surveyed(&bytes[..length]);
        let (summary, error) = Summary::of(&mut *open(&bytes[..length], None).unwrap()).unwrap();
        // The note of a damaged index names the file, which is another one.
        let (mut summary, mut surveyed) = (summary, survey.summary);
        if error.is_none() {
            assert_eq!(summary.events.len(), surveyed.events.len());
            summary.events.pop();
            surveyed.events.pop();
        }
        assert_eq!(surveyed, summary, "cut after {length}");
        assert!(
            error.is_some() == survey.incomplete.is_some(),
            "cut after {length}"
        );
        let is_missing = length < bytes.len() - 24;
        assert_eq!(
            error.is_some(),
            is_missing,
            "cut after {length}: a trailer is no part of what was recorded"
        );
        assert!(survey.no_index.is_some());
    }
}

#[test]
fn places_are_rows_shares_and_times() {
    let extent = Extent {
        rows: 200,
        stamps: (1000, 3000),
    };
    let between = |from, to| Selection::between(Some(from), Some(to), BTreeSet::new(), &extent);
    assert_eq!(between(Place::Row(3), Place::RowShare(0.5)).rows, 3..100);
    assert_eq!(
        between(Place::Ticks(10), Place::TimeShare(0.25)).stamps,
        1010..1500
    );
    let all = between(Place::TimeShare(0.0), Place::TimeShare(1.0));
    assert_eq!(all.stamps, 1000..u64::MAX, "the last stamp is in it");
    assert!(Selection::between(None, None, BTreeSet::new(), &extent).is_all());
}

#[test]
fn foreign_formats_are_surveyed_and_selected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.txt");
    std::fs::write(&path, "a b c a\nb c").unwrap();
    let all = reuselens_formats::survey(&path, None, &Selection::default()).unwrap();
    assert_eq!(
        (all.format, all.summary.rows, all.bytes),
        ("text", 6, Some(11))
    );
    let wanted = Selection {
        rows: 1..4,
        ..Selection::default()
    };
    let part = reuselens_formats::survey(Path::new(&path), None, &wanted).unwrap();
    assert_eq!(part.summary.rows, 3);
    let mut source = reuselens_formats::open_part(&path, None, wanted).unwrap();
    assert_eq!(
        reuselens_testing::traces::rows(&drain(&mut *source).0).len(),
        3
    );
}

/// The file with `plain` inside its index, and good checksums.
fn with_index(bytes: &[u8], plain: &[u8]) -> Vec<u8> {
    let starts = chunks(bytes);
    let [.., index, ending, _] = starts[..] else {
        panic!("there are an index and an ending")
    };
    let stored = zstd::bulk::compress(plain, 1).unwrap();
    let mut head = bytes[index..index + 8].to_vec();
    for word in [stored.len(), plain.len(), crc32fast::hash(&stored) as usize] {
        head.extend_from_slice(&(word as u32).to_le_bytes());
    }
    head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
    [&bytes[..index], &head, &stored, &bytes[ending..]].concat()
}

#[test]
fn a_forged_index_is_an_error_or_a_part_and_never_a_panic() {
    let bytes = native(&sample(), 2);
    let starts = chunks(&bytes);
    let [.., index, ending, _] = starts[..] else {
        panic!("there are an index and an ending")
    };
    let plain = zstd::bulk::decompress(&bytes[index + 24..ending], 1 << 20).unwrap();
    assert_eq!(surveyed(&with_index(&bytes, &plain)).no_index, None);
    let mut random = reuselens_testing::traces::Random(9);
    for _ in 0..3000 {
        let mut forged = plain.clone();
        for _ in 0..1 + random.below(4) {
            let at = random.below(forged.len());
            match random.below(4) {
                0 => forged[at] = random.next() as u8,
                1 => forged[at] ^= 1 << random.below(8),
                2 => forged.insert(at, 0xff),
                _ => drop(forged.remove(at)),
            }
        }
        let file = with_index(&bytes, &forged);
        let mut reader = reader(&file, 1);
        reader.select(the_end()).unwrap();
        // What it finds is of the file or an error: it ends in any case.
        drain(&mut reader);
        drain(&mut *open(&file, None).unwrap());
    }
}
