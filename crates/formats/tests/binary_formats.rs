//! The binary foreign formats: each record by hand, what is refused, and how the formats are found.

use std::io::Cursor;

use crate::binary::{
    PACKINGS, drmemtrace, entries, gzip, instruction, request, vscsi1, vscsi2, zip,
};
use reuselens_io::Input;
use reuselens_testing::traces::{Piece, Random, drain, open, rows};
use reuselens_trace::{
    Event, Kind, Process, ProcessId, Projection, Row, Source, Thread, ThreadId, TraceError,
};

fn row(kind: Kind, size: u8, pc: u64, addr: u64) -> Row {
    Row {
        kind,
        size,
        pc,
        addr,
    }
}

/// Reads bytes as a file of that name, without naming a format.
fn found(bytes: Vec<u8>, name: &str) -> Result<(String, Vec<Row>), TraceError> {
    let input = Input::seekable(Cursor::new(bytes), name)?;
    let mut source = reuselens_formats::read(input, None)?;
    let said = source.describe();
    let (pieces, error) = drain(&mut source);
    error.map_or(Ok((said, rows(&pieces))), Err)
}

fn all(bytes: &[u8], format: &str) -> (Vec<Piece>, Option<String>) {
    match open(bytes, Some(format)) {
        Ok(mut source) => {
            let (pieces, error) = drain(&mut source);
            if let Some(error) = &error {
                assert!(error.is_partial(), "{error}");
            }
            (pieces, error.map(|error| error.to_string()))
        }
        Err(error) => (Vec::new(), Some(error.to_string())),
    }
}

#[test]
fn drmemtrace_gives_accesses_their_instruction_and_thread() {
    let mut source = open(&drmemtrace(), None).unwrap();
    assert!(source.has_addresses());
    assert!(source.describe().contains("drmemtrace"));
    let (pieces, error) = drain(&mut source);
    assert!(error.is_none(), "{error:?}");
    let thread = |id, tid| {
        Piece::Event(Event::Thread(Thread {
            id: ThreadId(id),
            tid,
            ..Thread::default()
        }))
    };
    let process = Process {
        pid: 70,
        ..Process::default()
    };
    assert_eq!(pieces[0], Piece::Event(Event::Process(process)));
    assert_eq!(pieces[1], thread(0, 71));
    assert_eq!(pieces[3], thread(1, 72));
    assert_eq!(pieces[6], Piece::Event(Event::ThreadEnded(ThreadId(0))));
    assert_eq!(pieces.len(), 7);
    let whose = |piece: &Piece| match piece {
        Piece::Block(block) => Some((block.process.0, block.thread.0, block.len())),
        Piece::Event(_) => None,
    };
    let blocks: Vec<_> = pieces.iter().filter_map(whose).collect();
    assert_eq!(blocks, [(0, 0, 4), (0, 1, 2), (0, 0, 1)]);
    let expected = [
        row(Kind::Load, 8, 0x40_1001, 0x7fff_1000),
        row(Kind::Store, 4, 0x40_1001, 0x7fff_1008),
        row(Kind::Store, 8, 0x40_1004, 0x7fff_0ff8),
        // The third instruction of a bundle: 0x401003 + 5 + 2 + 3.
        row(Kind::Load, 2, 0x40_100e, 0x5000),
        row(Kind::RangeStore, 0, 0x40_2001, 0x6000),
        row(Kind::Operand, 0, 0, 512),
        row(Kind::Load, 255, 0x40_1011, 0x5002),
    ];
    assert_eq!(rows(&pieces), expected);
}

#[test]
fn drmemtrace_separates_processes_and_threads_with_a_reused_number() {
    let (pieces, error) = all(
        &entries(&[
            (22, 0, 5),
            (24, 0, 50),
            (10, 1, 100),
            (0, 1, 1),
            (22, 0, 6),
            (24, 0, 60),
            (0, 1, 2),
            (23, 0, 6),
            (22, 0, 6),
            (0, 1, 3),
            (24, 0, 50),
            (0, 1, 4),
        ]),
        "drmemtrace",
    );
    assert_eq!(error, None);
    let whose = |piece: &Piece| match piece {
        Piece::Block(block) => Some((block.process, block.thread, block.addrs().to_vec())),
        Piece::Event(_) => None,
    };
    let blocks: Vec<_> = pieces.iter().filter_map(whose).collect();
    let expected = [(0, 0, 1), (1, 1, 2), (1, 2, 3), (0, 3, 4)];
    let expected =
        expected.map(|(process, thread, addr)| (ProcessId(process), ThreadId(thread), vec![addr]));
    assert_eq!(blocks, expected);
}

#[test]
fn drmemtrace_without_headers_is_read_by_name() {
    let (pieces, error) = all(&entries(&[(0, 4, 7), (1, 4, 8)]), "drmemtrace");
    assert_eq!(error, None);
    assert!(matches!(pieces[0], Piece::Event(Event::Process(_))));
    assert!(matches!(pieces[1], Piece::Event(Event::Thread(_))));
    let expected = [row(Kind::Load, 4, 0, 7), row(Kind::Store, 4, 0, 8)];
    assert_eq!(rows(&pieces), expected);
}

/// DynamoRIO has no size for what `xsavec` and `xrstor` access, which every lazily bound call runs.
#[test]
fn drmemtrace_reads_size_0_as_one_byte_with_a_remark() {
    let bytes = entries(&[
        (25, 0, 5),
        (22, 0, 7),
        (24, 0, 7),
        (10, 5, 0x40_1000),
        (1, 0, 0x7fff_1040),
        (0, 8, 0x7fff_2000),
        (10, 5, 0x40_1005),
        (0, 0, 0x7fff_1040),
        (1, 4, 0x7fff_2008),
    ]);
    let (pieces, error) = all(&bytes, "drmemtrace");
    assert_eq!(error, None);
    let expected = [
        row(Kind::Store, 1, 0x40_1001, 0x7fff_1040),
        row(Kind::Load, 8, 0x40_1001, 0x7fff_2000),
        row(Kind::Load, 1, 0x40_1006, 0x7fff_1040),
        row(Kind::Store, 4, 0x40_1006, 0x7fff_2008),
    ];
    assert_eq!(rows(&pieces), expected);
    let notes = pieces.iter().filter_map(|piece| match piece {
        Piece::Event(Event::Note(note)) => Some(note.code.as_str()),
        _ => None,
    });
    assert_eq!(notes.collect::<Vec<_>>(), ["unknown-size"]);
}

#[test]
fn drmemtrace_refuses_invalid_entries() {
    for (wrong, said) in [
        ((50, 1, 1), "type 50"),
        ((0xffff, 1, 1), "type 65535"),
        ((17, 9, 1), "bundle"),
    ] {
        let (pieces, error) = all(&entries(&[(0, 4, 7), wrong, (0, 4, 8)]), "drmemtrace");
        assert_eq!(rows(&pieces), [row(Kind::Load, 4, 0, 7)]);
        let error = error.unwrap();
        assert!(error.contains(said) && error.contains("byte 12"), "{error}");
    }
}

#[test]
fn drmemtrace_is_read_from_zip_files_in_order() {
    let bytes = drmemtrace();
    let (head, rest) = bytes.split_at(9 * 12);
    let (middle, end) = rest.split_at(100);
    let members = [
        ("chunk.10000", end),
        ("chunk.0000", head),
        ("chunk.9999", middle),
    ];
    let (said, rows) = found(zip(&members), "app.trace.zip").unwrap();
    assert!(said.contains("drmemtrace"), "{said}");
    assert_eq!(rows, found(bytes, "app.trace").unwrap().1);
}

#[test]
fn champsim_gives_loads_and_then_stores() {
    let mut bytes = instruction(0x40_1000, [0x10, 0], [0x20, 0, 0x30, 0]);
    bytes.extend(instruction(0x40_1004, [0, 0], [0; 4]));
    bytes.extend(instruction(0x40_1008, [1, 2], [3, 4, 5, u64::MAX]));
    let mut source = open(&bytes, Some("champsim")).unwrap();
    assert!(source.has_addresses());
    let (pieces, error) = drain(&mut source);
    assert!(error.is_none());
    let (first, third) = (0x40_1001, 0x40_1009);
    let expected = [
        row(Kind::Load, 1, first, 0x20),
        row(Kind::Load, 1, first, 0x30),
        row(Kind::Store, 1, first, 0x10),
        row(Kind::Load, 1, third, 3),
        row(Kind::Load, 1, third, 4),
        row(Kind::Load, 1, third, 5),
        row(Kind::Load, 1, third, u64::MAX),
        row(Kind::Store, 1, third, 1),
        row(Kind::Store, 1, third, 2),
    ];
    assert_eq!(rows(&pieces), expected);
}

#[test]
fn champsim_refuses_invalid_flags() {
    let mut bytes: Vec<u8> = (0..1000)
        .flat_map(|at| instruction(at, [at + 1, 0], [0; 4]))
        .collect();
    bytes[700 * 64 + 8] = 2;
    let (pieces, error) = all(&bytes, "champsim");
    assert_eq!(rows(&pieces).len(), 700);
    let error = error.unwrap();
    assert!(
        error.contains("branch") && error.contains("byte 44800"),
        "{error}"
    );
}

#[test]
fn oraclegeneral_has_ids() {
    let bytes: Vec<u8> = [request(1, 77, 4096, 2), request(1, u64::MAX, 0, -1)].concat();
    let mut source = open(&bytes, Some("oraclegeneral")).unwrap();
    assert!(!source.has_addresses());
    let (pieces, error) = drain(&mut source);
    assert!(error.is_none());
    let expected = [row(Kind::Load, 1, 0, 77), row(Kind::Load, 1, 0, u64::MAX)];
    assert_eq!(rows(&pieces), expected);
}

#[test]
fn vscsi_has_blocks_and_kinds_in_both_versions() {
    for record in [vscsi1, vscsi2] {
        let bytes: Vec<u8> = (0..3).flat_map(|at| record(at, 1 << (20 * at))).collect();
        let kinds = [Kind::Load, Kind::Store, Kind::Load];
        let mut source = open(&bytes, Some("vscsi")).unwrap();
        assert!(!source.has_addresses());
        let (pieces, error) = drain(&mut source);
        assert!(error.is_none());
        let expected = [0, 1, 2].map(|at| row(kinds[at], 1, 0, 1 << (20 * at)));
        assert_eq!(rows(&pieces), expected);
        let mut source = open(&bytes, Some("vscsi")).unwrap();
        assert!(source.project(Projection::Sizes));
        let with_sizes = rows(&drain(&mut source).0);
        let ranges = [Kind::RangeLoad, Kind::RangeStore, Kind::RangeLoad];
        let found: Vec<Kind> = with_sizes.iter().step_by(2).map(|row| row.kind).collect();
        assert_eq!(found, ranges);
    }
    let (_, error) = all(&[0; 80], "vscsi");
    assert!(error.unwrap().contains("neither of version 1"));
    let (pieces, error) = all(&[vscsi1(0, 5), vscsi2(1, 6)].concat(), "vscsi");
    assert_eq!(rows(&pieces), [row(Kind::Load, 1, 0, 5)]);
    assert!(error.unwrap().contains("not of version 1"));
}

/// One of each format, long enough to be more than one buffer, and the number of rows.
fn long(format: &str) -> Vec<u8> {
    let mut random = Random(3);
    let number = 30_000;
    let record = |at: u64| match format {
        "drmemtrace" => entries(&[(10, 4, at * 4), (at as u16 & 1, 8, at * 8 + 1)]),
        "champsim" => instruction(at, [0, 0], [0, at + 1, 0, 0]),
        "oraclegeneral" => request(at as u32, at * at, 1, -1),
        "vscsi1" => vscsi1(at as u32, at ^ 0xff),
        _ => vscsi2(at as u32, at ^ random.next()),
    };
    (0..number).flat_map(record).collect()
}

#[test]
fn a_record_that_is_cut_off_is_an_error_after_those_before() {
    for (format, name, length) in [
        ("drmemtrace", "drmemtrace", 12),
        ("champsim", "champsim", 64),
        ("oraclegeneral", "oraclegeneral", 24),
        ("vscsi1", "vscsi", 32),
        ("vscsi2", "vscsi", 40),
    ] {
        let bytes = long(format);
        let (whole, error) = all(&bytes, name);
        assert_eq!((rows(&whole).len(), error), (30_000, None), "{format}");
        for left in 1..length {
            let cut = &bytes[..bytes.len() - length + left];
            let (read, error) = all(cut, name);
            assert_eq!(rows(&read), rows(&whole)[..29_999], "{format} {left}");
            let error = error.unwrap();
            let place = format!("byte {}", bytes.len() - length);
            assert!(error.contains(&place), "{error}");
            assert!(error.contains(&format!("the last {left} bytes")), "{error}");
        }
    }
}

#[test]
fn packed_forms_give_the_same_rows() {
    for (format, name) in [
        ("drmemtrace", "drmemtrace"),
        ("champsim", "champsim"),
        ("oraclegeneral", "oraclegeneral"),
        ("vscsi1", "vscsi"),
        ("vscsi2", "vscsi"),
    ] {
        let bytes = long(format);
        let plain = all(&bytes, name);
        for (ending, pack) in PACKINGS {
            let packed = all(&pack(&bytes), name);
            assert!(packed == plain, "{format} {ending}");
        }
    }
}

/// Its numbers would be those of the packed bytes.
#[test]
fn a_damaged_beginning_of_a_packed_file_is_not_read_as_numbers() {
    let bytes: Vec<u8> = (0..100_u64).flat_map(u64::to_le_bytes).collect();
    for (ending, pack) in PACKINGS {
        let mut packed = pack(&bytes);
        packed[1] ^= 1;
        for name in [format!("t.u64.{ending}"), format!("t.champsim.{ending}")] {
            let error = found(packed.clone(), &name).unwrap_err().to_string();
            assert!(error.contains("says that it is compressed"), "{error}");
        }
    }
}

#[test]
fn raw_items_of_32_bits_are_read() {
    let items = [0, 7, u32::MAX, 1 << 31];
    let bytes: Vec<u8> = items.into_iter().flat_map(u32::to_le_bytes).collect();
    let expected = items.map(|item| row(Kind::Load, 1, 0, item.into()));
    let (said, found) = found(bytes.clone(), "a.u32").unwrap();
    assert!(said.contains("32-bit items"), "{said}");
    assert_eq!(found, expected);
    let (pieces, error) = all(&bytes[..14], "u32");
    assert_eq!(rows(&pieces), expected[..3]);
    assert!(error.unwrap().contains("the last 2 bytes"));
}

/// Its bytes would be read as items.
#[test]
fn a_schedule_beside_traces_is_no_trace() {
    let record = [1_u64, 2, 3, 4].map(u64::to_le_bytes).concat();
    for (name, bytes) in [
        (
            "a/cpu_schedule.bin.zip",
            zip(&[("0", &record), ("1", &record)]),
        ),
        ("serial_schedule.bin.gz", gzip(&record)),
        ("cpu_schedule.bin", record.clone()),
    ] {
        let error = found(bytes, name).unwrap_err().to_string();
        assert!(
            error.contains("schedule of a trace of DynamoRIO"),
            "{error}"
        );
    }
}

#[test]
fn formats_are_found_by_content_or_by_name_only() {
    let described = |bytes: Vec<u8>, name: &str| found(bytes, name).map(|(said, _)| said).unwrap();
    assert!(described(drmemtrace(), "x").contains("drmemtrace"));
    assert!(described(long("vscsi1"), "x").contains("virtual disk"));
    assert!(described(long("vscsi2"), "x.bin").contains("virtual disk"));
    assert!(described(vscsi1(1, 2), "x.vscsi").contains("virtual disk"));
    assert!(described(long("champsim"), "x.champsimtrace").contains("ChampSim"));
    assert!(described(long("oraclegeneral"), "w.oracleGeneral.bin").contains("objects"));
    for (ending, pack) in PACKINGS {
        let name = |inner: &str| format!("x.{inner}.{ending}");
        assert!(described(pack(&drmemtrace()), &name("trace")).contains("drmemtrace"));
        let champsim = described(pack(&long("champsim")), &name("champsimtrace"));
        assert!(champsim.contains("ChampSim"));
        let oracle = described(pack(&long("oraclegeneral")), &name("oracleGeneral.bin"));
        assert!(oracle.contains("objects"));
    }
    for bytes in [long("champsim"), long("oraclegeneral"), vscsi1(1, 2)] {
        let error = found(bytes, "x").unwrap_err();
        assert!(matches!(error, TraceError::UnknownFormat { .. }), "{error}");
    }
}
