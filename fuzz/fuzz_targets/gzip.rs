//! Any bytes after the magic number of a gzip file, unpacked and read as a trace.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reuselens_fuzz::read_packed("gzip", bytes));
