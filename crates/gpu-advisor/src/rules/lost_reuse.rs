//! Lines that a block uses again after the L1 has lost them.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_units::{grouped, percent, ratio_percent};

use super::{RunFacts, cost, line_accesses, site_place};
use crate::{BypassReport, KernelReport, SiteReport, ratio};

/// The least share of the traffic for which it is worth to keep warps from the L1.
const LEAST_SAVED: f64 = 0.01;

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "lost-reuse",
    title: "Reuse that the L1 loses",
    what: "Lines of kernels whose loads ask for sectors that their block has loaded before more \
           often than the modelled L1 has them: the difference is at least 10 % of the line's \
           sectors and 1 % of the run's.",
    why: "Data is fetched from the L2 again although the block had it.",
    example: Example {
        before: "for (j = 0; j < n; j++) s += a[i * n + j] * x[j];",
        after: "for (t = 0; t < n; t += T) { load x[t .. t+T] to shared memory; … }",
    },
    limits: "The L1 is a model, under a schedule of blocks that a GPU need not keep; registers and \
             shared memory may let it hold fewer blocks than the model says. It has nothing of \
             loads that pass it by (ld.global.cg, volatile).",
    source: "Shen 2021, section 3.4; reuselens",
};

/// Where it applies.
pub(super) fn find(facts: &RunFacts<'_>) -> Vec<Finding> {
    let caches = facts.kernels.iter().filter_map(|kernel| kernel.caches);
    let all = caches.map(|caches| caches.l1.loads).sum();
    let mut found = Vec::new();
    // Reuse is counted of all requests: hits of a part of them cannot be compared with it.
    let is_modelled = |kernel: &&KernelReport| {
        let caches = kernel.caches.as_ref();
        caches.is_some_and(|caches| caches.cut_blocks == 0)
    };
    for kernel in facts.kernels.iter().filter(is_modelled) {
        for site in line_accesses(kernel) {
            let (lost, own) = (lost(&site), site.counts.l1.loads);
            let Some(cost) = cost(lost, own, all, "sectors fetched again") else {
                continue;
            };
            found.push(Finding {
                rule: &RULE,
                place: site_place(facts, kernel, &site),
                evidence: evidence(kernel, &site),
                cost,
                remedy: remedy(kernel),
                confidence: Confidence::Likely,
            });
        }
    }
    found
}

/// Sectors that the L1 would have if it kept all that blocks load again.
fn lost(site: &SiteReport) -> u64 {
    site.counts
        .reuse
        .reused_sectors
        .saturating_sub(site.counts.l1.load_hits)
}

fn evidence(kernel: &KernelReport, site: &SiteReport) -> Vec<String> {
    let reuse = &site.counts.reuse;
    let mut evidence = vec![format!(
        "{} of {} sectors that it loads were loaded before in their block ({}); the modelled L1 \
         has {}.",
        grouped(reuse.reused_sectors),
        grouped(reuse.sectors),
        percent(reuse.reused_sectors, reuse.sectors),
        percent(site.counts.l1.load_hits, site.counts.l1.loads)
    )];
    if let (Some(distance), Some(caches)) = (reuse.mean_distance(), kernel.caches) {
        evidence.push(format!(
            "{distance:.0} other lines are between two uses on average, in each of up to {} blocks \
             of an SM; its L1 has {} lines.",
            caches.resident_blocks,
            caches.model.l1.bytes / crate::LINE_BYTES
        ));
    }
    if let Some((warps, of, saved)) = kernel.bypass.as_ref().and_then(bypass) {
        evidence.push(format!(
            "In the model, {} fewer sectors are fetched if only {warps} of {of} warps of a block \
             use the L1.",
            ratio_percent(saved)
        ));
    }
    evidence
}

/// The best number of warps that use the L1, all warps, and the share of the traffic that it saves;
/// none if it is all of them.
fn bypass(report: &BypassReport) -> Option<(u32, u32, f64)> {
    let oracle = report.oracle.as_ref()?;
    let (best, all) = (oracle.best(), report.per_warp.warps_per_block);
    let saved = oracle.traffic(all) - oracle.traffic(best);
    let saved = ratio(saved, oracle.traffic(all));
    (best < all && saved >= LEAST_SAVED).then_some((best, all, saved))
}

fn remedy(kernel: &KernelReport) -> String {
    let tile = "Work in tiles that fit, through shared memory or by reordering the loops";
    match kernel.bypass.as_ref().and_then(bypass) {
        Some((warps, ..)) => format!(
            "{tile}, or let only the first {warps} warps of each block use the L1 (ld.global.cg in \
             the others)."
        ),
        None => format!("{tile}."),
    }
}
