//! Any bytes, read as `u64`.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::read(bytes, Some("u64"));
}
