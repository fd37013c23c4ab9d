//! Any bytes, read as a description of launches, as an argument, and as an array of NumPy.

use std::path::Path;

use reuselens_ptx::plan::Plan;

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = Plan::parse(&text, Path::new("fuzz.toml"), None);
    let _ = Plan::default().argument(&text, 1);
    let _ = reuselens_ptx::plan::read_npy(bytes);
}
