//! Streams of changes: random ones for a static graph ([`Changes`]), and the expiries of a sliding
//! window ([`window`]).

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::SeededRandom;
use crate::formats::stream::StreamRecord;
use crate::{Edge, EdgeChange, EdgeKind};

/// What a random stream consists of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeMix {
    /// The share of deletions, from 0 to 1.
    pub deletions: f64,
    /// The share of insertions that bring back an edge that the stream deleted earlier, if there is
    /// one; the others are pairs of random vertices.
    pub returns: f64,
}

impl Default for ChangeMix {
    /// Half deletions, and half of the insertions bring back an edge.
    fn default() -> Self {
        Self {
            deletions: 0.5,
            returns: 0.5,
        }
    }
}

/// An endless stream of random changes, each of which changes the graph: deletions of edges that
/// are present, all equally likely, and insertions of edges that are absent.
///
/// It ends where no such change is left: deletions without edges, or insertions into a graph of
/// nearly all pairs.
#[derive(Clone, Debug)]
pub struct Changes {
    kind: EdgeKind,
    vertices: u32,
    mix: ChangeMix,
    random: SeededRandom,
    present: Vec<Edge>,
    places: HashMap<Edge, usize>,
    deleted: Vec<Edge>,
}

impl Changes {
    /// Changes of the graph with these edges. Takes about 40 bytes per edge.
    #[must_use]
    pub fn new(kind: EdgeKind, vertices: u32, edges: &[Edge], mix: ChangeMix, seed: u64) -> Self {
        Self {
            kind,
            vertices,
            mix,
            random: SeededRandom::new(seed),
            present: edges.to_vec(),
            places: edges.iter().copied().zip(0..).collect(),
            deleted: Vec::new(),
        }
    }

    fn delete(&mut self) -> Option<EdgeChange> {
        if self.present.is_empty() {
            return None;
        }
        let place = self.random.below(self.present.len() as u64) as usize;
        let edge = self.present.swap_remove(place);
        self.places.remove(&edge);
        if let Some(moved) = self.present.get(place) {
            self.places.insert(*moved, place);
        }
        self.deleted.push(edge);
        Some(EdgeChange::Delete(edge))
    }

    fn insert(&mut self) -> Option<EdgeChange> {
        /// Draws until an absent pair is found; in any but nearly complete graphs a few do.
        const DRAWS: usize = 1000;
        let mut edge = None;
        if !self.deleted.is_empty() && self.random.unit() < self.mix.returns {
            let place = self.random.below(self.deleted.len() as u64) as usize;
            let back = self.deleted.swap_remove(place);
            edge = (!self.places.contains_key(&back)).then_some(back);
        }
        let vertices = u64::from(self.vertices);
        let mut draws = 0..DRAWS;
        while edge.is_none() && vertices > 1 && draws.next().is_some() {
            let (u, v) = (self.random.below(vertices), self.random.below(vertices));
            let drawn = Edge::new(self.kind, u as u32, v as u32);
            edge = (!drawn.is_loop() && !self.places.contains_key(&drawn)).then_some(drawn);
        }
        let edge = edge?;
        self.places.insert(edge, self.present.len());
        self.present.push(edge);
        Some(EdgeChange::Insert(edge))
    }
}

impl Iterator for Changes {
    type Item = EdgeChange;

    fn next(&mut self) -> Option<EdgeChange> {
        if self.random.unit() < self.mix.deletions {
            self.delete().or_else(|| self.insert())
        } else {
            self.insert().or_else(|| self.delete())
        }
    }
}

/// The stream of a sliding window over the insertions of a temporal graph: each insertion, and a
/// deletion once the last insertion of the pair is `length` old. Deletions of the input are left
/// out. A record without a time, or with one that is earlier than the one before, has the time of
/// the one before. In an undirected window `u v` and `v u` are one pair.
///
/// At the end of the input nothing expires any more.
#[must_use]
pub fn window(kind: EdgeKind, records: &[StreamRecord], length: u64) -> Vec<StreamRecord> {
    let mut out = Vec::with_capacity(2 * records.len());
    let mut waiting: VecDeque<(i64, (u64, u64))> = VecDeque::new();
    let mut last: HashMap<(u64, u64), i64> = HashMap::new();
    let mut now = i64::MIN;
    for record in records.iter().filter(|record| record.inserts) {
        now = now.max(record.time.unwrap_or(now));
        while let Some(&(begun, pair)) = waiting.front() {
            let end = begun.saturating_add_unsigned(length);
            if end > now {
                break;
            }
            waiting.pop_front();
            if last.get(&pair) == Some(&begun) {
                last.remove(&pair);
                out.push(StreamRecord {
                    inserts: false,
                    from: pair.0,
                    to: pair.1,
                    time: Some(end),
                });
            }
        }
        let pair = match kind {
            EdgeKind::Undirected => (record.from.min(record.to), record.from.max(record.to)),
            EdgeKind::Directed => (record.from, record.to),
        };
        if last.insert(pair, now) != Some(now) {
            waiting.push_back((now, pair));
        }
        out.push(StreamRecord {
            time: Some(now),
            ..*record
        });
    }
    out
}
