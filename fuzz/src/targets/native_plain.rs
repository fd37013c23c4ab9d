//! Any bytes as the content of a native chunk, with correct checksums, so that only the decoder can
//! refuse them.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::read_chunk(bytes);
}
