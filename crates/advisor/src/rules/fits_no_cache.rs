//! Data that is used again beyond every cache of the machine.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_units::{Bytes, grouped, percent};

use super::{cost, misses_often};
use crate::facts::MissFacts;

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "fits-no-cache",
    title: "Data that fits no cache",
    what: "Objects whose reuses miss even in the machine's last cache, in at least 2 % of the \
           object's accesses.",
    why: "Each of these accesses waits for memory. A larger cache of this machine does not help.",
    example: Example {
        before: "double table[1 << 26];   /* 512 MiB */",
        after: "float table[1 << 26];    /* or work on parts of it, each for all steps */",
    },
    limits: "The last cache is modelled as fully associative, for this program alone.",
    source: "reuselens; Hennessy and Patterson, Computer Architecture, appendix B.3 (capacity \
             misses)",
};

/// Where it applies.
pub(super) fn find(facts: &MissFacts<'_>) -> Vec<Finding> {
    let caches = facts.profile.machine.data_caches();
    let Some(last) = caches.last() else {
        return Vec::new();
    };
    let items = last.items(facts.profile.granularity);
    let histograms = facts.object_histograms();
    let found = facts.known_objects().filter_map(|(object, sums)| {
        let histogram = histograms.get(object as usize)?;
        let beyond = histogram.misses(items).saturating_sub(histogram.cold());
        if !misses_often(beyond, sums.accesses) {
            return None;
        }
        let (name, bytes) = (&facts.object(object).name, facts.object_bytes(object));
        let size = match bytes {
            0 => String::new(),
            bytes => format!(" of {}", Bytes(bytes)),
        };
        Some(Finding {
            rule: &RULE,
            place: facts.object_place(object),
            evidence: vec![format!(
                "{} of {} accesses to {name}{size} ({}) use a line again after more other data \
                 than {} ({}) holds.",
                grouped(beyond),
                grouped(sums.accesses),
                percent(beyond, sums.accesses),
                last.name(),
                last.size
            )],
            cost: cost(facts, beyond)?,
            remedy: format!(
                "Make {name} smaller (shorter types, packed or compressed elements), or work on \
                 parts of it that fit {} before you go on to the next one.",
                last.name()
            ),
            confidence: Confidence::Likely,
        })
    });
    found.collect()
}
