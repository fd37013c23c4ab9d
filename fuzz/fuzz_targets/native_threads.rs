//! Any bytes as a native file: threads deliver what one alone does, or the same error; and touches what rows do.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    reuselens_fuzz::compare_threads(bytes);
    reuselens_fuzz::compare_touches(bytes);
});
