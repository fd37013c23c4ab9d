//! Requests that access more sectors than their bytes need.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_units::{grouped, percent};
use reuselens_warp::WarpKind;

use super::{RunFacts, cost, line_accesses, site_place};
use crate::GlobalCounts;

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "uncoalesced-access",
    title: "Uncoalesced access",
    what: "Lines of kernels whose requests of global memory access more 32-byte sectors than the \
           distinct bytes of the request fill: at least 10 % of the line's sectors, and 1 % of the \
           run's.",
    why: "Each sector is fetched in full: bytes that no lane asked for use up the bandwidth of the \
          caches and of memory.",
    example: Example {
        before: "x = a[threadIdx.x * n + i];",
        after: "x = a[i * n + threadIdx.x];",
    },
    limits: "Sectors that the next requests of the warp use while they are in the L1 cost less than \
             the count says; see the line's hit rate.",
    source: "Nsight Compute, Uncoalesced Global Accesses; Shen 2021, section 3.3",
};

/// Where it applies.
pub(super) fn find(facts: &RunFacts<'_>) -> Vec<Finding> {
    let all = facts
        .kernels
        .iter()
        .map(|kernel| kernel.global.sectors)
        .sum();
    let mut found = Vec::new();
    for kernel in facts.kernels {
        for site in line_accesses(kernel) {
            let (counts, excess) = (&site.counts.global, site.counts.global.excessive_sectors());
            let Some(cost) = cost(excess, counts.sectors, all, "excessive sectors") else {
                continue;
            };
            let ideal = counts.ideal_sectors as f64 / counts.requests.max(1) as f64;
            found.push(Finding {
                rule: &RULE,
                place: site_place(facts, kernel, &site),
                evidence: vec![
                    format!(
                        "{} of {} sectors of its {} are excessive ({}).",
                        grouped(excess),
                        grouped(counts.sectors),
                        kind_words(site.kind),
                        percent(excess, counts.sectors)
                    ),
                    format!(
                        "A request accesses {:.1} sectors in {:.1} lines; {ideal:.1} sectors would \
                         hold its bytes.",
                        counts.sectors_per_request(),
                        counts.lines_per_request(),
                    ),
                ],
                cost,
                remedy: remedy(site.kind, counts).to_owned(),
                confidence: Confidence::Certain,
            });
        }
    }
    found
}

/// What to change. One more sector than is needed comes from accesses that are neighbours, but
/// begin in the middle of a sector.
fn remedy(kind: WarpKind, counts: &GlobalCounts) -> &'static str {
    if kind == WarpKind::Atomic {
        return "Where the address depends on data, as in a histogram: let each block count in shared \
                memory, and add its sums to global memory at the end. Lanes with one address can be \
                added up first (__match_any_sync, __reduce_add_sync).";
    }
    if counts.excessive_sectors() <= counts.requests && counts.lines <= 2 * counts.requests {
        "Align what warps access: take blocks of a multiple of 32 threads, and begin rows at \
             multiples of 32 bytes (cudaMallocPitch)."
    } else {
        "Let neighbouring threads access neighbouring addresses: exchange the indices, store \
             arrays of structures as structures of arrays, or load tiles through shared memory."
    }
}

fn kind_words(kind: WarpKind) -> &'static str {
    match kind {
        WarpKind::Load => "loads",
        WarpKind::Store => "stores",
        WarpKind::Atomic => "atomic operations",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_that_are_not_aligned_are_to_be_aligned() {
        let counts = |sectors, lines| GlobalCounts {
            requests: 10,
            sectors,
            lines,
            ideal_sectors: 40,
            ..GlobalCounts::default()
        };
        let of = |kind, sectors, lines| remedy(kind, &counts(sectors, lines));
        assert!(of(WarpKind::Load, 50, 20).starts_with("Align"));
        assert!(of(WarpKind::Load, 160, 40).starts_with("Let neighbouring"));
        assert!(of(WarpKind::Atomic, 160, 40).contains("histogram"));
    }
}
