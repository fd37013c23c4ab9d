//! Any bytes, read as `champsim`.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::read(bytes, Some("champsim"));
}
