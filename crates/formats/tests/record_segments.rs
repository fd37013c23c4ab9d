//! Files of records in segments: together they deliver the items of the rows that the file
//! delivers.

use std::io::Cursor;

use crate::binary::{gzip, instruction, request, vscsi1, vscsi2};
use reuselens_formats::AnySource;
use reuselens_io::Input;
use reuselens_testing::traces::segments::{
    Delivered, items, items_of_rows, split_meanwhile, together,
};
use reuselens_testing::traces::{Random, drain};
use reuselens_trace::{
    AnySegment, Block, ItemProjection, Kind, Projection, Segmented, Source, Step, Stop, Stoppable,
    TraceError,
};
use reuselens_units::{Accesses, Granularity};

/// A file of records, and what is to be made of them.
struct Case {
    format: &'static str,
    bytes: Vec<u8>,
    length: usize,
    projection: ItemProjection,
}

impl Case {
    fn source(&self) -> AnySource {
        open(&self.bytes, self.format)
    }

    fn segments(&self, most: usize) -> Vec<AnySegment> {
        let mut source = self.source();
        let segments = source.segments(self.projection, most, Accesses(1)).unwrap();
        // The file itself is as it was.
        assert_eq!(items_of_rows(&mut source, self.projection), self.expected());
        segments
    }

    /// The items of the rows, and what the rows end with.
    fn expected(&self) -> Delivered {
        items_of_rows(&mut self.source(), self.projection)
    }
}

fn open(bytes: &[u8], format: &str) -> AnySource {
    let input = Input::seekable(Cursor::new(bytes.to_vec()), "trace").unwrap();
    reuselens_formats::read(input, Some(format)).unwrap()
}

/// Some records of each format, more than fit into one block.
fn cases() -> Vec<Case> {
    let mut random = Random(1);
    let mut any = move || random.next() >> (random.next() % 60);
    let ids = || ItemProjection::new(Granularity::BYTE, |_| true);
    let lines = |kinds: &'static [Kind]| {
        ItemProjection::new(Granularity::LINE_64, move |kind| kinds.contains(&kind))
    };
    let mut instructions = |projection| {
        let mut address = || any() * u64::from(any() % 3 > 0);
        let record = |_| {
            let read = std::array::from_fn(|_| address());
            instruction(address(), [address(), address()], read)
        };
        Case {
            format: "champsim",
            bytes: (0..20_000).flat_map(record).collect(),
            length: 64,
            projection,
        }
    };
    let mut cases = vec![
        instructions(lines(&[Kind::Load, Kind::Store])),
        instructions(lines(&[Kind::Load])),
        instructions(lines(&[Kind::Store])),
    ];
    let mut add = |format, record: &mut dyn FnMut(u32) -> Vec<u8>| {
        let bytes: Vec<u8> = (0..70_000).flat_map(record).collect();
        cases.push(Case {
            format,
            length: bytes.len() / 70_000,
            bytes,
            projection: ids(),
        });
    };
    add("u64", &mut |_| any().to_le_bytes().to_vec());
    add("oraclegeneral", &mut |at| request(at, any(), 7, -1));
    add("vscsi", &mut |at| vscsi1(at, any()));
    add("vscsi", &mut |at| vscsi2(at, any()));
    add("u32", &mut |_| (any() as u32).to_le_bytes().to_vec());
    for kinds in [[Kind::Load], [Kind::Store]] {
        cases.push(Case {
            format: "vscsi",
            length: 32,
            bytes: (0..70_000).flat_map(|at| vscsi1(at, any())).collect(),
            projection: ItemProjection::new(Granularity::BYTE, |kind| kinds.contains(&kind)),
        });
    }
    cases
}

#[test]
fn items_equal_those_of_the_rows() {
    for case in cases() {
        let mut source = case.source();
        assert!(source.is_of_one_thread());
        assert!(source.project(Projection::Items(case.projection)));
        assert_eq!(items(&mut source), case.expected(), "{}", case.format);
    }
}

#[test]
fn segments_joined_equal_the_file() {
    for case in cases() {
        let expected = case.expected();
        assert_eq!(expected.1, None);
        for most in [1, 2, 3, 8] {
            let segments = case.segments(most);
            assert_eq!(segments.len(), most);
            assert_eq!(together(segments), expected, "{} {most}", case.format);
        }
    }
}

#[test]
fn segments_are_as_long_as_is_asked_for() {
    let bytes: Vec<u8> = (0..1000_u64).flat_map(u64::to_le_bytes).collect();
    let projection = ItemProjection::new(Granularity::BYTE, |_| true);
    for (shortest, expected) in [(1, 8), (125, 8), (126, 7), (500, 2), (501, 1), (5000, 1)] {
        let mut source = open(&bytes, "u64");
        let segments = source.segments(projection, 8, Accesses(shortest)).unwrap();
        assert_eq!(segments.len(), expected, "{shortest}");
        for mut segment in segments {
            let (items, _) = items(&mut segment);
            assert!(items.len() as u64 >= shortest.min(1000));
        }
    }
}

/// Whenever a segment is split, it ends where its half begins.
#[test]
fn split_segment_joined_equals_the_segment() {
    let mut random = Random(6);
    for case in cases() {
        let (all, splits) = split_meanwhile(case.segments(2), &mut random);
        assert!(splits > 5, "{splits}");
        assert_eq!(all, case.expected().0, "{}, {splits} splits", case.format);
        // A file that is no segment is not split.
        let mut short = case.segments(1);
        let all = case.bytes.len() / case.length;
        let half = |shortest| Accesses((all / 2 + shortest) as u64);
        assert!(short[0].split_off(half(1)).unwrap().is_none());
        assert!(short[0].split_off(half(0)).unwrap().is_some());
    }
}

#[test]
fn a_damaged_file_is_delivered_up_to_the_damage() {
    for mut case in cases() {
        case.bytes.pop();
        let expected = case.expected();
        assert!(expected.1.is_some());
        assert_eq!(together(case.segments(3)), expected, "{}", case.format);
        // The first byte that says whether a record is valid.
        let place = match (case.format, case.length) {
            ("champsim", _) => 8,
            ("vscsi", 32) => 15,
            ("vscsi", _) => 3,
            _ => continue,
        };
        for record in [0, 1, 9_999, 10_000, 10_001] {
            let mut case = Case {
                bytes: case.bytes.clone(),
                ..case
            };
            // The version of vscsi is found in the first record.
            case.bytes[record.max(1) * case.length + place] = 7;
            let expected = case.expected();
            assert!(expected.1.is_some());
            assert_eq!(together(case.segments(3)), expected, "{record}");
        }
    }
}

#[test]
fn a_file_that_became_shorter_is_an_error_where_its_segments_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.u64");
    std::fs::write(&path, vec![1; 80_000]).unwrap();
    let mut source = reuselens_formats::open(&path, None).unwrap();
    let projection = ItemProjection::new(Granularity::BYTE, |_| true);
    let segments = source.segments(projection, 4, Accesses(1)).unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(8_000).unwrap();
    let errors = segments.into_iter().map(|mut segment| {
        let (_, error) = drain(&mut segment);
        error.map(|error| error.to_string())
    });
    let errors: Vec<_> = errors.collect();
    let shorter = |error: &Option<String>| error.as_ref().is_some_and(|e| e.contains("was longer"));
    assert!(errors[..3].iter().all(shorter), "{errors:?}");
}

#[test]
fn inputs_without_segments_are_read_by_one_reader() {
    let bytes = |case: &Case| case.bytes.clone();
    for case in cases() {
        let projection = case.projection;
        let piped = Input::new(Cursor::new(bytes(&case)), "pipe");
        let packed = Input::seekable(Cursor::new(gzip(&case.bytes)), "packed").unwrap();
        for input in [piped, packed] {
            let mut source = reuselens_formats::read(input, Some(case.format)).unwrap();
            assert!(
                source
                    .segments(projection, 2, Accesses(1))
                    .unwrap()
                    .is_empty()
            );
            assert!(source.project(Projection::Items(projection)));
            assert_eq!(items(&mut source), case.expected());
        }
        let mut begun = case.source();
        while !matches!(begun.next(&mut Block::new()).unwrap(), Step::Block) {}
        assert!(
            begun
                .segments(projection, 2, Accesses(1))
                .unwrap()
                .is_empty()
        );
        // Ids are items, and each is loaded unless the format has kinds.
        if case.format != "champsim" {
            let no_ids = [
                ItemProjection::new(Granularity::LINE_64, |_| true),
                ItemProjection::new(Granularity::BYTE, |kind| kind == Kind::Store),
            ];
            let has_kinds = usize::from(case.format == "vscsi");
            for projection in &no_ids[..2 - has_kinds] {
                let projection = *projection;
                let mut source = case.source();
                assert!(!source.project(Projection::Items(projection)));
                assert!(
                    source
                        .segments(projection, 2, Accesses(1))
                        .unwrap()
                        .is_empty()
                );
            }
        }
    }
}

#[test]
fn segments_of_a_stoppable_input_can_be_stopped() {
    let stop = Stop::default();
    let case = &cases()[3];
    let mut source = Stoppable::new(case.source(), stop.clone());
    let mut segments = source.segments(case.projection, 2, Accesses(1)).unwrap();
    stop.ask(2);
    for segment in &mut segments {
        let stopped = segment.next(&mut Block::new());
        assert!(matches!(stopped, Err(TraceError::Stopped { signal: 2 })));
    }
}
