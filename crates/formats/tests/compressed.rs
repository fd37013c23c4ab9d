//! Compressed traces: read as if they were not, whole or cut off, from files and from pipes.

use std::io::{Cursor, Read};
use std::sync::mpsc::{Sender, channel};

use crate::binary::{PACKINGS, gzip, xz, zip, zstd};
use reuselens_io::{FileError, Input};
use reuselens_testing::traces::{Random, drain, native, open, rows, sample};
use reuselens_trace::{Block, Source, Step, TraceError};

/// The addresses of all rows, and the error.
fn addrs(input: Input, format: Option<&str>) -> (Vec<u64>, Option<TraceError>) {
    match reuselens_formats::read(input, format) {
        Ok(mut source) => {
            let (pieces, error) = drain(&mut source);
            (rows(&pieces).iter().map(|row| row.addr).collect(), error)
        }
        Err(error) => (Vec::new(), Some(error)),
    }
}

fn pipe(bytes: &[u8]) -> Input {
    Input::new(Cursor::new(bytes.to_vec()), "trace")
}

fn file(bytes: &[u8]) -> Input {
    Input::seekable(Cursor::new(bytes.to_vec()), "trace").unwrap()
}

/// Items as text, that do not compress to nothing.
fn text(items: usize) -> (Vec<u8>, Vec<u64>) {
    let mut random = Random(9);
    let items: Vec<u64> = (0..items).map(|_| random.next() >> 30).collect();
    let lines = items
        .iter()
        .flat_map(|item| format!("{item}\n").into_bytes());
    (lines.collect(), items)
}

#[test]
fn packed_traces_are_read_like_unpacked_ones() {
    let (bytes, items) = text(300_000);
    for (name, pack) in PACKINGS {
        let packed = pack(&bytes);
        for input in [pipe(&packed), file(&packed)] {
            let (read, error) = addrs(input, None);
            assert!(error.is_none(), "{name}: {error:?}");
            assert_eq!(read, items, "{name}");
        }
    }
    let zipped = zip(&[
        ("b", &bytes[1000..]),
        ("folder/", b""),
        ("a", &bytes[..1000]),
    ]);
    let (read, error) = addrs(file(&zipped), None);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(read, items);
}

#[test]
fn members_frames_and_streams_are_one_trace() {
    let (bytes, items) = text(50_000);
    let (one, rest) = bytes.split_at(77);
    let (two, three) = rest.split_at(200_000);
    for (name, pack) in PACKINGS {
        let parts: Vec<u8> = [one, b"", two, three]
            .iter()
            .flat_map(|part| pack(part))
            .collect();
        let (read, error) = addrs(pipe(&parts), None);
        assert!(error.is_none(), "{name}: {error:?}");
        assert_eq!(read, items, "{name}");
    }
    let mut skipped = vec![0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    skipped.extend(zstd(&bytes));
    assert_eq!(addrs(pipe(&skipped), None).0, items);
}

#[test]
fn native_traces_and_lackey_are_unpacked_too() {
    let bytes = native(&sample(), 3);
    let plain = drain(&mut open(&bytes, None).unwrap()).0;
    for (name, pack) in PACKINGS {
        let (read, error) = drain(&mut open(&pack(&bytes), None).unwrap());
        assert!(error.is_none(), "{name}: {error:?}");
        assert_eq!(read, plain, "{name}");
        let named = open(&pack(b"I  10,4\n L 20,4\n"), Some("lackey")).unwrap();
        assert!(named.describe().contains("lackey"));
    }
}

#[test]
fn a_stream_cut_anywhere_gives_what_came_before_and_one_error() {
    let (bytes, items) = text(2000);
    for (name, pack) in PACKINGS {
        let packed = [pack(&bytes[..4000]), pack(&bytes[4000..])].concat();
        let mut most = 0;
        let ends = pack(&bytes[..4000]).len();
        for length in (7..packed.len())
            .step_by(3)
            .filter(|&length| length != ends)
            // Snappy has nothing at its end, so that a cut between two chunks does not show.
            .filter(|&length| name != "sz" || (length > 10 && length != ends + 10))
        {
            let (read, error) = addrs(pipe(&packed[..length]), Some("text"));
            assert_eq!(read, items[..read.len()], "{name} {length}");
            let error =
                error.unwrap_or_else(|| panic!("{name}: cut after {length} bytes, no error"));
            assert!(error.is_partial(), "{name} {length}: {error}");
            let said = error.to_string();
            assert!(
                said.contains("cut off") && said.contains("of the file"),
                "{length} {said}"
            );
            assert!(read.len() >= most, "{name} {length}");
            most = read.len();
        }
        assert!(most > 300, "{name}: the first part came whole: {most}");
    }
}

#[test]
fn damage_is_reported_after_the_rows_before_it() {
    let (bytes, items) = text(100_000);
    for (name, pack) in PACKINGS {
        let mut packed = pack(&bytes);
        let at = packed.len() - 2000;
        packed[at..at + 40].fill(0x55);
        let (read, error) = addrs(pipe(&packed), None);
        let error = error.unwrap_or_else(|| panic!("{name}: no error"));
        assert!(error.is_partial(), "{name}: {error}");
        assert!(error.to_string().contains(name_of(name)), "{error}");
        // zstd and deflate lose a block, xz a little more.
        assert!(read.len() > 40_000, "{name}: {}", read.len());
        assert_eq!(read[..30_000], items[..30_000], "{name}");
    }
    let mut zipped = zip(&[("a", &bytes), ("b", &bytes)]);
    zipped[20_000..20_040].fill(0x55);
    let (read, error) = addrs(file(&zipped), None);
    assert!(error.unwrap().to_string().contains("zip data is damaged"));
    assert!(read.len() > 1000 && read[..1000] == items[..1000]);
}

fn name_of(ending: &str) -> &str {
    match ending {
        "gz" => "gzip data",
        "sz" => "snappy data",
        "zst" => "zstd data",
        _ => "xz data",
    }
}

#[test]
fn a_wrong_checksum_is_noticed() {
    let mut packed = gzip(b"1\n2\n");
    let at = packed.len() - 8;
    packed[at] ^= 1;
    let (read, error) = addrs(pipe(&packed), None);
    assert_eq!(read, [1, 2]);
    assert!(error.unwrap().to_string().contains("gzip data is damaged"));
}

#[test]
fn unknown_compressions_are_refused_with_a_hint() {
    let zipped = zip(&[("a", b"1\n")]);
    let error = addrs(pipe(&zipped), None).1.unwrap();
    assert!(matches!(error, TraceError::UnknownFormat { .. }), "{error}");
    assert!(error.to_string().contains("unzip -p"), "{error}");
    for cut in [10, 30, 60] {
        let length = zipped.len() - cut;
        let error = addrs(file(&zipped[..length]), None).1.unwrap().to_string();
        assert!(error.contains("zip data is damaged"), "{error}");
        // The place is in the file, though its end is searched several times.
        let place = format!("or before byte {length} of the file");
        assert!(error.contains(&place), "{error}");
    }
    for (bytes, said) in [
        (&b"BZh91AY"[..], "bzip2 -dc"),
        (b"\x04\x22\x4d\x18x", "lz4 -dc"),
    ] {
        let error = addrs(pipe(bytes), None).1.unwrap();
        assert!(error.to_string().contains(said), "{error}");
    }
    let twice = gzip(&xz(b"1\n"));
    let error = addrs(pipe(&twice), None).1.unwrap().to_string();
    assert!(error.contains("xz inside"), "{error}");
    for (name, pack) in PACKINGS {
        let error = addrs(pipe(&pack(b"")), None).1.unwrap();
        assert!(
            matches!(error, TraceError::File(FileError::Empty { .. })),
            "{name}: {error}"
        );
    }
}

#[test]
fn raw_numbers_that_begin_like_a_packing_are_numbers() {
    let items = [0x0708_8b1f_u64, u64::MAX, 3];
    let bytes: Vec<u8> = items.iter().flat_map(|item| item.to_le_bytes()).collect();
    assert_eq!(addrs(pipe(&bytes), Some("u64")).0, items);
}

/// Where a raw format is named, its first number may be any: that of a packing too.
#[test]
fn raw_numbers_with_the_magic_of_a_packing_are_numbers_by_name() {
    for items in [
        [0xfd2f_b528, 1, 2],
        [0x1234_56ff_fd2f_b528, 1, 2],
        [0xffff_ffff_fd2f_b528, u64::MAX, 2],
        [0x0008_8b1f, 2, 3],
        [0x0008_8b1f, 0, 0x0600_0000],
        [0x1111_005a_587a_37fd, 1, 2],
    ] {
        let bytes: Vec<u8> = items
            .iter()
            .flat_map(|item: &u64| item.to_le_bytes())
            .collect();
        for input in [pipe(&bytes), file(&bytes)] {
            let (found, error) = addrs(input, Some("u64"));
            assert!(error.is_none(), "{items:x?}: {error:?}");
            assert_eq!(found, items, "{items:x?}");
        }
    }
    // The name says that it is packed: then it is damaged, and nothing else.
    let bytes = 0xffff_ffff_fd2f_b528_u64.to_le_bytes();
    let input = Input::new(Cursor::new(bytes), "trace.u64.zst");
    let (found, error) = addrs(input, Some("u64"));
    assert!(found.is_empty() && error.unwrap().to_string().contains("zstd"));
}

/// Packed raw numbers are unpacked by name, however little of them there is.
#[test]
fn packed_raw_numbers_are_unpacked_by_name() {
    let mut random = Random(4);
    let items: Vec<u64> = (0..50_000).map(|_| random.next()).collect();
    let bytes: Vec<u8> = items.iter().flat_map(|item| item.to_le_bytes()).collect();
    for (ending, pack) in PACKINGS {
        let packed = pack(&bytes);
        assert_eq!(addrs(file(&packed), Some("u64")).0, items, "{ending}");
        let (few, error) = addrs(file(&packed[..40]), Some("u64"));
        assert!(error.is_some() && items.starts_with(&few), "{ending}");
    }
    // A window that is refused is refused, and not read as numbers.
    let wide = [
        0x28,
        0xb5,
        0x2f,
        0xfd,
        0,
        21 << 3,
        1,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ];
    let (few, error) = addrs(pipe(&wide), Some("u64"));
    assert!(few.is_empty() && error.unwrap().to_string().contains("zstd"));
}

#[test]
fn progress_is_that_of_the_file() {
    let (bytes, _) = text(300_000);
    let zipped = zip(&[("a", &bytes)]);
    for packed in [gzip(&bytes), xz(&bytes), zstd(&bytes), zipped] {
        let total = packed.len() as u64;
        let mut source = reuselens_formats::read(file(&packed), None).unwrap();
        let (taken, of) = source.progress().unwrap();
        assert!(taken <= of && of == total);
        drain(&mut source);
        let (taken, of) = source.progress().unwrap();
        assert!(taken <= of && taken * 10 > of * 9, "{taken} of {of}");
    }
}

/// Says when it is dropped.
struct Watched(Cursor<Vec<u8>>, Sender<()>);

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.1.send(());
    }
}

#[test]
fn unpacking_ends_when_the_reader_is_dropped() {
    // 4 GiB in a few hundred KiB; that it takes no memory is in `streaming.rs`.
    let part = zstd(&vec![b'\n'; 4 << 20]);
    let bomb = part.repeat(1024);
    let (dropped, wait) = channel();
    let input = Input::new(Watched(Cursor::new(bomb), dropped), "bomb");
    let mut source = reuselens_formats::read(input, Some("u64")).unwrap();
    let mut block = Block::new();
    for _ in 0..10 {
        assert_ne!(source.next(&mut block).unwrap(), Step::End);
    }
    drop(source);
    // Comes only when the thread has ended, long before all of it is unpacked or not at all.
    wait.recv().unwrap();
}

#[test]
fn an_io_error_is_not_reported_as_damage() {
    struct Failing(Cursor<Vec<u8>>);
    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(std::io::Error::other("the disk is gone")),
                count => Ok(count),
            }
        }
    }
    let (bytes, items) = text(100_000);
    for (name, pack) in PACKINGS {
        let mut packed = pack(&bytes);
        packed.truncate(packed.len() - 1000);
        let input = Input::new(Failing(Cursor::new(packed)), "t");
        let (read, error) = addrs(input, None);
        assert!(read.len() > 40_000 && read == items[..read.len()], "{name}");
        let error = error.unwrap();
        assert!(
            matches!(
                error,
                TraceError::File(FileError::Io { action: "read", .. })
            ),
            "{name}: {error}"
        );
        assert!(error.to_string().contains("the disk is gone"), "{error}");
    }
}
