//! The formats that are text, and raw items: what they mean, however the bytes arrive, and every
//! error.

use std::io::Read;

use proptest::prelude::*;
use reuselens_io::{FileError, Input};
use reuselens_testing::traces::{Piece, Random, drain, open, rows};
use reuselens_trace::{Block, Event, Kind, Row, Source, Step, Thread, ThreadId, TraceError};

/// Gives at most `most` bytes a time.
struct Slowly {
    bytes: Vec<u8>,
    at: usize,
    most: usize,
}

impl Read for Slowly {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.most.min(buffer.len()).min(self.bytes.len() - self.at);
        buffer[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Rows, threads that began, and the error, if the bytes come `most` at a time.
fn slowly(bytes: &[u8], format: &str, most: usize) -> (Vec<Row>, Vec<Thread>, Option<String>) {
    let reader = Slowly {
        bytes: bytes.to_vec(),
        at: 0,
        most,
    };
    let mut source = match reuselens_formats::read(Input::new(reader, "trace"), Some(format)) {
        Ok(source) => source,
        Err(error) => return (Vec::new(), Vec::new(), Some(error.to_string())),
    };
    let (pieces, error) = drain(&mut source);
    let threads = pieces.iter().filter_map(|piece| match piece {
        Piece::Event(Event::Thread(thread)) => Some(thread.clone()),
        _ => None,
    });
    (
        rows(&pieces),
        threads.collect(),
        error.map(|error| error.to_string()),
    )
}

/// Rows and error; checks that they do not depend on how the bytes arrive. Arriving one by one,
/// every line is read by the careful ways; all at once, almost all are read by the quick ones.
fn read(bytes: &[u8], format: &str) -> (Vec<Row>, Option<String>) {
    let (rows, threads, error) = slowly(bytes, format, usize::MAX);
    let longest = if bytes.len() < 4096 { 40 } else { 3 };
    for most in 1..longest {
        let (other_rows, other_threads, other_error) = slowly(bytes, format, most);
        assert!(rows == other_rows, "{format}, {most} bytes a time");
        assert_eq!((&threads, &error), (&other_threads, &other_error));
    }
    (rows, error)
}

fn addrs(bytes: &[u8], format: &str) -> Vec<u64> {
    let (rows, error) = read(bytes, format);
    assert_eq!(error, None);
    rows.iter().map(|row| row.addr).collect()
}

fn row(kind: Kind, size: u8, pc: u64, addr: u64) -> Row {
    Row {
        kind,
        size,
        pc,
        addr,
    }
}

/// Checks that the rows before the damage come, and then an error that says all of `said`.
fn fails(bytes: &[u8], format: &str, before: usize, said: &[&str]) {
    let (rows, error) = read(bytes, format);
    let error = error.unwrap_or_default();
    assert_eq!(rows.len(), before, "{error}");
    for said in said {
        assert!(error.contains(said), "'{said}' is not in '{error}'");
    }
    assert!(
        !error.contains('\x1b'),
        "no control bytes reach the terminal"
    );
}

#[test]
fn one_line_may_hold_a_whole_trace_of_text() {
    let items: Vec<u64> = (0..200_000).map(|item| item * item).collect();
    let words: Vec<String> = items.iter().map(u64::to_string).collect();
    assert_eq!(addrs(words.join(" ").as_bytes(), "text"), items);
    let comment = format!("1 # {} 2\n3", "no item ".repeat(100_000));
    assert_eq!(addrs(comment.as_bytes(), "text"), [1, 3]);
    let comment = format!("1 #{}\n3", "#".repeat(1 << 20));
    assert_eq!(addrs(comment.as_bytes(), "text"), [1, 3]);
}

#[test]
fn a_word_or_line_beyond_64_kib_is_an_error() {
    let endless = "7".repeat((64 << 10) + 1);
    let words = format!("1 2\n3 {endless} 4\n");
    fails(
        words.as_bytes(),
        "text",
        3,
        &["a word is longer than 65536 bytes", "line 2"],
    );
    let longest = &endless[1..];
    let (rows, _, error) = slowly(format!("1 {longest}").as_bytes(), "text", 5000);
    assert_eq!((rows.len(), error), (2, None));
    for (format, first) in [
        ("lackey", "I  04001000,3\n L 10,1\n== "),
        ("din", "0 10\n1 10 "),
        ("csv", "id,size\n1,2\n1,"),
        ("msr", "1,h,0,Read,5,6,7\n1,"),
    ] {
        for end in ["", "\n", "\n1,2\n"] {
            let text = format!("{first}{endless}{end}");
            fails(
                text.as_bytes(),
                format,
                1,
                &["a line is longer than 65536 bytes"],
            );
        }
    }
}

#[test]
fn lines_may_end_in_cr_lf_or_nothing() {
    for (format, lines) in [
        ("text", "1 2 3\n0x4\n5 # six\n\n7"),
        (
            "lackey",
            "I  04001000,3\n L 1ffe0008,8\n\n S 10,576\n M 20,4",
        ),
        ("din", "2 400100\n0 7fff0000\n1 7fff0010 more of it\n\n0 10"),
        ("csv", "addr,op,size\n0x10,R,4\n17,W,300\n\n5,R,1"),
        ("csv", "op,addr\nR,0x10\nW,17\n\nR,5"),
        (
            "msr",
            "1,h,0,Read,512,4096,7\n2,h,1,Write,0,512,7\n\n3,h,0,Read,0,1,1",
        ),
    ] {
        let expected = read(lines.as_bytes(), format);
        assert!(expected.0.len() > 2 && expected.1.is_none(), "{format}");
        let with_end = format!("{lines}\n");
        assert_eq!(read(with_end.as_bytes(), format), expected, "{format}");
        let with_returns = with_end.replace('\n', "\r\n");
        assert_eq!(read(with_returns.as_bytes(), format), expected, "{format}");
        let padded = format!("{}\n", lines.replace('\n', "\n\n"));
        assert_eq!(read(padded.as_bytes(), format), expected, "{format}");
    }
}

#[test]
fn din_gives_accesses_of_one_byte_and_the_fetch_before_them() {
    let text =
        b"0 10\n2 400100\n1 7fff0000 extra words\n 3\t0xFFFFFFFFFFFFFFFF\n4 0\n2 400104\n0 a";
    let (read, error) = read(text, "din");
    assert_eq!(error, None);
    let expected = [
        row(Kind::Load, 1, 0, 0x10),
        row(Kind::Store, 1, 0x40_0101, 0x7fff_0000),
        row(Kind::Load, 1, 0x40_0101, u64::MAX),
        row(Kind::Load, 1, 0x40_0105, 0xa),
    ];
    assert_eq!(read, expected);
    assert!(open(text, Some("din")).unwrap().has_addresses());
    let found = open(b"0 7fff1234\n1 7fff1238\n", None).unwrap();
    assert!(found.describe().contains("Dinero"), "{}", found.describe());
}

#[test]
fn din_refuses_malformed_lines() {
    for line in [
        "5 10",
        "10 10",
        "0",
        "0 xyz",
        "x 10",
        "0 10000000000000000",
        "-1 5",
        "\x1b[31m",
    ] {
        let text = format!("0 10\n1 20\n{line}\n0 30\n");
        fails(text.as_bytes(), "din", 2, &["is no line of din", "line 3"]);
    }
}

#[test]
fn lackey_refuses_malformed_lines() {
    for line in [
        " L 10",
        " L 10,0",
        " L 1ffe0000,0",
        " X 10,4",
        " L 1ffe0000,4x",
        "hello",
        "I  04001000;3",
    ] {
        let text = format!("I  04001000,3\n L 1ffe0000,8\n{line}\n L 1ffe0000,8\n");
        fails(
            text.as_bytes(),
            "lackey",
            1,
            &["is no line of lackey", "line 3"],
        );
    }
}

#[test]
fn lackey_refuses_impossible_extents() {
    for (line, said) in [
        (" L 10,1099511627777", "the size in column 2 is"),
        (" M 0,18446744073709551615", "the size in column 2 is"),
        (" S ffffffffffffff01,256", "beyond the end of the address"),
    ] {
        let text = format!(" L 1ffe0000,8\n{line}\n L 1ffe0000,8\n");
        fails(text.as_bytes(), "lackey", 1, &[said, "line 2"]);
    }
}

#[test]
fn lackey_passes_over_superblocks() {
    let text = "SB 00401000\nI  00401000,5\nSB 0040100c\n L 00403f40,8\nSB 0x\n";
    let accesses = &text[..text.len() - 6];
    let expected = [row(Kind::Load, 8, 0x40_1001, 0x40_3f40)];
    assert_eq!(
        read(accesses.as_bytes(), "lackey"),
        (expected.to_vec(), None)
    );
    let found = open(accesses.as_bytes(), None).unwrap();
    assert!(found.describe().contains("lackey"), "{}", found.describe());
    fails(
        text.as_bytes(),
        "lackey",
        1,
        &["line 5", "no line of lackey"],
    );
}

/// Whatever its size: items that it covers are counted once.
#[test]
fn a_modify_of_any_size_is_one_access() {
    for (size, kind) in [
        (8, Kind::Atomic),
        (255, Kind::Atomic),
        (256, Kind::RangeStore),
    ] {
        let text = format!("address,size,op\n64,{size},modify\n");
        let (rows, error) = read(text.as_bytes(), "csv");
        assert_eq!(error, None);
        let accesses: Vec<Kind> = rows.iter().map(|row| row.kind).collect();
        let accesses: Vec<_> = accesses
            .into_iter()
            .filter(|kind| kind.is_access())
            .collect();
        assert_eq!(accesses, [kind], "{size}");
    }
    let text = b"address,size,op\n64,300,modify\n64,300,cas\n";
    let (pieces, _) = drain(&mut open(text, None).unwrap());
    let is_note = |piece: &&Piece| matches!(piece, Piece::Event(Event::Note(note)) if note.code == "large-modify");
    assert_eq!(pieces.iter().filter(is_note).count(), 1);
}

#[test]
fn csv_between_spaces_has_runs_of_them() {
    let text = "1 100  4096\n  2   200 5 \n3 100 1\r\n";
    let format = "csv:address=2,size=3,header=no,delimiter=space";
    let (rows, error) = read(text.as_bytes(), format);
    assert_eq!(error, None);
    let expected = [
        row(Kind::RangeLoad, 0, 0, 100),
        row(Kind::Operand, 0, 0, 4096),
        row(Kind::Load, 5, 0, 200),
        row(Kind::Load, 1, 0, 100),
    ];
    assert_eq!(rows, expected);
    let named = b"time id  size\n1 word 2\n";
    let (rows, error) = read(named, "csv:delimiter=space");
    assert_eq!((rows.len(), error), (1, None));
    fails(
        b"1 2\n3\n",
        "csv:address=2,header=no,delimiter=space",
        1,
        &["line 2"],
    );
}

#[test]
fn csv_multiplies_block_numbers_by_their_unit() {
    let text = b"lbn,size\n3,1024\n0x10,8\n";
    let (rows, error) = read(text, "csv:address=lbn,unit=512");
    assert_eq!(error, None);
    let expected = [
        row(Kind::RangeLoad, 0, 0, 3 * 512),
        row(Kind::Operand, 0, 0, 1024),
        row(Kind::Load, 8, 0, 16 * 512),
    ];
    assert_eq!(rows, expected);
    let large = format!("lbn,size\n1,1\n{},1\n", u64::MAX / 512 + 1);
    fails(
        large.as_bytes(),
        "csv:address=lbn,unit=512",
        1,
        &["line 3", "address space"],
    );
    let error = open(text, Some("csv:id=lbn,unit=512")).err().unwrap();
    assert!(
        error.to_string().contains("unit=BYTES is for addresses"),
        "{error}"
    );
}

#[test]
fn csv_finds_its_columns_by_name() {
    let text = "Time, Virtual Address ,RW,Bytes,IP,comment\n\
                1,0x10,R,4,0x400000,\"a, b\"\n\
                2,\"32\",w,300,5,c\n\
                3, 7 ,Atomic,8,6,\n";
    let (rows, error) = read(text.as_bytes(), "csv");
    assert_eq!(error, None);
    let expected = [
        row(Kind::Load, 4, 0x40_0001, 16),
        row(Kind::RangeStore, 0, 6, 32),
        row(Kind::Operand, 0, 0, 300),
        row(Kind::Atomic, 8, 7, 7),
    ];
    assert_eq!(rows, expected);
    for changed in [
        text.replace(',', ";"),
        text.replace(',', "\t"),
        format!("\u{feff}{text}"),
    ] {
        let changed = changed
            .replace("\"a; b\"", "\"a\"")
            .replace("\"a\t b\"", "\"a\"");
        assert_eq!(read(changed.as_bytes(), "csv").0, expected, "{changed}");
        assert!(open(changed.as_bytes(), None).unwrap().has_addresses());
    }
}

#[test]
fn csv_has_ids_where_there_are_no_addresses() {
    let text =
        "key,size,op\nabc,5000,get\n17,8,set\n\"abc\",1,GET\n\"a \"\"b\"\"\",1,get\n0x11,1,get\n";
    let (rows, error) = read(text.as_bytes(), "csv");
    assert_eq!(error, None);
    assert!(rows.iter().all(|row| row.size == 1), "an id is one item");
    assert_eq!(rows[0].addr, rows[2].addr);
    assert_eq!((rows[1].addr, rows[1].kind), (17, Kind::Store));
    assert_eq!(rows[4].addr, 17);
    assert_ne!(rows[3].addr, rows[0].addr);
    assert!(!open(text.as_bytes(), Some("csv")).unwrap().has_addresses());
    // Where there are both, addresses count, unless ids are chosen.
    let both = b"id,addr\n1,2\n";
    assert_eq!(addrs(both, "csv"), [2]);
    assert_eq!(addrs(both, "csv:id=id"), [1]);
}

#[test]
fn no_number_has_the_id_of_a_name() {
    let words =
        "a b 9223372036854775808 9223372036854775809 9223372036854775810 b 0x8000000000000000 c";
    let table = format!("id,x\n{},1\n", words.replace(' ', ",1\n"));
    for (text, format) in [(words, "text"), (&table, "csv")] {
        let found = addrs(format!("{text} \n").as_bytes(), format);
        assert_eq!((found[5], found[6]), (found[1], found[2]), "{format}");
        let mut distinct = found.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 6, "{format}: {found:?}");
    }
    let threads =
        b"addr,tid\n0000001,main\n0000002,9223372036854775808\n0000003,main\n0000004,main\n";
    let (_, threads, error) = slowly(threads, "csv", usize::MAX);
    assert_eq!((threads.len(), error), (2, None));
}

#[test]
fn no_rows_are_lost_at_the_borders_of_the_buffer() {
    for (format, header) in [
        ("text", ""),
        ("lackey", ""),
        ("din", ""),
        ("csv", "op,address,size\n"),
        ("msr", ""),
    ] {
        let mut random = Random(3);
        let (mut text, mut expected) = (header.to_owned(), Vec::new());
        while text.len() < 700_000 {
            let addr = random.next() >> (16 + random.below(48));
            expected.push(addr);
            text.push_str(&match format {
                "text" => format!("{addr}\n"),
                "lackey" => format!("I  04001000,3\n L {addr:08x},8\n"),
                "din" => format!("0 {addr:x}\n"),
                "csv" => format!("R,{addr},4\n"),
                _ => format!("128166372003061629,hm,0,Read,{addr},255,7\n"),
            });
        }
        for most in [usize::MAX, 65_536, 4093] {
            let (rows, _, error) = slowly(text.as_bytes(), format, most);
            assert_eq!(error, None);
            assert!(
                rows.iter().map(|row| row.addr).eq(expected.iter().copied()),
                "{format}"
            );
        }
    }
}

#[test]
fn csv_columns_can_be_chosen() {
    let text = b"a,b,c,size\n1,W,0x30,4\n2,R,0x40,8\n";
    let expected = [row(Kind::Store, 4, 0, 0x30), row(Kind::Load, 8, 0, 0x40)];
    assert_eq!(read(text, "csv:address=c,kind=b").0, expected);
    assert_eq!(read(text, "csv:addr=3, kind=2, size=4").0, expected);
    let plain = [row(Kind::Load, 1, 0, 0x30), row(Kind::Load, 1, 0, 0x40)];
    assert_eq!(read(text, "csv:address=c,size=").0, plain);
    let bare = b"1|;W;0x30\n2;R;0x40\n";
    let found = read(bare, "csv:address=3,kind=2,header=no,delimiter=semicolon");
    assert_eq!(
        found.0.iter().map(|row| row.addr).collect::<Vec<_>>(),
        [0x30, 0x40]
    );
    assert_eq!(addrs(b"5\n6\n5\n", "csv:id=1,header=no"), [5, 6, 5]);
}

/// The first lines of the table that libCacheSim comes with: `op` has the codes of SCSI commands.
#[test]
fn csv_reads_codes_of_scsi_commands() {
    let text = b"version,time,op,size,lbn\n1,33898,2a,512,42932745\n1,33898,28,6656,40409911\n1,33899,2a,512,7\n";
    let (rows, error) = read(text, "csv");
    assert_eq!(error, None);
    let expected = [
        row(Kind::Store, 1, 0, 42_932_745),
        row(Kind::Load, 1, 0, 40_409_911),
        row(Kind::Store, 1, 0, 7),
    ];
    assert_eq!(rows, expected);
}

/// A line of 60 bytes must not cost gigabytes.
#[test]
fn impossible_sizes_are_refused() {
    for (format, text) in [
        (
            "lackey",
            "I  04001000,3\n L 1ffeffe7e,8\n S 1000,1000000000000\n",
        ),
        ("lackey", "I  04001000,3\n L 1ffeffe7e,8\n S 1000,65537\n"),
        ("csv", "address,size\n16,8\n16,1073741825\n"),
        ("msr", "1,h,0,Read,5,6,7\n1,h,0,Read,4096,1073741825,7\n"),
    ] {
        let (rows, error) = read(text.as_bytes(), format);
        assert_eq!(rows.len(), 1, "{format}: {error:?}");
        let error = error.unwrap();
        assert!(error.contains("no access has more than"), "{error}");
    }
    let (rows, error) = read(b"I  04001000,3\n S 1000,65536\n", "lackey");
    assert_eq!((rows.len(), error), (2, None));
}

#[test]
fn csv_names_the_missing_column() {
    for (text, format, said) in [
        (
            "a,b\n1,2\n",
            "csv",
            "its columns are 'a', 'b'; understood are address, addr",
        ),
        (
            "a,b\n1,2\n",
            "csv:address=c",
            "there is no column 'c'; its columns are 'a', 'b'",
        ),
        ("a,b\n1,2\n", "csv:address=3", "there is no column '3'"),
        ("a,b\n1,2\n", "csv:address=0", "there is no column '0'"),
        (
            "a,b\n1,2\n",
            "csv:colour=a",
            "'colour=a' is no choice of columns",
        ),
        (
            "a,b\n1,2\n",
            "csv:address=a,size=a",
            "column 1 cannot be both address and size",
        ),
        ("a,b\n1,2\n", "csv:header=no", "there is no header"),
        (
            "a,b\n1,2\n",
            "csv:address=a,header=no",
            "'a' is no column number",
        ),
        (
            "a,b\n1,2\n",
            "csv:address=a,delimiter=x",
            "delimiter=comma, semicolon, tab or space",
        ),
        ("\"a,b\n1,2\n", "csv", "the header cannot be read"),
        ("\n\n", "csv", "no column of addresses"),
        ("a\x1b[31m,b\n1,2\n", "csv", "'a\\u{1b}[31m'"),
    ] {
        let error = open(text.as_bytes(), Some(format)).err();
        let error = error.unwrap_or_else(|| panic!("{format} of {text:?} should be refused"));
        assert!(matches!(error, TraceError::UnknownFormat { .. }), "{error}");
        assert!(
            error.to_string().contains(said),
            "'{said}' is not in '{error}'"
        );
    }
    assert!(matches!(
        open(b"", Some("csv:id=1")),
        Err(TraceError::File(FileError::Empty { .. }))
    ));
}

#[test]
fn csv_lines_that_do_not_fit_are_errors() {
    for (line, said) in [
        ("1,0x20,R", "the line has 3 of the columns"),
        ("1,here,R,4", "the address 'here' is no number"),
        ("1,-5,R,4", "the address '-5' is no number"),
        ("1,,R,4", "the address '' is no number"),
        ("1,18446744073709551616,R,4", "is no number of 64 bits"),
        ("1,0x20,walk,4", "'walk' is no kind of access"),
        ("1,0x20,R,4.5", "the size '4.5' is no number"),
        ("1,\"0x20,R,4", "a quoted field does not end on its line"),
        ("1,\"0x20\"x,R,4", "something follows a closing quote"),
        ("\x1b[31m,x,R,4", "the address 'x'"),
        (
            "1,0,R,18446744073709551615",
            "the size in column 4 is 18446744073709551615 bytes",
        ),
        ("1,0,W,1099511627777", "the size in column 4 is"),
        (
            "1,0xffffffffffffff01,R,256",
            "beyond the end of the address space",
        ),
    ] {
        let text = format!("t,address,op,size\n1,2,R,4\n{line}\n1,2,R,4\n");
        fails(text.as_bytes(), "csv", 1, &[said, "line 3"]);
    }
    fails(
        b"id,op\n1,R\n,R\n",
        "csv",
        1,
        &["the id is empty", "line 3"],
    );
}

#[test]
fn csv_rows_belong_to_their_threads() {
    let text = b"tid,addr\n7,1\n7,2\nmain,3\n7,4\n9,5\n";
    let (pieces, error) = drain(&mut open(text, Some("csv")).unwrap());
    assert!(error.is_none());
    let mut found = Vec::new();
    for piece in &pieces {
        match piece {
            Piece::Event(Event::Thread(thread)) => {
                found.push(format!(
                    "thread {} {} {}",
                    thread.id.0, thread.tid, thread.name
                ));
            }
            Piece::Event(_) => {}
            Piece::Block(block) => found.push(format!("{} {:?}", block.thread.0, block.addrs())),
        }
    }
    let expected = [
        "thread 0 7 ",
        "0 [1, 2]",
        "thread 1 0 main",
        "1 [3]",
        "0 [4]",
        "thread 2 9 ",
        "2 [5]",
    ];
    assert_eq!(found, expected);
    read(text, "csv");
    let one = open(b"addr\n1\n", Some("csv")).unwrap();
    let (pieces, _) = drain(&mut { one });
    let is_first = |thread: &Thread| thread.id == ThreadId(0);
    assert!(matches!(&pieces[1], Piece::Event(Event::Thread(thread)) if is_first(thread)));
}

#[test]
fn msr_volumes_have_disjoint_addresses() {
    let text = "128166372003061629,hm,1,Read,383496192,32768,413\n\
                128166372016382155,hm,0,Write,512,255,10\n\
                128166372026382245,hm,1,Write,0,256,10\n\
                128166372026382245,a-rather-long-host,12,READ,0x10,0,-1\n";
    let range = |kind, addr, bytes| [row(kind, 0, 0, addr), row(Kind::Operand, 0, 0, bytes)];
    let expected = [
        range(Kind::RangeLoad, 383_496_192, 32_768).to_vec(),
        vec![row(Kind::Store, 255, 0, (1 << 48) + 512)],
        range(Kind::RangeStore, 0, 256).to_vec(),
        vec![row(Kind::Load, 0, 0, (2 << 48) + 16)],
    ];
    assert_eq!(read(text.as_bytes(), "msr"), (expected.concat(), None));
    let header = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n";
    let with_header = format!("{header}{text}");
    for bytes in [text.as_bytes(), with_header.as_bytes()] {
        assert_eq!(read(bytes, "msr").0, expected.concat());
        let found = open(bytes, None).unwrap();
        assert!(found.describe().contains("block requests") && found.has_addresses());
    }
}

#[test]
fn msr_refuses_malformed_lines() {
    for (line, said) in [
        ("1,h,0,Read,512,4096", "seven fields"),
        ("1,h,0,Trim,512,4096,7", "Read or Write"),
        ("1,h,x,Read,512,4096,7", "the number of a disk"),
        ("1,,0,Read,512,4096,7", "a host"),
        ("1,h,0,Read512,4096,7,8", "Read or Write"),
        ("1,h,0,Read,512,4096;7,8", "offset and size"),
        ("1,h,0,Read,-512,4096,7", "offset and size"),
        ("1,h,0,Read,281474976710656,1,7", "beyond 2^48"),
        ("1,h,0,Read,281474976710000,1000,7", "beyond 2^48"),
        (
            "1,h,0,Read,1,18446744073709551615,7",
            "the size in column 6 is 18446744073709551615 bytes",
        ),
    ] {
        let text = format!("1,h,0,Read,5,6,7\n{line}\n1,h,0,Read,5,6,7\n");
        fails(text.as_bytes(), "msr", 1, &[said, "line 2"]);
    }
    let host = format!("1,{},0,Read,5,6,7\n", "h".repeat(300));
    fails(host.as_bytes(), "msr", 0, &["the name of a host"]);
}

#[test]
fn formats_are_detected_by_content() {
    for (text, said) in [
        ("id,size\n1,2\n", "table"),
        ("block\tkind\n1\tread\n", "table"),
        ("1,h,0,Read,5,6,7\n", "block requests"),
        ("0 1\n0 2\n1 3\n", "text"),
        ("key value\na b\n", "text"),
        ("2 400\n0 7f00\n", "Dinero"),
        ("I  04001000,3\n L 20,4\n", "lackey"),
    ] {
        let found = open(text.as_bytes(), None).unwrap().describe();
        assert!(found.contains(said), "{text:?} was taken as {found}");
    }
}

#[test]
fn an_unknown_table_is_refused_with_a_hint() {
    for (text, table) in [
        ("when,where\n1,0x20\n", true),
        ("when;where it is\n1;0x20\n", true),
        ("Hello, world\nthis is prose.\n", false),
    ] {
        let error = match open(text.as_bytes(), None) {
            Err(error) => error.to_string(),
            Ok(found) => {
                assert!(!table, "{text:?} was taken as {}", found.describe());
                continue;
            }
        };
        assert_eq!(error.contains("csv:address=COLUMN"), table, "{error}");
    }
}

#[test]
fn blocks_of_all_text_formats_are_bounded() {
    for (format, line) in [
        ("text", "1\n"),
        ("lackey", " M 1,1\n"),
        ("din", "0 1\n"),
        ("csv:id=1,header=no", "1\n"),
        ("msr", "1,h,0,Read,5,600,7\n"),
    ] {
        let bytes = line.repeat(150_000);
        let mut source = open(bytes.as_bytes(), Some(format)).unwrap();
        let (pieces, error) = drain(&mut source);
        assert!(error.is_none());
        let blocks = pieces.iter().filter_map(|piece| match piece {
            Piece::Block(block) => Some(block.len()),
            Piece::Event(_) => None,
        });
        let lengths: Vec<usize> = blocks.collect();
        assert!(
            lengths.iter().all(|&rows| rows <= 64 << 10),
            "{format}: {lengths:?}"
        );
        assert!(lengths.len() <= 20, "{format}: {lengths:?}");
    }
}

/// Memory is looked at between blocks: long names do not wait for as many rows as numbers do.
#[test]
fn blocks_end_where_names_are_long() {
    for format in ["text", "csv:id=1,header=no"] {
        let name = "n".repeat(50_000);
        let lines = (0..200).map(|number| format!("7\n{name}{}\n", number % 160));
        let bytes = lines.collect::<String>().into_bytes();
        let mut source = open(&bytes, Some(format)).unwrap();
        let (mut held, mut found) = (0, Vec::new());
        let mut block = Block::new();
        while let step = source.next(&mut block).unwrap()
            && step != Step::End
        {
            if step == Step::Block {
                found.extend(block.addrs().iter().copied());
                let now = source.memory().get();
                assert!(now - held < 2 << 20, "{format}: {held} to {now}");
                held = now;
            }
        }
        let expected = (0..200).flat_map(|number| [7, (1 << 63) + number % 160]);
        assert!(found.into_iter().eq(expected), "{format}");
        assert!(held > 160 * 50_000, "{format}: {held}");
    }
}

/// How the parts of a line may be written.
fn spaced(random: &mut Random, choices: &[&str]) -> String {
    choices[random.below(choices.len())].to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn written_text_is_read_back(items in prop::collection::vec(any::<u64>(), 1..300), seed: u64, shift in 0_u32..64) {
        let mut random = Random(seed);
        let items: Vec<u64> = items.iter().map(|item| (item >> shift) & !(1 << 63)).collect();
        let mut text = String::new();
        for &item in &items {
            let word = match random.below(4) {
                0 => format!("{item:#x}"),
                1 => format!("0X{item:X}"),
                _ => item.to_string(),
            };
            let space = spaced(&mut random, &["\n", "\n", " ", "\r\n", "\t  \n", " # 1 x\n", "\n#\n"]);
            text.push_str(&(word + &space));
        }
        prop_assert_eq!(addrs(text.as_bytes(), "text"), items);
    }

    #[test]
    fn equal_names_get_equal_ids(names in prop::collection::vec("[a-z.é]{1,12}", 1..100)) {
        let found = addrs(names.join("\n").as_bytes(), "text");
        for (one, name) in found.iter().zip(&names) {
            for (other, other_name) in found.iter().zip(&names) {
                prop_assert_eq!(one == other, name == other_name);
            }
        }
    }

    #[test]
    fn written_u64_is_read_back(items in prop::collection::vec(any::<u64>(), 1..300)) {
        let bytes: Vec<u8> = items.iter().flat_map(|item| item.to_le_bytes()).collect();
        prop_assert_eq!(addrs(&bytes, "u64"), items);
    }

    #[test]
    fn printed_lackey_is_read_back(records in prop::collection::vec((0_u8..4, any::<u64>(), 1_u64..400), 1..200), shift in 0_u32..64) {
        let (mut text, mut expected, mut pc) = (String::new(), Vec::new(), 0);
        for (what, addr, size) in records {
            let addr = addr >> shift;
            let mark = ["I ", " L", " S", " M"][usize::from(what)];
            text.push_str(&format!("{mark} {addr:08x},{size}\n"));
            let mut push = |kind, range| if let Ok(size) = u8::try_from(size) {
                expected.push(row(kind, size, pc, addr));
            } else {
                expected.extend([row(range, 0, pc, addr), row(Kind::Operand, 0, 0, size)]);
            };
            if what & 1 == 1 {
                push(Kind::Load, Kind::RangeLoad);
            }
            if what & 2 == 2 {
                push(Kind::Store, Kind::RangeStore);
            }
            if what == 0 {
                pc = addr.wrapping_add(1);
            }
        }
        prop_assert_eq!(read(text.as_bytes(), "lackey"), (expected, None));
    }

    #[test]
    fn printed_din_is_read_back(records in prop::collection::vec((0_u8..3, any::<u64>()), 1..200), shift in 0_u32..64, seed: u64) {
        let (mut text, mut expected, mut pc) = (String::new(), Vec::new(), 0);
        let mut random = Random(seed);
        for (label, addr) in records {
            let addr = addr >> shift;
            let end = spaced(&mut random, &["\n", "\n", "\r\n", " 4\n", "\tx y\n"]);
            text.push_str(&format!("{label} {addr:x}{end}"));
            match label {
                2 => pc = addr.wrapping_add(1),
                1 => expected.push(row(Kind::Store, 1, pc, addr)),
                _ => expected.push(row(Kind::Load, 1, pc, addr)),
            }
        }
        prop_assert_eq!(read(text.as_bytes(), "din"), (expected, None));
    }

    #[test]
    fn printed_csv_is_read_back(
        records in prop::collection::vec((any::<u64>(), any::<bool>(), 0_u64..300, any::<u64>(), 0_u8..3), 1..100),
        shift in 0_u32..64, seed: u64,
    ) {
        let mut random = Random(seed);
        let (mut text, mut expected) = ("x;op;addr;thread;y;size;pc;z\n".to_owned(), Vec::new());
        for (addr, store, size, pc, thread) in records {
            let (addr, pc) = (addr >> shift, pc >> shift);
            let quote = spaced(&mut random, &["", "", "", "\""]);
            let op = ["read", "W"][usize::from(store)];
            let ignored = spaced(&mut random, &["", "5", "some words", "\"a;b\"", "\"\"\"\""]);
            text.push_str(&format!(
                "{ignored};{quote}{op}{quote};{quote}{addr:#x}{quote};{thread};{ignored};{size};{pc}"
            ));
            text.push_str(&spaced(&mut random, &["\n", ";\r\n", ";rest of it\n"]));
            let kinds = if store { (Kind::Store, Kind::RangeStore) } else { (Kind::Load, Kind::RangeLoad) };
            let pc = pc.wrapping_add(1);
            match u8::try_from(size) {
                Ok(size) => expected.push(row(kinds.0, size, pc, addr)),
                Err(_) => expected.extend([row(kinds.1, 0, pc, addr), row(Kind::Operand, 0, 0, size)]),
            }
        }
        prop_assert_eq!(read(text.as_bytes(), "csv"), (expected, None));
    }

    #[test]
    fn printed_msr_is_read_back(
        records in prop::collection::vec((any::<bool>(), 0_u64..1 << 40, 0_u64..1 << 20, 0_usize..4), 1..100),
    ) {
        let volumes = ["hm,0", "hm,1", "rsrch,12", "a-long-host,3"];
        let (mut text, mut expected, mut met) = (String::new(), Vec::new(), Vec::new());
        for (store, offset, size, volume) in records {
            let (word, kind, range) = if store {
                ("Write", Kind::Store, Kind::RangeStore)
            } else {
                ("Read", Kind::Load, Kind::RangeLoad)
            };
            text.push_str(&format!("128166372003061629,{},{word},{offset},{size},{}\n", volumes[volume], offset % 1000));
            if !met.contains(&volume) {
                met.push(volume);
            }
            let number = met.iter().position(|&other| other == volume).unwrap() as u64;
            let addr = (number << 48) + offset;
            match u8::try_from(size) {
                Ok(size) => expected.push(row(kind, size, 0, addr)),
                Err(_) => expected.extend([row(range, 0, 0, addr), row(Kind::Operand, 0, 0, size)]),
            }
        }
        prop_assert_eq!(read(text.as_bytes(), "msr"), (expected, None));
    }
}

/// Damaged traces of every text format: no panic, no hang, no more rows than the bytes can hold,
/// and the same however the bytes arrive.
#[test]
fn rows_before_damage_are_delivered() {
    let valid: [(&str, &[u8]); 8] = [
        ("text", b"# ids\n1 2 0x10 name other\nname 3 # rest\n18446744073709551615 12345678 123456789\n"),
        ("lackey", b"==1== Command: x\nI  04001000,3\n L 1ffe0010,8\n S 1ffeffe7e0,4\n M 0421,2\n S 10001000,576\n"),
        ("din", b"2 400100\n0 7fff0000\n1 7fff0010 more\n3 ffffffffffffffff\n0 10\n4 0\n"),
        ("csv", b"time,op,addr,size,pc,tid\n1,R,0x10,4,0x400000,1\n2,W,\"32\",300,5,1\n3,M,7,300,6,a\n"),
        ("csv", b"key;size\nabc;5\n\"a \"\"b\"\"\";6\n12345678;7\n"),
        ("csv:id=2,kind=1,header=no", b"R,1\nW,2\nget,3\n"),
        ("msr", b"128166372003061629,hm,1,Read,383496192,32768,413\n1,host,0,Write,512,255,10\n"),
        ("u64", b"\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0"),
    ];
    let mut random = Random(11);
    for (format, valid) in valid {
        for round in 0..600 {
            let mut bytes = valid.to_vec();
            for _ in 0..=random.below(3) {
                damage(&mut random, &mut bytes);
            }
            let (rows, threads, error) = slowly(&bytes, format, usize::MAX);
            let most = 1 + random.below(9);
            let again = slowly(&bytes, format, most);
            assert!(
                (&rows, &threads, &error) == (&again.0, &again.1, &again.2),
                "{format} round {round}, {most} bytes a time: {:?}\n{:?}\n{:?}",
                String::from_utf8_lossy(&bytes),
                error,
                again.2
            );
            assert!(rows.len() <= 4 * bytes.len() + 1, "{format} round {round}");
        }
    }
}

fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len());
    let end = (at + 1 + random.below(16)).min(bytes.len());
    match random.below(6) {
        _ if bytes.is_empty() => bytes.push(b'1'),
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = b"\0\x7f\x80\xff\n\r ,;\t\"#0x9f="[random.below(17)],
        2 => drop(bytes.drain(at..end)),
        3 => {
            let run = bytes[at..end].to_vec();
            let to = random.below(bytes.len());
            bytes.splice(to..to, run);
        }
        4 => bytes.truncate(at),
        _ => bytes.resize(bytes.len() + random.below(64), bytes[at]),
    }
}

#[test]
fn an_error_of_the_system_loses_no_rows() {
    struct Failing(Slowly);
    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(buffer) {
                Ok(0) => Err(std::io::Error::other("the disk is gone")),
                other => other,
            }
        }
    }
    for (format, line) in [
        ("text", "1\n"),
        ("lackey", " L 1ffe0010,8\n"),
        ("din", "0 7fff0000\n"),
        ("csv:id=1,header=no", "1\n"),
        ("msr", "1,h,0,Read,5,6,7\n"),
        ("u64", "12345678"),
    ] {
        let bytes = line.repeat(5000).into_bytes();
        let reader = Failing(Slowly {
            bytes,
            at: 0,
            most: 1000,
        });
        let mut source = reuselens_formats::read(Input::new(reader, "t"), Some(format)).unwrap();
        let (pieces, error) = drain(&mut source);
        assert_eq!(rows(&pieces).len(), 5000, "{format}");
        assert!(
            matches!(
                error,
                Some(TraceError::File(FileError::Io { action: "read", .. }))
            ),
            "{format}: {error:?}"
        );
    }
}

#[test]
fn progress_ends_at_the_length() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t");
    for (format, bytes) in [
        ("din", &b"0 7fff0000\n1 10\n"[..]),
        ("csv", b"id,size\n1,2\n3,4"),
        ("msr", b"1,h,0,Read,5,6,7\n"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let mut source = reuselens_formats::open(&file, Some(format)).unwrap();
        let mut block = reuselens_trace::Block::new();
        while !matches!(source.next(&mut block).unwrap(), Step::End) {}
        let all = bytes.len() as u64;
        assert_eq!(source.progress(), Some((all, all)), "{format}");
    }
}
