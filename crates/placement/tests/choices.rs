//! The optimum and the rules beside all choices there are.

use proptest::prelude::*;
use reuselens_placement::{Problem, ProblemBin, ProblemItem, RULES, optimum};

/// Bins by falling gain, some of them a core's, and few objects; sizes and weights that often tie.
/// With `lives`, most objects live for a part of the time.
fn problems(most_items: usize, lives: bool) -> impl Strategy<Value = Problem> {
    let owner = || prop_oneof![Just(None), Just(Some(0_u32)), Just(Some(1))];
    let live = prop::option::weighted(0.9, (0..20_u64, 0..9_u64));
    let item = (1..30_u64, 0..20_u32, 0..20_u32, owner(), live);
    let item = item.prop_map(move |(bytes, weight, frequency, owner, live)| ProblemItem {
        bytes,
        weight: f64::from(weight),
        owner,
        frequency: f64::from(frequency),
        live: live
            .filter(|_| lives)
            .map(|(begin, length)| (begin, begin + length)),
    });
    let bin = (0..60_u64, 1..8_u32, owner());
    let bin = bin.prop_map(|(bytes, gain, owner)| ProblemBin {
        tier: 0,
        bytes,
        gain: f64::from(gain) / 8.0,
        owner,
    });
    let items = prop::collection::vec(item, 1..=most_items);
    (items, prop::collection::vec(bin, 1..=3)).prop_map(|(items, mut bins)| {
        bins.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        Problem { items, bins }
    })
}

/// Whether each bin holds, at each moment, no more than it can: looked at moment by moment.
fn holds_at_all_times(problem: &Problem, choice: &[Option<usize>]) -> bool {
    let is_live = |item: &ProblemItem, moment: u64| {
        item.live
            .is_none_or(|(begin, end)| begin <= moment && moment <= end)
    };
    (0..40).all(|moment| {
        problem.bins.iter().enumerate().all(|(bin, known)| {
            let items = problem.items.iter().zip(choice);
            let inside =
                items.filter(|(item, in_bin)| **in_bin == Some(bin) && is_live(item, moment));
            inside.map(|(item, _)| item.bytes).sum::<u64>() <= known.bytes
        })
    })
}

/// What the best of all choices is worth, by trying all.
fn exhaustive(problem: &Problem) -> f64 {
    let options = problem.bins.len() + 1;
    let count = options.pow(problem.items.len() as u32);
    let choices = (0..count).map(|mut number| {
        let mut option = || {
            let bin = number % options;
            number /= options;
            bin.checked_sub(1)
        };
        (0..problem.items.len())
            .map(|_| option())
            .collect::<Vec<_>>()
    });
    choices
        .filter(|choice| {
            let mut placed = choice.iter().enumerate();
            holds_at_all_times(problem, choice)
                && placed.all(|(item, bin)| bin.is_none_or(|bin| problem.takes(bin, item)))
        })
        .map(|choice| problem.value(&choice))
        .fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn optimum_equals_exhaustive_search(problem in problems(6, false)) {
        let best = optimum::solve(&problem, u64::MAX);
        prop_assert!(best.is_proven);
        prop_assert!(problem.is_feasible(&best.choice));
        // Weights are whole and gains eighths, so that sums are exact.
        prop_assert_eq!(best.value, exhaustive(&problem));
    }

    #[test]
    fn rules_keep_to_capacities_and_the_optimum_is_no_worse(problem in problems(40, false)) {
        let best = optimum::solve(&problem, 2_000);
        prop_assert!(problem.is_feasible(&best.choice));
        prop_assert!(best.value <= best.bound);
        for rule in RULES {
            let choice = (rule.place)(&problem);
            prop_assert!(problem.is_feasible(&choice), "{}", rule.name);
            prop_assert!(problem.value(&choice) <= best.value, "{}", rule.name);
        }
    }

    #[test]
    fn optimum_of_objects_that_share_room_equals_exhaustive_search(problem in problems(6, true)) {
        let best = optimum::solve(&problem, u64::MAX);
        prop_assert!(best.is_proven);
        prop_assert!(holds_at_all_times(&problem, &best.choice));
        prop_assert!(problem.is_feasible(&best.choice));
        prop_assert_eq!(best.value, exhaustive(&problem));
    }

    #[test]
    fn rules_keep_to_capacities_at_all_times(problem in problems(40, true)) {
        let best = optimum::solve(&problem, 2_000);
        prop_assert!(holds_at_all_times(&problem, &best.choice));
        prop_assert!(best.value <= best.bound);
        for rule in RULES {
            let choice = (rule.place)(&problem);
            prop_assert!(holds_at_all_times(&problem, &choice), "{}", rule.name);
            prop_assert!(problem.value(&choice) <= best.value, "{}", rule.name);
        }
    }

    #[test]
    fn bound_holds_where_the_search_among_lifetimes_stops_early(problem in problems(6, true)) {
        let cut = optimum::solve(&problem, 1);
        prop_assert!(cut.bound >= exhaustive(&problem) - 1e-9);
    }

    #[test]
    fn bound_holds_where_the_search_stops_early(problem in problems(6, false)) {
        let cut = optimum::solve(&problem, 3);
        prop_assert!(cut.bound >= exhaustive(&problem) - 1e-9);
    }
}

/// Ten thousand objects; with `lives`, each for a part of the time.
fn ten_thousand(lives: bool) -> Problem {
    let mut seed = 7_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        seed >> 33
    };
    let items: Vec<ProblemItem> = (0..10_000)
        .map(|_| {
            let weight = (random() % 1_000_000) as f64;
            ProblemItem {
                bytes: 1 + random() % (1 << 20),
                weight,
                owner: None,
                frequency: weight,
                live: lives.then(|| {
                    let begin = random() % 1_000_000;
                    (begin, begin + random() % 500_000)
                }),
            }
        })
        .collect();
    let bin = |bytes, gain| ProblemBin {
        tier: 0,
        bytes,
        gain,
        owner: None,
    };
    let bins = vec![bin(64 << 20, 0.9), bin(512 << 20, 0.5)];
    Problem { items, bins }
}

#[test]
fn ten_thousand_objects_have_a_bound_of_a_thousandth() {
    let best = optimum::solve(&ten_thousand(false), 100_000);
    assert!(best.gap() < 0.001, "{}", best.gap());
}

#[test]
fn ten_thousand_objects_that_share_room_have_a_bound_of_a_hundredth() {
    let best = optimum::solve(&ten_thousand(true), 100_000);
    assert!(best.gap() < 0.01, "{}", best.gap());
}
