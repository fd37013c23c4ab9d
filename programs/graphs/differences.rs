//! The file of `presponse export`, for the programs in the folders beside.

use std::error::Error;

/// The ids of two vertices.
pub type Edge = (u64, u64);

/// A file of `presponse export`.
#[derive(Debug, Default)]
pub struct Differences {
    /// Whether edges have a direction.
    pub directed: bool,
    /// Edges and differences, batch by batch.
    pub batches: Vec<Vec<(Edge, isize)>>,
    /// All vertices, those without edges included.
    pub vertices: u64,
}

/// Reads the text of such a file.
///
/// # Errors
/// If a line is no difference.
pub fn read(text: &str) -> Result<Differences, Box<dyn Error>> {
    let mut found = Differences::default();
    for (at, line) in text.lines().enumerate() {
        if let Some(comment) = line.strip_prefix('#') {
            let words: Vec<&str> = comment.split_ascii_whitespace().collect();
            match words[..] {
                ["batch", _] => found.batches.push(Vec::new()),
                ["vertices", count] => found.vertices = count.parse()?,
                _ => found.directed |= words.contains(&"directed:"),
            }
            continue;
        }
        let words: Vec<i128> = line
            .split_ascii_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        let (&[from, to, _, difference], Some(batch)) = (&words[..], found.batches.last_mut())
        else {
            return Err(format!("line {}: `{line}` is no difference", at + 1).into());
        };
        batch.push(((from as u64, to as u64), difference as isize));
    }
    Ok(found)
}
