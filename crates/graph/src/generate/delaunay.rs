//! [`delaunay`]: triangulations of random points.

use delaunator::{Point, triangulate};

use super::{GenerateError, SeededRandom, check_size};
use crate::{Edge, EdgeKind};

/// The Delaunay triangulation of points that are uniform in the unit square, as the graphs
/// `delaunay_nXX` of the 10th DIMACS challenge: planar, about 3 edges per vertex, no hubs, a
/// diameter of about the square root of the count of vertices. Undirected. Vertices are numbered at
/// random.
///
/// # Errors
/// If there are fewer than 3 vertices, or more than the limit.
pub fn delaunay(vertices: u32, seed: u64) -> Result<Vec<Edge>, GenerateError> {
    if vertices < 3 {
        let what = format!("a triangulation needs 3 vertices, and {vertices} were asked for");
        return Err(GenerateError(what));
    }
    check_size(u64::from(vertices), 3 * u64::from(vertices))?;
    let mut random = SeededRandom::new(seed);
    let points: Vec<Point> = (0..vertices)
        .map(|_| Point {
            x: random.unit(),
            y: random.unit(),
        })
        .collect();
    let triangles = triangulate(&points).triangles;
    let mut edges = Vec::with_capacity(triangles.len());
    for triangle in triangles.chunks_exact(3) {
        let [a, b, c] = [0, 1, 2].map(|corner| triangle[corner] as u32);
        for (u, v) in [(a, b), (b, c), (c, a)] {
            edges.push(Edge::new(EdgeKind::Undirected, u, v));
        }
    }
    edges.sort_unstable();
    edges.dedup();
    Ok(edges)
}
