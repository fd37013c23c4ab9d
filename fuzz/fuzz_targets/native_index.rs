//! Any bytes as the inside of a native file's index, with good checksums.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reuselens_fuzz::read_index(bytes));
