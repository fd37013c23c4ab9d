//! Any bytes, read as `text`.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::read(bytes, Some("text"));
}
