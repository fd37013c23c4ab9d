//! [`barabasi_albert`]: graphs that grow by preferential attachment.

use super::{GenerateError, SeededRandom, check_size};
use crate::{Edge, EdgeKind};

/// A graph of Barabási and Albert (1999): each new vertex gets edges to `each` earlier ones, drawn
/// by their degrees. It begins as a star of `each + 1` vertices. Undirected; vertices are numbered
/// by age.
///
/// # Errors
/// If `each` is 0, or not below the count of vertices, or there are more vertices or edges than the
/// limits.
pub fn barabasi_albert(vertices: u32, each: u32, seed: u64) -> Result<Vec<Edge>, GenerateError> {
    if each == 0 || each >= vertices {
        return Err(GenerateError(format!(
            "{each} edges per vertex should be 1 or more, and fewer than the {vertices} vertices"
        )));
    }
    let count = u64::from(vertices - each) * u64::from(each);
    check_size(u64::from(vertices), count)?;
    let mut random = SeededRandom::new(seed);
    let mut edges = Vec::with_capacity(count as usize);
    // Each edge puts both its ends here, so an end drawn from it is drawn by degree.
    let mut ends = Vec::with_capacity(2 * count as usize);
    let mut drawn: Vec<u32> = (0..each).collect();
    for vertex in each..vertices {
        for &other in &drawn {
            edges.push(Edge::new(EdgeKind::Undirected, other, vertex));
            ends.extend([other, vertex]);
        }
        drawn.clear();
        while drawn.len() < each as usize {
            let end = ends[random.below(ends.len() as u64) as usize];
            if !drawn.contains(&end) {
                drawn.push(end);
            }
        }
    }
    edges.sort_unstable();
    Ok(edges)
}
