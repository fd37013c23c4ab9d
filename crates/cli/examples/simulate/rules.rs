//! The rules that are judged, and how: the time of what each chooses beside the best time of all
//! placements that fit.

use reuselens_placement::optimum::{NODES, solve};
use reuselens_placement::{
    Choice, MemoryMachine, Objective, Problem, ProblemBin, ProblemItem, RULES,
};

use crate::memory::{Clock, Memory};
use crate::traffic::LINE;
use crate::{Failure, Group};

/// The rules: those of other tools by name, greedy by accesses (as published) and by misses, and
/// the best choice by each objective.
pub const NAMES: [&str; 9] = [
    "all_slow",
    "first_come",
    "hot_set",
    "eco_hmem",
    "greedy_f",
    "greedy_misses",
    "plan_f",
    "plan_misses",
    "plan_time",
];

/// All placements of a program.
pub struct Judged {
    /// Their times, by placement: bit g for group g.
    pub times: Vec<f64>,
    /// What they are worth by the objectives `f` and `time`.
    pub values: [Vec<f64>; 2],
    /// How many of them fit into the fast memory.
    pub feasible: usize,
    /// The least time of those that fit.
    pub best: f64,
    /// By rule: how much longer than the best its choice takes, as a part of it.
    pub regrets: [f64; NAMES.len()],
}

fn problem(
    groups: &[Group],
    machine: &MemoryMachine,
    objective: Objective,
    capacity: u64,
) -> Problem {
    let item = |group: &Group| ProblemItem {
        bytes: group.candidate.bytes,
        weight: objective.weight(&group.candidate),
        owner: group.candidate.owner(),
        frequency: group.candidate.accesses as f64,
        live: None,
    };
    Problem {
        items: groups.iter().map(item).collect(),
        bins: vec![ProblemBin {
            tier: 0,
            bytes: capacity,
            gain: objective.gain(machine, &machine.tiers[0], LINE),
            owner: None,
        }],
    }
}

fn mask(choice: &Choice) -> usize {
    let placed = choice.iter().enumerate();
    placed
        .filter(|(_, bin)| bin.is_some())
        .fold(0, |mask, (group, _)| mask | 1 << group)
}

fn choice(mask: usize, groups: usize) -> Choice {
    let bin = |group| (mask >> group & 1 == 1).then_some(0);
    (0..groups).map(bin).collect()
}

/// Runs all placements, and the rules.
pub fn judged(
    groups: &[Group],
    memory: &Memory,
    clock: &Clock<'_>,
    cache: u64,
) -> Result<Judged, Failure> {
    let machine = MemoryMachine::from_toml(&memory.as_machine_file(cache))?;
    let of = |objective| problem(groups, &machine, objective, memory.capacity);
    let [f, misses, time] = [Objective::F, Objective::Misses, Objective::Time].map(of);
    let all = 0..1_usize << groups.len();
    let times: Vec<f64> = all.clone().map(|placement| clock.time(placement)).collect();
    // Sums of its own: what fits must not depend on the code that is judged.
    let bytes = |mask: usize| -> u64 {
        let placed = groups.iter().enumerate();
        let placed = placed.filter(|(group, _)| mask >> group & 1 == 1);
        placed.map(|(_, group)| group.candidate.bytes).sum()
    };
    let fits: Vec<usize> = all.filter(|&mask| bytes(mask) <= memory.capacity).collect();
    let best = fits
        .iter()
        .map(|&mask| times[mask])
        .fold(f64::INFINITY, f64::min);
    let rule = |index: usize, problem: &Problem| (RULES[index].place)(problem);
    let plan = |problem: &Problem| solve(problem, NODES).choice;
    let choices = [
        rule(0, &misses),
        rule(1, &misses),
        rule(2, &misses),
        rule(3, &misses),
        rule(4, &f),
        rule(4, &misses),
        plan(&f),
        plan(&misses),
        plan(&time),
    ];
    let mut regrets = [0.0; NAMES.len()];
    for (regret, choice) in regrets.iter_mut().zip(&choices) {
        let mask = mask(choice);
        if bytes(mask) > memory.capacity {
            return Err("a rule places more than fits".into());
        }
        *regret = times[mask] / best - 1.0;
    }
    let values = [f, time].map(|problem| {
        let masks = 0..times.len();
        masks
            .map(|mask| problem.value(&choice(mask, groups.len())))
            .collect()
    });
    Ok(Judged {
        times,
        values,
        feasible: fits.len(),
        best,
        regrets,
    })
}
