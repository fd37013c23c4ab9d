//! node2vec, the predictor and the evaluation on graphs with known structure.

use reuselens_link_prediction::{
    Accuracy, BalancedPairs, CandidateLimits, Embedding, Evaluation, EvaluationError,
    EvaluationOptions, History, InvalidOptions, Negatives, Node2vecOptions, Pair, Predictor,
    PredictorOptions, ScorePairs, SimpleGraph, TemporalEdge, UnsortedEdge,
};

/// Small numbers from a seed (Lehmer), independent of the crate's own.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0 * 48_271 % 2_147_483_647;
        (self.0 % u64::from(end)) as u32
    }
}

/// How 100 vertices are grouped, by 20.
#[derive(Clone, Copy, PartialEq)]
enum Groups {
    /// Vertices with neighbouring numbers.
    Blocks,
    /// Vertices whose numbers have the same remainder.
    Remainders,
}

/// Random edges within groups, and one in 20 elsewhere.
fn grouped(count: usize, groups: Groups, seed: u64) -> Vec<TemporalEdge> {
    let mut numbers = Numbers(seed);
    let mut edges = Vec::new();
    for time in 0..count as i64 {
        let u = numbers.below(100);
        let v = match groups {
            _ if numbers.below(20) == 0 => numbers.below(100),
            Groups::Blocks => u / 20 * 20 + numbers.below(20),
            Groups::Remainders => u % 5 + numbers.below(20) * 5,
        };
        edges.push(TemporalEdge { u, v, time });
    }
    edges
}

fn history(edges: &[TemporalEdge]) -> History {
    let mut history = History::default();
    history.extend(edges).expect("sorted edges");
    history
}

fn options() -> PredictorOptions {
    PredictorOptions {
        node2vec: Node2vecOptions {
            dimensions: 32,
            walk_length: 40,
            ..Node2vecOptions::default()
        },
        ..PredictorOptions::default()
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn vectors_of_one_group_are_closer_than_others() {
    let graph = history(&grouped(1500, Groups::Blocks, 3)).graph();
    let embedding = Embedding::train(&graph, &options().node2vec).expect("valid options");
    let (mut within, mut across) = (Vec::new(), Vec::new());
    for u in 0..100 {
        for v in u + 1..100 {
            let both = embedding.vector(u).zip(embedding.vector(v));
            let both = both
                .map(|(a, b)| cosine(a, b))
                .expect("vertices of the graph");
            if u / 20 == v / 20 {
                &mut within
            } else {
                &mut across
            }
            .push(both);
        }
    }
    let mean = |all: &[f32]| all.iter().sum::<f32>() / all.len() as f32;
    let (within, across) = (mean(&within), mean(&across));
    assert!(within > across + 0.2, "{within} {across}");
}

#[test]
fn equal_seeds_give_equal_bits_on_any_number_of_threads() {
    let graph = history(&grouped(600, Groups::Blocks, 4)).graph();
    let train = |seed, threads| {
        let options = Node2vecOptions {
            seed,
            threads,
            p: 0.5,
            q: 2.0,
            ..options().node2vec
        };
        let embedding = Embedding::train(&graph, &options).expect("valid options");
        let bits = |vertex| {
            let vector = embedding.vector(vertex).expect("a vertex of the graph");
            vector.iter().map(|x| x.to_bits()).collect::<Vec<u32>>()
        };
        (0..100).flat_map(bits).collect::<Vec<u32>>()
    };
    assert_eq!(train(9, 1), train(9, 3));
    assert_ne!(train(9, 1), train(10, 1));
}

#[test]
fn vertices_without_edges_have_vectors_of_zeros() {
    let pairs = [Pair::new(0, 1), Pair::new(1, 4)].map(Option::unwrap);
    let graph = SimpleGraph::new(6, &pairs);
    let embedding = Embedding::train(&graph, &options().node2vec).expect("valid options");
    assert_eq!(embedding.vector(3), Some(&[0.0; 32][..]));
    assert_eq!(embedding.vector(6), None);
    let known: Vec<u32> = (0..8).filter(|vertex| embedding.knows(*vertex)).collect();
    assert_eq!(known, [0, 1, 4]);
    let empty = Embedding::train(&SimpleGraph::new(2, &[]), &options().node2vec);
    assert_eq!(
        empty.expect("valid options").vector(1),
        Some(&[0.0; 32][..])
    );
}

#[test]
fn absurd_options_are_refused() {
    let graph = SimpleGraph::new(2, &[]);
    let train = |options: Node2vecOptions| Embedding::train(&graph, &options).err();
    let defaults = Node2vecOptions::default;
    let refused = train(Node2vecOptions {
        q: f64::NAN,
        ..defaults()
    });
    assert_eq!(refused, Some(InvalidOptions::OutOfRange("q")));
    let refused = train(Node2vecOptions {
        window: 0,
        ..defaults()
    });
    assert_eq!(refused, Some(InvalidOptions::NotPositive("window")));
    let refused = train(Node2vecOptions {
        dimensions: 1 << 40,
        ..defaults()
    });
    assert_eq!(
        refused,
        Some(InvalidOptions::TooLarge("dimensions", 1 << 16))
    );
}

fn accuracy(predictor: &dyn ScorePairs, history: &History, edges: &[TemporalEdge]) -> f64 {
    let after = self::history(&[edges].concat());
    let positives = after.graph().pairs();
    let pairs = BalancedPairs::new(&after, positives, Negatives::Random, 1, 0);
    let accuracy = Accuracy::of(predictor, history, &pairs);
    accuracy.share().expect("pairs")
}

#[test]
fn predictor_learns_groups_and_not_noise() {
    let past = history(&grouped(1200, Groups::Blocks, 5));
    let predictor = Predictor::train(&past, options()).expect("valid options");
    let future = accuracy(&predictor, &past, &grouped(300, Groups::Blocks, 6));
    assert!(future > 0.75, "{future}");
    let other = accuracy(&predictor, &past, &grouped(300, Groups::Remainders, 6));
    assert!(other < future - 0.1, "{other} {future}");
}

#[test]
fn held_out_pairs_teach_the_svm_and_not_the_vectors() {
    let mut edges = grouped(1200, Groups::Blocks, 5);
    // The latest pairs bring 50 new vertices, each with one edge to a known one.
    edges.extend((0..50).map(|i| TemporalEdge {
        u: 100 + i,
        v: i,
        time: 2000,
    }));
    let past = history(&edges);
    let train = |held_out| {
        let options = PredictorOptions {
            held_out,
            ..options()
        };
        Predictor::train(&past, options).expect("valid options")
    };
    let (published, held_out) = (train(0.0), train(0.3));
    assert!(published.embedding().knows(120) && published.embedding().knows(20));
    assert!(!held_out.embedding().knows(120) && held_out.embedding().knows(20));
    let future = accuracy(&held_out, &past, &grouped(300, Groups::Blocks, 6));
    assert!(future > 0.7, "{future}");
}

#[test]
fn retraining_follows_a_change_and_not_otherwise() {
    let mut past = history(&grouped(1200, Groups::Blocks, 7));
    let first = Predictor::train(&past, options()).expect("valid options");
    let mut observe = |predictor: &mut Predictor, groups, time| {
        let batch = grouped(1500, groups, 8);
        let positives = history(&batch).graph().pairs();
        let later = |edge: TemporalEdge| TemporalEdge {
            time: edge.time + time,
            ..edge
        };
        past.extend(&batch.into_iter().map(later).collect::<Vec<_>>())
            .expect("sorted edges");
        let pairs = BalancedPairs::new(&past, positives, Negatives::Random, 1, 0);
        let seen = predictor.observe(&pairs, &past).expect("valid options");
        (seen.accuracy.share().expect("pairs"), seen.is_retrained)
    };
    let mut retrained = first.clone();
    let (accuracy, is_retrained) = observe(&mut retrained, Groups::Blocks, 10_000);
    assert!(accuracy > 0.75 && !is_retrained, "{accuracy}");
    let mut fixed = retrained.clone().with_retraining(None);
    let (before, is_retrained) = observe(&mut retrained, Groups::Remainders, 20_000);
    assert!(before < 0.65 && is_retrained, "{before}");
    assert_eq!((retrained.trainings(), fixed.trainings()), (2, 1));
    let (after, _) = observe(&mut retrained, Groups::Remainders, 30_000);
    let (without, is_retrained) = observe(&mut fixed, Groups::Remainders, 40_000);
    assert!(after > without + 0.05 && !is_retrained, "{after} {without}");
}

fn evaluation_options() -> EvaluationOptions {
    EvaluationOptions {
        limits: CandidateLimits::default(),
        size: None,
        memory: 500,
        seed: 1,
    }
}

#[test]
fn evaluation_of_a_repeated_batch_is_perfect_for_who_repeats() {
    let batch: Vec<TemporalEdge> = (0..10)
        .map(|u| TemporalEdge {
            u,
            v: u + 1,
            time: 0,
        })
        .collect();
    let mut evaluation = Evaluation::new(&[&batch], evaluation_options()).expect("sorted edges");
    let report = evaluation.step(&batch).expect("sorted edges");
    assert_eq!((report.novelty.pairs, report.novelty.unseen), (10, 0));
    assert_eq!(report.active.recall(), Some(1.0));
    for (name, card) in evaluation.names().iter().zip(&report.cards) {
        let repeats = name.starts_with("EdgeBank") || name.starts_with("last");
        if repeats {
            assert_eq!(
                (card.all.precision(), card.all.recall()),
                (Some(1.0), Some(1.0)),
                "{name}"
            );
            assert_eq!(card.random.share(), Some(1.0));
        }
        assert_eq!(card.unseen.hits, 0);
    }
    // Neighbours in a path have no common neighbour, so all that this predicts is wrong.
    let common = evaluation
        .names()
        .iter()
        .position(|name| name == "common neighbours");
    assert_eq!(
        report.cards[common.expect("a baseline")].all.precision(),
        Some(0.0)
    );
}

#[test]
fn evaluation_predicts_before_it_sees() {
    let past = grouped(400, Groups::Blocks, 9);
    let mut evaluation = Evaluation::new(&[&past], evaluation_options()).expect("sorted edges");
    // Pairs of vertices that never existed cannot be predicted by anyone.
    let new: Vec<TemporalEdge> = (0..50)
        .map(|i| TemporalEdge {
            u: 200 + 2 * i,
            v: 201 + 2 * i,
            time: 1000,
        })
        .collect();
    let predictor = Predictor::train(evaluation.history(), options()).expect("valid options");
    evaluation.add("node2vec", predictor);
    let report = evaluation.step(&new).expect("sorted edges");
    assert_eq!(report.novelty.two_new_vertices, 50);
    assert_eq!((report.candidates.hits, report.active.hits), (0, 0));
    assert!(
        report
            .cards
            .iter()
            .all(|card| card.all.hits + card.unseen.hits == 0)
    );
    // Vertices without vectors have one score for all their pairs.
    let positives = report.cards.last().expect("a predictor").random.positives;
    assert!(positives.total == 50 && [0, 50].contains(&positives.right));
    let old = evaluation.step(&past).err();
    let unsorted = UnsortedEdge {
        time: 0,
        after: 1000,
    };
    assert_eq!(old, Some(EvaluationError::Unsorted(unsorted)));
}

#[test]
fn evaluation_is_the_same_each_time() {
    let run = || {
        let edges = grouped(600, Groups::Blocks, 10);
        let mut evaluation =
            Evaluation::new(&[&edges[..400]], evaluation_options()).expect("sorted edges");
        let predictor = Predictor::train(evaluation.history(), options()).expect("valid options");
        evaluation.add("node2vec", predictor);
        let reports = edges[400..].chunks(50).map(|batch| evaluation.step(batch));
        reports
            .collect::<Result<Vec<_>, _>>()
            .expect("sorted edges")
    };
    assert_eq!(run(), run());
}
