//! Any bytes, read as a DIMACS file.

use reuselens_graph::formats::dimacs;

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    if let Ok(graph) = dimacs::read(&mut &bytes[..]) {
        crate::check_graph(&graph);
    }
}
