//! Any bytes, read as `vscsi`: by ids, and by the bytes of blocks whose unit the first bytes name.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::read(bytes, Some("vscsi"));
    crate::read_blocks(bytes, "vscsi");
}
