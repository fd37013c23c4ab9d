//! Damaged binary and compressed files through their readers: no panic, no hang, no endless output.
//!
//! As `mini_fuzz.rs`; the same targets run under libFuzzer in `fuzz/`.

use std::io::Cursor;

use crate::binary::{PACKINGS, drmemtrace, instruction, request, vscsi1, vscsi2, zip};
use reuselens_io::Input;
use reuselens_testing::traces::damage::{damage, rows_of};
use reuselens_testing::traces::{Random, native, sample};

const ROUNDS: u64 = 1500;
/// What damage puts in: the ends of numbers.
const BYTES: &[u8] = &[0, 1, 0x7f, 0xff];

/// As a file, so that what is read from its end is.
fn read(bytes: &[u8], format: Option<&str>) -> usize {
    let input = Input::seekable(Cursor::new(bytes.to_vec()), "trace").unwrap();
    rows_of(reuselens_formats::read(input, format))
}

fn fuzz(seed: u64, valid: &[u8], format: Option<&str>, most: impl Fn(usize) -> usize) {
    let mut random = Random(seed);
    for _ in 0..ROUNDS {
        let mut bytes = valid.to_vec();
        damage(&mut random, &mut bytes, BYTES);
        let rows = read(&bytes, format);
        assert!(rows <= most(bytes.len()), "{format:?}: {rows} rows");
    }
}

/// Every format by its name, records one after the other.
#[test]
fn damaged_binary_files_do_not_panic() {
    let records: [(&str, Vec<u8>, usize); 7] = [
        ("drmemtrace", drmemtrace(), 6),
        (
            "champsim",
            instruction(5, [1, 0], [2, 3, 0, 0]).repeat(4),
            10,
        ),
        ("oraclegeneral", request(1, 2, 3, -1).repeat(4), 24),
        ("vscsi", vscsi1(1, 2).repeat(20), 32),
        ("vscsi", vscsi2(1, 2).repeat(20), 40),
        (
            "oraclegeneral:unit=4096",
            request(1, 2, 300, -1).repeat(4),
            12,
        ),
        ("vscsi:unit=512", vscsi1(1, 2).repeat(20), 16),
    ];
    for (seed, (format, valid, bytes_per_row)) in (1..).zip(records) {
        let most = |bytes| bytes / bytes_per_row;
        fuzz(seed, &valid, Some(format), most);
        fuzz(seed + 10, &valid, None, |bytes| bytes);
    }
}

#[test]
fn damaged_compressed_files_do_not_panic() {
    let valid = native(&sample(), 3);
    for (seed, (_, pack)) in (20..).zip(PACKINGS) {
        fuzz(seed, &pack(&valid), None, |bytes| 1000 * bytes + 1000);
        fuzz(
            seed + 10,
            &pack(&drmemtrace()),
            Some("drmemtrace"),
            |bytes| 1000 * bytes + 1000,
        );
    }
    let zipped = zip(&[("chunk.0001", &[0; 60]), ("chunk.0000", &drmemtrace())]);
    fuzz(40, &zipped, None, |bytes| 1000 * bytes + 1000);
}
