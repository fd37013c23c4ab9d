//! Edge lists, as SNAP and others publish them: a pair of ids per line.
//!
//! - Lines that begin with `#` or `%`, and empty ones, are comments.
//! - Words are separated by spaces, tabs, commas or semicolons. Columns after the second (weights,
//!   times) are ignored.
//! - Ids are numbered in the order in which they first appear.
//! - A first line that has the counts of vertices and edges is left out: one whose second number is
//!   the count of the lines after it, and whose first number is not below the count of vertices in
//!   them. [`LoadedGraph::has_header`] reports it.

use std::io::BufRead;

use super::text::{Lines, no_id, number, shown, words};
use super::{LoadedGraph, TextError, too_many};
use crate::VertexNames;

/// What `--format` calls it.
pub const NAME: &str = "edges";
/// What it is, in a few words.
pub const SUMMARY: &str = "edge list of SNAP and others: `u v` per line";

/// Marks of comments.
pub(crate) const COMMENTS: &[u8] = b"#%";

/// Reads an edge list to the end of the file. Holds 24 bytes per line at a time.
///
/// # Errors
/// [`TextError`] with the number of the line that is no pair of ids.
pub fn read(input: &mut dyn BufRead) -> Result<LoadedGraph, TextError> {
    let mut lines = Lines::new(input);
    let mut pairs: Vec<(u64, u64)> = Vec::new();
    while let Some(line) = lines.next_content(COMMENTS)? {
        let pair = pair(line);
        pairs.push(pair.map_err(|what| TextError::at(lines.number(), what))?);
    }
    let mut graph = match pairs.split_first() {
        Some((&(vertices, edges), rest)) if edges == rest.len() as u64 => {
            let without = numbered(rest, lines.number())?;
            if vertices >= without.names.len() && !rest.is_empty() {
                LoadedGraph {
                    has_header: true,
                    ..without
                }
            } else {
                numbered(&pairs, lines.number())?
            }
        }
        _ => numbered(&pairs, lines.number())?,
    };
    graph.pairs.shrink_to_fit();
    Ok(graph)
}

/// Gives the ids of pairs numbers.
fn numbered(pairs: &[(u64, u64)], last_line: u64) -> Result<LoadedGraph, TextError> {
    let mut names = VertexNames::new();
    let mut numbers = Vec::with_capacity(pairs.len());
    for &(u, v) in pairs {
        let pair = names.number(u).zip(names.number(v));
        numbers.push(pair.ok_or_else(|| too_many(last_line))?);
    }
    Ok(LoadedGraph {
        names,
        pairs: numbers,
        symmetric: false,
        has_header: false,
    })
}

/// The two ids of a line, or what is wrong with it.
fn pair(line: &[u8]) -> Result<(u64, u64), String> {
    let mut words = words(line);
    let (Some(u), Some(v)) = (words.next(), words.next()) else {
        return Err(format!(
            "{} has one column, and an edge has two ids; is the file cut off?",
            shown(line)
        ));
    };
    if matches!(u, b"+" | b"-" | b"a" | b"d") {
        let what =
            "a change, and this should be a graph; give the file as the stream: --stream FILE";
        return Err(format!("{} begins {what}", shown(line)));
    }
    let id = |word| number(word).ok_or_else(|| no_id(word));
    Ok((id(u)?, id(v)?))
}
