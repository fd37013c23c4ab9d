//! Any bytes after the magic number of a file in snappy's framing format, unpacked and read as a
//! trace.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::read_packed("snappy", bytes);
}
