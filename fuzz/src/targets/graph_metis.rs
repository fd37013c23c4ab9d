//! Any bytes, read as a METIS file.

use reuselens_graph::EdgeKind;
use reuselens_graph::formats::metis;

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    if let Ok(graph) = metis::read(&mut &bytes[..]) {
        let census = graph.census(EdgeKind::Directed);
        let pairs = graph.pairs.len() as u64;
        assert!(census.edges.len() as u64 + census.loops <= 2 * pairs);
        assert!(
            census
                .edges
                .iter()
                .all(|edge| u64::from(edge.to) < graph.names.len())
        );
    }
}
