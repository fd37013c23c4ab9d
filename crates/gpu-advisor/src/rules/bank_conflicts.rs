//! Requests of shared memory that need several passes.

use reuselens_advice::{Confidence, Example, Finding, FindingPlace, FindingRule};
use reuselens_units::{grouped, percent};

use super::{RunFacts, cost, line_accesses, site_place};

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "bank-conflicts",
    title: "Bank conflicts",
    what: "Lines of kernels whose requests of shared memory need more wavefronts than without \
           conflicts: at least 10 % of the line's wavefronts, and 1 % of the run's.",
    why: "Lanes that ask for different words of one bank wait for each other.",
    example: Example {
        before: "__shared__ float tile[32][32];",
        after: "__shared__ float tile[32][33];",
    },
    limits: "Repeated passes of atomic operations on one word are not counted.",
    source: "CUDA C++ Best Practices Guide, Shared Memory and Memory Banks; Nsight Compute, \
             L1 Wavefronts Shared Excessive",
};

/// Where it applies.
pub(super) fn find(facts: &RunFacts<'_>) -> Vec<Finding> {
    let kernels = facts.kernels.iter();
    let all = kernels.map(|kernel| kernel.banks.all().wavefronts).sum();
    let mut found = Vec::new();
    for kernel in facts.kernels {
        for site in line_accesses(kernel) {
            let (counts, conflicts) = (&site.counts.shared, site.counts.shared.conflicts());
            let Some(cost) = cost(conflicts, counts.wavefronts, all, "wavefronts") else {
                continue;
            };
            found.push(Finding {
                rule: &RULE,
                place: FindingPlace {
                    object: site.array.as_ref().map(|array| format!("{array} (shared)")),
                    ..site_place(facts, kernel, &site)
                },
                evidence: vec![
                    format!(
                        "{} of {} wavefronts are conflicts ({}).",
                        grouped(conflicts),
                        grouped(counts.wavefronts),
                        percent(conflicts, counts.wavefronts)
                    ),
                    format!(
                        "A request needs {:.1} wavefronts.",
                        counts.wavefronts_per_request()
                    ),
                ],
                cost,
                remedy: "Pad the rows of the shared array by one word, or permute its columns, so \
                         that the lanes of a warp use different banks."
                    .to_owned(),
                confidence: Confidence::Certain,
            });
        }
    }
    found
}
