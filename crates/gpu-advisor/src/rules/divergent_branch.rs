//! Branches after which lanes of a warp go different ways.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_units::{grouped, percent};

use super::{RunFacts, cost, place};
use crate::LineBranches;

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "divergent-branch",
    title: "Divergent branch",
    what: "Lines of kernels whose branches split warps: at least 10 % of the line's branches, and \
           1 % of the run's. Not those that split one warp of a launch: `if (i < n)` does so in \
           the last warp, and costs nothing.",
    why: "A warp executes both ways one after the other, each with a part of its lanes.",
    example: Example {
        before: "if (threadIdx.x % 2) odd(); else even();",
        after: "if (threadIdx.x / 32 % 2) odd(); else even();",
    },
    limits: "A split that ends after a few instructions costs little; branches that the compiler \
             turns into predicates do not count.",
    source: "Shen 2021, section 3.3; Nsight Compute, Branch Efficiency",
};

/// Where it applies.
pub(super) fn find(facts: &RunFacts<'_>) -> Vec<Finding> {
    let branches = facts
        .kernels
        .iter()
        .flat_map(|kernel| &kernel.branches.branches);
    let all = branches.map(|branch| branch.executions).sum();
    let mut found = Vec::new();
    for kernel in facts.kernels {
        let launches = kernel.launches.launches;
        for line in kernel.branches.by_call() {
            if is_bounds_check(&line, launches) {
                continue;
            }
            let Some(cost) = cost(line.splits, line.branches, all, "splits") else {
                continue;
            };
            let mut evidence = vec![format!(
                "{} of {} executions split the warp ({}).",
                grouped(line.splits),
                grouped(line.branches),
                percent(line.splits, line.branches)
            )];
            let (divergent, executions) =
                (kernel.branches.divergent(), kernel.branches.executions());
            if executions > 0 {
                evidence.push(format!(
                    "In the kernel, {} of {} executions of basic blocks are divergent ({}).",
                    grouped(divergent),
                    grouped(executions),
                    percent(divergent, executions)
                ));
            }
            found.push(Finding {
                rule: &RULE,
                place: place(facts, kernel, &line.line, &line.calls),
                evidence,
                cost,
                remedy: "Let the lanes of a warp decide alike: sort or group the work by the \
                         condition, or replace the branch by arithmetic or a select."
                    .to_owned(),
                confidence: Confidence::Certain,
            });
        }
    }
    found
}

/// Whether a line splits at most one warp of each launch, as `if (i < n)` around a kernel does: the
/// lanes beyond the end have nothing to do.
fn is_bounds_check(line: &LineBranches, launches: u64) -> bool {
    line.splits <= launches && line.branches > launches
}
