//! Any bytes as a native file. Each way of reading it gives the same accesses, or the same error:
//! one thread or several, rows, item accesses, repeats, and segments.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    reuselens_fuzz::compare_threads(bytes);
    reuselens_fuzz::compare_item_accesses(bytes);
    reuselens_fuzz::compare_repeats(bytes);
    reuselens_fuzz::compare_attribution(bytes);
    reuselens_fuzz::compare_segments(bytes);
});
