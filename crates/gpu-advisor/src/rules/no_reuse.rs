//! Loads that fill the L1 with data that their block does not use again.

use reuselens_advice::{Confidence, Cost, Example, Finding, FindingRule};
use reuselens_units::{grouped, percent};

use super::{LEAST_OF_PLACE, RunFacts, line_accesses, site_place};
use crate::{KernelReport, ratio};

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "no-reuse",
    title: "Streaming data through the L1",
    what: "Lines of kernels with at least 10 % of their kernel's loads, fewer than 5 % of which \
           find a cache line that their block has used. At least 10 % of the kernel's sectors were \
           loaded before by their block, and the modelled L1 lacks at least 5 % of the sectors for \
           all that.",
    why: "Data that is used once pushes data that is used again out of the cache.",
    example: Example {
        before: "x = a[i];",
        after: "x = __ldcs(&a[i]);",
    },
    limits: "Reuse by other blocks is not seen here. What a GPU does with the hint is its own \
             matter.",
    source: "Shen 2021, section 3.3; CUDA C++ Programming Guide, Load Functions Using Cache Hints",
};

/// The most reuse of a streaming load.
const MOST_REUSE: f64 = 0.05;

/// Where it applies.
pub(super) fn find(facts: &RunFacts<'_>) -> Vec<Finding> {
    let loads = |kernel: &KernelReport| {
        kernel
            .by_site
            .iter()
            .map(|site| site.counts.reuse.loads)
            .sum()
    };
    let all: u64 = facts.kernels.iter().map(loads).sum();
    let mut found = Vec::new();
    for kernel in facts.kernels.iter().filter(|kernel| loses_reuse(kernel)) {
        let of_kernel: u64 = loads(kernel);
        for site in line_accesses(kernel) {
            let reuse = &site.counts.reuse;
            let once = reuse.loads - reuse.reuses;
            let is_large = ratio(reuse.loads, of_kernel) >= LEAST_OF_PLACE;
            if !is_large || ratio(reuse.reuses, reuse.loads) >= MOST_REUSE {
                continue;
            }
            found.push(Finding {
                rule: &RULE,
                place: site_place(facts, kernel, &site),
                evidence: vec![
                    format!(
                        "{} of {} cache lines that it loads were not used before in their block \
                         ({}).",
                        grouped(once),
                        grouped(reuse.loads),
                        percent(once, reuse.loads)
                    ),
                    format!(
                        "They are {} of the lines that the kernel loads.",
                        percent(reuse.loads, of_kernel)
                    ),
                ],
                cost: Cost {
                    amount: once,
                    unit: "lines loaded once".into(),
                    share: ratio(once, all),
                },
                remedy:
                    "Load it past the L1 with a streaming hint (__ldcs, ld.global.cs), or keep \
                         what is used again in shared memory."
                        .to_owned(),
                confidence: Confidence::Possible,
            });
        }
    }
    found
}

/// Whether the modelled L1 has fewer sectors than the kernel's blocks load again.
fn loses_reuse(kernel: &KernelReport) -> bool {
    let Some(caches) = &kernel.caches else {
        return false;
    };
    let sites = kernel.by_site.iter();
    let reused: u64 = sites.map(|site| site.counts.reuse.reused_sectors).sum();
    let lost = reused.saturating_sub(caches.l1.load_hits);
    let share = |sectors| ratio(sectors, caches.l1.loads);
    share(reused) >= LEAST_OF_PLACE && share(lost) >= MOST_REUSE
}
