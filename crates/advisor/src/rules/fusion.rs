//! Two passes over data that are longer than the cache.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_units::{grouped, percent};

use super::route_group::{self, RouteGroup};
use super::{cost, is_far_beyond, loop_order, misses_often};
use crate::facts::{MissFacts, ReuseRoute, SinkSums, octave_share, total};

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "fusion",
    title: "Two passes that could be one",
    what: "Data that one loop or call of the program uses and another one after it uses again, at \
           distances that are alike, on average of at least one and a half times the cache; not \
           where the first one only initialises the data, or lines are used in part.",
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

/// The least share of the distances that are within an octave of each other.
const LEAST_REGULARITY: f64 = 0.7;
/// The least share of an object's misses that are between two passes. What is less happens once, as
/// when data are read in, beside loops that go over them again and again.
const LEAST_OF_OBJECT: f64 = 0.1;
/// The least share of first touches among the misses of a pass that initialises data.
const LEAST_FIRST: f64 = 0.9;

/// Where it applies: once for each pair of lines, whatever carries the reuses: a function carries
/// those of the first time that a loop around both passes runs them. Passes without lines are one
/// pair if they have one carrier.
pub(super) fn find(facts: &MissFacts<'_>) -> Vec<Finding> {
    route_group::findings(
        facts,
        |route| applies(facts, route),
        |route| (ends(route), is_unnamed(route).then_some(route.carrier)),
        |group| finding(facts, group),
    )
}

/// The sums of a route's sinks, if its reuses are between two passes that could be one.
fn applies(facts: &MissFacts<'_>, route: &ReuseRoute<'_>) -> Option<SinkSums> {
    cost(facts, route.misses)?;
    let is_pair = route.is_between_passes() && !route.is_same_place && facts.is_of_own_code(route);
    if !is_pair || !is_far_beyond(facts, route) || !facts.is_known(route.object) {
        return None;
    }
    let of_object = facts.object_sums(route.object).misses;
    if (route.misses as f64) < LEAST_OF_OBJECT * of_object as f64 {
        return None;
    }
    let sums = facts.sink_sums(route);
    // Where each pass strides, its loops are in the wrong order: fused, it would stride as well.
    let is_loop = !loop_order::is_strided(facts, route, &sums)
        && octave_share(&sums.histogram, facts.items) >= LEAST_REGULARITY;
    let is_meant =
        is_loop && misses_often(route.misses, sums.accesses) && !initialises(facts, route);
    is_meant.then_some(sums)
}

fn finding(facts: &MissFacts<'_>, group: &RouteGroup<'_, '_>) -> Option<Finding> {
    let (route, _) = group.heaviest();
    let (source, sink) = ends(route);
    Some(Finding {
        rule: &RULE,
        place: facts.place(Some(route.object), |cell| facts.is_sink(route, cell)),
        evidence: evidence(facts, group),
        cost: cost(facts, total(group.routes().map(|(route, _)| route.misses)))?,
        remedy: format!(
            "Fuse the loops of {source} and {sink}: use each part of {} in both while it is in the \
             cache.",
            group.objects(facts)
        ),
        confidence: Confidence::Likely,
    })
}

/// Whether the first pass only initialises the data: it touches them for the first time, and its
/// line loads nothing else that misses. A pass over other data with results in these is more.
fn initialises(facts: &MissFacts<'_>, route: &ReuseRoute<'_>) -> bool {
    let line = route.source.as_deref();
    let sites = 0..facts.profile.sites.len() as u32;
    let sites: Vec<u32> = sites
        .filter(|site| facts.site_line(*site).as_deref() == line)
        .collect();
    let (mut fills, mut first, mut other) = (0_u64, 0_u64, 0_u64);
    let cells = facts.profile.cells.iter();
    for cell in cells.filter(|cell| sites.binary_search(&cell.site).is_ok()) {
        if facts.object_of(cell.object) == route.object {
            fills = fills.saturating_add(cell.causes.fills);
            first = first.saturating_add(cell.histogram.cold());
        } else if facts.is_load(cell) {
            other = other.saturating_add(cell.causes.fills);
        }
    }
    first as f64 >= LEAST_FIRST * fills as f64 && other < fills / 2
}

/// Whether the line of one of the passes is not known.
fn is_unnamed(route: &ReuseRoute<'_>) -> bool {
    route.source.is_none() || route.sink.is_none()
}

fn ends<'a>(route: &'a ReuseRoute<'_>) -> (&'a str, &'a str) {
    let source = route.source.as_deref().unwrap_or("the code before");
    let sink = route.sink.as_deref().unwrap_or("this code");
    (source, sink)
}

fn evidence(facts: &MissFacts<'_>, group: &RouteGroup<'_, '_>) -> Vec<String> {
    let mut evidence = group.evidence(|(route, sums)| fetched_again(facts, route, sums));
    let (route, _) = group.heaviest();
    evidence.push(format!(
        "Between the two uses are {}; {} holds {}.",
        route.distance_words(facts.line_bytes()),
        facts.cache_words(),
        grouped(facts.items)
    ));
    evidence
}

/// What the second pass fetches again of one route.
fn fetched_again(facts: &MissFacts<'_>, route: &ReuseRoute<'_>, sums: &SinkSums) -> String {
    let (source, sink) = ends(route);
    format!(
        "{} of {} accesses of {sink} to {} ({}) find a line evicted that {source} used before, \
         within {}.",
        grouped(route.misses),
        grouped(sums.accesses),
        facts.object(route.object).name,
        percent(route.misses, sums.accesses),
        route.scope_words,
    )
}
