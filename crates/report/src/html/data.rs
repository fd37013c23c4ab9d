//! The numbers that the page's script works with.

use std::collections::BTreeMap;

use reuselens_locality::{CrossGroup, Dimension, FineHistogram, Group, Profile};
use serde_json::{Value, json};

use super::scene::Scene;
use crate::numbers::count;

/// One table of groups.
pub(crate) struct Table {
    /// The dimension, or both.
    pub(crate) by: &'static str,
    /// What its tab says.
    pub(crate) title: &'static str,
    /// What the first column holds.
    pub(crate) head: &'static str,
    /// What a reader should know about it.
    pub(crate) note: &'static str,
    pub(crate) rows: Vec<Row>,
    /// The groups that there was no room for: how many, and their sum.
    pub(crate) left_out: Option<(usize, FineHistogram)>,
}

/// One group of accesses, as a row of a table.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) histogram: FineHistogram,
    pub(crate) mean: Option<f64>,
}

impl From<Group> for Row {
    fn from(group: Group) -> Self {
        Row {
            mean: (group.accesses > group.cold).then_some(group.mean),
            name: group.name,
            histogram: group.histogram,
        }
    }
}

impl From<CrossGroup> for Row {
    fn from(cross: CrossGroup) -> Self {
        let mut row = Row::from(cross.group);
        row.name = format!("{} · {}", row.name, cross.name);
        row
    }
}

impl Table {
    fn new(words: [&'static str; 4], mut rows: Vec<Row>, top: usize) -> Self {
        let rest = rows.split_off(top.min(rows.len()));
        let left_out = (!rest.is_empty()).then(|| {
            let mut sum = FineHistogram::new();
            rest.iter().for_each(|row| sum.merge(&row.histogram));
            (rest.len(), sum)
        });
        let [by, title, head, note] = words;
        Table {
            by,
            title,
            head,
            note,
            rows,
            left_out,
        }
    }

    fn json(&self) -> Value {
        let names: Vec<&str> = self.rows.iter().map(|row| row.name.as_str()).collect();
        let histograms: Vec<Value> = self
            .rows
            .iter()
            .map(|row| histogram(&row.histogram, row.mean))
            .collect();
        let rest = self
            .left_out
            .as_ref()
            .map(|(groups, sum)| json!([count(*groups as u64), histogram(sum, None)]));
        json!({ "names": names, "h": histograms, "rest": rest })
    }
}

/// What the tables of one dimension say: key, tab, head of the first column, note.
const WORDS: [(Dimension, [&str; 4]); 6] = [
    (
        Dimension::Line,
        [
            "line",
            "Lines",
            "Source line",
            "The lines whose accesses miss.",
        ],
    ),
    (
        Dimension::Object,
        [
            "object",
            "Objects",
            "Data object",
            "The variables, heap blocks and stacks that are missed.",
        ],
    ),
    (
        Dimension::Element,
        [
            "element",
            "Elements",
            "Element",
            "The elements of most misses. The strips are whole structures from end to end: the accesses to \
             each element, those that miss in orange.",
        ],
    ),
    (
        Dimension::Function,
        [
            "function",
            "Functions",
            "Function",
            "The function whose source the access is in, callees not included.",
        ],
    ),
    (
        Dimension::Context,
        [
            "context",
            "Contexts",
            "Calls that lead there",
            "One row for each chain of calls, callees not included.",
        ],
    ),
    (
        Dimension::Thread,
        [
            "thread",
            "Threads",
            "Thread",
            "Who accessed. All threads share one cache here.",
        ],
    ),
];

/// What the table of lines and objects says.
const CROSS: [&str; 4] = [
    "line-object",
    "Line × object",
    "Line · object",
    "Which data each line misses on.",
];

/// All tables of a page, in the order of their tabs.
pub(crate) fn tables(scene: &Scene) -> Vec<Table> {
    let mut tables = Vec::new();
    for (by, words) in WORDS {
        if !tells(scene.profile, by) {
            continue;
        }
        if by == Dimension::Element {
            tables.extend(elements(scene, words));
            continue;
        }
        let groups = scene.profile.groups(by).into_iter().map(Row::from);
        tables.push(Table::new(words, groups.collect(), scene.top));
        if by == Dimension::Line {
            let cross = scene.profile.cross(by, Dimension::Object).into_iter();
            tables.push(Table::new(CROSS, cross.map(Row::from).collect(), scene.top));
        }
    }
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// Whether a table would say anything: one thread alone does not, and has no table of its own.
fn tells(profile: &Profile, by: Dimension) -> bool {
    match by {
        Dimension::Thread => profile.threads.len() > 1 || profile.tells(Dimension::Line),
        by => profile.tells(by),
    }
}

/// Elements that their table has at most: they are many, and alike.
const ELEMENTS: usize = 100;

/// The elements of most misses, if there are any that are told apart.
fn elements(scene: &Scene, words: [&'static str; 4]) -> Option<Table> {
    let objects = &scene.profile.objects;
    if objects.iter().all(|object| object.elements.is_empty()) {
        return None;
    }
    let mut groups = scene.profile.groups(Dimension::Element);
    groups.sort_by_cached_key(|group| std::cmp::Reverse(group.misses(scene.chosen.items)));
    let rows = groups.into_iter().map(Row::from).collect();
    Some(Table::new(words, rows, scene.top.min(ELEMENTS)))
}

/// A histogram for the script: cold, mean distance, then pairs of a fine bin (as the step from the one
/// before) and its count.
pub(crate) fn histogram(histogram: &FineHistogram, mean: Option<f64>) -> Value {
    let mut numbers = vec![
        json!(histogram.cold()),
        json!(mean.map(|mean| (mean * 100.0).round() / 100.0)),
    ];
    let mut last = 0;
    for (low, _, count) in histogram.iter() {
        let bin = FineHistogram::bin(low);
        numbers.push(json!(bin - last));
        numbers.push(json!(count));
        last = bin;
    }
    Value::Array(numbers)
}

/// A node of the calling context tree that the page shows.
pub(crate) struct Node {
    /// Its caller among the nodes shown; the root is its own.
    pub(crate) parent: usize,
    pub(crate) function: String,
    /// Where it was called from; empty if unknown.
    pub(crate) call: String,
    pub(crate) histogram: FineHistogram,
}

/// Nodes of the tree that a page shows at most.
const NODES: usize = 1000;

/// The calling context tree, cut to its nodes of most accesses: what is left out becomes one node
/// `(n smaller calls)` under the caller that is still there, so that the sums hold.
pub(crate) fn tree(profile: &Profile) -> Vec<Node> {
    let costs = profile.context_tree(0);
    if costs.len() < 2 {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..costs.len())
        .filter(|node| costs[*node].inclusive.accesses > 0)
        .collect();
    // Callers cost at least what their callees cost, and come first: they are never cut before them.
    order.sort_by_key(|node| (std::cmp::Reverse(costs[*node].inclusive.accesses), *node));
    order.truncate(NODES);
    order.sort_unstable();
    let mut shown: Vec<Option<usize>> = vec![None; costs.len()];
    let mut nodes = Vec::new();
    for node in order {
        shown[node] = Some(nodes.len());
        let context = &profile.contexts[node];
        nodes.push(Node {
            parent: shown[costs[node].parent].unwrap_or(0),
            function: crate::words::or(&context.function, "(unknown function)").to_owned(),
            call: place(&context.call.file, context.call.line),
            histogram: FineHistogram::new(),
        });
    }
    charge(
        profile,
        &costs.iter().map(|cost| cost.parent).collect::<Vec<_>>(),
        &shown,
        &mut nodes,
    );
    nodes
}

/// Adds the cells to the nodes shown, or to the remainder of the nearest caller that is.
fn charge(profile: &Profile, parents: &[usize], shown: &[Option<usize>], nodes: &mut Vec<Node>) {
    let mut remainders: BTreeMap<usize, (FineHistogram, Vec<usize>)> = BTreeMap::new();
    for cell in &profile.cells {
        let mut at = (cell.context as usize).min(parents.len());
        if let Some(Some(node)) = shown.get(at) {
            nodes[*node].histogram.merge(&cell.histogram);
            continue;
        }
        let from = at;
        let mut caller = None;
        while let Some(parent) = parents.get(at).filter(|parent| **parent < at) {
            at = *parent;
            caller = shown[at];
            if caller.is_some() {
                break;
            }
        }
        let remainder = remainders.entry(caller.unwrap_or(0)).or_default();
        remainder.0.merge(&cell.histogram);
        remainder.1.push(from);
    }
    for (parent, (histogram, mut from)) in remainders {
        from.sort_unstable();
        from.dedup();
        let calls = crate::numbers::noun(from.len() as u64, "smaller call", "smaller calls");
        nodes.push(Node {
            parent,
            function: format!("({calls})"),
            call: String::new(),
            histogram,
        });
    }
}

fn place(file: &str, line: u32) -> String {
    match (file.rsplit('/').next().unwrap_or(file), line) {
        ("", _) => String::new(),
        (file, 0) => file.to_owned(),
        (file, line) => format!("{file}:{line}"),
    }
}

/// Everything for the script, as JSON.
pub(crate) fn json(scene: &Scene, tables: &[Table], tree: &[Node], sources: &[Value]) -> String {
    let levels: Vec<Value> = scene
        .levels
        .iter()
        .chain((scene.chosen.name.is_none()).then_some(&scene.chosen))
        .map(|level| json!([level.label(), level.items, scene.misses(level.items)]))
        .collect();
    let tables: serde_json::Map<String, Value> = tables
        .iter()
        .map(|table| (table.by.to_owned(), table.json()))
        .collect();
    json!({
        "g": scene.profile.granularity.bytes(),
        "axis": scene.axis.json(),
        "levels": levels,
        "chosen": scene.chosen.items,
        "whole": histogram(&scene.fine, None),
        "tables": tables,
        "tree": {
            "p": tree.iter().map(|node| node.parent).collect::<Vec<_>>(),
            "f": tree.iter().map(|node| node.function.as_str()).collect::<Vec<_>>(),
            "at": tree.iter().map(|node| node.call.as_str()).collect::<Vec<_>>(),
            "h": tree.iter().map(|node| histogram(&node.histogram, None)).collect::<Vec<_>>(),
        },
        "source": sources,
    })
    .to_string()
}
