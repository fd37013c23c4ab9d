//! Threads of different warps and blocks that share data, and that another mapping makes
//! neighbours.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_units::{counted, grouped, percent};

use super::{RunFacts, cost, place};
use crate::MappingReport;

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "distant-sharing",
    title: "Threads that should be neighbours",
    what: "Kernels whose threads share sectors of 32 bytes with threads of other warps, so that \
           another order of threads needs fewer: at least 10 % of the kernel's sectors, and 1 % of \
           the run's. Looked at are the first blocks of a few launches, of kernels whose threads \
           exchange nothing: no shared memory, barriers, shuffles, votes or products of matrices.",
    why: "What one warp fetches for a few of its threads, other warps fetch again.",
    example: Example {
        before: "i = threadIdx.x * n + blockIdx.x; x = a[i];",
        after: "i = blockIdx.x * blockDim.x + threadIdx.x; x = a[i];",
    },
    limits: "The order is made for these accesses; another input may need another one. The cost \
             takes the saving of the blocks that were looked at for that of all launches.",
    source: "Garrido 2013, section VIII; reuselens gpu map",
};

/// Where it applies.
pub(super) fn find(facts: &RunFacts<'_>) -> Vec<Finding> {
    let kernels = facts.kernels.iter();
    let all = kernels.map(|kernel| kernel.global.sectors).sum();
    let mut found = Vec::new();
    for kernel in facts.kernels {
        let Some(mapping) = &kernel.mapping else {
            continue;
        };
        let own = kernel.global.sectors;
        let share = mapping.saved() as f64 / mapping.before.sectors.max(1) as f64;
        let amount = (share * own as f64) as u64;
        let Some(cost) = cost(amount, own, all, "sectors by other threads") else {
            continue;
        };
        found.push(Finding {
            rule: &RULE,
            place: place(facts, kernel, "", &[]),
            evidence: evidence(mapping),
            cost,
            remedy: "Number threads so that those that use the same sectors are in one warp, and \
                     warps that use the same data in one block: exchange the indices, sort the \
                     work, or load the number from an array (reuselens record, then gpu map \
                     --keep-layout -o)."
                .to_owned(),
            confidence: Confidence::Likely,
        });
    }
    found
}

fn evidence(mapping: &MappingReport) -> Vec<String> {
    let (before, after) = (&mapping.before, &mapping.after);
    vec![
        format!(
            "In {} of launch {}, requests of warps access {} sectors; with another order of {}, \
             {} ({} fewer).",
            counted(mapping.blocks, "block", "blocks"),
            mapping.launch,
            grouped(before.sectors),
            counted(mapping.threads, "thread", "threads"),
            grouped(after.sectors),
            percent(mapping.saved(), before.sectors)
        ),
        format!(
            "Blocks have {} distinct sectors, which the L1 misses at least; then {}.",
            grouped(before.block_sectors),
            grouped(after.block_sectors)
        ),
    ]
}
