//! The stream of a kernel with a known access pattern, as a file for `reuselens gpu analyze`.
//!
//! `cargo run --release -p reuselens-simt --example stream -- KERNEL NETLIST.bench|MESH.graph
//! THREADS OUT.rlwarp`

use std::path::Path;

use reuselens_io::AtomicFile;
use reuselens_simt::generate::{self, Kernel};
use reuselens_simt::graph::Graph;
use reuselens_simt::netlist::Netlist;
use reuselens_warp::file::WarpWriter;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kernel, graph, threads, out] = &words[..] else {
        return Err("name a kernel, a graph, the threads of a block, and the file to write".into());
    };
    let kernel = Kernel::ALL
        .into_iter()
        .find(|known| known.name() == kernel)
        .ok_or("no such kernel")?;
    let text = std::fs::read_to_string(graph)?;
    let graph = if graph.ends_with(".bench") {
        Netlist::read(&text, graph)?.fanin
    } else {
        Graph::from_metis(&text, graph)?
    };
    let out = Path::new(out);
    let mut writer = WarpWriter::new(AtomicFile::create(out, true)?, out, "generated")?;
    generate::stream(kernel, &graph, threads.parse()?, &mut writer)?;
    println!("{} records", writer.records());
    writer.finish()?.commit()?;
    Ok(())
}
