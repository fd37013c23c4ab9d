//! Thousands of damaged files through every reader: no panic, no hang, no endless output.
//!
//! The same targets run under cargo-fuzz in `fuzz/`; this is the part that runs everywhere.

mod common;

use std::time::{Duration, Instant};

use common::damage::{damage, rows_of};
use common::{Random, native, open, sample};

const ROUNDS: u64 = 3000;
/// What damage puts in: ends of numbers, and what text readers cut at.
const BYTES: &[u8] = &[0, 0x7f, 0x80, 0xff, b'\n', b' ', b','];

fn fuzz(seed: u64, valid: &[u8], format: Option<&str>) {
    let mut random = Random(seed);
    for round in 0..ROUNDS {
        let mut bytes = valid.to_vec();
        damage(&mut random, &mut bytes, BYTES);
        let began = Instant::now();
        let rows = rows_of(open(&bytes, format));
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{format:?} seed {seed} round {round}"
        );
        assert!(
            rows <= 4 * bytes.len() + 1,
            "more rows than the bytes can hold: {rows}"
        );
    }
}

#[test]
fn text() {
    fuzz(
        1,
        b"# ids\n1 2 0x10 name other\nname 3 # rest\n18446744073709551615\n",
        Some("text"),
    );
}

#[test]
fn u64() {
    fuzz(
        2,
        &(0..9_u64).flat_map(u64::to_le_bytes).collect::<Vec<_>>(),
        Some("u64"),
    );
}

#[test]
fn lackey() {
    let valid = b"==1== Command: x\nI  04001000,3\n L 1ffe,8\n S 1ffe,4\n M 0421,2\n S 1000,576\n";
    fuzz(3, valid, Some("lackey"));
}

#[test]
fn native_file() {
    fuzz(4, &native(&sample(), 3), Some("native"));
}

#[test]
fn any_format() {
    fuzz(5, &native(&sample(), 3), None);
    fuzz(6, b"I  04001000,3\n L 1ffe,8\n", None);
    fuzz(7, b"1 2 3\n", None);
}

/// Damage under good checksums: what a forger could send, and what only the decoder can refuse.
#[test]
fn native_chunks_with_good_checksums() {
    let bytes = native(&sample(), usize::MAX);
    let at = 16 + "a test".len() + 4;
    let stored = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
    let plain = zstd::bulk::decompress(&bytes[at + 24..at + 24 + stored], 1 << 20).unwrap();
    let mut random = Random(8);
    let mut read_some = 0;
    for _ in 0..2 * ROUNDS {
        let mut plain = plain.clone();
        damage(&mut random, &mut plain, BYTES);
        let mut file = bytes[..at].to_vec();
        push_chunk(&mut file, &plain);
        read_some += usize::from(rows_of(open(&file, None)) > 0);
    }
    assert!(
        read_some > ROUNDS as usize / 10,
        "the damage should reach the rows: {read_some}"
    );
}

fn push_chunk(file: &mut Vec<u8>, plain: &[u8]) {
    let stored = zstd::bulk::compress(plain, 1).unwrap();
    let mut head = Vec::new();
    let words = [
        1,
        0,
        stored.len() as u32,
        plain.len() as u32,
        crc32fast::hash(&stored),
    ];
    words
        .iter()
        .for_each(|word: &u32| head.extend_from_slice(&word.to_le_bytes()));
    head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
    file.extend_from_slice(&head);
    file.extend_from_slice(&stored);
}
