//! Threads that take lines from each other although none uses what the other writes.

use std::collections::{BTreeMap, BTreeSet};

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_profile::{SharedData, SharedEnd};
use reuselens_units::{counted, grouped, percent};

use super::{cost_of, part};
use crate::facts::MissFacts;

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "false-sharing",
    title: "False sharing",
    what: "Data of which threads invalidate each other's lines, while most times no thread uses a \
           byte that another has written.",
    why: "The line moves from core to core with every store, and each access waits for it.",
    example: Example {
        before: "long counts[THREADS];\n… counts[thread]++;",
        after: "struct { alignas(64) long count; } counts[THREADS];\n… counts[thread].count++;",
    },
    limits: "Counted for private caches of any size, in the order in which the threads ran while \
             they were recorded: on a busy machine they take turns more rarely than without \
             recording, and the finding then gives an upper bound. The share is that of all misses \
             and invalidations together.",
    source: "Torrellas, Lam and Hennessy, False Sharing and Spatial Locality in Multiprocessor \
             Caches, IEEE Transactions on Computers 1994; perf c2c",
};

/// Where fewer invalidations were counted than are worth a finding: the fewest that show that the
/// threads use the line by turns, and not one after the other, as when data are handed over.
const LEAST_TURNS: u64 = 16;
/// As many turns of a pair of accesses at one line are enough: data that are handed over have one
/// turn for each line.
const LEAST_TURNS_OF_LINE: u64 = 2;

/// The pairs of accesses to two objects, in either direction.
#[derive(Default)]
struct Pairs<'a> {
    pairs: Vec<&'a SharedData>,
    false_sharing: u64,
    true_sharing: u64,
}

/// Where it applies.
pub(super) fn find(facts: &MissFacts<'_>) -> Vec<Finding> {
    let mut objects: BTreeMap<[u32; 2], Pairs<'_>> = BTreeMap::new();
    let mut invalidations = 0_u64;
    for pair in &facts.causes.shared {
        let mut key = [pair.writer, pair.victim].map(|end| facts.object_of(end.object));
        key.sort_unstable();
        let pairs = objects.entry(key).or_default();
        pairs.false_sharing = pairs.false_sharing.saturating_add(pair.false_sharing);
        pairs.true_sharing = pairs.true_sharing.saturating_add(pair.true_sharing);
        pairs.pairs.push(pair);
        let both = pair.false_sharing.saturating_add(pair.true_sharing);
        invalidations = invalidations.saturating_add(both);
    }
    let all = facts.misses.saturating_add(invalidations);
    let found = objects.iter();
    found
        .filter_map(|(objects, pairs)| finding(facts, *objects, pairs, all))
        .collect()
}

fn finding(
    facts: &MissFacts<'_>,
    objects: [u32; 2],
    pairs: &Pairs<'_>,
    all: u64,
) -> Option<Finding> {
    // Pairs beyond those that are kept count for the unknown object.
    let is_known = objects.iter().any(|object| facts.is_known(*object));
    if pairs.false_sharing <= pairs.true_sharing || !is_known {
        return None;
    }
    let worst = pairs.pairs.iter().max_by_key(|pair| pair.false_sharing)?;
    let victim = worst.victim;
    let object = facts.object_of(victim.object);
    let mut evidence = evidence(facts, pairs, worst);
    let (cost, confidence) = match cost_of(pairs.false_sharing, all, "invalidations") {
        Some(cost) => (cost, Confidence::Certain),
        None if !takes_turns(pairs) => return None,
        None => {
            let accesses = losing_accesses(facts, objects, pairs);
            evidence.push(format!(
                "The threads ran mostly one after the other while they were recorded. Where they \
                 run at one time, up to {} accesses may find their line invalidated.",
                grouped(accesses)
            ));
            let all = facts.misses.saturating_add(accesses);
            let unit = "invalidations at most";
            (cost_of(accesses, all, unit)?, Confidence::Possible)
        }
    };
    Some(Finding {
        rule: &RULE,
        place: facts.place(Some(object), |cell| {
            cell.site == victim.site && facts.object_of(cell.object) == object
        }),
        evidence,
        cost,
        remedy: remedy(facts, objects),
        confidence,
    })
}

/// Whether the threads use lines by turns, as far as the few invalidations show it: many of them,
/// or several of one pair of accesses for each line that it shares.
fn takes_turns(pairs: &Pairs<'_>) -> bool {
    let of_a_line = |pair: &&SharedData| pair.false_sharing / pair.lines.max(1);
    let most = pairs.pairs.iter().map(of_a_line).max().unwrap_or(0);
    pairs.false_sharing >= LEAST_TURNS || most >= LEAST_TURNS_OF_LINE
}

fn evidence(facts: &MissFacts<'_>, pairs: &Pairs<'_>, worst: &SharedData) -> Vec<String> {
    let both = pairs.false_sharing.saturating_add(pairs.true_sharing);
    let lines = pairs.pairs.iter().map(|pair| pair.lines).max().unwrap_or(0);
    let mut evidence = vec![
        format!(
            "{} of {} invalidations ({}) took a line from a thread that used only bytes which no \
             other thread had written.",
            grouped(pairs.false_sharing),
            grouped(both),
            percent(pairs.false_sharing, both)
        ),
        format!(
            "Most: {} stores, then {} finds its line invalidated, in {}.",
            end_words(facts, &worst.writer),
            end_words(facts, &worst.victim),
            counted(lines, "line", "lines")
        ),
    ];
    let threads = threads(facts, worst);
    if !threads.is_empty() {
        evidence.push(format!("Threads: {}.", threads.join(", ")));
    }
    evidence
}

/// Accesses to the objects by cells that lost a line by false sharing: of large objects those to
/// the share of the lines that were lost, as only the borders of what each thread uses are.
fn losing_accesses(facts: &MissFacts<'_>, objects: [u32; 2], pairs: &Pairs<'_>) -> u64 {
    let lines = pairs
        .pairs
        .iter()
        .fold(0, |sum: u64, pair| sum.saturating_add(pair.lines));
    let lost = lines.saturating_mul(facts.line_bytes()) as f64;
    let cells = facts.profile.cells.iter();
    let losing = cells.filter(|cell| {
        cell.causes.false_sharing > 0 && objects.contains(&facts.object_of(cell.object))
    });
    losing.fold(0, |sum: u64, cell| {
        let bytes = facts.object_bytes(facts.object_of(cell.object)).max(1);
        sum.saturating_add(part(cell.histogram.accesses(), lost / bytes as f64))
    })
}

/// The threads that lose lines there.
fn threads(facts: &MissFacts<'_>, worst: &SharedData) -> Vec<String> {
    let cells = facts.profile.cells.iter();
    let losing = cells.filter(|cell| {
        cell.causes.false_sharing > 0
            && facts.object_of(cell.object) == facts.object_of(worst.victim.object)
    });
    let threads: BTreeSet<u32> = losing.map(|cell| cell.thread).collect();
    let name = |thread: u32| {
        facts
            .profile
            .threads
            .get(thread as usize)
            .map(|it| it.name.clone())
    };
    threads.into_iter().filter_map(name).take(8).collect()
}

/// One side for people: `a.c:12 (left of Counters)`.
fn end_words(facts: &MissFacts<'_>, end: &SharedEnd) -> String {
    let line = facts.site_line(end.site);
    let line = line.unwrap_or_else(|| "unknown code".to_owned());
    let field = end.offset.and_then(|at| facts.causes.field(end.object, at));
    match field {
        Some((layout, field)) => format!("{line} (`{}` of {})", field.name, layout.name),
        None => line,
    }
}

fn remedy(facts: &MissFacts<'_>, [one, other]: [u32; 2]) -> String {
    let line = facts.line_bytes();
    let name = |object: u32| facts.object(object).name.clone();
    if one == other {
        format!(
            "Give what each thread writes of {} a line of its own (alignas({line})), or let each \
             thread collect in a local variable and store once at the end.",
            name(one)
        )
    } else {
        format!(
            "Put {} and {} on different lines: align one of them to {line} bytes \
             (alignas({line})).",
            name(one),
            name(other)
        )
    }
}
