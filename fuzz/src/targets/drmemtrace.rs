//! Any bytes, read as `drmemtrace`.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::read(bytes, Some("drmemtrace"));
}
