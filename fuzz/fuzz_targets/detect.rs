//! Any bytes, read in the format that is detected.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reuselens_fuzz::read(bytes, None));
