//! DIMACS files: `c` comments, a line `p KIND vertices edges`, then `e u v` (an edge) or
//! `a u v weight` (an arc), from 1.
//!
//! `p edge` and `p col` files have edges without direction, `p sp` files (shortest paths, ending
//! `.gr`) have arcs; weights are ignored, as are lines `n …` about vertices. The ids 1 to
//! `vertices` are kept: vertex number `n` has the id `n + 1`. Some files announce half the lines
//! that they have, or, of edges, twice, because they list each edge once or twice; both are
//! accepted.
//!
//! Described at <http://www.diag.uniroma1.it/challenge9/format.shtml>.

use std::io::BufRead;

use super::text::{Lines, number, place, shown, vertex_count, words};
use super::{LoadedGraph, TextError, too_many};
use crate::{VERTEX_LIMIT, VertexId, VertexNames};

/// What `--format` calls it.
pub const NAME: &str = "dimacs";
/// What it is, in a few words.
pub const SUMMARY: &str = "DIMACS file: `p sp n m` and `a u v w`, or `p edge n m` and `e u v`";

/// Whether a file begins as these files do: with a comment or the line `p`.
#[must_use]
pub fn detect(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && *line != b"c" && !line.starts_with(b"c "));
    first.is_some_and(|line| line.starts_with(b"p "))
}

/// The line `p`.
struct Problem {
    vertices: VertexId,
    edges: u64,
    directed: bool,
}

/// Reads a graph to the end of the file.
///
/// # Errors
/// [`TextError`] if the line `p` is missing or comes twice, a line is unknown, an end is no vertex,
/// or the count of edges is neither what was announced nor twice of it, nor, of edges without
/// direction, half of it.
pub fn read(input: &mut dyn BufRead) -> Result<LoadedGraph, TextError> {
    let mut lines = Lines::new(input);
    let (mut problem, mut pairs) = (None::<Problem>, Vec::new());
    while let Some(line) = lines.next_content(b"")? {
        let read = match (line[0], &problem) {
            (b'c' | b'n', _) => Ok(()),
            (b'p', None) => read_problem(line).map(|found| problem = Some(found)),
            (b'p', Some(_)) => Err("a second line `p`; give one graph per file".to_owned()),
            (b'e' | b'a', Some(problem)) => {
                read_edge(line, problem.vertices).map(|pair| pairs.push(pair))
            }
            (b'e' | b'a', None) => {
                Err("an edge before the line `p KIND vertices edges`".to_owned())
            }
            _ => Err(format!(
                "{} is no line of a DIMACS file; lines begin with c, p, n, e or a",
                shown(line)
            )),
        };
        read.map_err(|what| TextError::at(lines.number(), what))?;
    }
    let last = lines.number();
    let Some(problem) = problem else {
        let what = "the line `p KIND vertices edges` is missing; is the file cut off?";
        return Err(TextError::at(last, what));
    };
    if problem.vertices > VERTEX_LIMIT {
        return Err(too_many(last));
    }
    let (found, said) = (pairs.len() as u64, problem.edges);
    let is_half = !problem.directed && found.saturating_mul(2) == said;
    if found != said && found != said.saturating_mul(2) && !is_half {
        let what = format!("the file announces {said} edges and has {found}; is it cut off?");
        return Err(TextError::at(last, what));
    }
    Ok(LoadedGraph {
        names: VertexNames::consecutive(1, problem.vertices),
        pairs,
        symmetric: !problem.directed,
        has_header: false,
    })
}

fn read_problem(line: &[u8]) -> Result<Problem, String> {
    let parts: Vec<&[u8]> = words(line).collect();
    let bad = || format!("{} should be `p KIND vertices edges`", shown(line));
    let [b"p", kind, vertices, edges] = parts[..] else {
        return Err(bad());
    };
    let directed = match kind {
        b"sp" | b"max" | b"asn" | b"min" => true,
        b"edge" | b"col" | b"edges" => false,
        _ => {
            return Err(format!(
                "{} is no kind of graph; kinds are sp, edge and col",
                shown(kind)
            ));
        }
    };
    let (vertices, edges) = number(vertices).zip(number(edges)).ok_or_else(bad)?;
    Ok(Problem {
        vertices: vertex_count(vertices)?,
        edges,
        directed,
    })
}

/// The ends of an edge, as vertex numbers.
fn read_edge(line: &[u8], vertices: VertexId) -> Result<(VertexId, VertexId), String> {
    let mut words = words(line).skip(1);
    let (Some(u), Some(v)) = (words.next(), words.next()) else {
        return Err(format!(
            "{} should have two ids; is the file cut off?",
            shown(line)
        ));
    };
    Ok((place(u, vertices)?, place(v, vertices)?))
}
