//! Any bytes, in whatever format they look like.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reuselens_fuzz::read(bytes, None));
