//! Lines that compete for a few sets of a cache.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_locality::{Cell, SetCache};
use reuselens_units::{Bytes, grouped};

use super::{cost_of, misses_often};
use crate::facts::{MissFacts, per_cent};

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "set-conflicts",
    title: "Strides that use a few sets of the cache",
    what: "Objects with at least twice as many misses in a cache with the machine's sets as in a \
           fully associative one of the same size.",
    why: "Addresses that are a multiple of the sets apart, as in columns of rows of a power of two, \
          use the same set, which holds a few lines only; the rest of the cache stays empty.",
    example: Example {
        before: "double a[1024][1024];",
        after: "double a[1024][1024 + 8];",
    },
    limits: "Addresses are virtual: in a cache whose sets are picked by physical ones (L2 and \
             beyond), pages of the system decide, unless they are huge. Caches that hash addresses \
             have fewer conflicts.",
    source: "Hill and Smith, Evaluating Associativity in CPU Caches, IEEE Transactions on Computers \
             1989; Intel 64 and IA-32 Optimization Reference Manual, Cache Capacity Limits and \
             Aliasing",
};

/// How many times the misses of a fully associative cache there must be. Programs without strides
/// have up to a half more.
const LEAST_RATIO: f64 = 2.0;

/// Misses of an object in a cache with sets, and in a fully associative one.
#[derive(Clone, Copy, Default)]
struct ConflictCounts {
    sets: u64,
    associative: u64,
    accesses: u64,
}

impl ConflictCounts {
    fn conflicts(&self) -> u64 {
        self.sets.saturating_sub(self.associative)
    }
}

/// Where it applies: in the cache in which an object has most conflict misses.
pub(super) fn find(facts: &MissFacts<'_>) -> Vec<Finding> {
    let mut found: Vec<(u32, Finding)> = Vec::new();
    for (at, cache) in facts.causes.set_caches.iter().enumerate() {
        for (object, counts) in (0..).zip(by_object(facts, at, cache)) {
            let Some(new) = finding(facts, cache, object, counts) else {
                continue;
            };
            match found.iter_mut().find(|(known, _)| *known == object) {
                Some((_, known)) if known.cost.amount < new.cost.amount => *known = new,
                Some(_) => {}
                None => found.push((object, new)),
            }
        }
    }
    found.into_iter().map(|(_, finding)| finding).collect()
}

fn by_object(facts: &MissFacts<'_>, at: usize, cache: &SetCache) -> Vec<ConflictCounts> {
    let mut counts = vec![ConflictCounts::default(); facts.profile.objects.len()];
    let items = cache.sets.saturating_mul(cache.ways);
    for cell in &facts.profile.cells {
        if let Some(count) = counts.get_mut(facts.object_of(cell.object) as usize) {
            let add = |into: &mut u64, more: u64| *into = into.saturating_add(more);
            add(&mut count.sets, set_misses(cell, at));
            add(&mut count.associative, cell.histogram.misses(items));
            add(&mut count.accesses, cell.histogram.accesses());
        }
    }
    counts
}

fn set_misses(cell: &Cell, at: usize) -> u64 {
    cell.causes.set_misses.get(at).copied().unwrap_or(0)
}

fn finding(
    facts: &MissFacts<'_>,
    cache: &SetCache,
    object: u32,
    counts: ConflictCounts,
) -> Option<Finding> {
    let conflicts = counts.conflicts();
    let is_meant = facts.is_known(object)
        && counts.sets as f64 >= LEAST_RATIO * counts.associative as f64
        && misses_often(conflicts, counts.accesses);
    let cost = cost_of(conflicts, cache.misses, "conflict misses").filter(|_| is_meant)?;
    let at = facts.causes.set_caches.iter().position(|it| it == cache)?;
    let items = cache.sets.saturating_mul(cache.ways);
    let conflicts_of =
        |cell: &Cell| set_misses(cell, at).saturating_sub(cell.histogram.misses(items));
    let mine = |cell: &&Cell| facts.object_of(cell.object) == object;
    let cells = facts.profile.cells.iter().filter(mine);
    let worst = cells.rev().max_by_key(|cell| conflicts_of(cell))?;
    let (name, line) = (&facts.object(object).name, facts.line_bytes());
    let apart = Bytes(cache.sets.saturating_mul(line));
    Some(Finding {
        rule: &RULE,
        place: facts.place(Some(object), |cell| std::ptr::eq(cell, worst)),
        evidence: vec![
            format!(
                "{name} has {} misses in {} with its {} sets of {} lines, and {} in a fully \
                 associative cache of the same size: {} are conflicts.",
                grouped(counts.sets),
                cache.name,
                grouped(cache.sets),
                grouped(cache.ways),
                grouped(counts.associative),
                per_cent(conflicts, counts.sets)
            ),
            format!("Addresses that are a multiple of {apart} apart use one set."),
        ],
        cost,
        remedy: format!(
            "Pad the rows of {name} by a line ({line} bytes), or choose their length so that it is \
             no multiple of {apart} or a large power of two."
        ),
        confidence: Confidence::Likely,
    })
}
