//! Binary traces made by hand, and ways to pack them.

use std::io::Write;

pub use reuselens_testing::traces::foreign::drmemtrace_entries as entries;

/// A small drmemtrace of two threads, with all that is skipped.
pub fn drmemtrace() -> Vec<u8> {
    entries(&[
        (25, 0, 5),
        (28, 13, 5),
        (28, 9, 0x48),
        (22, 4, 71),
        (24, 4, 70),
        (28, 2, 123_456),
        (47, 3, 0x0fc3),
        (10, 3, 0x40_1000),
        (0, 8, 0x7fff_1000),
        (1, 4, 0x7fff_1008),
        (3, 1, 0x9000),
        (14, 5, 0x40_1003),
        (1, 8, 0x7fff_0ff8),
        (17, 3, u64::from_le_bytes([2, 3, 4, 0, 0, 0, 0, 0])),
        (0, 2, 0x5000),
        (22, 4, 72),
        (24, 4, 70),
        (29, 2, 0x40_2000),
        (1, 512, 0x6000),
        (22, 4, 71),
        (49, 2, 0x40_1010),
        (0, 255, 0x5002),
        (23, 4, 71),
        (26, 0, 0),
    ])
}

/// A record of ChampSim.
pub fn instruction(ip: u64, written: [u64; 2], read: [u64; 4]) -> Vec<u8> {
    let mut bytes = ip.to_le_bytes().to_vec();
    bytes.extend_from_slice(&[0, 0, 6, 0, 5, 6, 0, 0]);
    let addrs = written.iter().chain(&read);
    addrs.for_each(|addr| bytes.extend_from_slice(&addr.to_le_bytes()));
    bytes
}

/// A record of oracleGeneral.
pub fn request(time: u32, id: u64, size: u32, next: i64) -> Vec<u8> {
    let mut bytes = time.to_le_bytes().to_vec();
    bytes.extend_from_slice(&id.to_le_bytes());
    bytes.extend_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(&next.to_le_bytes());
    bytes
}

/// SCSI commands by turns: one that reads, one that writes, and one that does neither.
fn command(number: u32) -> u16 {
    [0x28, 0x2a, 0x35][number as usize % 3]
}

/// A record of vscsi1.
pub fn vscsi1(number: u32, block: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [number, 4096, 1] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(&command(number).to_le_bytes());
    bytes.extend_from_slice(&0x0100_u16.to_le_bytes());
    for word in [block, 1_000 + u64::from(number)] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// A record of vscsi2.
pub fn vscsi2(number: u32, block: u64) -> Vec<u8> {
    let mut bytes = command(number).to_le_bytes().to_vec();
    bytes.extend_from_slice(&0x0200_u16.to_le_bytes());
    for word in [number, 4096, 1] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    for word in [block, 1_000 + u64::from(number), 17] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// A member of a gzip file.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// A frame of a zstd file.
pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(bytes, 3).unwrap()
}

/// A stream of an xz file.
pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut packer = liblzma::write::XzEncoder::new(Vec::new(), 2);
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// A file in snappy's framing format.
pub fn snappy(bytes: &[u8]) -> Vec<u8> {
    let mut packer = snap::write::FrameEncoder::new(Vec::new());
    packer.write_all(bytes).unwrap();
    packer.into_inner().unwrap()
}

/// A zip file with members of these names.
pub fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = ::zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (index, (name, bytes)) in members.iter().enumerate() {
        let method = if index % 2 == 0 {
            ::zip::CompressionMethod::Deflated
        } else {
            ::zip::CompressionMethod::Stored
        };
        let options = ::zip::write::SimpleFileOptions::default().compression_method(method);
        file.start_file(*name, options).unwrap();
        file.write_all(bytes).unwrap();
    }
    file.finish().unwrap().into_inner()
}

/// An archive of `bytes` in members of these many thousandths of them, and one for the rest; in the
/// file they are in another order than their names.
pub fn archive(bytes: &[u8], parts: &[usize]) -> Vec<u8> {
    let mut members = Vec::new();
    let mut rest = bytes;
    for (number, part) in parts.iter().enumerate() {
        let length = (bytes.len() * part / 1000 + number).min(rest.len());
        let (member, after) = rest.split_at(length);
        members.push((format!("chunk.{number:04}"), member));
        rest = after;
    }
    members.push(("chunk.9999".to_owned(), rest));
    let members = members.iter().rev();
    let members: Vec<_> = members
        .map(|(name, bytes)| (name.as_str(), *bytes))
        .collect();
    zip(&members)
}

/// A way to pack bytes.
pub type Pack = fn(&[u8]) -> Vec<u8>;

/// The packings of streams, by their usual endings.
pub const PACKINGS: [(&str, Pack); 4] = [("gz", gzip), ("zst", zstd), ("xz", xz), ("sz", snappy)];
