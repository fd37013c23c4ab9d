//! Segments of traces that are made of rows, drmemtrace and text: together they deliver the
//! accesses of the file or the archive.

use std::io::Cursor;

use crate::binary::{archive, entries};
use reuselens_formats::AnySource;
use reuselens_io::Input;
use reuselens_testing::traces::segments::joined;
use reuselens_testing::traces::{Piece, Random, drain, rows};
use reuselens_trace::{
    AnySegment, Block, Event, ItemProjection, Kind, Row, Segmented, Source, Step, TraceSegment,
};
use reuselens_units::{Accesses, Bytes, Granularity};

/// What is delivered: the accesses, without the instruction, which a segment need not know; and the
/// error that they end with, if any.
type Delivered = (Vec<(Kind, u8, u64)>, Option<String>);

/// A trace, as it lies in a file.
struct Case {
    format: &'static str,
    bytes: Vec<u8>,
}

impl Case {
    /// Traces of a format, as a plain file and in archives.
    fn all(format: &'static str, bytes: &[u8]) -> Vec<Case> {
        let parts: [&[usize]; 3] = [&[250, 250, 250], &[0, 0, 100, 0, 450, 3, 0], &[10; 97]];
        let archives = parts.map(|parts| archive(bytes, parts));
        let files = archives.into_iter().chain([bytes.to_vec()]);
        files.map(|bytes| Case { format, bytes }).collect()
    }

    fn source(&self) -> AnySource {
        let input = Input::seekable(Cursor::new(self.bytes.clone()), "trace").unwrap();
        reuselens_formats::read(input, Some(self.format)).unwrap()
    }

    fn segments(&self, most: usize) -> Vec<AnySegment> {
        self.source()
            .segments(projection(), most, Accesses(1))
            .unwrap()
    }

    fn expected(&self) -> Delivered {
        delivered(&mut self.source())
    }
}

fn projection() -> ItemProjection {
    ItemProjection::new(Granularity::LINE_64, |_| true)
}

fn access(row: Row) -> (Kind, u8, u64) {
    (row.kind, row.size, row.addr)
}

fn delivered(source: &mut dyn Source) -> Delivered {
    let (pieces, error) = drain(source);
    let accesses = rows(&pieces).into_iter().map(access).collect();
    (accesses, error.map(|error| error.to_string()))
}

/// The accesses that segments deliver one after the other, up to the first error.
fn together(segments: Vec<AnySegment>) -> Delivered {
    joined(segments, delivered)
}

/// Entries as `raw2trace` writes them for one thread: it is named once, and later chunks begin with
/// markers.
fn drmemtrace(instructions: u64) -> Vec<u8> {
    let mut random = Random(5);
    let mut all = vec![
        (25, 0, 5),
        (28, 13, 5),
        (22, 4, 71),
        (24, 4, 70),
        (28, 2, 9),
    ];
    for at in 0..instructions {
        all.extend([(47, 3, 0x0fc3), (10, 3, 0x40_1000 + 3 * (at % 900))]);
        for _ in 0..random.below(3) {
            let kind = random.below(2) as u16;
            let size = [1, 4, 8, 64, 300][random.below(5)];
            all.push((kind, size, 0x7fff_0000 + random.below(1 << 20) as u64));
        }
        if at % 1000 == 999 {
            all.extend([(17, 1, 3), (28, 20, at / 1000), (28, 2, at), (28, 3, 1)]);
        }
    }
    all.extend([(23, 4, 71), (26, 0, 0)]);
    entries(&all)
}

/// Numbers in lines of some words, with comments, empty lines and both ends of lines.
fn text(lines: u64) -> Vec<u8> {
    let mut random = Random(7);
    let mut text = String::from("\u{feff}# numbers\n");
    for at in 0..lines {
        let number = random.next() >> (1 + random.next() % 60);
        match random.below(40) {
            0 => text.push_str("# 1 2 3, and no end of words \t4\n"),
            1 => text.push('\n'),
            2 => text.push_str(&format!("{number:#x}  {at} # six\r\n")),
            3 => text.push_str(&format!("{at}\t{number} {number}\n")),
            _ => text.push_str(&format!("{number}\n")),
        }
    }
    text.push_str("17 4");
    text.into_bytes()
}

/// Traces of more than so many times 32 Ki accesses: of so many blocks.
fn cases(blocks: u64) -> Vec<Case> {
    let drmemtrace = Case::all("drmemtrace", &drmemtrace(blocks * 40_000));
    drmemtrace
        .into_iter()
        .chain(Case::all("text", &text(blocks * 60_000)))
        .collect()
}

#[test]
fn segments_joined_equal_the_trace() {
    for case in cases(1) {
        let expected = case.expected();
        assert!(expected.0.len() > 30_000 && expected.1.is_none());
        // Two would take no less time than one that reads and one that counts.
        assert!(case.segments(1).is_empty() && case.segments(2).is_empty());
        for most in [3, 5, 8] {
            let segments = case.segments(most);
            assert!((3..=most).contains(&segments.len()), "{}", case.format);
            assert!(segments.iter().all(|one| one.buffers() > Bytes(1 << 17)));
            let found = together(segments);
            assert_eq!(found.1, None);
            assert!(found.0 == expected.0, "{} {most}", case.format);
        }
    }
}

#[test]
fn split_segments_joined_equal_the_segment() {
    let mut random = Random(6);
    let mut splits = 0;
    for case in cases(3) {
        let (mut waiting, mut all) = (case.segments(3), Vec::new());
        let mut block = Block::new();
        while !waiting.is_empty() {
            let mut segment = waiting.remove(0);
            loop {
                if random.below(2) == 0
                    && let Some(half) = segment.split_off(Accesses(300)).unwrap()
                {
                    waiting.insert(0, half);
                    splits += 1;
                }
                match segment.next(&mut block).unwrap() {
                    Step::Block => all.extend(block.rows().map(access)),
                    Step::Event(_) => {}
                    Step::End => break,
                }
            }
        }
        assert!(all == case.expected().0, "{}, {splits} splits", case.format);
    }
    assert!(splits > 20, "{splits}");
}

/// Each segment says whose its accesses are before the first of them.
#[test]
fn segments_know_the_thread_that_was_named_at_the_beginning() {
    for case in Case::all("drmemtrace", &drmemtrace(20_000)) {
        let announced = |source: &mut dyn Source| {
            let (pieces, _) = drain(source);
            let events = pieces.into_iter().map_while(|piece| match piece {
                Piece::Event(event) => Some(event),
                Piece::Block(_) => None,
            });
            events.collect::<Vec<_>>()
        };
        let expected = announced(&mut case.source());
        assert!(
            matches!(&expected[..], [Event::Process(one), Event::Thread(other)]
            if one.pid == 70 && other.tid == 71)
        );
        for mut segment in case.segments(3) {
            assert_eq!(announced(&mut segment), expected);
        }
    }
}

#[test]
fn another_thread_ends_a_segment_with_an_error() {
    let whole = drmemtrace(9_000);
    for changed in [(22, 4, 72), (24, 4, 99), (23, 4, 71)] {
        for at in [1000, 14_000] {
            let mut bytes = whole.clone();
            bytes.splice(at * 12..at * 12, entries(&[changed]));
            let case = Case {
                format: "drmemtrace",
                bytes,
            };
            assert_eq!(case.expected().1, None);
            let (accesses, error) = together(case.segments(3));
            assert!(error.unwrap().contains("another thread"), "{changed:?}");
            assert_eq!(accesses, case.expected().0[..accesses.len()]);
        }
    }
    // Nobody is named before the first access.
    let late = entries(&[(25, 0, 5), (28, 13, 5), (10, 3, 1), (22, 4, 7)].repeat(100));
    let case = Case {
        format: "drmemtrace",
        bytes: late,
    };
    assert!(case.segments(3).is_empty());
}

#[test]
fn a_name_ends_a_segment_with_an_error() {
    let mut bytes = text(9_000);
    let at = bytes.len() / 2;
    let line = at + bytes[at..].iter().position(|&byte| byte == b'\n').unwrap() + 1;
    bytes.splice(line..line, *b"7 seven\n");
    let case = Case {
        format: "text",
        bytes,
    };
    let expected = case.expected();
    assert_eq!(expected.1, None);
    let (accesses, error) = together(case.segments(3));
    assert!(error.unwrap().contains("a name"));
    assert_eq!(accesses, expected.0[..accesses.len()]);
    let named = Case {
        format: "text",
        bytes: b"1\ntwo\n".repeat(500),
    };
    assert!(named.segments(3).is_empty());
}

/// A segment may begin in a line in which the next one begins too; then it has none.
#[test]
fn lines_that_are_longer_than_segments_are_read_once() {
    for line in [9_000, 200_000] {
        let bytes = format!("1 2\n{}\n7 8\n9", "5 ".repeat(line)).into_bytes();
        let case = Case {
            format: "text",
            bytes,
        };
        for most in [3, 8, 50] {
            assert_eq!(
                together(case.segments(most)),
                case.expected(),
                "{line} {most}"
            );
        }
    }
    let bytes = format!("1 2\n{}", "5 ".repeat(2 << 20)).into_bytes();
    let case = Case {
        format: "text",
        bytes,
    };
    let (accesses, error) = together(case.segments(3));
    assert!(error.unwrap().contains("longer than"));
    assert!(!accesses.is_empty() && accesses.len() <= case.expected().0.len());
}

#[test]
fn damage_in_a_member_is_reported_by_its_segment() {
    for (format, bytes) in [("drmemtrace", drmemtrace(40_000)), ("text", text(60_000))] {
        for number in [0, 4, 8] {
            let mut case = Case {
                format,
                bytes: archive(&bytes, &[100; 9]),
            };
            let undamaged = case.expected();
            let name = format!("chunk.{number:04}");
            let mut windows = case.bytes.windows(name.len());
            let place = windows.position(|bytes| bytes == name.as_bytes()).unwrap();
            case.bytes[place + name.len() + 9_000] ^= 0x55;
            assert!(case.expected().1.is_some());
            let (accesses, error) = together(case.segments(4));
            assert!(error.is_some(), "{format} {name}");
            // What a damaged member unpacks to may not show before its end.
            let before = undamaged.0.len() * number / 10;
            assert!(
                accesses[..before.min(accesses.len())] == undamaged.0[..before.min(accesses.len())]
            );
            assert!(
                accesses.len() + 2_000 >= before,
                "{format} {name}: {}",
                accesses.len()
            );
        }
    }
}
