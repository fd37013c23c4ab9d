//! Any bytes, read as a MatrixMarket file.

use reuselens_graph::formats::matrix_market;

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    if let Ok(graph) = matrix_market::read(&mut &bytes[..]) {
        crate::check_graph(&graph);
    }
}
