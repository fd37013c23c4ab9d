//! Native files of rows: readers get what was written. Cut or changed bytes are an error, and never
//! a panic or other rows.

use std::path::Path;

use proptest::prelude::*;
use reuselens_io::FileError;
use reuselens_rltrace::{Header, MAX_BLOCK_ROWS, Writer};
use reuselens_testing::traces::{Piece, drain, native, open, pieces, rows, sample};
use reuselens_trace::{Block, Event, Kind, Note, Row, Source, TraceError};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn reader_delivers_what_was_written(pieces in pieces(), flush_every in 1..10_usize) {
        let bytes = native(&pieces, flush_every);
        let mut source = open(&bytes, None).unwrap();
        prop_assert!(source.has_addresses());
        prop_assert_eq!(source.describe(), "a test");
        let (read, error) = drain(&mut source);
        prop_assert!(error.is_none(), "{error:?}");
        prop_assert_eq!(read, pieces);
    }
}

#[test]
fn ending_is_no_longer_than_predicted() {
    let header = Header {
        has_addresses: true,
        description: "a test".into(),
    };
    let mut writer = Writer::new(Vec::new(), Path::new("test"), &header).unwrap();
    for number in 0..300_u32 {
        let note = Note {
            code: format!("code-{}", number.wrapping_mul(2_654_435_761)),
            message: "what there is to say".into(),
            hint: String::new(),
        };
        writer.event(&Event::Note(note)).unwrap();
        writer.flush().unwrap();
    }
    let most = writer.bytes_written() + writer.ending_bytes();
    let before = writer.bytes_written();
    let whole = writer.finish().unwrap().len() as u64;
    assert!(before < whole && whole <= most, "{before} {whole} {most}");
}

#[test]
fn cut_file_gives_a_prefix_and_an_error() {
    let whole = sample();
    let bytes = native(&whole, 2);
    let mut most = 0;
    for length in 1..bytes.len() {
        let (read, error) = match open(&bytes[..length], None) {
            Ok(mut source) => drain(&mut source),
            Err(error) => (Vec::new(), Some(error)),
        };
        let Some(error) = error else {
            // Only the trailer is cut off, so nothing is missing.
            assert!(length >= bytes.len() - 24, "cut after {length}");
            assert_eq!(without_note(read), whole, "cut after {length}");
            continue;
        };
        assert!(
            matches!(error, TraceError::File(FileError::Corrupt { .. })),
            "{length}: {error}"
        );
        assert!(error.to_string().contains("cut off"), "{length}: {error}");
        assert_eq!(read, whole[..read.len()], "cut after {length}");
        assert!(read.len() >= most, "longer files give no less");
        most = read.len();
    }
    assert_eq!(
        most,
        whole.len(),
        "without its ending, a file still gives everything"
    );
    assert!(matches!(
        open(&[], None),
        Err(TraceError::File(FileError::Empty { .. }))
    ));
}

/// What was read of a file of which only the index or the trailer is damaged: what it holds, and a
/// note.
fn without_note(mut read: Vec<Piece>) -> Vec<Piece> {
    let note = read.pop();
    assert!(
        matches!(&note, Some(Piece::Event(Event::Note(note))) if note.code == Note::DAMAGED_INDEX),
        "{note:?}"
    );
    read
}

#[test]
fn flipped_bit_is_an_error_and_keeps_what_is_before() {
    let whole = sample();
    let bytes = native(&whole, 2);
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let (read, error) = match open(&changed, Some("native")) {
            Ok(mut source) => drain(&mut source),
            Err(error) => (Vec::new(), Some(error)),
        };
        if error.is_none() {
            assert_eq!(without_note(read), whole, "bit {bit}");
            continue;
        }
        assert_eq!(read, whole[..read.len()], "bit {bit}");
    }
}

#[test]
fn lost_doubled_or_swapped_chunks_are_errors() {
    let bytes = native(&sample(), 3);
    let mut chunks = Vec::new();
    let mut at = 16 + "a test".len() + 4;
    let head = bytes[..at].to_vec();
    let trailer = &bytes[bytes.len() - 24..];
    while at < bytes.len() - trailer.len() {
        let stored = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        chunks.push(&bytes[at..at + 24 + stored]);
        at += 24 + stored;
    }
    // Three of pieces, the index, and the ending.
    assert_eq!(chunks.len(), 5);
    for order in [
        &[0, 2, 3, 4][..],
        &[0, 1, 1, 2, 3, 4],
        &[0, 2, 1, 3, 4],
        &[0, 1, 2, 3, 3, 4],
        &[0, 1, 2, 3, 4, 4],
        &[0, 1, 3, 2, 4],
        &[0, 1, 2, 4],
        &[3, 4],
        &[4],
    ] {
        let mut file = head.clone();
        order
            .iter()
            .for_each(|&index| file.extend_from_slice(chunks[index]));
        file.extend_from_slice(trailer);
        let (_, error) = drain(&mut open(&file, None).unwrap());
        assert!(
            matches!(error, Some(TraceError::File(FileError::Corrupt { .. }))),
            "{order:?}: {error:?}"
        );
    }
}

#[test]
fn forged_length_is_an_error() {
    let mut file = native(&[], 1);
    file.truncate(16 + "a test".len() + 4);
    let mut head = Vec::new();
    for word in [1_u32, 0, 255 << 20, 255 << 20, 0] {
        head.extend_from_slice(&word.to_le_bytes());
    }
    head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
    file.extend_from_slice(&head);
    file.extend_from_slice(&[0; 100]);
    let (_, error) = drain(&mut open(&file, None).unwrap());
    assert!(error.unwrap().to_string().contains("cut off"));
}

#[test]
fn block_borders_and_large_blocks_are_kept() {
    let mut large = Block::new();
    for index in 0..1_500_000_u64 {
        large.push(Row {
            kind: Kind::Load,
            size: 8,
            pc: index % 7,
            addr: index * 8,
        });
    }
    let small = |addr| {
        let mut block = Block::new();
        block.push(Row {
            kind: Kind::Store,
            size: 1,
            pc: 9,
            addr,
        });
        Piece::Block(block)
    };
    let whole = vec![
        small(1),
        Piece::Block(large),
        small(2),
        Piece::Block(Block::new()),
        small(3),
    ];
    let bytes = native(&whole, usize::MAX);
    assert_eq!(drain(&mut open(&bytes, None).unwrap()).0, whole);
    assert!(bytes.len() < 20_000, "{}", bytes.len());
}

#[test]
fn writer_refuses_large_blocks_and_events() {
    let header = Header {
        has_addresses: true,
        description: String::new(),
    };
    let mut writer = Writer::new(Vec::new(), Path::new("x"), &header).unwrap();
    let mut block = Block::new();
    block.reserve(MAX_BLOCK_ROWS + 1);
    for _ in 0..=MAX_BLOCK_ROWS {
        block.push(Row {
            kind: Kind::Load,
            size: 1,
            pc: 0,
            addr: 0,
        });
    }
    assert!(
        writer
            .block(&block)
            .unwrap_err()
            .to_string()
            .contains("smaller blocks")
    );
    let note = Note {
        code: "x".into(),
        message: "x".repeat(17 << 20),
        hint: String::new(),
    };
    assert!(writer.event(&Event::Note(note)).is_err());
    let bytes = writer.finish().unwrap();
    let (read, error) = drain(&mut open(&bytes, None).unwrap());
    assert!(read.is_empty() && error.is_none());
}

#[test]
fn failed_write_fails_all_later_ones() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.0 < bytes.len() {
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            self.0 -= bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let header = Header {
        has_addresses: false,
        description: String::new(),
    };
    let mut writer = Writer::new(Full(30), Path::new("full.rltrace"), &header).unwrap();
    let Piece::Block(block) = &sample()[3] else {
        panic!("piece 3 is a block")
    };
    writer.block(block).unwrap();
    let error = writer.flush().unwrap_err();
    assert!(error.to_string().contains("full.rltrace"), "{error}");
    writer.block(block).unwrap();
    assert!(writer.finish().is_err());
}

#[test]
fn header_is_kept() {
    let header = Header {
        has_addresses: false,
        description: "é".repeat(40_000),
    };
    let writer = Writer::new(Vec::new(), Path::new("x"), &header).unwrap();
    let bytes = writer.finish().unwrap();
    let source = open(&bytes, None).unwrap();
    assert!(!source.has_addresses());
    assert_eq!(source.describe(), "é".repeat(32_768));
}

#[test]
fn files_of_other_versions_are_refused_with_what_to_do() {
    for version in [0, 1, 2, 3, 4, 6, 9] {
        let mut bytes = native(&sample(), 1);
        bytes[8] = version;
        let length = u32::from_le_bytes(*bytes[12..].first_chunk().unwrap()) as usize;
        let check = crc32fast::hash(&bytes[..16 + length]).to_le_bytes();
        bytes[16 + length..20 + length].copy_from_slice(&check);
        let error = open(&bytes, None).err().unwrap();
        assert!(matches!(error, TraceError::UnknownFormat { .. }), "{error}");
        let error = error.to_string();
        assert!(error.contains(&format!("version {version},")), "{error}");
        assert!(
            error.contains("`reuselens record -o FILE -- PROGRAM`"),
            "{error}"
        );
    }
}

#[test]
fn regular_traces_take_few_bytes() {
    let mut block = Block::new();
    for i in 0..100_u64 {
        for k in 0..1000 {
            block.push(Row {
                kind: Kind::Load,
                size: 8,
                pc: 1,
                addr: 0x1000_0000 + 8 * (i * 1000 + k),
            });
            block.push(Row {
                kind: Kind::Load,
                size: 8,
                pc: 2,
                addr: 0x2000_0000 + 8000 * k,
            });
        }
    }
    let whole = [Piece::Block(block)];
    let bytes = native(&whole, 1);
    assert_eq!(
        rows(&drain(&mut open(&bytes, None).unwrap()).0).len(),
        200_000
    );
    assert!(bytes.len() < 2000, "{} bytes for 200000 rows", bytes.len());
}

/// Nested loops with bodies of any length, left and entered anew, with jumps, and rows that follow
/// others.
fn loops(random: &mut reuselens_testing::traces::Random) -> Piece {
    let mut block = Block::new();
    for _ in 0..1 + random.below(6) {
        let longest = [1, 4, 70, 700][random.below(4)];
        let body = 1 + random.below(longest);
        let first = 0x1000 * random.below(8) as u64;
        let strides: Vec<u64> = (0..body).map(|_| random.below(3) as u64 * 8).collect();
        let mut addrs: Vec<u64> = (0..body).map(|_| random.next()).collect();
        for _ in 0..random.below(3000 / body + 3) {
            if random.below(40) == 0 {
                let jumps = random.below(body);
                addrs[jumps] = random.next();
            }
            // Some leave the body in its midst.
            let rows = if random.below(50) == 0 {
                body / 2
            } else {
                body
            };
            for (row, addr) in addrs.iter_mut().enumerate().take(rows) {
                *addr = addr.wrapping_add(strides[row]);
                block.push(Row {
                    kind: if row % 5 == 4 {
                        Kind::Operand
                    } else {
                        Kind::Load
                    },
                    size: 8,
                    pc: first + row as u64,
                    addr: *addr,
                });
            }
        }
    }
    Piece::Block(block)
}

#[test]
fn loops_of_any_length_are_decoded() {
    for seed in 1..400 {
        let mut random = reuselens_testing::traces::Random(seed);
        let whole: Vec<Piece> = (0..4).map(|_| loops(&mut random)).collect();
        let bytes = native(&whole, usize::MAX);
        let (read, error) = drain(&mut open(&bytes, None).unwrap());
        assert!(error.is_none(), "seed {seed}: {error:?}");
        assert!(read == whole, "seed {seed}");
    }
}
