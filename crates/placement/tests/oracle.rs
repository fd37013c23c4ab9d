//! The optimum beside a solver of linear programs with whole numbers, which works in another way.

use microlp::{ComparisonOp, OptimizationDirection, Variable};
use proptest::prelude::*;
use reuselens_placement::{Problem, ProblemBin, ProblemItem, optimum};

/// Objects that live for a part of the time, and two memories.
fn problems() -> impl Strategy<Value = Problem> {
    let item = (1..40_u64, 1..60_u32, 0..24_u64, 0..12_u64);
    let item = item.prop_map(|(bytes, weight, begin, length)| ProblemItem {
        bytes,
        weight: f64::from(weight),
        owner: None,
        frequency: f64::from(weight),
        live: Some((begin, begin + length)),
    });
    let bins = (20..90_u64, 20..90_u64);
    (prop::collection::vec(item, 4..=14), bins).prop_map(|(items, (near, far))| {
        let bin = |bytes, gain| ProblemBin {
            tier: 0,
            bytes,
            gain,
            owner: None,
        };
        let bins = vec![bin(near, 0.75), bin(far, 0.5)];
        Problem { items, bins }
    })
}

/// What the best choice is worth, by the other solver: a variable says whether an object is in a
/// memory, and a constraint holds for each memory whenever an object begins to live.
fn by_linear_program(problem: &Problem) -> f64 {
    let mut program = microlp::Problem::new(OptimizationDirection::Maximize);
    let bins = problem.bins.len();
    let is_in: Vec<Vec<Variable>> = (0..problem.items.len())
        .map(|item| {
            let variable = |bin| program.add_binary_var(problem.worth(bin, item));
            (0..bins).map(variable).collect()
        })
        .collect();
    for variables in &is_in {
        let once = variables.iter().map(|&variable| (variable, 1.0));
        program.add_constraint(once, ComparisonOp::Le, 1.0);
    }
    for (moment, _) in problem.items.iter().filter_map(|item| item.live) {
        for (bin, known) in problem.bins.iter().enumerate() {
            let live = problem.items.iter().zip(&is_in).filter(|(item, _)| {
                item.live
                    .is_some_and(|(begin, end)| begin <= moment && moment <= end)
            });
            let bytes = live.map(|(item, variables)| (variables[bin], item.bytes as f64));
            program.add_constraint(bytes, ComparisonOp::Le, known.bytes as f64);
        }
    }
    program
        .solve()
        .unwrap()
        .into_solution()
        .unwrap()
        .objective()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn optimum_of_objects_that_share_room_is_that_of_a_linear_program(problem in problems()) {
        let best = optimum::solve(&problem, u64::MAX);
        prop_assert!(best.is_proven);
        // Values are quarters; the other solver takes what is nearly whole for whole.
        let other = by_linear_program(&problem);
        prop_assert!((best.value - other).abs() < 0.1, "{} {}", best.value, other);
    }
}
