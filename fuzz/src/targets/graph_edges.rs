//! Any bytes, read as an edge list.

use reuselens_graph::formats::edge_list;

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    if let Ok(graph) = edge_list::read(&mut &bytes[..]) {
        crate::check_graph(&graph);
    }
}
