//! Any bytes as the inside of a native chunk, with good checksums: what only the decoder can
//! refuse.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reuselens_fuzz::read_chunk(bytes));
