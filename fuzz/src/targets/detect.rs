//! Any bytes, read in the format that is detected.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::read(bytes, None);
}
