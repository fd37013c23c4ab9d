//! The optimum and the rules beside all choices there are.

use proptest::prelude::*;
use reuselens_placement::{Problem, ProblemBin, ProblemItem, RULES, optimum};

/// Bins by falling gain, some of them a core's, and few objects; sizes and weights that often tie.
fn problems(most_items: usize) -> impl Strategy<Value = Problem> {
    let owner = || prop_oneof![Just(None), Just(Some(0_u32)), Just(Some(1))];
    let item = (1..30_u64, 0..20_u32, 0..20_u32, owner());
    let item = item.prop_map(|(bytes, weight, frequency, owner)| ProblemItem {
        bytes,
        weight: f64::from(weight),
        owner,
        frequency: f64::from(frequency),
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
        .filter(|choice| problem.is_feasible(choice))
        .map(|choice| problem.value(&choice))
        .fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn optimum_equals_exhaustive_search(problem in problems(6)) {
        let best = optimum::solve(&problem, u64::MAX);
        prop_assert!(best.is_proven);
        prop_assert!(problem.is_feasible(&best.choice));
        // Weights are whole and gains eighths, so that sums are exact.
        prop_assert_eq!(best.value, exhaustive(&problem));
    }

    #[test]
    fn rules_keep_to_capacities_and_the_optimum_is_no_worse(problem in problems(40)) {
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
    fn bound_holds_where_the_search_stops_early(problem in problems(6)) {
        let cut = optimum::solve(&problem, 3);
        prop_assert!(cut.bound >= exhaustive(&problem) - 1e-9);
    }
}

#[test]
fn ten_thousand_objects_have_a_bound_of_a_thousandth() {
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
    let best = optimum::solve(&Problem { items, bins }, 100_000);
    assert!(best.gap() < 0.001, "{}", best.gap());
}
