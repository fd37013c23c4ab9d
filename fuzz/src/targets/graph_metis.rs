//! Any bytes, read as a METIS file.

use reuselens_graph::formats::metis;

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    if let Ok(graph) = metis::read(&mut &bytes[..]) {
        crate::check_graph(&graph);
    }
}
