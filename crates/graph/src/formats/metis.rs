//! METIS files: a line `vertices edges [format [weights]]`, then a line for each vertex with its
//! neighbours, from 1.
//!
//! Lines that begin with `%` are comments; an empty line is a vertex without neighbours. The format
//! is three digits: whether there are sizes of vertices, weights of vertices, weights of edges. All
//! of these are read over. Graphs are undirected, so each edge is in two lines. The ids 1 to
//! `vertices` are kept: vertex number `n` has the id `n + 1`.
//!
//! Described in the manual of METIS 5, section 4.1.1.

use std::io::BufRead;

use super::text::{Lines, number, shown, vertex_count, words};
use super::{LoadedGraph, TextError, too_many};
use crate::{VERTEX_LIMIT, VertexId, VertexNames};

/// What `--format` calls it.
pub const NAME: &str = "metis";
/// What it is, in a few words.
pub const SUMMARY: &str = "METIS file: the neighbours of a vertex per line";

/// The first line.
struct Head {
    vertices: VertexId,
    edges: u64,
    /// The count of numbers before the neighbours of a line.
    before: usize,
    /// Whether each neighbour is followed by a weight.
    edge_weights: bool,
}

/// Reads a graph to the end of the file.
///
/// # Errors
/// [`TextError`] if the first line is no head, a neighbour is no vertex, an edge is in one of its
/// two lines only, or there are more or fewer lines or edges than announced.
pub fn read(input: &mut dyn BufRead) -> Result<LoadedGraph, TextError> {
    let mut lines = Lines::new(input);
    let head = match lines.next_content(b"%")? {
        Some(line) => read_head(line),
        None => Err("the file is empty; its first line should be `vertices edges`".to_owned()),
    };
    let head = head.map_err(|what| TextError::at(lines.number(), what))?;
    if head.vertices > VERTEX_LIMIT {
        return Err(too_many(lines.number()));
    }
    let mut rows = AdjacencyRows::default();
    while let Some(line) = lines.next_line()? {
        let is_past = rows.vertex == head.vertices;
        if line.first() == Some(&b'%') || (is_past && line.is_empty()) {
            continue;
        }
        let read = if is_past {
            Err(format!(
                "the first line announces {} vertices, and there are more lines",
                head.vertices
            ))
        } else {
            read_neighbours(line, &head, |neighbour| rows.add(neighbour))
        };
        read.map_err(|what| TextError::at(lines.number(), what))?;
        rows.vertex += 1;
    }
    if let Some(what) = rows.fault(&head) {
        return Err(TextError::at(lines.number(), what));
    }
    Ok(LoadedGraph {
        names: VertexNames::consecutive(1, head.vertices),
        pairs: rows.pairs,
        symmetric: true,
        has_header: false,
    })
}

/// What was read of the lines of vertices.
#[derive(Default)]
struct AdjacencyRows {
    /// The vertex of the next line.
    vertex: VertexId,
    /// Each edge once, from its smaller end.
    pairs: Vec<(VertexId, VertexId)>,
    /// The count of neighbours in all lines.
    entries: u64,
    loops: u64,
    /// 0 if each edge is in the lines of both its ends: see [`mixed`].
    balance: u64,
}

impl AdjacencyRows {
    fn add(&mut self, neighbour: VertexId) {
        let vertex = self.vertex;
        self.entries += 1;
        if vertex == neighbour {
            self.loops += 1;
            self.pairs.push((vertex, vertex));
        } else if vertex < neighbour {
            self.pairs.push((vertex, neighbour));
            self.balance = self.balance.wrapping_add(mixed(vertex, neighbour));
        } else {
            self.balance = self.balance.wrapping_sub(mixed(neighbour, vertex));
        }
    }

    /// What contradicts the first line, at the end of the file. Some files count a self loop as one
    /// entry, some as two; some announce the count of entries in the place of that of edges.
    fn fault(&self, head: &Head) -> Option<String> {
        let (entries, edges, vertex) = (self.entries, head.edges, self.vertex);
        let fits = [entries, entries + self.loops].contains(&(2 * edges)) || entries == edges;
        // Lines without neighbours may be missing at the end: nothing is lost then.
        if vertex < head.vertices && !fits {
            let all = head.vertices;
            return Some(format!(
                "the file ends after {vertex} of {all} vertices; it is cut off"
            ));
        }
        if !fits {
            let twice = 2 * edges;
            return Some(format!(
                "{edges} edges should be {twice} entries, two each, and there are {entries}; is the file cut off?"
            ));
        }
        let one_sided = "some edge is in the line of one of its ends only; write it into both";
        (self.balance != 0).then(|| one_sided.to_owned())
    }
}

/// A number for an edge, so that the sum over the upper lines less the sum over the lower lines is
/// 0 if both have the same edges, and hardly ever otherwise.
fn mixed(u: VertexId, v: VertexId) -> u64 {
    let key = u64::from(u) << 32 | u64::from(v);
    let key = (key ^ key >> 31).wrapping_mul(0x7fb5_d329_728e_a185);
    (key ^ key >> 27).wrapping_mul(0x81da_def4_bc2d_d44d) ^ key >> 33
}

fn read_head(line: &[u8]) -> Result<Head, String> {
    let bad = || {
        format!(
            "{} should be `vertices edges`, or these with a format of up to three digits 0 and 1",
            shown(line)
        )
    };
    let parts: Vec<&[u8]> = words(line).collect();
    let (vertices, edges, format, weights) = match parts[..] {
        [vertices, edges] => (vertices, edges, &b"0"[..], None),
        [vertices, edges, format] => (vertices, edges, format, None),
        [vertices, edges, format, weights] => (vertices, edges, format, Some(weights)),
        _ => return Err(bad()),
    };
    let (vertices, edges) = number(vertices).zip(number(edges)).ok_or_else(bad)?;
    let binary = format.iter().all(|digit| matches!(digit, b'0' | b'1'));
    if !binary || format.len() > 3 {
        return Err(bad());
    }
    let flag = |from_end: usize| format.iter().rev().nth(from_end) == Some(&b'1');
    let weights = match weights {
        Some(weights) => number(weights)
            .filter(|weights| *weights <= 1000)
            .ok_or_else(bad)?,
        None => 1,
    };
    let vertex_weights = if flag(1) { weights as usize } else { 0 };
    Ok(Head {
        vertices: vertex_count(vertices)?,
        edges: (edges <= u64::MAX / 2).then_some(edges).ok_or_else(bad)?,
        before: vertex_weights + usize::from(flag(2)),
        edge_weights: flag(0),
    })
}

/// Calls `found` with each neighbour of a line.
fn read_neighbours(
    line: &[u8],
    head: &Head,
    mut found: impl FnMut(VertexId),
) -> Result<(), String> {
    let mut words = words(line);
    for _ in 0..head.before {
        if words.next().is_none() {
            return Err("the weights of the vertex are missing; is the file cut off?".to_owned());
        }
    }
    while let Some(word) = words.next() {
        let all = head.vertices;
        let neighbour = number(word).filter(|id| (1..=u64::from(all)).contains(id));
        let neighbour = neighbour.ok_or_else(|| format!("{} is not in 1 to {all}", shown(word)))?;
        if head.edge_weights && words.next().is_none() {
            return Err("the last edge has no weight; is the file cut off?".to_owned());
        }
        found((neighbour - 1) as VertexId);
    }
    Ok(())
}
