//! How good predictions are.

use crate::random::{Purpose, RandomStream};
use crate::{History, Pair, ScorePairs, TemporalEdge, distinct_pairs};

/// What was predicted for batches, and what came. Sums of batches are sums of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchQuality {
    /// How many were predicted.
    pub predicted: usize,
    /// How many came.
    pub actual: usize,
    /// How many of those that came were predicted.
    pub hits: usize,
}

impl BatchQuality {
    /// Compares two lists without repetitions, of which `actual` is sorted.
    pub fn of<T: Ord>(predicted: &[T], actual: &[T]) -> BatchQuality {
        let is_hit = |item: &&T| actual.binary_search(item).is_ok();
        BatchQuality {
            predicted: predicted.len(),
            actual: actual.len(),
            hits: predicted.iter().filter(is_hit).count(),
        }
    }

    /// The share of the predicted that came; nothing if nothing was predicted.
    pub fn precision(&self) -> Option<f64> {
        share(self.hits, self.predicted)
    }

    /// The share of what came that was predicted; nothing if nothing came.
    pub fn recall(&self) -> Option<f64> {
        share(self.hits, self.actual)
    }

    /// Adds another batch.
    pub fn add(&mut self, other: BatchQuality) {
        self.predicted += other.predicted;
        self.actual += other.actual;
        self.hits += other.hits;
    }
}

/// `part` of `total`; nothing if there is no total.
pub(crate) fn share(part: usize, total: usize) -> Option<f64> {
    (total > 0).then(|| part as f64 / total as f64)
}

/// What a batch has that was never seen before: an upper limit for all that learns from the past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Novelty {
    /// Edges, self loops left out.
    pub edges: usize,
    /// Distinct pairs.
    pub pairs: usize,
    /// Distinct pairs that were never seen before.
    pub unseen: usize,
    /// Of the unseen pairs: one end was never seen before.
    pub one_new_vertex: usize,
    /// Of the unseen pairs: neither end was ever seen before.
    pub two_new_vertices: usize,
}

impl Novelty {
    /// Compares `batch` with the `history` before it.
    pub fn of(history: &History, batch: &[TemporalEdge]) -> Novelty {
        let pairs = distinct_pairs(batch);
        let mut novelty = Novelty {
            edges: batch.iter().filter(|edge| edge.pair().is_some()).count(),
            pairs: pairs.len(),
            ..Novelty::default()
        };
        for pair in pairs {
            let ends = [pair.low(), pair.high()];
            let new = ends.iter().filter(|end| history.degree(**end) == 0).count();
            novelty.unseen += usize::from(history.seen(pair).is_none());
            novelty.one_new_vertex += usize::from(new == 1);
            novelty.two_new_vertices += usize::from(new == 2);
        }
        novelty
    }

    /// Adds another batch.
    pub fn add(&mut self, other: Novelty) {
        self.edges += other.edges;
        self.pairs += other.pairs;
        self.unseen += other.unseen;
        self.one_new_vertex += other.one_new_vertex;
        self.two_new_vertices += other.two_new_vertices;
    }

    /// The share of the distinct pairs that were never seen before.
    pub fn unseen_share(&self) -> Option<f64> {
        share(self.unseen, self.pairs)
    }

    /// The share of the distinct pairs that have a vertex which was never seen before.
    pub fn new_vertex_share(&self) -> Option<f64> {
        share(self.one_new_vertex + self.two_new_vertices, self.pairs)
    }
}

/// Which pairs are taken as those that are not inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Negatives {
    /// Two random vertices, as is usual. Most have few edges, so nearly any predictor recognises
    /// such a pair.
    Random,
    /// Two random ends of the pairs that are inserted, so that both classes have the same vertices.
    SameEnds,
}

/// As many pairs that are not edges as pairs that are inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BalancedPairs {
    /// Pairs that are inserted.
    pub positives: Vec<Pair>,
    /// Pairs that are not edges, not even afterwards. They are fewer than the positives only where
    /// the graph has hardly any.
    pub negatives: Vec<Pair>,
}

impl BalancedPairs {
    /// Adds negatives to `positives`, the pairs of batch number `batch`. It makes no difference
    /// whether `history` has that batch. Equal seeds and batches give equal pairs.
    ///
    /// Costs a pass over all vertices for [`Negatives::Random`], and a sort of the positives.
    pub fn new(
        history: &History,
        positives: Vec<Pair>,
        kind: Negatives,
        seed: u64,
        batch: u64,
    ) -> BalancedPairs {
        let mut sorted = positives.clone();
        sorted.sort_unstable();
        let of_batch = sorted.iter().flat_map(|pair| [pair.low(), pair.high()]);
        let ends: Vec<u32> = match kind {
            Negatives::Random => {
                let known =
                    (0..history.vertex_bound() as u32).filter(|vertex| history.degree(*vertex) > 0);
                let mut ends: Vec<u32> = known.chain(of_batch).collect();
                ends.sort_unstable();
                ends.dedup();
                ends
            }
            Negatives::SameEnds => {
                let ends = positives.iter();
                ends.flat_map(|pair| [pair.low(), pair.high()]).collect()
            }
        };
        let mut random = RandomStream::new(seed, Purpose::Balanced, batch * 2 + kind as u64);
        let is_edge = |pair| sorted.binary_search(&pair).is_ok() || history.seen(pair).is_some();
        let negatives = absent_pairs(&ends, positives.len(), is_edge, &mut random);
        BalancedPairs {
            positives,
            negatives,
        }
    }

    /// The pairs whose ends are both in `before`, equally many of both classes. Of the class that
    /// has more, those at equal distances in its order are taken: positives are usually sorted by
    /// vertex, so the first ones would be pairs of low numbers, that is of old vertices.
    pub fn between_known(&self, before: &History) -> BalancedPairs {
        let is_known = |end| before.degree(end) > 0;
        let known = |pairs: &[Pair]| -> Vec<Pair> {
            let known = pairs
                .iter()
                .filter(|pair| is_known(pair.low()) && is_known(pair.high()));
            known.copied().collect()
        };
        let (mut positives, mut negatives) = (known(&self.positives), known(&self.negatives));
        let both = positives.len().min(negatives.len());
        take_evenly(&mut positives, both);
        take_evenly(&mut negatives, both);
        BalancedPairs {
            positives,
            negatives,
        }
    }
}

/// Keeps `count` of the pairs, at equal distances.
fn take_evenly(pairs: &mut Vec<Pair>, count: usize) {
    let all = pairs.len();
    for at in 0..count {
        // The middle of each part, which is not before `at`.
        pairs[at] = pairs[(2 * at + 1) * all / (2 * count)];
    }
    pairs.truncate(count);
}

/// `count` random pairs of `ends` that are no edges. Stops early where edges are nearly everywhere.
pub(crate) fn absent_pairs(
    ends: &[u32],
    count: usize,
    is_edge: impl Fn(Pair) -> bool,
    random: &mut RandomStream,
) -> Vec<Pair> {
    /// Draws for each pair, on average.
    const MOST_DRAWS: usize = 100;
    let mut pairs = Vec::with_capacity(count);
    if ends.is_empty() {
        return pairs;
    }
    for _ in 0..count.saturating_mul(MOST_DRAWS) {
        if pairs.len() == count {
            break;
        }
        let mut end = || ends[random.below(ends.len())];
        if let Some(pair) = Pair::new(end(), end()).filter(|pair| !is_edge(*pair)) {
            pairs.push(pair);
        }
    }
    pairs
}

/// How many pairs were classified rightly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accuracy {
    /// Inserted pairs, and how many of them were predicted.
    pub positives: BatchCount,
    /// Other pairs, and how many of them were not predicted.
    pub negatives: BatchCount,
}

/// How many of how many were right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchCount {
    /// How many were right.
    pub right: usize,
    /// How many there were.
    pub total: usize,
}

impl Accuracy {
    /// The accuracy of `predictor`, which knows `before`, on `pairs`.
    pub fn of(predictor: &dyn ScorePairs, before: &History, pairs: &BalancedPairs) -> Accuracy {
        let count = |pairs: &[Pair], is_edge: bool| BatchCount {
            right: predictor
                .scores(before, pairs)
                .into_iter()
                .filter(|score| (*score > 0.0) == is_edge)
                .count(),
            total: pairs.len(),
        };
        Accuracy {
            positives: count(&pairs.positives, true),
            negatives: count(&pairs.negatives, false),
        }
    }

    /// The share that was right, from 0 to 1; nothing if there were no pairs.
    pub fn share(&self) -> Option<f64> {
        share(
            self.positives.right + self.negatives.right,
            self.positives.total + self.negatives.total,
        )
    }

    /// Adds other pairs.
    pub fn add(&mut self, other: Accuracy) {
        for (sum, more) in [
            (&mut self.positives, other.positives),
            (&mut self.negatives, other.negatives),
        ] {
            sum.right += more.right;
            sum.total += more.total;
        }
    }
}
