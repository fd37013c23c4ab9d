//! Biased random walks of second order.
//!
//! A walk that came from `t` to `v` goes on to a neighbour `x` of `v`, with a probability in
//! proportion to 1/p if `x` = `t`, to 1 if `x` is a neighbour of `t`, and to 1/q otherwise. A small
//! p keeps a walk near its start, a small q sends it away.
//!
//! The next vertex is found by rejection sampling (as in KnightKing, SOSP 2019): a neighbour is
//! drawn uniformly and accepted with its weight over the largest weight. The reference instead
//! keeps an alias table for every directed edge, which takes memory for Σ degree² entries. Both
//! draw from the same distribution.
//!
//! Source: Grover and Leskovec, *node2vec: Scalable Feature Learning for Networks*, KDD 2016.

use std::sync::Mutex;

use reuselens_workers::{lock, together};

use crate::random::{Purpose, RandomStream};
use crate::{Node2vecOptions, SimpleGraph};

/// Draws for a step that may be rejected; after them the step is drawn by the weights.
const MOST_DRAWS: usize = 64;
/// How many walks a thread takes at a time.
const WALKS_AT_A_TIME: usize = 256;

/// Walks of equal length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walks {
    length: usize,
    vertices: Vec<u32>,
}

impl Walks {
    /// Walks from every vertex that has an edge, [`Node2vecOptions::walks_per_vertex`] rounds of
    /// them, each round in another random order, on `options.threads` threads.
    ///
    /// A walk depends on the seed, its round and its first vertex alone, so the result is the same
    /// for any number of threads. Memory: 4 bytes a step, 3.2 KB a vertex by default.
    pub fn new(graph: &SimpleGraph, options: &Node2vecOptions) -> Walks {
        let linked: Vec<u32> = (0..graph.vertices() as u32)
            .filter(|vertex| !graph.neighbours(*vertex).is_empty())
            .collect();
        let mut starts = Vec::with_capacity(linked.len() * options.walks_per_vertex);
        for round in 0..options.walks_per_vertex as u64 {
            let mut order = linked.clone();
            RandomStream::new(options.seed, Purpose::WalkOrder, round).shuffle(&mut order);
            starts.extend(order.into_iter().map(|vertex| (round, vertex)));
        }
        let length = options.walk_length;
        let mut vertices = vec![0; starts.len() * length];
        let walker = Walker::new(graph, options.p, options.q);
        let pieces = vertices.chunks_mut(WALKS_AT_A_TIME * length);
        let pieces = Mutex::new(pieces.zip(starts.chunks(WALKS_AT_A_TIME)));
        let work = || {
            loop {
                let Some((piece, starts)) = lock(&pieces).next() else {
                    return;
                };
                for (walk, (round, vertex)) in piece.chunks_exact_mut(length).zip(starts) {
                    let part = round << 32 | u64::from(*vertex);
                    let mut random = RandomStream::new(options.seed, Purpose::Walk, part);
                    walker.walk(*vertex, walk, &mut random);
                }
            }
        };
        together("walks", options.threads, work, work);
        Walks { length, vertices }
    }

    /// The walks, one after the other: each as the vertices that it visits.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.vertices.chunks_exact(self.length)
    }

    /// How many vertices all walks visit together, each visit counted.
    pub fn visits(&self) -> usize {
        self.vertices.len()
    }
}

/// What walks of one graph share.
struct Walker<'a> {
    graph: &'a SimpleGraph,
    /// The weight of going back.
    back: f64,
    /// The weight of going to a vertex that is not a neighbour of the last one.
    away: f64,
    lowest: f64,
    highest: f64,
}

impl<'a> Walker<'a> {
    fn new(graph: &'a SimpleGraph, p: f64, q: f64) -> Walker<'a> {
        let (back, away) = (1.0 / p, 1.0 / q);
        Walker {
            graph,
            back,
            away,
            lowest: back.min(away).min(1.0),
            highest: back.max(away).max(1.0),
        }
    }

    /// Fills `walk` from `start` on. The start has a neighbour, so every vertex that is reached has
    /// one, and no walk ends early.
    fn walk(&self, start: u32, walk: &mut [u32], random: &mut RandomStream) {
        let mut previous = start;
        let mut current = start;
        for (step, visited) in walk.iter_mut().enumerate() {
            *visited = current;
            let neighbours = self.graph.neighbours(current);
            let next = if step == 0 {
                neighbours[random.below(neighbours.len())]
            } else {
                self.next(previous, neighbours, random)
            };
            previous = current;
            current = next;
        }
    }

    fn next(&self, previous: u32, neighbours: &[u32], random: &mut RandomStream) -> u32 {
        for _ in 0..MOST_DRAWS {
            let drawn = neighbours[random.below(neighbours.len())];
            // With p = q = 1 every vertex is accepted, and the walk is of first order.
            if self.lowest == self.highest {
                return drawn;
            }
            let height = random.unit() * self.highest;
            // Below the lowest weight, no search for an edge is needed.
            if height < self.lowest || height < self.weight(previous, drawn) {
                return drawn;
            }
        }
        self.next_by_weights(previous, neighbours, random)
    }

    /// As [`next`](Self::next), from the same distribution, at the cost of a weight for each
    /// neighbour: for vertices whose neighbours have much lower weights than the highest one.
    #[cold]
    fn next_by_weights(&self, previous: u32, neighbours: &[u32], random: &mut RandomStream) -> u32 {
        let weight = |neighbour: &u32| self.weight(previous, *neighbour);
        let total: f64 = neighbours.iter().map(weight).sum();
        let mut height = random.unit() * total;
        for neighbour in neighbours {
            height -= weight(neighbour);
            if height < 0.0 {
                return *neighbour;
            }
        }
        // Rounding left a little.
        neighbours[neighbours.len() - 1]
    }

    fn weight(&self, previous: u32, drawn: u32) -> f64 {
        if drawn == previous {
            self.back
        } else if self.graph.has_edge(previous, drawn) {
            1.0
        } else {
            self.away
        }
    }
}
