//! Any bytes, read as `vscsi`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reuselens_fuzz::read(bytes, Some("vscsi")));
