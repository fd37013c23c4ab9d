//! Any bytes as a native file: threads deliver what one alone does, or the same error; touches what
//! rows do; folds what rows say; and segments what the whole does.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    reuselens_fuzz::compare_threads(bytes);
    reuselens_fuzz::compare_touches(bytes);
    reuselens_fuzz::compare_folds(bytes);
    reuselens_fuzz::compare_told_apart(bytes);
    reuselens_fuzz::compare_segments(bytes);
});
