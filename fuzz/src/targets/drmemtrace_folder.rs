//! Any bytes as the files of two threads in a folder of drmemtrace, read together.

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    crate::read_folder(bytes);
}
