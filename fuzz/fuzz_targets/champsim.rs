//! Any bytes, read as `champsim`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reuselens_fuzz::read(bytes, Some("champsim")));
