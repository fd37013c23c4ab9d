//! Loops whose inner one strides over lines that the outer one uses again.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_units::{grouped, percent, ratio_percent};

use super::route_group::{self, RouteGroup};
use super::{cost, loops_often, part};
use crate::facts::{MissFacts, ReuseRoute, SinkSums, regularity, total};

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "loop-order",
    title: "Loops in the wrong order",
    what: "Accesses whose lines an outer loop uses again only after they were evicted, at distances \
           that are alike, while at most half of each line is used until then, and at most half of \
           what is ever used of it; of data whose elements are used completely.",
    why: "The inner loop strides over the lines: each one is fetched for one element, evicted, and \
          fetched again for the next one.",
    example: Example {
        before: "for (j = 0; j < n; j++)\n  for (i = 0; i < n; i++)\n    sum[j] += a[i][j];",
        after: "for (i = 0; i < n; i++)\n  for (j = 0; j < n; j++)\n    sum[j] += a[i][j];",
    },
    limits: "Whether loops may be exchanged depends on what else they do. Where the size of \
             elements is not known, unused fields look the same, so the rule does not apply. Of the \
             loops that carry reuses of a line of code, the one with the most is meant. Bytes that \
             a pass only initialises count as used. A table with a hash that steps through it in \
             one distance looks the same.",
    source: "Marin and Mellor-Crummey, Pinpointing and Exploiting Opportunities for Enhancing Data \
             Reuse, ISPASS 2008, section 3, table I; McKinley, Carr and Tseng, TOPLAS 1996",
};

/// The most of a line that may be used: loops in the right order use all of it.
const MOST_UTILISATION: f64 = 0.5;
/// The least share of an element that must be used at all: else fields are left out, which another
/// order does not change.
const LEAST_OF_ELEMENT: f64 = 0.75;

/// The least share of the reuses that a loop carries that must have distances that are alike. Of
/// the columns of arrays 98 % or more have, of tables with a hash by the golden ratio 76 %.
const LEAST_ALIKE: f64 = 0.85;

/// Where it applies: once for each loop that carries reuses, with its copies.
pub(super) fn find(facts: &MissFacts<'_>) -> Vec<Finding> {
    route_group::findings(
        facts,
        |route| applies(facts, route),
        |route| &route.scope_words,
        |group| finding(facts, group),
    )
}

/// Whether the lines of a route's sinks are used in part, while other accesses use the rest of
/// them, or other fields of structures are in them. Other rules are about such lines.
pub(super) fn is_strided(facts: &MissFacts<'_>, route: &ReuseRoute<'_>, sums: &SinkSums) -> bool {
    let has_fields = || facts.structures().any(|it| it.object == route.object);
    sums.utilisation(facts.line_bytes()) <= MOST_UTILISATION
        && (used_of_ever_used(facts, route, sums) <= MOST_UTILISATION || has_fields())
}

/// The sums of a route's sinks, if another order of loops would use their lines better.
fn applies(facts: &MissFacts<'_>, route: &ReuseRoute<'_>) -> Option<SinkSums> {
    cost(facts, route.misses)?;
    let is_loop = route.is_carried_by_loop() && is_heaviest(facts, route);
    if !is_loop || !facts.is_known(route.object) {
        return None;
    }
    let sums = facts.sink_sums(route);
    let elements = use_of_elements(facts, route.object);
    let is_meant = used_of_ever_used(facts, route, &sums) <= MOST_UTILISATION
        && loops_often(facts, route, &sums)
        && has_one_distance(facts, route, &sums)
        && elements.is_some_and(|share| share >= LEAST_OF_ELEMENT);
    is_meant.then_some(sums)
}

/// Whether nearly all reuses that a loop carries have distances that are alike: those from one
/// iteration to the next are as far apart as the inner loop is long. A hash of keys in a row, as by
/// the golden ratio, steps through its table in two or three distances. An estimate, as distances
/// are known of all accesses of the sinks, and not by what carries them.
fn has_one_distance(facts: &MissFacts<'_>, route: &ReuseRoute<'_>, sums: &SinkSums) -> bool {
    let far = sums.histogram.iter();
    let far = far.filter(|(_, high, _)| *high >= facts.items);
    let far = total(far.map(|(_, _, count)| count));
    let alike = regularity(&sums.histogram, facts.items) * far as f64;
    alike >= LEAST_ALIKE * route.misses as f64
}

/// Whether no other loop carries more reuses of a route's line and object. The loop that should be
/// inside carries those of the other elements of a line; a loop around the nest, as over steps in
/// time, carries only those from its last element to its first one. Other loops of its line are
/// copies that a compiler made, if their instructions are others.
fn is_heaviest(facts: &MissFacts<'_>, route: &ReuseRoute<'_>) -> bool {
    let of_loops = facts.routes.iter().filter(|it| it.is_carried_by_loop());
    let mut same = of_loops.filter(|it| (it.object, &it.sink) == (route.object, &route.sink));
    let is_copy = |of: &ReuseRoute<'_>| {
        let mut sinks = of.sinks.iter();
        of.scope_words == route.scope_words && !sinks.any(|site| route.sinks.contains(site))
    };
    // The heaviest route is the first one.
    same.next()
        .is_none_or(|first| first.carrier == route.carrier || is_copy(first))
}

fn finding(facts: &MissFacts<'_>, group: &RouteGroup<'_, '_>) -> Option<Finding> {
    let (route, _) = group.heaviest();
    let (objects, scope) = (group.objects(facts), &route.scope_words);
    // Without those that remain where each fill uses all bytes that are ever used.
    let saved = group.routes().map(|(route, sums)| {
        let needed = used_of_ever_used(facts, route, sums);
        part(route.misses, 1.0 - needed)
    });
    Some(Finding {
        rule: &RULE,
        place: facts.place(Some(route.object), |cell| facts.is_sink(route, cell)),
        evidence: evidence(facts, group),
        cost: cost(facts, total(saved))?,
        remedy: format!(
            "Exchange the loops, so that {scope} is the innermost one and walks through the lines \
             of {objects} one element after the other. Where that makes another array stride, work \
             in tiles, or store {objects} transposed."
        ),
        confidence: Confidence::Likely,
    })
}

/// The bytes that a fill of a route's sinks uses, as a share of those of a line that are ever used,
/// from 0 to 1. Where all accesses to the object use the same bytes of the lines, it is 1: no order
/// of loops uses more of them. A pass that initialises the other bytes uses them, too.
///
/// An estimate: what is ever used is the mean over the object, by the fills that accesses to it
/// made. In profiles of earlier versions all bytes count as used.
fn used_of_ever_used(facts: &MissFacts<'_>, route: &ReuseRoute<'_>, sums: &SinkSums) -> f64 {
    let line = facts.line_bytes();
    let object = facts.object_sums(route.object);
    let lines = object.cold.saturating_mul(line) as f64;
    let ever = match object.causes.new_bytes {
        0 => 1.0,
        new => (new as f64 / lines.max(1.0)).min(1.0),
    };
    (sums.utilisation(line) / ever).min(1.0)
}

/// How evenly the bytes of an object's elements are used, from 0 to 1: the mean of the fills that
/// use each byte, by the largest. Of an array of structures of which a loop uses one field it is
/// small, of numbers it is 1. Bytes that are brought in do not count: those at the ends of rows
/// that are blocks by themselves share their lines with other data. 0 of nodes that are linked:
/// their order is that of the links. `None` if the size of elements is not known.
fn use_of_elements(facts: &MissFacts<'_>, object: u32) -> Option<f64> {
    let mut structures = facts.structures();
    if structures.any(|it| it.object == object && it.link().is_some()) {
        return Some(0.0);
    }
    let elements = facts.elements_of(object);
    let (mut bytes, mut sum, mut largest) = (0_u64, 0_u64, 0_u64);
    for used in elements.flat_map(|it| &it.used) {
        bytes += 1;
        sum = sum.saturating_add(*used);
        largest = largest.max(*used);
    }
    (bytes > 0).then(|| match largest {
        0 => 0.0,
        _ => sum as f64 / bytes as f64 / largest as f64,
    })
}

fn evidence(facts: &MissFacts<'_>, group: &RouteGroup<'_, '_>) -> Vec<String> {
    let mut evidence = group.evidence(|(route, sums)| evicted(facts, route, sums));
    let line = facts.line_bytes();
    let (route, sums) = group.heaviest();
    evidence.extend([
        format!(
            "Of {}, {} of each line is used before it is evicted, and {} of what is ever used of it.",
            facts.object(route.object).name,
            ratio_percent(sums.utilisation(line)),
            ratio_percent(used_of_ever_used(facts, route, sums))
        ),
        format!(
            "Between two uses of a line are {}; {} holds {}.",
            route.distance_words(line),
            facts.cache_words(),
            grouped(facts.items)
        ),
    ]);
    evidence
}

/// What is fetched again of one route.
fn evicted(facts: &MissFacts<'_>, route: &ReuseRoute<'_>, sums: &SinkSums) -> String {
    let sink = route.sink.as_deref().unwrap_or("this code");
    format!(
        "{} of {} accesses of {sink} to {} ({}) find a line evicted that an earlier iteration of \
         {} used.",
        grouped(route.misses),
        grouped(sums.accesses),
        facts.object(route.object).name,
        percent(route.misses, sums.accesses),
        route.scope_words,
    )
}
