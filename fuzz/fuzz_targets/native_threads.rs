//! Any bytes as a native file: threads deliver what one alone does, or the same error.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reuselens_fuzz::compare_threads(bytes));
