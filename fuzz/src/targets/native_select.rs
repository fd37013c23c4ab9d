//! Any bytes as a native file of which a part is selected.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::select(bytes);
}
