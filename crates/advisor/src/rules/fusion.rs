//! Two passes over data that are longer than the cache.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_units::grouped;

use super::{cost, loops_often};
use crate::facts::{MissFacts, ReuseRoute, SinkSums, per_cent};

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "fusion",
    title: "Two passes that could be one",
    what: "Data that one loop or call uses and another one after it uses again, at distances that \
           are alike and beyond the cache.",
    why: "The first pass has evicted the beginning of the data when the second one begins, so that \
          all of it is fetched twice.",
    example: Example {
        before: "for (i = 0; i < n; i++) b[i] = f(a[i]);\nfor (i = 0; i < n; i++) sum += b[i];",
        after: "for (i = 0; i < n; i++) {\n  b[i] = f(a[i]);\n  sum += b[i];\n}",
    },
    limits: "The second pass may need all results of the first one: then work on a part of the data \
             in both passes before the next part, or in the opposite direction.",
    source: "Ding and Kennedy, Improving Effective Bandwidth through Compiler Enhancement of Global \
             Cache Reuse, IPDPS 2001; Marin and Mellor-Crummey, ISPASS 2008, section 3, table I",
};

/// Where it applies.
pub(super) fn find(facts: &MissFacts<'_>) -> Vec<Finding> {
    let routes = facts.routes();
    routes
        .iter()
        .filter_map(|route| finding(facts, route))
        .collect()
}

fn finding(facts: &MissFacts<'_>, route: &ReuseRoute<'_>) -> Option<Finding> {
    let cost = cost(facts, route.misses)?;
    let is_pair = route.is_between_passes() && !route.is_same_place;
    if !is_pair || !facts.is_known(route.object) {
        return None;
    }
    let sums = facts.sink_sums(route);
    if !loops_often(facts, route, &sums) {
        return None;
    }
    let (source, sink) = ends(route);
    Some(Finding {
        rule: &RULE,
        place: facts.place(Some(route.object), |cell| facts.is_sink(route, cell)),
        evidence: evidence(facts, route, &sums),
        cost,
        remedy: format!(
            "Fuse the loops of {source} and {sink}: use each part of {} in both while it is in the \
             cache.",
            facts.object(route.object).name
        ),
        confidence: Confidence::Likely,
    })
}

fn ends<'a>(route: &'a ReuseRoute<'_>) -> (&'a str, &'a str) {
    let source = route.source.as_deref().unwrap_or("the code before");
    let sink = route.sink.as_deref().unwrap_or("this code");
    (source, sink)
}

fn evidence(facts: &MissFacts<'_>, route: &ReuseRoute<'_>, sums: &SinkSums) -> Vec<String> {
    let (source, sink) = ends(route);
    let object = &facts.object(route.object).name;
    vec![
        format!(
            "{} of {} accesses of {sink} to {object} ({}) find a line evicted that {source} used \
             before, within {}.",
            grouped(route.misses),
            grouped(sums.accesses),
            per_cent(route.misses, sums.accesses),
            route.scope_words(),
        ),
        format!(
            "Between the two uses are {}; {} holds {}.",
            route.distance_words(facts.line_bytes()),
            facts.cache_words(),
            grouped(facts.items)
        ),
    ]
}
