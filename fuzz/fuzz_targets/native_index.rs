//! Any bytes as the content of a native file's index, with correct checksums.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reuselens_fuzz::read_index(bytes));
