//! Any bytes after the magic number of a zip file, unpacked and read as a trace.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::read_packed("zip", bytes);
}
