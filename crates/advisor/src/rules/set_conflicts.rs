//! Lines that compete for a few sets of a cache.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_profile::{Cell, SetCache};
use reuselens_units::{Bytes, grouped, percent, ratio_percent};

use super::{cost_of, misses_often};
use crate::facts::MissFacts;

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "set-conflicts",
    title: "Strides that use a few sets of the cache",
    what: "Objects with at least twice as many misses in a cache with the machine's sets as in a \
           fully associative one of the same size. Where another object fills these sets and uses \
           its lines in part, that one has the stride.",
    why: "Addresses that are a multiple of the sets apart, as in columns of rows of a power of two, \
          use the same set, which holds a few lines only; the rest of the cache stays empty.",
    example: Example {
        before: "double a[1024][1024];",
        after: "double a[1024][1024 + 8];",
    },
    limits: "Blocks with no two lines of one set are not looked at: nodes that are allocated one by \
             one have no rows to pad. Addresses are virtual: in a cache whose sets are picked by \
             physical ones (L2 and beyond), pages of the system decide, unless they are huge. Caches \
             that hash addresses have fewer conflicts. The share is that of all misses of the cache \
             with its sets.",
    source: "Hill and Smith, Evaluating Associativity in CPU Caches, IEEE Transactions on Computers \
             1989; Intel 64 and IA-32 Optimization Reference Manual, Cache Capacity Limits and \
             Aliasing",
};

/// How many times the misses of a fully associative cache there must be. Programs without strides
/// have up to a half more.
const LEAST_RATIO: f64 = 2.0;
/// The most of a line that strides use.
const MOST_UTILISATION: f64 = 0.5;

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
        let counts = by_object(facts, at, cache);
        for (victim, conflicts) in (0..).zip(&counts) {
            let object = strided_object(facts, victim, &counts);
            let Some(new) = finding(facts, (at, cache), [victim, object], conflicts) else {
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

/// The share of an object's lines that is used; 1 where that is not known.
fn utilisation(facts: &MissFacts<'_>, object: u32) -> f64 {
    let causes = &facts.object_sums(object).causes;
    causes.utilisation(facts.line_bytes()).unwrap_or(1.0)
}

/// The object whose stride lets a victim miss. Strides use lines in part; a victim that does not is
/// evicted by another object, with a fill for each of its conflict misses at least.
fn strided_object(facts: &MissFacts<'_>, victim: u32, counts: &[ConflictCounts]) -> u32 {
    let conflicts = counts[victim as usize].conflicts();
    let is_strided = |object: u32| utilisation(facts, object) <= MOST_UTILISATION;
    if conflicts == 0 || is_strided(victim) {
        return victim;
    }
    let others = (0..).zip(counts).filter(|(object, counts)| {
        counts.sets >= conflicts && facts.is_known(*object) && is_strided(*object)
    });
    let most = others.max_by_key(|(_, counts)| counts.sets);
    most.map_or(victim, |(object, _)| object)
}

/// How far apart addresses are that use one set.
fn apart(facts: &MissFacts<'_>, cache: &SetCache) -> Bytes {
    Bytes(cache.sets.saturating_mul(facts.line_bytes()))
}

fn finding(
    facts: &MissFacts<'_>,
    (at, cache): (usize, &SetCache),
    [victim, object]: [u32; 2],
    counts: &ConflictCounts,
) -> Option<Finding> {
    let conflicts = counts.conflicts();
    // Smaller blocks have no two lines of one set, and so no rows to pad.
    let apart = apart(facts, cache);
    let is_meant = facts.is_known(victim)
        && facts.object_longest(object) >= apart.get()
        && counts.sets as f64 >= LEAST_RATIO * counts.associative as f64
        && misses_often(conflicts, counts.accesses);
    let cost = cost_of(conflicts, cache.misses, "conflict misses").filter(|_| is_meant)?;
    let mine = |cell: &&Cell| facts.object_of(cell.object) == object;
    let cells = facts.profile.cells.iter().filter(mine);
    let worst = cells.rev().max_by_key(|cell| set_misses(cell, at))?;
    let (name, line) = (&facts.object(object).name, facts.line_bytes());
    Some(Finding {
        rule: &RULE,
        place: facts.place(Some(object), |cell| std::ptr::eq(cell, worst)),
        evidence: evidence(facts, cache, [victim, object], counts),
        cost,
        remedy: format!(
            "Pad the rows of {name} by a line ({line} bytes), or choose their length so that it is \
             no multiple of {apart} or a large power of two."
        ),
        confidence: Confidence::Likely,
    })
}

fn evidence(
    facts: &MissFacts<'_>,
    cache: &SetCache,
    [victim, object]: [u32; 2],
    counts: &ConflictCounts,
) -> Vec<String> {
    let apart = apart(facts, cache);
    let mut evidence = vec![
        format!(
            "{} has {} misses in {} with its {} sets of {} lines, and {} in a fully associative \
             cache of the same size: {} are conflicts.",
            facts.object(victim).name,
            grouped(counts.sets),
            cache.name,
            grouped(cache.sets),
            grouped(cache.ways),
            grouped(counts.associative),
            percent(counts.conflicts(), counts.sets)
        ),
        format!("Addresses that are a multiple of {apart} apart use one set."),
    ];
    if victim != object {
        evidence.push(format!(
            "{} fills these sets, and uses {} of each line.",
            facts.object(object).name,
            ratio_percent(utilisation(facts, object))
        ));
    }
    evidence
}
