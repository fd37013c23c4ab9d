//! Any bytes, read as `u64`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reuselens_fuzz::read(bytes, Some("u64")));
