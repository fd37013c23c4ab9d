//! Copies of bytes that their destination already has.

use reuselens_advice::{Confidence, Example, Finding, FindingPlace, FindingRule};
use reuselens_units::{grouped, percent};

use super::{RunFacts, cost};

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "redundant-copies",
    title: "Redundant copies",
    what: "Call paths that copy bytes to where the same bytes are: at least 10 % of the call path's \
           bytes, and 1 % of the run's.",
    why: "The copy waits for the bus and changes nothing.",
    example: Example {
        before: "while (go) { cudaMemcpy(d_a, a, …); step<<<…>>>(d_a, d_b); }",
        after: "cudaMemcpy(d_a, a, …); while (go) step<<<…>>>(d_a, d_b);",
    },
    limits: "Bytes can be the same by chance, as flags are that most often keep their value.",
    source: "Shen 2021, section 3.3; reuselens",
};

/// Where it applies.
pub(super) fn find(facts: &RunFacts<'_>) -> Vec<Finding> {
    let all = facts.ledger.copied_bytes();
    let mut found = Vec::new();
    for copy in &facts.ledger.copies {
        let Some(cost) = cost(copy.redundant_bytes, copy.bytes, all, "bytes copied") else {
            continue;
        };
        let name = |object| facts.names.object(object);
        let mut evidence = vec![format!(
            "{} of {} copies, {} of {} bytes ({}), found the same bytes at the destination.",
            grouped(copy.redundant),
            grouped(copy.count),
            grouped(copy.redundant_bytes),
            grouped(copy.bytes),
            percent(copy.redundant_bytes, copy.bytes)
        )];
        if let Some(from) = name(copy.from) {
            evidence.push(format!("They go {} from {from}.", copy.direction.name()));
        }
        found.push(Finding {
            rule: &RULE,
            place: FindingPlace {
                call_path: facts.names.call_path(copy.call_path),
                object: name(copy.to),
                ..FindingPlace::default()
            },
            evidence,
            cost,
            remedy: "Copy once, before the loop, and again only when the source has changed."
                .to_owned(),
            confidence: Confidence::Certain,
        });
    }
    found
}
