//! Files of graphs and of changes of graphs: readers that take a [`BufRead`] and give values.
//!
//! | format | file | a line |
//! |---|---|---|
//! | [`edge_list`] (SNAP) | a graph | `u v`, further columns ignored |
//! | [`matrix_market`] | a graph | `row column [value]`, after a banner and a size line |
//! | [`metis`] | a graph | the neighbours of one vertex |
//! | [`dimacs`] | a graph | `e u v` or `a u v weight`, after `p KIND n m` |
//! | [`stream`] | changes | `u v [time]`, `+ u v [time]`, `- u v [time]`; also `a` and `d` |
//!
//! What all of them have in common:
//! - Ids of vertices are whole numbers below 2^64. [`VertexNames`] gives them dense numbers.
//! - **Self loops and repeated edges** are read and counted, and graphs do not keep them
//!   ([`LoadedGraph::census`]).
//! - **Truncated files** are an error where the format announces its length (MatrixMarket, METIS,
//!   DIMACS). Edge lists and streams have no end of their own: a last line without a line feed
//!   counts if it is complete by its columns, and a cut number cannot be noticed.
//! - Bytes of any kind give an error with the line's number, never a panic, and cost no memory
//!   beyond what they hold.
//!
//! A format is one file here with the names `NAME`, `SUMMARY` and `read`.

pub mod dimacs;
pub mod edge_list;
pub mod matrix_market;
pub mod metis;
pub mod stream;
mod text;

use std::io::BufRead;

pub use text::{MAX_LINE, TextError};

use crate::{Edge, EdgeKind, VERTEX_LIMIT, VertexId, VertexNames};

/// A format of files with graphs.
#[derive(Clone, Copy, Debug)]
pub struct GraphFormat {
    /// What `--format` calls it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// Reads a graph to the end of the file.
    pub read: fn(&mut dyn BufRead) -> Result<LoadedGraph, TextError>,
}

/// All formats of files with graphs.
pub const GRAPH_FORMATS: [GraphFormat; 4] = [
    GraphFormat {
        name: edge_list::NAME,
        summary: edge_list::SUMMARY,
        read: edge_list::read,
    },
    GraphFormat {
        name: matrix_market::NAME,
        summary: matrix_market::SUMMARY,
        read: matrix_market::read,
    },
    GraphFormat {
        name: metis::NAME,
        summary: metis::SUMMARY,
        read: metis::read,
    },
    GraphFormat {
        name: dimacs::NAME,
        summary: dimacs::SUMMARY,
        read: dimacs::read,
    },
];

/// A graph as a file has it.
#[derive(Clone, Debug, Default)]
pub struct LoadedGraph {
    /// The ids of its vertices.
    pub names: VertexNames,
    /// The ends of its edges in the order of the file, self loops and repeats included.
    pub pairs: Vec<(VertexId, VertexId)>,
    /// Whether the format means each pair in both directions.
    pub symmetric: bool,
    /// Whether a first line with the counts of vertices and edges was left out, in a format that
    /// asks for none.
    pub has_header: bool,
}

/// What a graph keeps of the pairs of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeCensus {
    /// The edges, sorted, each once.
    pub edges: Vec<Edge>,
    /// The pairs that are left out because both ends are one vertex.
    pub loops: u64,
    /// The pairs that are left out because an earlier pair is the same edge.
    pub repeats: u64,
}

impl LoadedGraph {
    /// The edges as a graph of this kind stores them. In an undirected graph `u v` and `v u` are
    /// one edge, so one of them counts as a repeat. In a directed graph, a symmetric file gives two
    /// edges for each pair. Takes time as sorting does.
    #[must_use]
    pub fn census(&self, kind: EdgeKind) -> EdgeCensus {
        let both = self.symmetric && kind == EdgeKind::Directed;
        let mut edges = Vec::with_capacity(self.pairs.len() << u32::from(both));
        let mut loops = 0;
        for &(u, v) in &self.pairs {
            let edge = Edge::new(kind, u, v);
            if edge.is_loop() {
                loops += 1;
                continue;
            }
            edges.push(edge);
            if both {
                edges.push(Edge::new(kind, v, u));
            }
        }
        let before = edges.len();
        edges.sort_unstable();
        edges.dedup();
        EdgeCensus {
            repeats: (before - edges.len()) as u64,
            loops,
            edges,
        }
    }
}

/// The format of this name.
#[must_use]
pub fn by_name(name: &str) -> Option<GraphFormat> {
    GRAPH_FORMATS.into_iter().find(|format| format.name == name)
}

/// The format of a file by its first bytes and the ending of its name. An edge list looks like
/// nothing in particular, so it is what remains; a METIS file is recognised by its name only.
#[must_use]
pub fn detect(head: &[u8], file_name: &str) -> GraphFormat {
    let ending = file_name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let name = match ending {
        "graph" | "metis" => metis::NAME,
        "mtx" | "mm" => matrix_market::NAME,
        "gr" | "col" | "dimacs" => dimacs::NAME,
        _ if matrix_market::detect(head) => matrix_market::NAME,
        _ if dimacs::detect(head) => dimacs::NAME,
        _ => edge_list::NAME,
    };
    by_name(name).unwrap_or(GRAPH_FORMATS[0])
}

/// What to type for a count of vertices that has no place in a graph.
fn too_many(at: u64) -> TextError {
    let what = format!(
        "a graph has at most {VERTEX_LIMIT} vertices, and this file has more; cut the file"
    );
    TextError::at(at, what)
}
