//! Large blocks that are allocated again and again.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_units::{Bytes, counted, grouped, percent};

use super::cost;
use crate::facts::{MissFacts, MissSums};
use crate::need::PAGE_BYTES;

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "short-lived-allocations",
    title: "Large blocks that live shortly",
    what: "Blocks of the heap of 128 KiB and more that are allocated at least 8 times, of which at \
           most a quarter live at one time; in profiles with data for placement.",
    why: "The C library takes such blocks from the system and gives them back: the first access to \
          each of their pages is a page fault, for which the kernel clears the page.",
    example: Example {
        before: "for (…) { double *t = malloc(n); work(t); free(t); }",
        after: "double *t = malloc(n);\nfor (…) work(t);\nfree(t);",
    },
    limits: "Allocators that keep large blocks have fewer page faults; what the first accesses to a \
             block miss in the cache is the same. The cost is the first touch of each line of each \
             block that is used.",
    source: "mallopt(3), M_MMAP_THRESHOLD; reuselens",
};

/// The smallest block that is looked at: from here on glibc maps a block by itself
/// (`M_MMAP_THRESHOLD`).
const LEAST_BYTES: u64 = 128 << 10;
/// The fewest allocations.
const LEAST_BLOCKS: u64 = 8;
/// How many times the bytes that live at one time must have been allocated.
const LEAST_TURNOVER: u64 = 4;

/// Where it applies.
pub(super) fn find(facts: &MissFacts<'_>) -> Vec<Finding> {
    let objects = facts.known_objects();
    objects
        .filter_map(|(object, sums)| finding(facts, object, sums))
        .collect()
}

fn finding(facts: &MissFacts<'_>, object: u32, sums: &MissSums) -> Option<Finding> {
    let entry = facts.object(object);
    let longest = entry.part?.longest;
    let (live, blocks) = (facts.object_bytes(object), facts.object_blocks(object));
    let allocated = longest.saturating_mul(blocks);
    let is_meant = longest >= LEAST_BYTES
        && blocks >= LEAST_BLOCKS
        && live.saturating_mul(LEAST_TURNOVER) <= allocated;
    if !is_meant {
        return None;
    }
    // Of large blocks often a small part is used.
    let touched = longest.min(live);
    let first = touched.div_ceil(facts.line_bytes()).saturating_mul(blocks);
    let name = &entry.name;
    let place = entry.path.iter().find(|frame| frame.line > 0);
    Some(Finding {
        rule: &RULE,
        place: reuselens_advice::FindingPlace {
            source: place.map(|frame| format!("{}:{}", frame.file, frame.line)),
            function: place.map(|frame| frame.function.clone()),
            object: Some(name.clone()),
            call_path: Vec::new(),
        },
        evidence: vec![
            format!(
                "{} of up to {}, of which {} live at one time at most.",
                counted(blocks, "allocation", "allocations"),
                Bytes(longest),
                Bytes(live)
            ),
            format!(
                "Their pages are touched first up to {} times; {} of {} accesses miss in {} ({}).",
                grouped(blocks.saturating_mul(touched.div_ceil(PAGE_BYTES))),
                grouped(sums.misses),
                grouped(sums.accesses),
                facts.cache_words(),
                percent(sums.misses, sums.accesses)
            ),
        ],
        cost: cost(facts, first.min(sums.misses))?,
        remedy: format!("Allocate the block of {name} once, before the loop, and use it again."),
        confidence: Confidence::Likely,
    })
}
