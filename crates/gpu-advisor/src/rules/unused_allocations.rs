//! Memory of the device that nothing uses.

use std::collections::BTreeSet;

use reuselens_advice::{Confidence, Example, Finding, FindingPlace, FindingRule};
use reuselens_units::{counted, grouped};

use super::{RunFacts, cost};

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "unused-allocations",
    title: "Unused allocations",
    what: "Allocations and variables that only the device can access, and that no kernel accesses \
           and nothing copies or fills: at least 1 % of the bytes that the run allocates on the \
           device.",
    why: "They take memory and time, and leave less for what is needed.",
    example: Example {
        before: "cudaMalloc(&scratch, n);",
        after: "",
    },
    limits: "Another input may use them. Kernels that were refused or stopped count with what they \
             accessed until then. Runs with more copies than are kept are not looked at.",
    source: "reuselens",
};

/// Where it applies.
pub(super) fn find(facts: &RunFacts<'_>) -> Vec<Finding> {
    let kernels = facts.kernels.iter();
    let used: BTreeSet<u32> = kernels
        .flat_map(|kernel| {
            let globals = kernel.by_object.iter().filter_map(|row| row.object);
            globals.chain(kernel.constants.iter().copied())
        })
        .collect();
    let objects = &facts.ledger.objects;
    let all = facts.ledger.device_bytes();
    let unused = facts.ledger.unused(&used.into_iter().collect::<Vec<_>>());
    let finding = |number: u32| {
        let object = &objects[number as usize];
        Some(Finding {
            rule: &RULE,
            place: FindingPlace {
                call_path: facts.names.call_path(object.call_path),
                object: facts.names.object(number),
                ..FindingPlace::default()
            },
            evidence: vec![format!(
                "{} bytes by {} in {}: no kernel accessed them, and nothing was copied.",
                grouped(object.bytes),
                object.origin.word(),
                counted(object.instances, "block", "blocks")
            )],
            cost: cost(object.bytes, object.bytes, all, "bytes allocated")?,
            remedy: "Remove the allocation.".to_owned(),
            confidence: Confidence::Likely,
        })
    };
    unused.into_iter().filter_map(finding).collect()
}
