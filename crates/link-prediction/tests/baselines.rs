//! Histories, candidates, simple predictors and measures, by hand and by brute force.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use reuselens_link_prediction::{
    Accuracy, BalancedPairs, BatchCount, BatchQuality, BatchRule, CandidateLimits, Candidates,
    CommonNeighbours, EdgeBank, FadingCount, History, Latest, Negatives, Novelty, Pair, Popularity,
    ScorePairs, TemporalEdge, UnsortedEdge, batches, distinct_pairs, predict_batch,
};

fn pair(u: u32, v: u32) -> Pair {
    Pair::new(u, v).expect("two vertices")
}

fn edges(list: &[(u32, u32, i64)]) -> Vec<TemporalEdge> {
    let edge = |(u, v, time): &(u32, u32, i64)| TemporalEdge {
        u: *u,
        v: *v,
        time: *time,
    };
    list.iter().map(edge).collect()
}

fn history(list: &[(u32, u32, i64)]) -> History {
    let mut history = History::default();
    history.extend(&edges(list)).expect("sorted edges");
    history
}

/// 0–1 three times, 1–2 twice, 2–3 and 0–3 once, over 100 units of time.
fn small() -> History {
    history(&[
        (0, 1, 0),
        (1, 0, 10),
        (1, 2, 40),
        (0, 1, 50),
        (2, 1, 90),
        (2, 3, 95),
        (3, 0, 100),
    ])
}

#[test]
fn edge_bank_counts_what_it_remembers() {
    let history = small();
    let pairs = [
        pair(0, 1),
        pair(1, 2),
        pair(2, 3),
        pair(0, 3),
        pair(0, 2),
        pair(7, 9),
    ];
    let scores = EdgeBank::Unlimited.scores(&history, &pairs);
    assert_eq!(scores, [3.0, 2.0, 1.0, 1.0, 0.0, 0.0]);
    // Younger than 51 at time 100: from 50 on.
    let scores = EdgeBank::Window(51).scores(&history, &pairs);
    assert_eq!(scores, [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
    // Exactly 50 old is not younger than 50.
    let scores = EdgeBank::Window(50).scores(&history, &pairs);
    assert_eq!(scores, [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
}

#[test]
fn batches_take_the_best_scores_and_the_latest_of_equals() {
    let history = small();
    let candidates = Candidates::enumerate(&history, &CandidateLimits::default());
    let predict =
        |scorer: &dyn ScorePairs, size| predict_batch(&history, scorer, candidates.pairs(), size);
    let best = [pair(0, 1), pair(1, 2), pair(0, 3), pair(2, 3)];
    assert_eq!(predict(&EdgeBank::Unlimited, 9), best);
    assert_eq!(predict(&EdgeBank::Unlimited, 3), best[..3]);
    assert_eq!(predict(&EdgeBank::Unlimited, 0), []);
    let latest = [pair(0, 3), pair(2, 3), pair(1, 2), pair(0, 1)];
    assert_eq!(predict(&Latest, 9), latest);
}

#[test]
fn fading_counts_halve_after_each_half_life() {
    let history = small();
    let scores = FadingCount { half_life: 10.0 }.scores(&history, &[pair(1, 2), pair(0, 2)]);
    let expected = 0.5f64.powi(6) + 0.5f64.powi(1);
    assert!((scores[0] - expected).abs() < 1e-12);
    assert_eq!(scores[1], 0.0);
}

#[test]
fn popularity_separates_products_of_degrees() {
    // A star: the hub 0 has degree 4, all others 1.
    let history = history(&[(0, 1, 0), (0, 2, 0), (0, 3, 0), (0, 4, 0)]);
    let (positives, negatives) = ([pair(0, 1), pair(0, 2)], [pair(1, 2), pair(3, 4)]);
    let popularity = Popularity::fit(&history, &positives, &negatives);
    assert_eq!(popularity, Popularity { threshold: 1.0 });
    let scores = popularity.scores(&history, &[pair(0, 1), pair(1, 2), pair(0, 9)]);
    assert_eq!(scores, [3.0, 0.0, -1.0]);
}

#[test]
fn common_neighbours_of_a_square() {
    let history = small();
    let pairs = [pair(0, 2), pair(1, 3), pair(0, 1), pair(0, 8)];
    assert_eq!(
        CommonNeighbours.scores(&history, &pairs),
        [2.0, 2.0, 0.0, 0.0]
    );
}

#[test]
fn novelty_separates_new_pairs_from_new_vertices() {
    let batch = edges(&[
        (0, 1, 200),
        (0, 2, 200),
        (2, 0, 201),
        (3, 7, 202),
        (8, 9, 202),
        (4, 4, 203),
    ]);
    let novelty = Novelty::of(&small(), &batch);
    let expected = Novelty {
        edges: 5,
        pairs: 4,
        unseen: 3,
        one_new_vertex: 1,
        two_new_vertices: 1,
    };
    assert_eq!(novelty, expected);
    assert_eq!(novelty.unseen_share(), Some(0.75));
    assert_eq!(novelty.new_vertex_share(), Some(0.5));
}

#[test]
fn batch_quality_has_no_precision_where_nothing_is_predicted() {
    let quality = BatchQuality::of(&[5, 1, 7], &[1, 2, 3, 5]);
    assert_eq!(
        (quality.precision(), quality.recall()),
        (Some(2.0 / 3.0), Some(0.5))
    );
    let nothing = BatchQuality::of(&[], &[1]);
    assert_eq!((nothing.precision(), nothing.recall()), (None, Some(0.0)));
}

#[test]
fn accuracy_counts_both_classes() {
    let pairs = BalancedPairs {
        positives: vec![pair(0, 1), pair(0, 9)],
        negatives: vec![pair(0, 2), pair(1, 3)],
    };
    let accuracy = Accuracy::of(&EdgeBank::Unlimited, &small(), &pairs);
    assert_eq!(accuracy.positives, BatchCount { right: 1, total: 2 });
    assert_eq!(accuracy.negatives, BatchCount { right: 2, total: 2 });
    assert_eq!(accuracy.share(), Some(0.75));
}

#[test]
fn pairs_between_known_vertices_stay_balanced() {
    let pairs = BalancedPairs {
        positives: vec![pair(0, 1), pair(0, 9), pair(2, 3), pair(1, 2)],
        negatives: vec![pair(0, 2), pair(1, 8), pair(1, 3)],
    };
    let known = pairs.between_known(&small());
    assert_eq!(known.positives, [pair(0, 1), pair(1, 2)]);
    assert_eq!(known.negatives, [pair(0, 2), pair(1, 3)]);
}

#[test]
fn sample_of_known_pairs_has_low_and_high_vertices() {
    let ring: Vec<(u32, u32, i64)> = (0..100).map(|u| (u, u + 1, 0)).collect();
    let pairs = BalancedPairs {
        positives: (0..100).map(|u| pair(u, u + 1)).collect(),
        // Most have a vertex that was never seen.
        negatives: (0..10)
            .map(|u| pair(u, u + 2))
            .chain((0..90).map(|u| pair(u, 500 + u)))
            .collect(),
    };
    let known = pairs.between_known(&history(&ring));
    assert_eq!((known.positives.len(), known.negatives.len()), (10, 10));
    let wanted: Vec<Pair> = (0..10).map(|at| pair(10 * at + 5, 10 * at + 6)).collect();
    assert_eq!(known.positives, wanted);
    assert_eq!(known.negatives, pairs.negatives[..10]);
}

#[test]
fn old_edges_and_self_loops_leave_the_history_as_it_is() {
    let mut history = small();
    let log = history.log().to_vec();
    let old = history.extend(&edges(&[(5, 6, 99)]));
    assert_eq!(
        old,
        Err(UnsortedEdge {
            time: 99,
            after: 100
        })
    );
    assert_eq!(history.extend(&edges(&[(3, 3, 120)])), Ok(()));
    assert_eq!((history.log(), history.now()), (&log[..], Some(120)));
    assert_eq!(
        (history.pairs(), history.vertices(), history.vertex_bound()),
        (4, 4, 4)
    );
}

#[test]
fn extreme_times_do_not_overflow() {
    let history = history(&[(0, 1, i64::MIN), (1, 2, i64::MAX)]);
    assert_eq!(history.younger_than(i64::MAX).len(), 1);
    let all = edges(&[(0, 1, i64::MIN), (1, 2, i64::MAX)]);
    assert_eq!(batches(&all, BatchRule::Time(1)).len(), 2);
    let scores = FadingCount { half_life: 1.0 }.scores(&history, &[pair(0, 1), pair(1, 2)]);
    assert_eq!(scores, [0.0, 1.0]);
}

#[test]
fn candidates_stay_within_their_limits() {
    let list: Vec<_> = (0..500)
        .map(|i| (i % 50, (i * 7 + 3) % 50, i64::from(i)))
        .collect();
    let history = history(&list);
    let count = |recurring, friends_of, friends, active| {
        let limits = CandidateLimits {
            recurring,
            friends_of,
            friends,
            active,
        };
        Candidates::enumerate(&history, &limits).pairs().len()
    };
    assert_eq!(count(0, 0, 0, 0), 0);
    assert_eq!(count(17, 0, 0, 0), 17);
    assert_eq!(count(0, 0, 0, 9), 36);
    let friends = count(0, 3, 4, 0);
    assert!((1..=3 * 16).contains(&friends), "{friends}");
    assert_eq!(count(usize::MAX, 0, 0, 0), history.pairs());
}

fn any_edges() -> impl Strategy<Value = Vec<(u32, u32, i64)>> {
    prop::collection::vec((0u32..12, 0u32..12, 0i64..5), 1..80).prop_map(|mut list| {
        let mut now = 0;
        for edge in &mut list {
            now += edge.2;
            edge.2 = now;
        }
        list
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn histories_equal_plain_maps(list in any_edges(), age in 0i64..60) {
        let history = history(&list);
        let mut counts: BTreeMap<Pair, u32> = BTreeMap::new();
        let mut friends: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (u, v, _) in list.iter().filter(|(u, v, _)| u != v) {
            *counts.entry(pair(*u, *v)).or_default() += 1;
            friends.entry(*u).or_default().insert(*v);
            friends.entry(*v).or_default().insert(*u);
        }
        prop_assert_eq!(history.pairs(), counts.len());
        prop_assert_eq!(history.vertices(), friends.len());
        prop_assert_eq!(history.graph().pairs(), counts.keys().copied().collect::<Vec<_>>());
        for u in 0..12 {
            prop_assert_eq!(history.degree(u), friends.get(&u).map_or(0, BTreeSet::len));
            for v in u + 1..12 {
                let this = pair(u, v);
                prop_assert_eq!(history.seen(this).map(|link| link.count), counts.get(&this).copied());
                let common = friends.get(&u).zip(friends.get(&v));
                let common = common.map_or(0, |(a, b)| a.intersection(b).count());
                prop_assert_eq!(history.common_neighbours(this), common);
            }
        }
        let now = list.last().map_or(0, |edge| edge.2);
        let young = list.iter().filter(|(u, v, time)| u != v && now - time < age).count();
        prop_assert_eq!(history.younger_than(age).len(), young);
        let mut recent = history.recent_pairs(5);
        let latest = |pair: &Pair| history.seen(*pair).map(|link| link.latest);
        prop_assert!(recent.is_sorted_by(|a, b| latest(a) > latest(b)));
        recent.sort_unstable();
        recent.dedup();
        prop_assert_eq!(recent.len(), counts.len().min(5));
        let mut first: Vec<Pair> = Vec::new();
        for (u, v, _) in list.iter().filter(|(u, v, _)| u != v) {
            if !first.contains(&pair(*u, *v)) {
                first.push(pair(*u, *v));
            }
        }
        prop_assert_eq!(history.pairs_by_age(), first);
    }

    #[test]
    fn with_high_limits_all_near_pairs_are_candidates(list in any_edges()) {
        let history = history(&list);
        let limits = CandidateLimits { active: 0, ..CandidateLimits::default() };
        let candidates = Candidates::enumerate(&history, &limits);
        let mut near = Vec::new();
        for u in 0..12 {
            near.extend((u + 1..12).map(|v| pair(u, v)).filter(|pair| {
                history.seen(*pair).is_some() || history.common_neighbours(*pair) > 0
            }));
        }
        prop_assert_eq!(candidates.pairs(), &near[..]);
        let unseen = candidates.unseen(&history);
        prop_assert!(unseen.pairs().iter().all(|pair| history.seen(*pair).is_none()));
        prop_assert_eq!(unseen.pairs().len() + history.pairs(), near.len());
    }

    #[test]
    fn negatives_are_no_edges_and_as_many(list in any_edges(), seed: u64) {
        let history = history(&list);
        let positives = distinct_pairs(&edges(&list));
        for kind in [Negatives::Random, Negatives::SameEnds] {
            let pairs = BalancedPairs::new(&history, positives.clone(), kind, seed, 3);
            prop_assert!(pairs.negatives.iter().all(|pair| history.seen(*pair).is_none()));
            prop_assert!(pairs.negatives.len() <= positives.len());
            let known = history.vertices();
            // Where a tenth of all pairs is free, a hundred draws for each find enough.
            if history.pairs() * 10 < known * known.saturating_sub(1) / 2 * 9 {
                prop_assert_eq!(pairs.negatives.len(), positives.len());
            }
            prop_assert_eq!(&pairs, &BalancedPairs::new(&history, positives.clone(), kind, seed, 3));
            // The same before the later half was seen.
            let before = self::history(&list[..list.len() / 2]);
            let later = distinct_pairs(&edges(&list[list.len() / 2..]));
            let [one, other] = [&history, &before]
                .map(|history| BalancedPairs::new(history, later.clone(), kind, seed, 3));
            prop_assert_eq!(one, other);
        }
    }

    #[test]
    fn batches_join_to_the_sequence(list in any_edges(), size in 0usize..20, span in -1i64..20) {
        let all = edges(&list);
        for rule in [BatchRule::Edges(size), BatchRule::Time(span)] {
            let batches = batches(&all, rule);
            prop_assert_eq!(batches.concat(), all.clone());
            prop_assert!(batches.iter().all(|batch| !batch.is_empty()));
        }
        for batch in batches(&all, BatchRule::Time(span)) {
            prop_assert!(batch[batch.len() - 1].time - batch[0].time < span.max(1));
        }
    }
}
