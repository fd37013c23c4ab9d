//! Any bytes as the content of a native file's index, with correct checksums.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::read_index(bytes);
}
