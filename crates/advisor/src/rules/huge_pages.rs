//! Data for huge pages.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_units::{Bytes, grouped, percent};

use super::cost_of;
use crate::facts::MissFacts;
use crate::need::PAGE_BYTES;

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "huge-pages",
    title: "Data for huge pages",
    what: "Objects of at least 4 MiB of which at least 1 % of the accesses are to pages that 1,536 \
           or more other pages were used since; in profiles with a granularity of pages.",
    why: "The TLB holds that many pages of 4 KiB: beyond, each access waits for a walk through the \
          page table. A huge page of 2 MiB takes one entry for 512 pages.",
    example: Example {
        before: "double *a = malloc(n * sizeof *a);",
        after: "double *a = aligned_alloc(2 << 20, n * sizeof *a);\n\
                madvise(a, n * sizeof *a, MADV_HUGEPAGE);",
    },
    limits: "TLBs differ: 1,536 entries is what many cores have in their second level. Systems that \
             use huge pages by themselves need no change. The share is that of all misses of such \
             a TLB.",
    source: "Intel 64 and IA-32 Optimization Reference Manual, TLB; Linux, \
             Documentation/admin-guide/mm/transhuge.rst",
};

/// Entries of the second level of the TLB, in pages of 4 KiB: 1,536 since Skylake; 2,048 in Zen 2
/// and later.
const TLB_PAGES: u64 = 1536;
/// The least share of an object's accesses that must miss in the TLB: a walk takes as long as some
/// tens of accesses.
const LEAST_MISS_RATIO: f64 = 0.01;
/// The smallest object that is worth it: two huge pages.
const LEAST_BYTES: u64 = 4 << 20;

/// Where it applies.
pub(super) fn find(facts: &MissFacts<'_>) -> Vec<Finding> {
    let items = TLB_PAGES * PAGE_BYTES / facts.line_bytes().max(PAGE_BYTES);
    let all = facts.profile.histogram.misses(items);
    let histograms = facts.object_histograms();
    let found = facts.known_objects().filter_map(|(object, sums)| {
        let misses = histograms.get(object as usize)?.misses(items);
        let bytes = facts.object_bytes(object);
        let often = misses as f64 >= LEAST_MISS_RATIO * sums.accesses as f64;
        if bytes < LEAST_BYTES || !often {
            return None;
        }
        let name = &facts.object(object).name;
        Some(Finding {
            rule: &RULE,
            place: facts.object_place(object),
            evidence: vec![format!(
                "{} of {} accesses to {name} ({}) are to pages that are not in a TLB of {} pages; \
                 it has {}.",
                grouped(misses),
                grouped(sums.accesses),
                percent(misses, sums.accesses),
                grouped(TLB_PAGES),
                Bytes(bytes)
            )],
            cost: cost_of(misses, all, "misses of the TLB")?,
            remedy: format!(
                "Put {name} on huge pages: align it to 2 MiB and call madvise(…, MADV_HUGEPAGE), \
                 or run with GLIBC_TUNABLES=glibc.malloc.hugetlb=1."
            ),
            confidence: Confidence::Likely,
        })
    });
    found.collect()
}
