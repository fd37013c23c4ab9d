//! Any bytes, read as `oraclegeneral`: by ids, and by the bytes of blocks whose unit the first
//! bytes name.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::read(bytes, Some("oraclegeneral"));
    crate::read_blocks(bytes, "oraclegeneral");
}
