//! Requests for blocks: ids that are numbers of blocks of a unit, beside sizes in bytes.

use crate::binary::{request, vscsi1, vscsi2};
use reuselens_testing::traces::{Piece, Random, drain, open, rows};
use reuselens_trace::{ItemProjection, Kind, Projection, Row, Source};
use reuselens_units::{Accesses, Granularity};

/// The accesses of rows: kind, first byte, and bytes.
fn accesses(pieces: &[Piece]) -> Vec<(Kind, u64, u64)> {
    let mut all: Vec<(Kind, u64, u64)> = Vec::new();
    for Row {
        kind, size, addr, ..
    } in rows(pieces)
    {
        match kind {
            Kind::Operand => all.last_mut().unwrap().2 = addr,
            Kind::RangeLoad => all.push((Kind::Load, addr, 0)),
            Kind::RangeStore => all.push((Kind::Store, addr, 0)),
            _ => all.push((kind, addr, size.into())),
        }
    }
    all
}

fn read(bytes: &[u8], format: &str) -> (Vec<(Kind, u64, u64)>, Option<String>) {
    let mut source = open(bytes, Some(format)).unwrap();
    assert!(source.has_addresses(), "{format}");
    let (pieces, error) = drain(&mut source);
    (accesses(&pieces), error.map(|error| error.to_string()))
}

#[test]
fn requests_access_their_bytes_from_the_block_on() {
    let mut random = Random(5);
    for unit in [1, 512, 4096, 1 << 30] {
        let any = |_| (random.next() % (1 << 30), random.next() % 4000);
        let requests: Vec<(u64, u64)> = (0..40_000).map(any).collect();
        let bytes: Vec<u8> = requests
            .iter()
            .flat_map(|&(id, size)| request(1, id, size as u32, -1))
            .collect();
        let expected = requests.iter();
        let expected = expected.map(|&(id, size)| (Kind::Load, id * unit, size));
        let (found, error) = read(&bytes, &format!("oraclegeneral:unit={unit}"));
        assert_eq!(error, None);
        assert!(found.into_iter().eq(expected), "{unit}");
    }
    let kinds = [Kind::Load, Kind::Store, Kind::Load];
    for record in [vscsi1, vscsi2] {
        let bytes: Vec<u8> = (0..3).flat_map(|at| record(at, 1 << (20 * at))).collect();
        let expected = [0, 1, 2].map(|at| (kinds[at], 512 << (20 * at), 4096));
        let found = read(&bytes, "vscsi:unit=512");
        assert_eq!(found, (expected.to_vec(), None));
    }
}

/// Items of requests are made of rows, since a request may have any number of them; sizes are not
/// left for weighing.
#[test]
fn requests_for_blocks_have_rows_only() {
    let bytes = vscsi1(1, 7).repeat(100);
    let mut source = open(&bytes, Some("vscsi:unit=512")).unwrap();
    let projection = ItemProjection::new(Granularity::LINE_64, |_| true);
    assert!(!source.project(Projection::Items(projection)));
    assert!(!source.project(Projection::Sizes));
    let segments = source.segments(projection, 4, Accesses(1)).unwrap();
    assert!(segments.is_empty());
    assert_eq!(accesses(&drain(&mut source).0).len(), 100);
}

#[test]
fn requests_that_have_no_addresses_are_errors_after_those_before() {
    let good = request(1, 3, 4096, -1);
    for (format, wrong, said) in [
        (
            "oraclegeneral:unit=512",
            request(1, 1 << 55, 1, -1),
            "the block 36028797018963968",
        ),
        (
            "oraclegeneral:unit=512",
            request(1, (1 << 55) - 1, 4096, -1),
            "reaches beyond the end",
        ),
        (
            "oraclegeneral:unit=1",
            request(1, 0, (1 << 30) + 1, -1),
            "none for blocks has more than 1073741824",
        ),
    ] {
        let bytes = [good.clone(), wrong, good.clone()].concat();
        let (found, error) = read(&bytes, format);
        assert_eq!(found.len(), 1);
        let error = error.unwrap();
        assert!(error.contains(said) && error.contains("byte 24"), "{error}");
    }
    let (found, error) = read(&[vscsi1(0, 5), vscsi2(1, 6)].concat(), "vscsi:unit=512");
    assert_eq!(found, [(Kind::Load, 2560, 4096)]);
    assert!(error.unwrap().contains("not of version 1"));
}

#[test]
fn units_that_are_none_are_refused_before_anything_is_read() {
    for unit in ["0", "x", "", "-1", "18446744073709551616"] {
        for format in ["vscsi", "oraclegeneral"] {
            let format = format!("{format}:unit={unit}");
            let error = open(&vscsi1(0, 1), Some(&format)).err().unwrap();
            let error = error.to_string();
            assert!(error.contains("is no unit; say the bytes"), "{error}");
        }
    }
    let error = open(&vscsi1(0, 1), Some("vscsi:512")).err().unwrap();
    assert!(error.to_string().contains("`--format vscsi:unit=512`"));
}
