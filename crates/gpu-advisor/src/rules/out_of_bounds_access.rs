//! Accesses that were left out, since they were out of bounds or not aligned.

use reuselens_advice::{Confidence, Cost, Example, Finding, FindingRule};

use super::{RunFacts, place};
use crate::{LeftOutAccesses, ratio};

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "out-of-bounds-access",
    title: "Out-of-bounds or misaligned access",
    what: "Lines of kernels with accesses that are out of bounds or not aligned, and that were left \
           out (`--on-fault continue`): loads gave 0, stores changed nothing, atomic operations did \
           both.",
    why: "A GPU stops the program there, or reads and overwrites what is beside the data.",
    example: Example {
        before: "float left = a[i - 1];",
        after: "float left = i > 0 ? a[i - 1] : 0;",
    },
    limits: "What follows such an access may go another way than on a GPU, and so may everything \
             that is counted of it.",
    source: "reuselens; Compute Sanitizer, Memcheck",
};

/// Where it applies.
pub(super) fn find(facts: &RunFacts<'_>) -> Vec<Finding> {
    let lines = facts.kernels.iter().flat_map(|kernel| {
        let lines = kernel.left_out.iter();
        lines.map(move |line| (kernel, line))
    });
    let all = lines.clone().map(|(_, line)| line.lanes).sum();
    let finding = |(kernel, line): (_, &LeftOutAccesses)| Finding {
        rule: &RULE,
        place: place(facts, kernel, &line.place, &line.calls),
        evidence: vec![format!("The first: {}", line.first)],
        cost: Cost {
            amount: line.lanes,
            unit: "accesses of lanes left out".into(),
            share: ratio(line.lanes, all),
        },
        remedy: "Test the index before the access, allocate what is accessed, or align it: what \
                 other findings say is of a run without these accesses."
            .to_owned(),
        confidence: Confidence::Certain,
    };
    lines.map(finding).collect()
}
