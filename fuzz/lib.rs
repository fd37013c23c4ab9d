//! What the fuzz targets share: `cargo +nightly fuzz run native` and so on, one target for each reader.

use std::path::Path;

use reuselens_trace::formats::native::{Header, Writer};
use reuselens_trace::{Block, Input, Source, Step};

/// Reads `bytes` to the end: nothing may panic, hang, or take memory beyond what the bytes call for.
pub fn read(bytes: &[u8], format: Option<&str>) {
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), "fuzz");
    let Ok(mut source) = reuselens_trace::read(input, format) else {
        return;
    };
    let mut block = Block::new();
    while let Ok(Step::Block | Step::Event(_)) = source.next(&mut block) {}
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
    // The head of a file without a description is 20 bytes; the ending goes.
    let mut file = whole[..20].to_vec();
    let Ok(stored) = zstd::bulk::compress(plain, 1) else {
        return;
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
    read(&file, Some("native"));
}
