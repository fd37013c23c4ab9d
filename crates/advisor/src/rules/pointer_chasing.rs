//! Nodes that are scattered over memory and linked by pointers.

use reuselens_advice::{Confidence, Example, Finding, FindingRule};
use reuselens_profile::ObjectKind;
use reuselens_units::{grouped, percent, ratio_percent};

use super::{cost, part};
use crate::facts::{MissFacts, MissSums, StructureUse, total};

/// The rule.
pub static RULE: FindingRule = FindingRule {
    name: "pointer-chasing",
    title: "Pointers to scattered nodes",
    what: "Nodes of at most 32 bytes, linked by pointers or allocated one by one, of which one \
           access in ten misses or more, and one node of a line is used before the line is \
           evicted: neighbours in memory are not neighbours in the order of the accesses.",
    why: "Each node costs a line of its own, and the next address is known only when the line has \
          come.",
    example: Example {
        before: "for (node = head; node; node = node->next) sum += node->value;",
        after: "for (i = 0; i < count; i++) sum += values[i];   // or: nodes in one array, in the \
                order of the list",
    },
    limits: "Where types are not known, many small blocks of one size count as nodes. Larger \
             nodes are not looked at: they have a line of their own in any order.",
    source: "Chilimbi, Hill and Larus, Cache-Conscious Structure Layout, PLDI 1999",
};

/// Nodes whose bytes may be used of each line: nodes in the order of the list use two or more. A
/// quarter is for those that are neighbours by chance.
const MOST_NODES: f64 = 1.25;
/// The largest node of which two fit a line, with the header of an allocator.
const MOST_NODE_BYTES: u64 = 32;
/// Blocks that are nodes at least.
const LEAST_NODES: u64 = 1000;
/// The least share of the accesses that miss. Each visit of a node is a few accesses.
const LEAST_MISS_RATIO: f64 = 0.1;

/// Where it applies.
pub(super) fn find(facts: &MissFacts<'_>) -> Vec<Finding> {
    let structures: Vec<StructureUse<'_>> = facts.structures().collect();
    let objects = facts.known_objects();
    objects
        .filter_map(|(object, sums)| {
            let structure = structures.iter().find(|it| it.object == object);
            finding(facts, object, sums, structure)
        })
        .collect()
}

fn finding(
    facts: &MissFacts<'_>,
    object: u32,
    sums: &MissSums,
    structure: Option<&StructureUse<'_>>,
) -> Option<Finding> {
    let utilisation = sums.causes.utilisation(facts.line_bytes())?;
    let link = structure.and_then(StructureUse::link);
    let are_nodes = link.is_some() || is_of_small_blocks(facts, object);
    let misses_often = sums.misses as f64 >= LEAST_MISS_RATIO * sums.accesses as f64;
    // Blocks of several sizes are no nodes of which the size is known.
    let node = structure?.element;
    let nodes = nodes_of_a_line(facts, sums, structure?);
    if node > MOST_NODE_BYTES || nodes > MOST_NODES || !are_nodes || !misses_often {
        return None;
    }
    let name = &facts.object(object).name;
    let mut evidence = vec![
        format!(
            "{} of {} accesses to {name} miss in {} ({}).",
            grouped(sums.misses),
            grouped(sums.accesses),
            facts.cache_words(),
            percent(sums.misses, sums.accesses)
        ),
        format!(
            "{} of each line is used before it is evicted: the nodes beside it are not those that \
             come next.",
            ratio_percent(utilisation)
        ),
    ];
    if let (Some(link), Some(structure)) = (link, structure) {
        evidence.push(format!(
            "{} is linked by `{}`.",
            structure.name(),
            link.field.name
        ));
    }
    Some(Finding {
        rule: &RULE,
        place: facts.object_place(object),
        evidence,
        cost: cost(facts, part(sums.misses, 1.0 - utilisation))?,
        remedy: format!(
            "Put the nodes of {name} into one array, in the order in which they are visited (sort \
             them, or allocate them from a pool), or store several values in each node."
        ),
        confidence: match link {
            Some(_) => Confidence::Likely,
            None => Confidence::Possible,
        },
    })
}

/// How many nodes of a line are used before it is evicted, on average, by an estimate. Beside a
/// node that is a block by itself, the other bytes used of its line are taken for those of more
/// nodes. Of other nodes, the field that is used most is used of each node that is visited.
fn nodes_of_a_line(facts: &MissFacts<'_>, sums: &MissSums, structure: &StructureUse<'_>) -> f64 {
    if facts.is_single(structure) {
        // Only nodes whose offset is known are in the structure.
        let known = total(structure.fields.iter().map(|field| field.misses));
        let known = (known as f64 / sums.misses.max(1) as f64).min(1.0);
        known * sums.causes.used_bytes as f64 / structure.used.max(1) as f64
    } else {
        let nodes = facts.line_bytes() as f64 / structure.element.max(1) as f64;
        structure.visited() * nodes
    }
}

/// Whether an object is many small blocks of the heap.
fn is_of_small_blocks(facts: &MissFacts<'_>, object: u32) -> bool {
    let entry = facts.object(object);
    let blocks = facts.object_blocks(object);
    entry.kind == ObjectKind::Heap
        && blocks >= LEAST_NODES
        // More than one of them lives at a time.
        && facts.object_bytes(object) >= LEAST_NODES * 8
}
