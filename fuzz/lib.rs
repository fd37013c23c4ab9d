//! What the fuzz targets share, one target for each reader: `cargo run --release --bin native`.

use std::path::Path;

use reuselens_trace::formats::native::{Header, Reader, Writer};
use reuselens_trace::warp::{WarpBatch, WarpSource, WarpStep};
use reuselens_trace::{Block, Event, Input, Source, Step};

/// Reads `bytes` to the end: nothing may panic, hang, or take memory beyond what the bytes call for.
pub fn read(bytes: &[u8], format: Option<&str>) {
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), "fuzz");
    let Ok(mut source) = reuselens_trace::read(input, format) else {
        return;
    };
    let mut block = Block::new();
    while let Ok(Step::Block | Step::Event(_)) = source.next(&mut block) {}
}

/// Reads `bytes` as a file packed in that way: the magic is put right, so that it is always one.
pub fn read_packed(packing: &str, bytes: &[u8]) {
    let magic: &[u8] = match packing {
        "gzip" => b"\x1f\x8b\x08\0\0\0\0\0\0\x03",
        "zstd" => b"\x28\xb5\x2f\xfd",
        "xz" => b"\xfd7zXZ\0",
        _ => b"PK\x03\x04\x14\0\0\0\x08\0",
    };
    let mut file = magic.to_vec();
    file.extend_from_slice(bytes.get(magic.len()..).unwrap_or_default());
    let Ok(input) = Input::seekable(std::io::Cursor::new(file), "fuzz") else {
        return;
    };
    let Ok(mut source) = reuselens_trace::read(input, Some("text")) else {
        return;
    };
    let mut block = Block::new();
    // A bomb has no end to wait for.
    for _ in 0..100 {
        match source.next(&mut block) {
            Ok(Step::Block | Step::Event(_)) => {}
            Ok(Step::End) | Err(_) => return,
        }
    }
}

/// Reads a native file with one thread and with three, and compares.
pub fn compare_threads(bytes: &[u8]) {
    assert_eq!(all(bytes, 1), all(bytes, 3));
}

/// The blocks and events of a native file, and the error in words.
fn all(bytes: &[u8], threads: usize) -> (Vec<Block>, Vec<Event>, Option<String>) {
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), "fuzz");
    let mut found = (Vec::new(), Vec::new(), None);
    let mut reader = match Reader::with_threads(input, threads) {
        Ok(reader) => reader,
        Err(error) => {
            found.2 = Some(error.to_string());
            return found;
        }
    };
    let mut block = Block::new();
    loop {
        match reader.next(&mut block) {
            Ok(Step::Block) => found.0.push(block.clone()),
            Ok(Step::Event(event)) => found.1.push(event),
            Ok(Step::End) => return found,
            Err(error) => {
                found.2 = Some(error.to_string());
                return found;
            }
        }
    }
}

/// Reads a native file of one chunk that decodes to `plain`.
pub fn read_chunk(plain: &[u8]) {
    let header = Header {
        has_addresses: true,
        description: String::new(),
    };
    let Ok(whole) = Writer::new(Vec::new(), Path::new("fuzz"), &header).and_then(Writer::finish)
    else {
        return;
    };
    read(&with_chunk(whole, plain), Some("native"));
}

/// A file without a description, with one chunk that decodes to `plain` in the place of its ending.
pub fn with_chunk(mut file: Vec<u8>, plain: &[u8]) -> Vec<u8> {
    file.truncate(20);
    let Ok(stored) = zstd::bulk::compress(plain, 1) else {
        return file;
    };
    let mut head = Vec::new();
    for word in [
        1,
        0,
        stored.len() as u32,
        plain.len() as u32,
        crc32fast::hash(&stored),
    ] {
        head.extend_from_slice(&word.to_le_bytes());
    }
    head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
    file.extend_from_slice(&head);
    file.extend_from_slice(&stored);
    file
}

/// Reads a stream of warp instructions to the end.
pub fn read_warps(source: &mut dyn WarpSource) {
    let mut batch = WarpBatch::new();
    loop {
        match source.next(&mut batch) {
            Ok(WarpStep::Batch) => {
                for row in batch.rows() {
                    assert_eq!(row.lanes().count(), row.addresses.len());
                }
            }
            Ok(WarpStep::Launch(_)) => {}
            Ok(WarpStep::End) | Err(_) => return,
        }
    }
}
