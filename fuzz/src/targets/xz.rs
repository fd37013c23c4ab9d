//! Any bytes after the magic number of an xz file, unpacked and read as a trace.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::read_packed("xz", bytes);
}
