//! Reuse that an outer loop carries, and that blocking would shorten.

use reuselens_advice::{Confidence, Example, Finding, FindingRule, capitalised};
use reuselens_units::{grouped, percent};

use super::route_group::{self, RouteGroup};
use super::{cost, is_far_beyond, loop_order, loops_often};
use crate::facts::{MissFacts, ReuseRoute, SinkSums, total};

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "blocking",
    title: "Reuse that blocking would shorten",
    what: "Accesses of whose lines more than half is used, or all that is ever used of them, but \
           which a loop uses again only after they were evicted, at distances that are alike, on \
           average of at least one and a half times the cache; in other code than the system's \
           libraries. Structures of which a field is used are not meant.",
    why: "The loop goes through more data than the cache holds before it begins anew, so that each \
          iteration fetches all of it again.",
    example: Example {
        before: "for (i = 0; i < n; i++)\n  for (j = 0; j < n; j++)\n    x[i] += a[i][j] * y[j];",
        after: "for (t = 0; t < n; t += T)\n  for (i = 0; i < n; i++)\n    for (j = t; j < t + T; j++)\n      \
                x[i] += a[i][j] * y[j];",
    },
    limits: "Whether the order may change depends on what the loop computes: an iteration that \
             needs all of the one before cannot be blocked without skewing.",
    source: "Marin and Mellor-Crummey, Pinpointing and Exploiting Opportunities for Enhancing Data \
             Reuse, ISPASS 2008, section 3, table I; Lam, Rothberg and Wolf, The Cache Performance \
             and Optimizations of Blocked Algorithms, ASPLOS 1991",
};

/// Where it applies: once for each loop that carries reuses.
pub(super) fn find(facts: &MissFacts<'_>) -> Vec<Finding> {
    route_group::findings(
        facts,
        |route| applies(facts, route),
        |route| route.carrier,
        |group| finding(facts, group),
    )
}

/// The sums of a route's sinks, if blocking would shorten its reuses.
fn applies(facts: &MissFacts<'_>, route: &ReuseRoute<'_>) -> Option<SinkSums> {
    cost(facts, route.misses)?;
    let is_loop = route.is_carried_by_loop()
        && is_far_beyond(facts, route)
        && !facts.is_of_system(route)
        && !facts.is_new_in_each_iteration(route);
    if !is_loop || !facts.is_known(route.object) {
        return None;
    }
    let sums = facts.sink_sums(route);
    let is_meant = !loop_order::is_strided(facts, route, &sums) && loops_often(facts, route, &sums);
    is_meant.then_some(sums)
}

fn finding(facts: &MissFacts<'_>, group: &RouteGroup<'_, '_>) -> Option<Finding> {
    let (route, _) = group.heaviest();
    Some(Finding {
        rule: &RULE,
        place: facts.place(Some(route.object), |cell| facts.is_sink(route, cell)),
        evidence: evidence(facts, group),
        cost: cost(facts, total(group.routes().map(|(route, _)| route.misses)))?,
        remedy: format!(
            "Block the loops: put a loop over tiles of {} around {}, with tiles of less than half \
             of {}, so that all iterations use a tile while it is there.",
            group.objects(facts),
            route.scope_words,
            facts.cache
        ),
        confidence: Confidence::Likely,
    })
}

fn evidence(facts: &MissFacts<'_>, group: &RouteGroup<'_, '_>) -> Vec<String> {
    let mut evidence = group.evidence(|(route, sums)| carried(facts, route, sums));
    let (route, _) = group.heaviest();
    evidence.push(format!(
        "Between two uses are {}; the cache holds {}.",
        route.distance_words(facts.line_bytes()),
        grouped(facts.items)
    ));
    evidence
}

/// What the loop carries of one route.
fn carried(facts: &MissFacts<'_>, route: &ReuseRoute<'_>, sums: &SinkSums) -> String {
    let sink = route.sink.as_deref().unwrap_or("this code");
    let from = match &route.source {
        Some(source) if !route.is_same_place => format!(" (last used at {source})"),
        _ => String::new(),
    };
    format!(
        "{} carries {} reuses of {} that miss in {}: {} of the accesses of {sink} to it{from}.",
        capitalised(&route.scope_words),
        grouped(route.misses),
        facts.object(route.object).name,
        facts.cache_words(),
        percent(route.misses, sums.accesses),
    )
}
