//! Any text, read as a netlist, a mesh and a hypergraph.

use reuselens_simt::{graph::Graph, mapping::Hypergraph, netlist::Netlist};

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(netlist) = Netlist::read(text, "fuzz") {
        assert_eq!(netlist.names.len(), netlist.fanin.nodes() as usize);
    }
    let _ = Graph::from_metis(text, "fuzz");
    let _ = Hypergraph::from_hgr(text, "fuzz");
}
