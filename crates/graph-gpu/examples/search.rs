//! Writes a breadth-first search for `reuselens gpu run`: `cargo run --release -p
//! reuselens-graph-gpu --example search -- FOLDER [FILE]`, then
//!
//! ```text
//! reuselens gpu run FOLDER/search.toml -o search.rlwarp
//! reuselens gpu report search.rlwarp
//! ```
//!
//! FILE is a graph in the form of METIS; without it the graph is a Delaunay triangulation of 2^13
//! points. FOLDER gets the lists of neighbours, the PTX of the kernels, and a description that runs
//! one launch for each level from vertex 0 on, as `GpuDepths` does.

use std::error::Error;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use reuselens_graph::formats::by_name;
use reuselens_graph::generate::delaunay;
use reuselens_graph::{Edge, EdgeKind, SortedGraph, StoredGraph};
use reuselens_graph_gpu::KernelCode;
use reuselens_incremental::{Maintain, StaticDepths, UNREACHED};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("which folder?")?;
    let folder = Path::new(&folder);
    let (vertices, edges) = match arguments.next() {
        Some(file) => read(Path::new(&file))?,
        None => (1 << 13, delaunay(1 << 13, 1)?),
    };
    let mut graph = SortedGraph::new(EdgeKind::Undirected, vertices);
    graph.load(edges);
    fs::create_dir_all(folder)?;
    write(folder, &graph)
}

/// The vertices and edges of a file.
fn read(file: &Path) -> Result<(u32, Vec<Edge>), Box<dyn Error>> {
    let format = by_name("metis").ok_or("METIS is a known form")?;
    let loaded = (format.read)(&mut BufReader::new(File::open(file)?))?;
    let edges = loaded.census(EdgeKind::Undirected).edges;
    Ok((loaded.names.len() as u32, edges))
}

/// Writes lists, the state of a search that is about to begin, kernels and the description.
fn write(folder: &Path, graph: &SortedGraph) -> Result<(), Box<dyn Error>> {
    let vertices = graph.vertices();
    let (mut begins, mut degrees, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    for vertex in 0..vertices {
        begins.push(ids.len() as u32);
        degrees.push(graph.degree(vertex) as u32);
        ids.extend(graph.neighbors(vertex).flatten());
    }
    let mut depths = vec![UNREACHED; vertices as usize];
    depths[0] = 0;
    // Level 0, with one vertex in its queue.
    let search = [0, 1, 0, 0, 0, 0, 0, 0];
    let lists: [(&str, &[u32]); 5] = [
        ("begins", &begins),
        ("degrees", &degrees),
        ("ids", &ids),
        ("depths", &depths),
        ("search", &search),
    ];
    for (name, words) in lists {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        fs::write(folder.join(format!("{name}.u32")), bytes)?;
    }
    fs::write(folder.join("depths.ptx"), KernelCode::CLANG.depths)?;
    let found = Maintain::<SortedGraph>::answer(&StaticDepths::new(graph, 0));
    let deepest = found.into_iter().filter(|&depth| depth != UNREACHED).max();
    let text = format!(
        r#"# Depths from vertex 0, one level per launch.
kernel = "depths.ptx"

[buffers]
begins = "raw:begins.u32"
degrees = "raw:degrees.u32"
ids = "raw:ids.u32"
depths = "raw:depths.u32"
queues = "zeros:u32:{queues}"
search = "raw:search.u32"

[[launch]]
entry = "depths_expand"
grid = [8]
block = [128]
args = ["begins", "degrees", "ids", "depths", "queues", {vertices}, "search", {shift}]
repeat = {levels}
"#,
        queues = 2 * u64::from(vertices),
        shift = (ids.len() / vertices.max(1) as usize / 2)
            .max(1)
            .ilog2()
            .min(5),
        levels = deepest.unwrap_or_default() + 1,
    );
    fs::write(folder.join("search.toml"), text)?;
    Ok(())
}
