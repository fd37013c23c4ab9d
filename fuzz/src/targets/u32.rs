//! Any bytes, read as `u32`.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::read(bytes, Some("u32"));
}
