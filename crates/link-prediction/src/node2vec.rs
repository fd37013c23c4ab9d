//! Vectors for vertices: walks, then a skip-gram model with negative sampling.

use reuselens_simd::Level;

use crate::skip_gram::SkipGram;
use crate::vector::padded;
use crate::{SimpleGraph, Walks};

/// How vectors are trained. The default is that of the reference implementation of node2vec, with
/// p = q = 1, and of word2vec, by which it trains.
#[derive(Clone, Debug, PartialEq)]
pub struct Node2vecOptions {
    /// Numbers in a vector.
    pub dimensions: usize,
    /// Vertices in a walk.
    pub walk_length: usize,
    /// Walks from each vertex.
    pub walks_per_vertex: usize,
    /// How far apart in a walk two vertices are at most to be a training pair. As in word2vec, the
    /// distance for each vertex is drawn from 1 to this.
    pub window: usize,
    /// Random vertices that are trained against each pair, drawn in proportion to their visits to
    /// the power of 0.75.
    pub negatives: usize,
    /// How unlikely a walk goes back where it came from.
    pub p: f64,
    /// How unlikely a walk goes away from where it came from.
    pub q: f64,
    /// The learning rate at the beginning. It falls linearly to a ten-thousandth of this.
    pub learning_rate: f32,
    /// How often all walks are trained.
    pub epochs: usize,
    /// Equal seeds give equal vectors, to the bit.
    pub seed: u64,
    /// Threads that make walks. Training has one thread: threads that share vectors without locks,
    /// as in word2vec, would make the result depend on chance.
    pub threads: usize,
}

impl Default for Node2vecOptions {
    fn default() -> Self {
        Node2vecOptions {
            dimensions: 128,
            walk_length: 80,
            walks_per_vertex: 10,
            window: 10,
            negatives: 5,
            p: 1.0,
            q: 1.0,
            learning_rate: 0.025,
            epochs: 1,
            seed: 1,
            threads: 1,
        }
    }
}

/// Why options cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InvalidOptions {
    /// A number that must be positive is not.
    #[error("{0} must be positive and finite")]
    NotPositive(&'static str),
    /// A number is too large.
    #[error("{0} must be at most {1}")]
    TooLarge(&'static str, usize),
    /// A weight is too small or too large.
    #[error("{0} must be from 0.000001 to 1000000")]
    OutOfRange(&'static str),
}

/// Negatives beyond this only take time.
const MOST_NEGATIVES: usize = 1 << 10;

impl Node2vecOptions {
    /// Whether vectors can be trained so.
    ///
    /// # Errors
    /// If a count is 0 or absurd (there may be no negatives), p or q is beyond a millionth to a
    /// million, or the learning rate is not a positive number.
    pub fn check(&self) -> Result<(), InvalidOptions> {
        let counts = [
            ("dimensions", self.dimensions, 1 << 16),
            ("walk_length", self.walk_length, 1 << 20),
            ("walks_per_vertex", self.walks_per_vertex, 1 << 20),
            ("window", self.window, 1 << 20),
            ("epochs", self.epochs, 1 << 20),
        ];
        for (name, count, most) in counts {
            positive(name, count as f64)?;
            if count > most {
                return Err(InvalidOptions::TooLarge(name, most));
            }
        }
        if self.negatives > MOST_NEGATIVES {
            return Err(InvalidOptions::TooLarge("negatives", MOST_NEGATIVES));
        }
        for (name, value) in [("p", self.p), ("q", self.q)] {
            if !(1e-6..=1e6).contains(&value) {
                return Err(InvalidOptions::OutOfRange(name));
            }
        }
        positive("learning_rate", f64::from(self.learning_rate))
    }
}

/// Whether an option called `name` is a positive number.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<(), InvalidOptions> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(InvalidOptions::NotPositive(name))
    }
}

/// A vector for each vertex.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    dimensions: usize,
    /// One row of `padded(dimensions)` numbers for each vertex; the padding is 0.
    rows: Vec<f32>,
    /// Whether each vertex had an edge.
    is_known: Vec<bool>,
}

impl Embedding {
    /// Trains vectors for the vertices of `graph` (node2vec). A vertex without edges gets a vector
    /// of zeros.
    ///
    /// Costs about visits × window × (1 + negatives) × dimensions × 3 multiplications and
    /// additions, where visits are vertices × walks × length. Memory: that of [`Walks`] and 8 bytes
    /// for each number of a vector.
    ///
    /// # Errors
    /// If [`Node2vecOptions::check`] finds one.
    pub fn train(
        graph: &SimpleGraph,
        options: &Node2vecOptions,
    ) -> Result<Embedding, InvalidOptions> {
        options.check()?;
        Ok(Embedding::train_at(Level::best(), graph, options))
    }

    /// As [`Embedding::train`], by the instructions of `level`: the result is the same for all.
    pub(crate) fn train_at(
        level: Level,
        graph: &SimpleGraph,
        options: &Node2vecOptions,
    ) -> Embedding {
        let walks = Walks::new(graph, options);
        let is_known: Vec<bool> = (0..graph.vertices() as u32)
            .map(|vertex| !graph.neighbours(vertex).is_empty())
            .collect();
        let mut rows = SkipGram::train(level, &walks, graph.vertices(), options);
        for (row, is_known) in rows
            .chunks_exact_mut(padded(options.dimensions))
            .zip(&is_known)
        {
            if !is_known {
                row.fill(0.0);
            }
        }
        Embedding {
            dimensions: options.dimensions,
            rows,
            is_known,
        }
    }

    /// Numbers in a vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Whether `vertex` had an edge when the vectors were trained.
    pub fn knows(&self, vertex: u32) -> bool {
        self.is_known.get(vertex as usize) == Some(&true)
    }

    /// The vector of `vertex`; nothing if it is not among the vertices of the graph.
    pub fn vector(&self, vertex: u32) -> Option<&[f32]> {
        self.row(vertex).map(|row| &row[..self.dimensions])
    }

    /// The vector of `vertex` with its padding.
    pub(crate) fn row(&self, vertex: u32) -> Option<&[f32]> {
        let stride = padded(self.dimensions);
        let start = vertex as usize * stride;
        self.rows.get(start..start + stride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pair;

    #[test]
    fn vectors_are_equal_to_the_bit_at_every_level_of_instructions() {
        let pairs: Vec<Pair> = (0..60).filter_map(|u| Pair::new(u, u * 7 % 60)).collect();
        let graph = SimpleGraph::new(60, &pairs);
        let options = Node2vecOptions {
            dimensions: 40,
            walk_length: 20,
            ..Node2vecOptions::default()
        };
        let portable = Embedding::train_at(Level::PORTABLE, &graph, &options);
        let best = Embedding::train_at(Level::best(), &graph, &options);
        let bits = |embedding: &Embedding| -> Vec<u32> {
            embedding
                .rows
                .iter()
                .map(|number| number.to_bits())
                .collect()
        };
        assert_eq!(bits(&portable), bits(&best));
    }
}
