//! All predictors on one stream, batch after batch.

use crate::{
    Accuracy, BalancedPairs, BatchQuality, CandidateLimits, Candidates, CommonNeighbours, EdgeBank,
    FadingCount, History, InvalidOptions, Latest, Negatives, Novelty, Pair, Popularity, Predictor,
    ScorePairs, TemporalEdge, UnsortedEdge, distinct_pairs, predict_batch,
};

/// What is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationOptions {
    /// Which pairs are scored.
    pub limits: CandidateLimits,
    /// How many pairs are predicted for a batch. If nothing: as many as the batch before had.
    pub size: Option<usize>,
    /// The age up to which the EdgeBank with a window remembers, and the half-life of
    /// [`FadingCount`], in the unit of the edges.
    pub memory: i64,
    /// Decides on which pairs accuracies are measured.
    pub seed: u64,
}

/// Why an evaluation ends.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EvaluationError {
    /// The edges are out of order.
    #[error(transparent)]
    Unsorted(#[from] UnsortedEdge),
    /// A predictor cannot be trained.
    #[error(transparent)]
    Options(#[from] InvalidOptions),
}

/// A predictor, in an evaluation.
enum Contender {
    Fixed(Box<dyn ScorePairs>),
    Learning(Box<Predictor>),
}

impl Contender {
    fn scores(&self) -> &dyn ScorePairs {
        match self {
            Contender::Fixed(baseline) => &**baseline,
            Contender::Learning(predictor) => &**predictor,
        }
    }
}

/// How one predictor did in a batch, or in several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scorecard {
    /// All distinct pairs of the batch.
    pub all: BatchQuality,
    /// Pairs that were never seen before; only such are predicted. These alone change a simple
    /// graph.
    pub unseen: BatchQuality,
    /// The accuracy on all distinct pairs and as many random pairs.
    pub random: Accuracy,
    /// The accuracy on those of them whose ends were both seen before.
    pub known: Accuracy,
    /// The accuracy on all distinct pairs and as many pairs of the same ends.
    pub same_ends: Accuracy,
    /// How often it was trained anew.
    pub retrainings: u64,
}

impl Scorecard {
    /// Adds another batch.
    pub fn add(&mut self, other: &Scorecard) {
        self.all.add(other.all);
        self.unseen.add(other.unseen);
        self.random.add(other.random);
        self.known.add(other.known);
        self.same_ends.add(other.same_ends);
        self.retrainings += other.retrainings;
    }
}

/// What one batch showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchReport {
    /// What of the batch was new.
    pub novelty: Novelty,
    /// How many candidates there were; how many of the distinct pairs were among them, which limits
    /// the recall of every predictor.
    pub candidates: BatchQuality,
    /// The same for pairs that were never seen before.
    pub unseen_candidates: BatchQuality,
    /// Vertices that were active in the last two batches, as a prediction of the vertices of this.
    pub active: BatchQuality,
    /// A card for each predictor, in the order of [`Evaluation::names`].
    pub cards: Vec<Scorecard>,
}

/// Predictors that see the same batches.
pub struct Evaluation {
    options: EvaluationOptions,
    history: History,
    names: Vec<String>,
    contenders: Vec<Contender>,
    /// What was new in the last batch.
    last: Novelty,
    /// The vertices of the last two batches, the later first; sorted.
    active: [Vec<u32>; 2],
    batches: u64,
}

impl Evaluation {
    /// An evaluation of the baselines after `past`. The last of these batches gives the size of the
    /// first prediction.
    ///
    /// # Errors
    /// If the edges are not sorted by time.
    pub fn new(
        past: &[&[TemporalEdge]],
        options: EvaluationOptions,
    ) -> Result<Evaluation, UnsortedEdge> {
        let mut evaluation = Evaluation {
            history: History::default(),
            names: Vec::new(),
            contenders: Vec::new(),
            last: Novelty::default(),
            active: Default::default(),
            batches: 0,
            options,
        };
        for batch in past {
            let novelty = Novelty::of(&evaluation.history, batch);
            evaluation.history.extend(batch)?;
            evaluation.advance(novelty, batch);
        }
        evaluation.add_baselines();
        Ok(evaluation)
    }

    fn add_baselines(&mut self) {
        let pairs = self.history.recent_pairs(self.history.pairs());
        let seed = self.options.seed;
        let known = BalancedPairs::new(&self.history, pairs, Negatives::Random, seed, 0);
        let popularity = Popularity::fit(&self.history, &known.positives, &known.negatives);
        let half_life = self.options.memory.max(1) as f64;
        let baselines: [(&str, Box<dyn ScorePairs>); 6] = [
            ("last pairs again", Box::new(Latest)),
            ("EdgeBank, unlimited", Box::new(EdgeBank::Unlimited)),
            (
                "EdgeBank, window",
                Box::new(EdgeBank::Window(self.options.memory)),
            ),
            ("fading count", Box::new(FadingCount { half_life })),
            ("popularity", Box::new(popularity)),
            ("common neighbours", Box::new(CommonNeighbours)),
        ];
        for (name, baseline) in baselines {
            self.names.push(name.to_owned());
            self.contenders.push(Contender::Fixed(baseline));
        }
    }

    /// Adds a predictor, which was trained on [`Evaluation::history`].
    pub fn add(&mut self, name: &str, predictor: Predictor) {
        self.names.push(name.to_owned());
        self.contenders
            .push(Contender::Learning(Box::new(predictor)));
    }

    /// All that was seen so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// What the predictors are called, in the order of their cards.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Predicts the next batch, then sees it and measures. Predictors train anew where they do.
    ///
    /// # Errors
    /// If the edges are not sorted by time; nothing is seen then.
    pub fn step(&mut self, batch: &[TemporalEdge]) -> Result<BatchReport, EvaluationError> {
        self.history.accepts(batch)?;
        let novelty = Novelty::of(&self.history, batch);
        let actual = distinct_pairs(batch);
        let is_unseen = |pair: &Pair| self.history.seen(*pair).is_none();
        let unseen: Vec<Pair> = actual.iter().copied().filter(is_unseen).collect();
        let candidates = Candidates::enumerate(&self.history, &self.options.limits);
        let unseen_candidates = candidates.unseen(&self.history);
        let all_size = self.options.size.unwrap_or(self.last.pairs);
        let unseen_size = self.last.unseen;

        let before = &self.history;
        let (seed, number) = (self.options.seed, self.batches);
        let balanced = |kind| BalancedPairs::new(before, actual.clone(), kind, seed, number);
        let (random, same_ends) = (balanced(Negatives::Random), balanced(Negatives::SameEnds));
        let known = random.between_known(before);
        let card = |contender: &Contender| {
            let scores = contender.scores();
            let batch = |candidates: &Candidates, size, actual: &[Pair]| {
                let predicted = predict_batch(before, scores, candidates.pairs(), size);
                BatchQuality::of(&predicted, actual)
            };
            Scorecard {
                all: batch(&candidates, all_size, &actual),
                unseen: batch(&unseen_candidates, unseen_size, &unseen),
                random: Accuracy::of(scores, before, &random),
                known: Accuracy::of(scores, before, &known),
                same_ends: Accuracy::of(scores, before, &same_ends),
                retrainings: 0,
            }
        };
        let mut cards: Vec<Scorecard> = self.contenders.iter().map(card).collect();
        // All have predicted by now, so the batch may be seen.
        self.history.extend(batch)?;
        for (contender, card) in self.contenders.iter_mut().zip(&mut cards) {
            if let Contender::Learning(predictor) = contender {
                let seen = predictor.observe(&random, &self.history)?;
                card.retrainings = u64::from(seen.is_retrained);
            }
        }
        let active = self.active_vertices();
        let report = BatchReport {
            novelty,
            candidates: BatchQuality::of(candidates.pairs(), &actual),
            unseen_candidates: BatchQuality::of(unseen_candidates.pairs(), &unseen),
            active: BatchQuality::of(&active, &vertices_of(batch)),
            cards,
        };
        self.advance(novelty, batch);
        Ok(report)
    }

    fn active_vertices(&self) -> Vec<u32> {
        let mut active = self.active.concat();
        active.sort_unstable();
        active.dedup();
        active
    }

    fn advance(&mut self, novelty: Novelty, batch: &[TemporalEdge]) {
        self.last = novelty;
        self.active.swap(0, 1);
        self.active[0] = vertices_of(batch);
        self.batches += 1;
    }
}

/// The distinct vertices of the pairs of `batch`, sorted.
fn vertices_of(batch: &[TemporalEdge]) -> Vec<u32> {
    let pairs = batch.iter().filter_map(|edge| edge.pair());
    let mut vertices: Vec<u32> = pairs.flat_map(|pair| [pair.low(), pair.high()]).collect();
    vertices.sort_unstable();
    vertices.dedup();
    vertices
}
