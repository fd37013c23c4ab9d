//! Copies of a trace hold what the trace holds.

use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use reuselens_formats::{Converted, Target, convert};
use reuselens_io::FileError;
use reuselens_testing::traces::{Piece, drain, native, open, rows, sample};
use reuselens_trace::{Block, Event, Kind, Process, Row, Source, TraceError};
use reuselens_units::Granularity;

fn copy(source: &mut dyn Source, target: Target) -> (Vec<u8>, Converted) {
    let mut out = Vec::new();
    let done = convert(source, target, &mut out, Path::new("out")).unwrap();
    (out, done)
}

fn text_of(pieces: &[Piece], granularity: Option<u64>) -> String {
    let granularity = granularity.map(|bytes| Granularity::new(bytes).unwrap());
    let mut source = open(&native(pieces, usize::MAX), None).unwrap();
    String::from_utf8(copy(&mut source, Target::Text(granularity)).0).unwrap()
}

fn block(rows: &[(Kind, u8, u64)]) -> Piece {
    let mut block = Block::new();
    rows.iter().for_each(|&(kind, size, addr)| {
        block.push(Row {
            kind,
            size,
            pc: 1,
            addr,
        })
    });
    Piece::Block(block)
}

#[test]
fn native_to_native_is_byte_identical() {
    let bytes = native(&sample(), usize::MAX);
    let (copied, done) = copy(&mut open(&bytes, None).unwrap(), Target::Native);
    assert_eq!(copied, bytes);
    assert_eq!((done.blocks, done.events, done.processes), (2, 7, 1));
    assert!(done.incomplete.is_none());
}

#[test]
fn text_converted_to_native_and_back_is_equal() {
    let mut items = open(b"7 8 7\n9\n", None).unwrap();
    let (file, _) = copy(&mut items, Target::Native);
    let mut source = open(&file, None).unwrap();
    assert!(!source.has_addresses());
    assert_eq!(copy(&mut source, Target::Text(None)).0, b"7\n8\n7\n9\n");
}

#[test]
fn text_has_addresses_or_items() {
    let rows = [
        (Kind::Load, 8, 60),
        (Kind::Enter, 0, 5),
        (Kind::Operand, 0, 6),
        (Kind::RangeStore, 0, 128),
        (Kind::Operand, 0, 129),
        (Kind::Atomic, 4, 64),
    ];
    let pieces = [block(&rows)];
    assert_eq!(text_of(&pieces, None), "0x3c\n0x80\n0x40\n");
    assert_eq!(text_of(&pieces, Some(64)), "0\n1\n2\n3\n4\n1\n");
}

#[test]
fn named_accesses_count_where_there_is_no_instrumentation() {
    let rows = block(&[(Kind::Named, 0, 16), (Kind::Operand, 0, 8)]);
    assert_eq!(text_of(std::slice::from_ref(&rows), None), "0x10\n");
    let process = Process {
        instrumented: true,
        ..Process::default()
    };
    assert_eq!(
        text_of(&[Piece::Event(Event::Process(process)), rows], None),
        ""
    );
}

#[test]
fn a_forged_range_does_not_fill_the_disk() {
    let rows = block(&[(Kind::RangeLoad, 0, 0), (Kind::Operand, 0, u64::MAX)]);
    let mut source = open(&native(&[rows], 1), None).unwrap();
    let target = Target::Text(Some(Granularity::BYTE));
    let error = convert(&mut source, target, std::io::sink(), Path::new("out")).unwrap_err();
    assert!(error.to_string().contains("range operation"), "{error}");
}

#[test]
fn a_damaged_trace_is_copied_up_to_the_damage_with_a_remark() {
    let bytes = native(&sample(), 4);
    let cut = &bytes[..bytes.len() - 60];
    let (before, _) = drain(&mut open(cut, None).unwrap());
    let (file, done) = copy(&mut open(cut, None).unwrap(), Target::Native);
    assert!(matches!(
        done.incomplete,
        Some(TraceError::File(FileError::Corrupt { .. }))
    ));
    let (mut copied, error) = drain(&mut open(&file, None).unwrap());
    assert!(error.is_none(), "the copy is whole: {error:?}");
    let Some(Piece::Event(Event::Note(note))) = copied.pop() else {
        panic!("no note")
    };
    assert_eq!(note.code, "truncated");
    assert_eq!(copied, before);
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let bytes = native(&sample(), usize::MAX);
    for target in [Target::Text(None), Target::Native, Target::Parquet] {
        let mut source = open(&bytes, None).unwrap();
        let error = convert(&mut source, target, Full, Path::new("the-output")).unwrap_err();
        assert!(
            error.to_string().contains("cannot write the-output"),
            "{target:?}: {error}"
        );
        let TraceError::File(FileError::Io { source, .. }) = error else {
            panic!("{target:?}: {error}")
        };
        assert_eq!(source.kind(), std::io::ErrorKind::StorageFull, "{target:?}");
    }
}

#[test]
fn parquet_has_every_row_in_order() {
    let mut pieces = sample();
    let mut large = Block::new();
    for index in 0..1_100_000_u64 {
        large.push(Row {
            kind: Kind::Store,
            size: 255,
            pc: u64::MAX,
            addr: index.wrapping_neg(),
        });
    }
    pieces.push(Piece::Block(large));
    let mut source = open(&native(&pieces, usize::MAX), None).unwrap();
    let mut file = tempfile::tempfile().unwrap();
    convert(&mut source, Target::Parquet, &mut file, Path::new("out")).unwrap();

    let table = SerializedFileReader::new(file).unwrap();
    assert_eq!(table.metadata().num_row_groups(), 2);
    let expected = pieces.iter().filter_map(|piece| match piece {
        Piece::Block(block) => Some(block),
        Piece::Event(_) => None,
    });
    let mut found = table.get_row_iter(None).unwrap();
    for block in expected {
        for row in block.rows() {
            let got = found.next().expect("a row is missing").unwrap();
            assert_eq!(got.get_ushort(0).unwrap(), block.process.0);
            assert_eq!(got.get_uint(1).unwrap(), block.thread.0);
            let kind = format!("{:?}", row.kind).to_lowercase();
            assert_eq!(got.get_string(2).unwrap().replace('-', ""), kind);
            assert_eq!(got.get_ubyte(3).unwrap(), row.size);
            assert_eq!(got.get_ulong(4).unwrap(), row.pc);
            assert_eq!(got.get_ulong(5).unwrap(), row.addr);
        }
    }
    assert!(found.next().is_none());
}

#[test]
fn empty_trace_becomes_an_empty_table() {
    let (bytes, _) = copy(&mut open(&native(&[], 1), None).unwrap(), Target::Parquet);
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    assert_eq!(rows(&[]), []);
}
