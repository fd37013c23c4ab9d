//! The graphs that the examples run on.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use reuselens_graph::formats::by_name;
use reuselens_graph::generate::{RmatShares, barabasi_albert, delaunay, erdos_renyi, rmat};
use reuselens_graph::{Edge, EdgeKind, VertexId};

/// A graph to begin with.
pub struct Named {
    pub name: String,
    pub kind: EdgeKind,
    pub vertices: VertexId,
    pub edges: Vec<Edge>,
}

/// Files of real graphs, and their formats.
const FILES: [(&str, &str, &str); 4] = [
    ("n15", "metis", "delaunay_n15.graph"),
    ("ca-HepPh", "edges", "ca-HepPh.txt"),
    ("email-Eu", "edges", "email-Eu-core-temporal.txt"),
    ("mathoverflow", "edges", "sx-mathoverflow-a2q.txt"),
];

/// The real graphs that the folder has, undirected.
pub fn real(folder: &Path) -> Vec<Named> {
    let mut graphs = Vec::new();
    for (name, format, file) in FILES {
        let Ok(file) = File::open(folder.join(file)) else {
            eprintln!("{} has no {file}; left out", folder.display());
            continue;
        };
        let format = by_name(format).expect("a known format");
        let loaded = (format.read)(&mut BufReader::new(file)).expect("a readable graph");
        graphs.push(Named {
            name: name.to_owned(),
            kind: EdgeKind::Undirected,
            vertices: loaded.names.len() as VertexId,
            edges: loaded.census(EdgeKind::Undirected).edges,
        });
    }
    graphs
}

/// Generated graphs of 2^`scale` vertices.
pub fn generated(scale: u32) -> Vec<Named> {
    let vertices = 1 << scale;
    let kind = EdgeKind::Undirected;
    let draws = u64::from(vertices) * 8;
    let shares = RmatShares::default();
    let graphs = [
        ("Delaunay", delaunay(vertices, 1)),
        ("R-MAT", rmat(kind, scale, draws, shares, 1)),
        ("Erdős–Rényi", erdos_renyi(kind, vertices, draws / 2, 1)),
        ("Barabási–Albert", barabasi_albert(vertices, 4, 1)),
    ];
    let named = graphs.map(|(name, edges)| Named {
        name: format!("{name} 2^{scale}"),
        kind,
        vertices,
        edges: edges.expect("possible sizes"),
    });
    named.into()
}

/// The real graphs that the folder has, or generated ones if there is a `scale`, whose names begin
/// with `name`.
#[allow(dead_code, reason = "some examples run on all graphs")]
pub fn named(folder: &Path, scale: Option<u32>, name: &str) -> Vec<Named> {
    let mut all = match scale {
        None => real(folder),
        Some(scale) => generated(scale),
    };
    all.retain(|graph| graph.name.starts_with(name));
    all
}
