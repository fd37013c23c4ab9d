//! Any bytes as the content of a native chunk, with correct checksums, so that only the decoder can
//! refuse them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reuselens_fuzz::read_chunk(bytes));
