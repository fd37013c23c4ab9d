//! Any text, read as a netlist, a mesh and a hypergraph.
#![no_main]

use reuselens_simt::{graph::Graph, mapping::Hypergraph, netlist::Netlist};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(netlist) = Netlist::read(text, "fuzz") {
        assert_eq!(netlist.names.len(), netlist.fanin.nodes() as usize);
    }
    let _ = Graph::from_metis(text, "fuzz");
    let _ = Hypergraph::from_hgr(text, "fuzz");
});
