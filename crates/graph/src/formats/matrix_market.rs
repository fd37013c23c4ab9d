//! MatrixMarket coordinate files: a banner, comments (`%`), a line `rows columns entries`, then an
//! entry per line.
//!
//! The matrix must be square; an entry in row `u` and column `v` is an edge from `u` to `v`, its
//! value is ignored. Fields: `real`, `integer`, `complex`, `pattern`. Symmetries: `general`,
//! `symmetric`, `skew-symmetric`, `hermitian`; all but the first mean each entry in both
//! directions. The ids 1 to `rows` are kept: vertex number `n` has the id `n + 1`.
//!
//! Described at <https://math.nist.gov/MatrixMarket/formats.html>.

use std::io::BufRead;

use super::text::{Lines, number, place, shown, words};
use super::{LoadedGraph, TextError, too_many};
use crate::{VERTEX_LIMIT, VertexId, VertexNames};

/// What `--format` calls it.
pub const NAME: &str = "matrix-market";
/// What it is, in a few words.
pub const SUMMARY: &str = "MatrixMarket coordinate file";

const BANNER: &[u8] = b"%%MatrixMarket";

/// Whether a file begins as these files do.
#[must_use]
pub fn detect(head: &[u8]) -> bool {
    head.get(..BANNER.len())
        .is_some_and(|begin| begin.eq_ignore_ascii_case(BANNER))
}

/// Reads a matrix to the end of the file.
///
/// # Errors
/// [`TextError`] if the banner is missing or asks for a dense matrix, the matrix is not square, an
/// entry is outside it, or there are more or fewer entries than announced.
pub fn read(input: &mut dyn BufRead) -> Result<LoadedGraph, TextError> {
    let mut lines = Lines::new(input);
    let banner = lines.next_line()?.unwrap_or_default();
    let symmetric = read_banner(banner).map_err(|what| TextError::at(1, what))?;
    let sizes = match lines.next_content(b"%")? {
        Some(line) => read_sizes(line),
        None => Err("the line `rows columns entries` is missing; the file is cut off".to_owned()),
    };
    let (vertices, entries) = sizes.map_err(|what| TextError::at(lines.number(), what))?;
    if vertices > VERTEX_LIMIT {
        return Err(too_many(lines.number()));
    }
    let mut pairs = Vec::new();
    while let Some(line) = lines.next_content(b"%")? {
        let entry = read_entry(line, vertices);
        pairs.push(entry.map_err(|what| TextError::at(lines.number(), what))?);
        if pairs.len() as u64 > entries {
            let what =
                format!("the file announces {entries} entries and has more; correct its size line");
            return Err(TextError::at(lines.number(), what));
        }
    }
    if (pairs.len() as u64) < entries {
        let found = pairs.len();
        let what = format!("the file ends after {found} of {entries} entries; it is cut off");
        return Err(TextError::at(lines.number(), what));
    }
    Ok(LoadedGraph {
        names: VertexNames::consecutive(1, vertices),
        pairs,
        symmetric,
        has_header: false,
    })
}

/// Whether the matrix is symmetric.
fn read_banner(line: &[u8]) -> Result<bool, String> {
    let lower = line.to_ascii_lowercase();
    let parts: Vec<&[u8]> = words(&lower).collect();
    let [banner, object, form, field, symmetry] = parts[..] else {
        return Err(format!(
            "{} should be `%%MatrixMarket matrix coordinate FIELD SYMMETRY`",
            shown(line)
        ));
    };
    if !detect(banner) || object != b"matrix" {
        let begin = "the first line should begin `%%MatrixMarket matrix`";
        return Err(format!("{begin}, and is {}", shown(line)));
    }
    if form != b"coordinate" {
        let what = "a dense matrix is no graph; write it in coordinate form";
        return Err(format!("the form is {}: {what}", shown(form)));
    }
    if !matches!(
        field,
        b"real" | b"double" | b"integer" | b"complex" | b"pattern"
    ) {
        return Err(format!(
            "{} is no field; fields are real, integer, complex and pattern",
            shown(field)
        ));
    }
    match symmetry {
        b"general" => Ok(false),
        b"symmetric" | b"skew-symmetric" | b"hermitian" => Ok(true),
        _ => Err(format!(
            "{} is no symmetry; they are general, symmetric, skew-symmetric and hermitian",
            shown(symmetry)
        )),
    }
}

/// The counts of vertices and of entries.
fn read_sizes(line: &[u8]) -> Result<(VertexId, u64), String> {
    let numbers: Option<Vec<u64>> = words(line).map(number).collect();
    let Some([rows, columns, entries]) = numbers.as_deref() else {
        return Err(format!(
            "{} should be three numbers: rows, columns, entries",
            shown(line)
        ));
    };
    if rows != columns {
        let what = "a graph needs a square matrix, with a row and a column for each vertex";
        return Err(format!("{rows} rows and {columns} columns: {what}"));
    }
    let vertices = VertexId::try_from(*rows);
    let vertices =
        vertices.map_err(|_| format!("{rows} vertices are more than a graph can have"))?;
    Ok((vertices, *entries))
}

/// The ends of an entry, as vertex numbers.
fn read_entry(line: &[u8], vertices: VertexId) -> Result<(VertexId, VertexId), String> {
    let mut words = words(line);
    let (Some(row), Some(column)) = (words.next(), words.next()) else {
        return Err(format!(
            "{} has one column, and an entry has a row and a column; is the file cut off?",
            shown(line)
        ));
    };
    Ok((place(row, vertices)?, place(column, vertices)?))
}
