//! Any bytes as a native file of which a part is selected.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reuselens_fuzz::select(bytes));
