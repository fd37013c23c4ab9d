//! Edges with times, and pairs of vertices.

/// An edge that was inserted at a time.
///
/// Vertices are numbered densely: tables have an entry for each number up to the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemporalEdge {
    /// One end.
    pub u: u32,
    /// The other end.
    pub v: u32,
    /// When it was inserted, in a unit that the caller chooses (seconds in the files of SNAP).
    pub time: i64,
}

impl TemporalEdge {
    /// The edge without its direction and time; nothing for a self loop.
    pub fn pair(self) -> Option<Pair> {
        Pair::new(self.u, self.v)
    }
}

/// Two different vertices, without an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    low: u32,
    high: u32,
}

impl Pair {
    /// The pair of `u` and `v`; nothing if they are equal.
    pub fn new(u: u32, v: u32) -> Option<Pair> {
        (u != v).then_some(Pair {
            low: u.min(v),
            high: u.max(v),
        })
    }

    /// The smaller vertex.
    pub fn low(self) -> u32 {
        self.low
    }

    /// The larger vertex.
    pub fn high(self) -> u32 {
        self.high
    }
}

/// The distinct pairs of `edges`, sorted. Self loops are left out.
pub fn distinct_pairs(edges: &[TemporalEdge]) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = edges.iter().filter_map(|edge| edge.pair()).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// How a sequence of edges is cut into batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchRule {
    /// So many edges in each batch; the last one may have fewer. 0 counts as 1.
    Edges(usize),
    /// So much time in each batch, counted from the first edge, in the unit of the edges. Batches
    /// without edges are left out. Less than 1 counts as 1.
    Time(i64),
}

/// Cuts `edges`, which are sorted by time, into batches.
///
/// ```
/// use reuselens_link_prediction::{BatchRule, TemporalEdge, batches};
///
/// let edges = [3, 4, 9, 30].map(|time| TemporalEdge { u: 0, v: 1, time });
/// let sizes = |rule| batches(&edges, rule).iter().map(|batch| batch.len()).collect::<Vec<_>>();
/// assert_eq!(sizes(BatchRule::Edges(3)), [3, 1]);
/// assert_eq!(sizes(BatchRule::Time(5)), [2, 1, 1]);
/// ```
pub fn batches(edges: &[TemporalEdge], rule: BatchRule) -> Vec<&[TemporalEdge]> {
    match rule {
        BatchRule::Edges(size) => edges.chunks(size.max(1)).collect(),
        BatchRule::Time(span) => {
            let span = i128::from(span.max(1));
            let Some(first) = edges.first() else {
                return Vec::new();
            };
            let slot = |edge: &TemporalEdge| {
                (i128::from(edge.time) - i128::from(first.time)).div_euclid(span)
            };
            edges.chunk_by(|a, b| slot(a) == slot(b)).collect()
        }
    }
}
