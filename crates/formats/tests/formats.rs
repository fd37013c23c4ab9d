//! The foreign formats: what is read, what is refused and in which words, and how a format is
//! found.

use std::path::Path;

use reuselens_formats::FORMATS;
use reuselens_io::{FileError, Input};
use reuselens_testing::traces::{Piece, Random, drain, native, open, rows, sample};
use reuselens_trace::{Event, Kind, Row, Source, TraceError};

/// The addresses of all rows, and the error.
fn addrs(bytes: &[u8], format: Option<&str>) -> (Vec<u64>, Option<TraceError>) {
    let (pieces, error) = drain(&mut open(bytes, format).unwrap());
    (rows(&pieces).iter().map(|row| row.addr).collect(), error)
}

fn refused(bytes: &[u8], name: &str) -> String {
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), name);
    let error = reuselens_formats::read(input, None)
        .err()
        .expect("it should be refused");
    assert!(matches!(error, TraceError::UnknownFormat { .. }), "{error}");
    error.to_string()
}

#[test]
fn text_reads_numbers_names_comments_and_blank_lines() {
    let (read, error) = addrs(
        b"\xef\xbb\xbf# ids\n10 0x10\t10\r\n\n  7 # the rest\n#8\n18446744073709551615",
        None,
    );
    assert!(error.is_none());
    assert_eq!(read, [10, 16, 10, 7, u64::MAX]);
    let (read, _) = addrs(b"a b c a\nb 0\n", None);
    assert_eq!(read[0], read[3]);
    assert_eq!(read[1], read[4]);
    let mut distinct = read.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 4, "{read:?}");
}

#[test]
fn text_items_are_loads_of_one_byte_without_addresses() {
    for (bytes, format) in [
        (&b"5\n"[..], "text"),
        (&[5, 0, 0, 0, 0, 0, 0, 0][..], "u64"),
    ] {
        let mut source = open(bytes, Some(format)).unwrap();
        assert!(!source.has_addresses());
        let (pieces, error) = drain(&mut source);
        assert!(error.is_none());
        assert!(matches!(pieces[0], Piece::Event(Event::Process(_))));
        assert!(matches!(pieces[1], Piece::Event(Event::Thread(_))));
        assert_eq!(
            rows(&pieces),
            [Row {
                kind: Kind::Load,
                size: 1,
                pc: 0,
                addr: 5
            }]
        );
    }
}

#[test]
fn binary_bytes_in_text_are_an_error_after_the_lines_before() {
    let (read, error) = addrs(b"1\n2\n\x003\n4\n", Some("text"));
    assert_eq!(read, [1, 2]);
    let error = error.unwrap().to_string();
    assert!(
        error.contains("line 3") && error.contains("--format u64"),
        "{error}"
    );
}

#[test]
fn an_endless_line_of_text_is_an_error_after_the_lines_before() {
    let mut bytes = b"1\n2\n".to_vec();
    bytes.resize(1 << 20, b'x');
    let (read, error) = addrs(&bytes, Some("text"));
    assert_eq!(read, [1, 2]);
    assert!(error.unwrap().to_string().contains("line 3"));
}

#[test]
fn u64_reads_whole_items_and_reports_a_rest() {
    let mut random = Random(1);
    let items: Vec<u64> = (0..100_001).map(|_| random.next()).collect();
    let mut bytes: Vec<u8> = items.iter().flat_map(|item| item.to_le_bytes()).collect();
    let (read, error) = addrs(&bytes, Some("u64"));
    assert!(error.is_none());
    assert_eq!(read, items);
    bytes.extend_from_slice(&[1, 2, 3]);
    let (read, error) = addrs(&bytes, Some("u64"));
    assert_eq!(read, items);
    let error = error.unwrap();
    assert!(error.is_partial());
    assert!(error.to_string().contains("byte 800008"), "{error}");
}

const LACKEY: &[u8] = b"==9== Lackey, an example Valgrind tool\n==9== Command: ./a.out\n==9== \n\
I  04001000,3\n L 1ffeffe7e,8\n S 1ffeffe70,4\nI  04001003,5\n M 0421c7cc,2\n S 1000,576\n==9== \n";

#[test]
fn lackey_gives_data_accesses_the_instruction_before_them() {
    let mut source = open(LACKEY, None).unwrap();
    assert!(source.has_addresses());
    let (pieces, error) = drain(&mut source);
    assert!(error.is_none());
    let Piece::Event(Event::Process(process)) = &pieces[0] else {
        panic!("{:?}", pieces[0])
    };
    assert_eq!((process.pid, process.executable.as_str()), (9, "./a.out"));
    let row = |kind, size, pc, addr| Row {
        kind,
        size,
        pc,
        addr,
    };
    let expected = [
        row(Kind::Load, 8, 0x0400_1001, 0x1_ffef_fe7e),
        row(Kind::Store, 4, 0x0400_1001, 0x1_ffef_fe70),
        row(Kind::Load, 2, 0x0400_1004, 0x0421_c7cc),
        row(Kind::Store, 2, 0x0400_1004, 0x0421_c7cc),
        row(Kind::RangeStore, 0, 0x0400_1004, 0x1000),
        row(Kind::Operand, 0, 0, 576),
    ];
    assert_eq!(rows(&pieces), expected);
}

#[test]
fn a_malformed_line_of_lackey_is_an_error_with_its_number() {
    let mut bytes = LACKEY.to_vec();
    bytes.extend_from_slice(b"hello\x1b[31m\n L 10,1\n");
    let (read, error) = addrs(&bytes, Some("lackey"));
    assert_eq!(read.len(), 6);
    let error = error.unwrap().to_string();
    assert!(
        error.contains("line 11") && error.contains("--log-file"),
        "{error}"
    );
    assert!(
        !error.contains('\x1b'),
        "no control bytes reach the terminal"
    );
}

/// Skipped where Valgrind is not installed: the format must be what it really prints.
#[test]
fn output_of_valgrind_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let run = std::process::Command::new("valgrind")
        .args(["--tool=lackey", "--trace-mem=yes"])
        .arg(format!("--log-file={}", log.display()))
        .arg("/bin/true")
        .status();
    if !run.is_ok_and(|status| status.success()) {
        eprintln!("valgrind did not run: nothing checked");
        return;
    }
    let text = std::fs::read_to_string(&log).unwrap();
    let count = |mark| text.lines().filter(|line| line.starts_with(mark)).count();
    let expected = count(" L") + count(" S") + 2 * count(" M");
    let (pieces, error) = drain(&mut reuselens_formats::open(&log, None).unwrap());
    assert!(error.is_none(), "{error:?}");
    let read = rows(&pieces);
    assert_eq!(
        read.iter().filter(|row| row.kind != Kind::Operand).count(),
        expected
    );
    assert!(
        expected > 1000
            && read
                .iter()
                .all(|row| row.pc != 0 || row.kind == Kind::Operand)
    );
}

#[test]
fn formats_are_found_by_content() {
    let describe = |bytes: &[u8]| open(bytes, None).unwrap().describe();
    assert_eq!(describe(&native(&sample(), 9)), "a test");
    assert!(describe(LACKEY).contains("lackey"));
    assert!(describe(b"I  10,4\n L 20,4\n").contains("lackey"));
    assert!(describe(b"1\n2\n").contains("text"));
}

#[test]
fn raw_items_are_found_by_their_ending_only() {
    let bytes: Vec<u8> = (0..100_u64).flat_map(u64::to_le_bytes).collect();
    let said = refused(&bytes, "trace.dat");
    assert!(said.contains("--format u64"), "{said}");
    for name in ["trace.u64", "trace.bin"] {
        let input = Input::new(std::io::Cursor::new(bytes.clone()), name);
        let (pieces, _) = drain(&mut reuselens_formats::read(input, None).unwrap());
        assert_eq!(rows(&pieces).len(), 100);
    }
}

#[test]
fn unknown_formats_are_refused_with_a_hint() {
    for (bytes, said) in [
        (&b"BZh91AY&SY"[..], "bzip2 -dc"),
        (b"PAR1\x15\x04", "Parquet"),
        (b"{\"traceEvents\": []}", "--format text"),
        (b"\x7fELF\x02\x01", "--format u64"),
        (b"\x00", "reuselens formats"),
    ] {
        let error = refused(bytes, "some.file");
        assert!(
            error.contains(said) && error.contains("some.file"),
            "{error}"
        );
    }
    let error = open(b"1\n", Some("nonsense")).err().unwrap().to_string();
    assert!(error.contains("no format is called 'nonsense'"), "{error}");
}

#[test]
fn missing_empty_and_directory_give_different_errors() {
    let folder = tempfile::tempdir().unwrap();
    let missing = reuselens_formats::open(&folder.path().join("none"), None)
        .err()
        .unwrap();
    assert!(
        matches!(
            missing,
            TraceError::File(FileError::Io { action: "open", .. })
        ),
        "{missing}"
    );
    let directory = reuselens_formats::open(folder.path(), None).err().unwrap();
    assert!(
        matches!(directory, TraceError::UnknownFormat { .. }),
        "{directory}"
    );
    let file = folder.path().join("empty");
    std::fs::write(&file, b"").unwrap();
    for format in [
        None,
        Some("text"),
        Some("u64"),
        Some("lackey"),
        Some("native"),
    ] {
        let empty = reuselens_formats::open(&file, format).err().unwrap();
        assert!(
            matches!(empty, TraceError::File(FileError::Empty { .. })),
            "{format:?}: {empty}"
        );
    }
}

#[test]
fn progress_goes_from_zero_to_the_length() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t");
    std::fs::write(&file, b"1\n2\n3\n").unwrap();
    let mut source = reuselens_formats::open(Path::new(&file), None).unwrap();
    assert_eq!(source.progress(), Some((0, 6)));
    drain(&mut source);
    assert_eq!(source.progress(), Some((6, 6)));
}

#[test]
fn the_list_has_every_format_once() {
    let mut names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
    assert!(FORMATS.iter().all(|format| format.reads || format.writes));
    assert!(FORMATS.iter().all(|format| !format.summary.is_empty()));
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "champsim",
            "csv",
            "din",
            "drmemtrace",
            "lackey",
            "msr",
            "native",
            "oraclegeneral",
            "parquet",
            "text",
            "u32",
            "u64",
            "vscsi"
        ]
    );
}

#[test]
fn an_error_of_the_system_loses_no_rows() {
    struct Failing(&'static [u8]);
    impl std::io::Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.0.is_empty() {
                return Err(std::io::Error::other("the disk is gone"));
            }
            self.0.read(buffer)
        }
    }
    // Longer than what is looked at to find a format, so that the failure comes while reading.
    static TEXT: [u8; 8000] = {
        let mut text = [b'7'; 8000];
        let mut at = 1;
        while at < text.len() {
            text[at] = b'\n';
            at += 2;
        }
        text
    };
    let mut source = reuselens_formats::read(Input::new(Failing(&TEXT), "t"), None).unwrap();
    let (pieces, error) = drain(&mut source);
    assert_eq!(rows(&pieces).len(), 4000);
    assert!(
        matches!(
            error,
            Some(TraceError::File(FileError::Io { action: "read", .. }))
        ),
        "{error:?}"
    );
}
