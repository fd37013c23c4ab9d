//! Data that is used once and evicts data that is used again.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_units::{grouped, percent};

use super::{cost, part};
use crate::facts::{MissFacts, MissSums};

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "streaming",
    title: "Streamed data evicts data that is used again",
    what: "Data of which each line is used by one instruction, each byte once, before it is \
           evicted, and without which reuses of other data would hit that miss now.",
    why: "Lines that are not used again take the place of those that are.",
    example: Example {
        before: "for (i = 0; i < n; i++) out[i] = table[in[i]];",
        after: "for (i = 0; i < n; i++) _mm_stream_si32(&out[i], table[in[i]]);",
    },
    limits: "Assumes that streamed lines are spread evenly between the uses of the others. Stores \
             past the cache cost more where the data is read soon.",
    source: "Intel 64 and IA-32 Optimization Reference Manual, Non-Temporal Stores; Sandberg, \
             Eklöv and Hagersten, Reducing Cache Pollution Through Detection and Elimination of \
             Non-Temporal Memory Accesses, SC 2010",
};

/// The least share of an object's fills that are used once.
const LEAST_SINGLE_USE: f64 = 0.9;
/// The least share of all fills that an object makes, so that what it evicts shows.
const LEAST_OF_FILLS: f64 = 0.2;
/// The most: beyond, nearly nothing else is there that could be evicted.
const MOST_OF_FILLS: f64 = 0.9;

/// The least share of the misses of stores, for stores past the cache to be the change.
const LEAST_STORED: f64 = 0.75;
/// The least share of all misses that must be saved: less is within the error of an estimate that
/// spreads the streamed lines evenly.
const LEAST_SAVED: f64 = 0.15;

/// Where it applies.
pub(super) fn find(facts: &MissFacts<'_>) -> Vec<Finding> {
    let streams: Vec<(u32, &MissSums)> = facts
        .known_objects()
        .filter(|(_, sums)| is_streamed(sums))
        .collect();
    let found = streams.iter();
    found
        .filter_map(|(object, sums)| finding(facts, *object, sums, &streams))
        .collect()
}

fn is_streamed(sums: &MissSums) -> bool {
    sums.causes.single_use_fills as f64 >= LEAST_SINGLE_USE * sums.causes.fills.max(1) as f64
}

fn finding(
    facts: &MissFacts<'_>,
    object: u32,
    sums: &MissSums,
    streams: &[(u32, &MissSums)],
) -> Option<Finding> {
    let share = sums.misses as f64 / facts.misses.max(1) as f64;
    if !(LEAST_OF_FILLS..=MOST_OF_FILLS).contains(&share) {
        return None;
    }
    // Distances without this object's lines are shorter by its share of what comes between.
    let reach = (facts.items as f64 / (1.0 - share)) as u64;
    let mut saved = 0;
    let mut victims: Vec<(u64, u32)> = Vec::new();
    for (other, histogram) in (0..).zip(facts.object_histograms()) {
        let is_stream = streams.iter().any(|(stream, _)| *stream == other);
        if other == object || is_stream {
            continue;
        }
        let hits = histogram
            .misses(facts.items)
            .saturating_sub(histogram.misses(reach));
        saved = u64::saturating_add(saved, hits);
        victims.push((hits, other));
    }
    let cost = cost(facts, saved).filter(|cost| cost.share >= LEAST_SAVED)?;
    let (most, victim) = victims.into_iter().rev().max_by_key(|(hits, _)| *hits)?;
    let (name, victim) = (&facts.object(object).name, &facts.object(victim).name);
    let evidence = vec![
        format!(
            "{} of {} lines of {name} that misses in {} bring in are used once, and make {} of all \
             misses.",
            grouped(sums.causes.single_use_fills),
            grouped(sums.causes.fills),
            facts.cache_words(),
            percent(sums.misses, facts.misses)
        ),
        format!(
            "Without them, about {} reuses of other data would hit, {} of them of {victim}.",
            grouped(saved),
            grouped(most)
        ),
    ];
    Some(Finding {
        rule: &RULE,
        place: facts.object_place(object),
        evidence,
        cost,
        remedy: remedy(facts, object, name),
        confidence: Confidence::Possible,
    })
}

/// What to change: stores past the cache, or loads that leave it soon.
fn remedy(facts: &MissFacts<'_>, object: u32, name: &str) -> String {
    let cells = facts.profile.cells.iter();
    let mine = cells.filter(|cell| facts.object_of(cell.object) == object);
    let (mut stored, mut all) = (0, 0);
    for cell in mine {
        let misses = facts.misses_of(cell);
        all = u64::saturating_add(all, misses);
        let site = facts.profile.sites.get(cell.site as usize);
        if site.is_some_and(|site| site.kind.contains("store")) {
            stored = u64::saturating_add(stored, misses);
        }
    }
    if stored >= part(all, LEAST_STORED) {
        format!("Write {name} past the cache with non-temporal stores (_mm_stream_pd).")
    } else {
        format!(
            "Prefetch {name} with the non-temporal hint (_mm_prefetch with _MM_HINT_NTA), so that \
             its lines leave the cache first."
        )
    }
}
