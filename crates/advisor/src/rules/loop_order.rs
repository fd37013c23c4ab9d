//! Loops whose inner one strides over lines that the outer one uses again.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_units::grouped;

use super::{cost, loops_often, part};
use crate::facts::{MissFacts, ReuseRoute, SinkSums, per_cent, share_words};

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "loop-order",
    title: "Loops in the wrong order",
    what: "Accesses whose lines an outer loop uses again only after they were evicted, at distances \
           that are alike, while at most half of each line is used until then; of data whose \
           elements are used completely.",
    why: "The inner loop strides over the lines: each one is fetched for one element, evicted, and \
          fetched again for the next one.",
    example: Example {
        before: "for (j = 0; j < n; j++)\n  for (i = 0; i < n; i++)\n    sum[j] += a[i][j];",
        after: "for (i = 0; i < n; i++)\n  for (j = 0; j < n; j++)\n    sum[j] += a[i][j];",
    },
    limits: "Whether loops may be exchanged depends on what else they do. Where the size of \
             elements is not known, unused fields look the same, so the rule does not apply.",
    source: "Marin and Mellor-Crummey, Pinpointing and Exploiting Opportunities for Enhancing Data \
             Reuse, ISPASS 2008, section 3, table I; McKinley, Carr and Tseng, TOPLAS 1996",
};

/// The most of a line that may be used: loops in the right order use all of it.
const MOST_UTILISATION: f64 = 0.5;
/// The least share of an element that must be used at all: else fields are left out, which another
/// order does not change.
const LEAST_OF_ELEMENT: f64 = 0.75;

/// Where it applies.
pub(super) fn find(facts: &MissFacts<'_>) -> Vec<Finding> {
    let routes = facts.routes();
    routes
        .iter()
        .filter_map(|route| finding(facts, route))
        .collect()
}

/// Whether the lines of a route's sinks are used in part, because the loop that carries the reuse
/// is the wrong one to be outside.
pub(super) fn is_strided(facts: &MissFacts<'_>, sums: &SinkSums) -> bool {
    sums.utilisation(facts.line_bytes()) <= MOST_UTILISATION
}

fn finding(facts: &MissFacts<'_>, route: &ReuseRoute<'_>) -> Option<Finding> {
    if cost(facts, route.misses).is_none()
        || !route.is_carried_by_loop()
        || !facts.is_known(route.object)
    {
        return None;
    }
    let sums = facts.sink_sums(route);
    let utilisation = sums.utilisation(facts.line_bytes());
    let elements = use_of_elements(facts, route.object);
    let is_meant = is_strided(facts, &sums)
        && loops_often(facts, route, &sums)
        && elements.is_some_and(|share| share >= LEAST_OF_ELEMENT);
    if !is_meant {
        return None;
    }
    let (object, scope) = (&facts.object(route.object).name, route.scope_words());
    Some(Finding {
        rule: &RULE,
        place: facts.place(Some(route.object), |cell| facts.is_sink(route, cell)),
        evidence: evidence(facts, route, &sums),
        // Without those that remain where each line is used completely.
        cost: cost(facts, part(route.misses, 1.0 - utilisation))?,
        remedy: format!(
            "Exchange the loops, so that {scope} is the innermost one and walks through the lines \
             of {object} one element after the other. Where that makes another array stride, work \
             in tiles, or store {object} transposed."
        ),
        confidence: Confidence::Likely,
    })
}

/// How evenly the bytes of an object's elements are used while they are in the cache, from 0 to 1:
/// the mean of their shares by the largest. Of an array of structures of which a loop uses one
/// field it is small, of numbers it is 1. 0 of nodes that are linked: their order is that of the
/// links. `None` if the size of elements is not known.
fn use_of_elements(facts: &MissFacts<'_>, object: u32) -> Option<f64> {
    let mut structures = facts.structures();
    if structures.any(|it| it.object == object && it.link().is_some()) {
        return Some(0.0);
    }
    let elements = facts.elements_of(object);
    let bytes = elements.flat_map(|it| it.used.iter().zip(&it.brought));
    let shares = bytes.map(|(used, brought)| *used as f64 / (*brought).max(1) as f64);
    let (mut count, mut sum, mut largest) = (0, 0.0, 0.0_f64);
    for share in shares {
        count += 1;
        sum += share;
        largest = largest.max(share);
    }
    (count > 0).then(|| match largest > 0.0 {
        true => sum / f64::from(count) / largest,
        false => 0.0,
    })
}

fn evidence(facts: &MissFacts<'_>, route: &ReuseRoute<'_>, sums: &SinkSums) -> Vec<String> {
    let line = facts.line_bytes();
    let sink = route.sink.as_deref().unwrap_or("this code");
    vec![
        format!(
            "{} of {} accesses of {sink} to {} ({}) find a line evicted that an earlier iteration \
             of {} used.",
            grouped(route.misses),
            grouped(sums.accesses),
            facts.object(route.object).name,
            per_cent(route.misses, sums.accesses),
            route.scope_words(),
        ),
        format!(
            "{} of each line is used before it is evicted.",
            share_words(sums.utilisation(line))
        ),
        format!(
            "Between two uses of a line are {}; {} holds {}.",
            route.distance_words(line),
            facts.cache_words(),
            grouped(facts.items)
        ),
    ]
}
