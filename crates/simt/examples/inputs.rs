//! Arrays for the kernels in `kernels/thesis`, as `.npy` files.
//!
//! `cargo run --release -p reuselens-simt --example inputs -- FOLDER NETLIST.bench | MESH.graph |
//! NODES EDGES`

use std::path::Path;

use reuselens_simt::graph::Graph;
use reuselens_simt::netlist::Netlist;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (folder, graph, kinds) = match &words[..] {
        [folder, file] if file.ends_with(".bench") => {
            let netlist = Netlist::read(&std::fs::read_to_string(file)?, file)?;
            let kinds = netlist.gates.iter().map(|&gate| gate as u32).collect();
            (folder, netlist.fanin, kinds)
        }
        [folder, file] => (
            folder,
            Graph::from_metis(&std::fs::read_to_string(file)?, file)?,
            Vec::new(),
        ),
        [folder, nodes, edges] => (
            folder,
            Graph::mesh(nodes.parse()?, edges.parse()?, 1)?,
            Vec::new(),
        ),
        _ => {
            return Err(
                "name a folder, and a netlist, a mesh, or numbers of nodes and edges".into(),
            );
        }
    };
    std::fs::create_dir_all(folder)?;
    let begins = graph.offsets[..graph.nodes() as usize].to_vec();
    let ends = graph.offsets[1..].to_vec();
    for (name, values) in [
        ("begins", &begins),
        ("ends", &ends),
        ("targets", &graph.targets),
        ("kinds", &kinds),
    ] {
        if !values.is_empty() {
            write(&Path::new(folder).join(format!("{name}.npy")), values)?;
        }
    }
    println!("{} nodes, {} entries", graph.nodes(), graph.targets.len());
    Ok(())
}

/// A vector in the format of NumPy, version 1.0.
fn write(path: &Path, values: &[u32]) -> std::io::Result<()> {
    let text = format!(
        "{{'descr': '<u4', 'fortran_order': False, 'shape': ({},), }}",
        values.len()
    );
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let padded = (10 + text.len() + 1).next_multiple_of(64) - 10;
    bytes.extend_from_slice(&(padded as u16).to_le_bytes());
    bytes.extend_from_slice(format!("{text:<width$}\n", width = padded - 1).as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    std::fs::write(path, bytes)
}
