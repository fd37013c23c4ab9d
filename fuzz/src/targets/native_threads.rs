//! Any bytes as a native file. Each way of reading it gives the same accesses, or the same error:
//! one thread or several, rows, item accesses, repeats, and segments.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::compare_threads(bytes);
    crate::compare_item_accesses(bytes);
    crate::compare_repeats(bytes);
    crate::compare_attribution(bytes);
    crate::compare_segments(bytes);
}
