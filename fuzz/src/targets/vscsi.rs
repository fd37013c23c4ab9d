//! Any bytes, read as `vscsi`.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::read(bytes, Some("vscsi"));
}
