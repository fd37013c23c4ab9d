//! Archives of records in segments: together they deliver what the members do, one after the other.

use std::io::Cursor;

use crate::binary::{archive, instruction, request, vscsi1};
use reuselens_formats::AnySource;
use reuselens_io::Input;
use reuselens_testing::traces::Random;
use reuselens_testing::traces::segments::{Delivered, items_of_rows, split_meanwhile, together};
use reuselens_trace::{AnySegment, ItemProjection, Segmented, TraceSegment};
use reuselens_units::{Accesses, Bytes, Granularity};

/// An archive, and what is to be made of it.
struct Case {
    format: &'static str,
    archive: Vec<u8>,
    projection: ItemProjection,
}

impl Case {
    /// The bytes in members of these many thousandths, whatever records they cut in two.
    fn new(
        format: &'static str,
        bytes: &[u8],
        parts: &[usize],
        projection: ItemProjection,
    ) -> Case {
        Case {
            format,
            archive: archive(bytes, parts),
            projection,
        }
    }

    fn source(&self) -> AnySource {
        let input = Input::seekable(Cursor::new(self.archive.clone()), "trace.zip").unwrap();
        reuselens_formats::read(input, Some(self.format)).unwrap()
    }

    fn segments(&self, most: usize) -> Vec<AnySegment> {
        let mut source = self.source();
        let segments = source.segments(self.projection, most, Accesses(1)).unwrap();
        // The archive itself is as it was.
        assert_eq!(items_of_rows(&mut source, self.projection), self.expected());
        segments
    }

    /// The items of the rows, and what the rows end with.
    fn expected(&self) -> Delivered {
        items_of_rows(&mut self.source(), self.projection)
    }
}

fn ids() -> ItemProjection {
    ItemProjection::new(Granularity::BYTE, |_| true)
}

/// Bytes of records that are not all alike.
fn numbers(records: u64) -> Vec<u8> {
    let mut random = Random(3);
    let mut number = |_| random.next() >> (random.next() % 60);
    (0..records)
        .flat_map(|at| u64::to_le_bytes(number(at)))
        .collect()
}

/// Some records of each format in some members: even, uneven and without a byte.
fn cases() -> Vec<Case> {
    let mut random = Random(2);
    let mut any = move || random.next() >> (random.next() % 60);
    let mut cases = Vec::new();
    let parts: [&[usize]; 4] = [
        &[250, 250, 250],
        &[0, 0, 100, 0, 650, 3, 0],
        &[990],
        &[1; 99],
    ];
    for parts in parts {
        let mut add = |format, bytes: Vec<u8>, projection| {
            cases.push(Case::new(format, &bytes, parts, projection));
        };
        add("u64", numbers(30_000), ids());
        let requests = (0..30_000).flat_map(|at| request(at, any(), 7, -1));
        add("oraclegeneral", requests.collect(), ids());
        let requests = (0..30_000).flat_map(|at| vscsi1(at, any()));
        add("vscsi", requests.collect(), ids());
        let instructions = (0..9_000).flat_map(|_| {
            let mut address = || any() * u64::from(any() % 3 > 0);
            let read = std::array::from_fn(|_| address());
            instruction(address(), [address(), address()], read)
        });
        let lines = ItemProjection::new(Granularity::LINE_64, |_| true);
        add("champsim", instructions.collect(), lines);
    }
    cases
}

#[test]
fn segments_of_members_joined_equal_the_archive() {
    for case in cases() {
        let expected = case.expected();
        assert_eq!(expected.1, None);
        for most in [1, 2, 3, 8] {
            let segments = case.segments(most);
            assert!((1..=most).contains(&segments.len()));
            assert_eq!(segments.len() > 1, most > 1, "{} {most}", case.format);
            assert!(segments.iter().all(|one| one.buffers() > Bytes(1 << 20)));
            assert_eq!(together(segments), expected, "{} {most}", case.format);
        }
    }
}

#[test]
fn segments_of_members_are_as_long_as_is_asked_for() {
    let case = Case::new("u64", &numbers(1000), &[250, 250, 250], ids());
    for (shortest, expected) in [(1, 4), (200, 4), (490, 2), (600, 1), (5000, 1)] {
        let segments = case.source().segments(ids(), 8, Accesses(shortest));
        assert_eq!(segments.unwrap().len(), expected, "{shortest}");
    }
}

/// Whenever a segment is split, it ends where its half begins: at a member.
#[test]
fn split_segment_of_members_joined_equals_the_segment() {
    let mut random = Random(6);
    let case = Case::new("u64", &numbers(90_000), &[10; 97], ids());
    let (all, splits) = split_meanwhile(case.segments(2), &mut random);
    assert!(splits > 5, "{splits}");
    assert_eq!(all, case.expected().0);
    // A member is not split: it would be unpacked twice.
    let one = Case::new("u64", &numbers(9_000), &[], ids());
    let mut segments = one.segments(3);
    assert_eq!(segments.len(), 1);
    assert!(segments[0].split_off(Accesses(1)).unwrap().is_none());
}

#[test]
fn damage_in_a_middle_member_is_reported_by_its_segment() {
    let numbers = numbers(40_000);
    let undamaged = Case::new("u64", &numbers, &[100; 9], ids());
    let place = |needle: &str, from: usize| {
        let found = undamaged.archive[from..]
            .windows(needle.len())
            .position(|bytes| bytes == needle.as_bytes());
        from + found.unwrap()
    };
    for number in [0, 4, 8] {
        let name = format!("chunk.{number:04}");
        let mut case = Case::new("u64", &numbers, &[100; 9], ids());
        // In the middle of its packed bytes, so that its checksum is wrong.
        case.archive[place(&name, 0) + name.len() + 9_000] ^= 0x55;
        let expected = case.expected();
        assert!(
            expected
                .1
                .as_ref()
                .is_some_and(|what| what.contains("zip data is damaged"))
        );
        let (items, error) = together(case.segments(4));
        assert!(error.unwrap().contains("zip data is damaged"), "{name}");
        assert_eq!(items, expected.0[..items.len()], "{name}");
        assert!(items.len() >= 3_900 * number, "{name}: {}", items.len());
    }
}

/// Segments rely on the lengths in the archive's list: without the check, the others would be
/// shifted.
#[test]
fn a_wrong_length_in_the_list_of_members_is_an_error_of_its_segment() {
    let numbers = numbers(40_000);
    for longer in [-8_i64, 8] {
        let mut case = Case::new("u64", &numbers, &[100; 9], ids());
        let expected = case.expected();
        // The last mention of a name is in the list; its length is 22 bytes before it.
        let name = b"chunk.0003";
        let windows = case.archive.windows(name.len());
        let mut listed = windows.enumerate().filter(|(_, bytes)| bytes == name);
        let place = listed.next_back().unwrap().0 - 22;
        let field: [u8; 4] = case.archive[place..place + 4].try_into().unwrap();
        let length = i64::from(u32::from_le_bytes(field)) + longer;
        case.archive[place..place + 4].copy_from_slice(&(length as u32).to_le_bytes());
        let (items, error) = together(case.segments(4));
        assert!(error.unwrap().contains("zip data is damaged"), "{longer}");
        assert_eq!(items, expected.0[..items.len()], "{longer}");
    }
}
