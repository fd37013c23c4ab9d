//! Memory of the device that nothing uses.

use std::collections::BTreeSet;

use reuselens_advice::{Confidence, Cost, Example, Finding, FindingPlace, FindingRule};
use reuselens_units::grouped;

use super::RunFacts;
use crate::ratio;

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "unused-allocations",
    title: "Unused allocations",
    what: "Allocations and variables of the device that no kernel accesses and nothing copies or \
           fills.",
    why: "They take memory and time, and leave less for what is needed.",
    example: Example {
        before: "cudaMalloc(&scratch, n);",
        after: "",
    },
    limits: "Another input may use them. Kernels that were refused or stopped count with what they \
             accessed until then.",
    source: "reuselens",
};

/// Where it applies.
pub(super) fn find(facts: &RunFacts<'_>) -> Vec<Finding> {
    let kernels = facts.kernels.iter();
    let used: BTreeSet<u32> = kernels
        .flat_map(|kernel| kernel.by_object.iter().filter_map(|row| row.object))
        .collect();
    let objects = &facts.ledger.objects;
    let of_device = objects
        .iter()
        .filter(|object| !object.origin.is_host_only());
    let all: u64 = of_device.map(|object| object.bytes).sum();
    let unused = facts.ledger.unused(&used.into_iter().collect::<Vec<_>>());
    let finding = |number: u32| {
        let object = &objects[number as usize];
        Finding {
            rule: &RULE,
            place: FindingPlace {
                call_path: facts.names.call_path(object.call_path),
                object: facts.names.object(number),
                ..FindingPlace::default()
            },
            evidence: vec![format!(
                "{} bytes by {} in {} blocks: no kernel accessed them, and nothing was copied.",
                grouped(object.bytes),
                object.origin.word(),
                grouped(object.instances)
            )],
            cost: Cost {
                amount: object.bytes,
                unit: "bytes allocated",
                share: ratio(object.bytes, all),
            },
            remedy: "Remove the allocation.".to_owned(),
            confidence: Confidence::Likely,
        }
    };
    unused.into_iter().map(finding).collect()
}
