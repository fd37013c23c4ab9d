//! Any bytes, read as a MatrixMarket file.
#![no_main]

use reuselens_graph::EdgeKind;
use reuselens_graph::formats::matrix_market;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(graph) = matrix_market::read(&mut &bytes[..]) {
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
});
