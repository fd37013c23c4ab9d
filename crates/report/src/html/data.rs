//! The data of a page's script as JSON: tables of groups with their histograms, and the calling
//! context tree, cut to a size that a page can have.

use reuselens_document::numbers::count;
use reuselens_locality::FineHistogram;
use reuselens_profile::{Cell, Dimension, Group, HistogramSum, Profile};
use serde_json::{Value, json};

use super::scene::Scene;

/// One table of groups.
pub(crate) struct GroupTable {
    /// The dimension, or both.
    pub(crate) by: &'static str,
    /// The text of its tab.
    pub(crate) title: &'static str,
    /// What the first column holds.
    pub(crate) head: &'static str,
    /// What a reader should know about it.
    pub(crate) note: &'static str,
    pub(crate) rows: Vec<GroupRow>,
    /// The groups that did not fit: how many, and their sum.
    pub(crate) left_out: Option<(usize, FineHistogram)>,
}

/// One group of accesses, as a row of a table.
pub(crate) struct GroupRow {
    pub(crate) name: String,
    pub(crate) histogram: FineHistogram,
    pub(crate) mean: Option<f64>,
}

impl GroupRow {
    fn new(name: String, group: &Group) -> Self {
        GroupRow {
            mean: (group.accesses > group.cold).then_some(group.mean),
            name,
            histogram: group.histogram.clone(),
        }
    }
}

/// Bins of the histograms that a table has together at most, which is about 160 KB: a page has less
/// than 2 MB, with its sources.
const BINS: usize = 20_000;

/// How many of these rows, in their order, a table shows: `top` at most, and as many as fit.
fn shown<'a>(rows: impl Iterator<Item = &'a FineHistogram>, top: usize) -> usize {
    let mut bins = 0;
    let fits = |histogram: &&FineHistogram| {
        bins += histogram.iter().count();
        bins <= BINS
    };
    rows.take(top).take_while(fits).count()
}

impl GroupTable {
    fn new<'a>(
        words: [&'static str; 4],
        groups: &[&'a Group],
        name: impl Fn(usize, &'a Group) -> String,
        top: usize,
    ) -> Self {
        let shown = shown(groups.iter().map(|group| &group.histogram), top);
        let (shown, rest) = groups.split_at(shown);
        let named = shown.iter().enumerate();
        let rows = named.map(|(at, group)| GroupRow::new(name(at, group), group));
        let rows = rows.collect();
        let left_out = (!rest.is_empty()).then(|| {
            let mut sum = HistogramSum::new();
            rest.iter().for_each(|group| sum.add(&group.histogram));
            (rest.len(), sum.take())
        });
        let [by, title, head, note] = words;
        GroupTable {
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

/// The texts of the tables of one dimension: key, tab, head of the first column, note.
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

/// The texts of the table of lines and objects.
const CROSS: [&str; 4] = [
    "line-object",
    "Line × object",
    "Line · object",
    "Which data each line misses on.",
];

/// All tables of a page, in the order of their tabs.
pub(crate) fn tables(scene: &Scene) -> Vec<GroupTable> {
    let mut tables = Vec::new();
    for (by, words) in WORDS {
        if !has_table(scene, by) {
            continue;
        }
        if by == Dimension::Element {
            tables.extend(elements(scene, words));
            continue;
        }
        let groups: Vec<&Group> = scene.grouping.groups(by).iter().collect();
        tables.push(GroupTable::new(words, &groups, own_name, scene.top));
        if by == Dimension::Line {
            tables.push(cross(scene));
        }
    }
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// Whether a dimension has a table: not if all is unknown, nor for a single thread.
fn has_table(scene: &Scene, by: Dimension) -> bool {
    match by {
        Dimension::Thread => {
            scene.profile.threads.len() > 1 || scene.grouping.has_names(Dimension::Line)
        }
        by => scene.grouping.has_names(by),
    }
}

/// The name of a group in a table of one dimension.
fn own_name(_: usize, group: &Group) -> String {
    group.name.clone()
}

/// The table of lines and objects.
fn cross(scene: &Scene) -> GroupTable {
    let groups: Vec<&Group> = scene.cross.iter().map(|cross| &cross.group).collect();
    let name = |at: usize, line: &Group| format!("{} · {}", line.name, scene.cross[at].name);
    GroupTable::new(CROSS, &groups, name, scene.top)
}

/// Elements that their table has at most: they are many, and alike.
const ELEMENTS: usize = 100;

/// The elements of most misses, if accesses are broken down by element.
fn elements(scene: &Scene, words: [&'static str; 4]) -> Option<GroupTable> {
    let objects = &scene.profile.objects;
    if objects.iter().all(|object| object.elements.is_empty()) {
        return None;
    }
    let mut groups: Vec<&Group> = scene.grouping.groups(Dimension::Element).iter().collect();
    groups.sort_by_cached_key(|group| std::cmp::Reverse(group.misses(scene.chosen.items)));
    let top = scene.top.min(ELEMENTS);
    Some(GroupTable::new(words, &groups, own_name, top))
}

/// A histogram for the script: cold, mean distance, then pairs of a fine bin (as the step from the
/// one before) and its count.
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
pub(crate) struct ContextTreeNode {
    /// Its caller among the nodes shown; the root is its own.
    pub(crate) parent: usize,
    pub(crate) function: String,
    /// Where it was called from; empty if unknown.
    pub(crate) call: String,
    pub(crate) histogram: FineHistogram,
}

/// Nodes of the tree that a page shows at most.
const NODES: usize = 400;

/// The calling context tree, cut to its nodes of most accesses. The others become one node `(n
/// smaller calls)` under the nearest caller that is kept, so that the sums hold.
pub(crate) fn tree(profile: &Profile) -> Vec<ContextTreeNode> {
    let costs = profile.context_tree(0);
    if costs.len() < 2 {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..costs.len())
        .filter(|node| costs[*node].inclusive.accesses > 0)
        .collect();
    // Callers cost at least what their callees cost, and come first: they are never cut before
    // them.
    order.sort_by_key(|node| (std::cmp::Reverse(costs[*node].inclusive.accesses), *node));
    order.truncate(NODES);
    order.sort_unstable();
    let mut shown: Vec<Option<usize>> = vec![None; costs.len()];
    let mut nodes = Vec::new();
    for node in order {
        shown[node] = Some(nodes.len());
        let context = &profile.contexts[node];
        nodes.push(ContextTreeNode {
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
fn charge(
    profile: &Profile,
    parents: &[usize],
    shown: &[Option<usize>],
    nodes: &mut Vec<ContextTreeNode>,
) {
    // The number of the node that is shown; for a remainder, that of its caller plus the number of
    // nodes shown.
    let number = nodes.len();
    let nearest = nearest(parents, shown);
    let keys: Vec<usize> = (0..=parents.len())
        .map(|context| match shown.get(context) {
            Some(Some(node)) => *node,
            _ => number + nearest.get(context).copied().unwrap_or(0),
        })
        .collect();
    let context = |cell: &Cell| (cell.context as usize).min(parents.len());
    let sums = profile.sums(2 * number, |cell| keys[context(cell)]);
    let mut calls: Vec<usize> = profile.cells.iter().map(context).collect();
    calls.sort_unstable();
    calls.dedup();
    let mut left_out = vec![0; number];
    for call in calls {
        if let Some(caller) = keys[call].checked_sub(number) {
            left_out[caller] += 1;
        }
    }
    for (place, histogram) in sums.into_iter().enumerate() {
        if place < number {
            nodes[place].histogram = histogram;
            continue;
        }
        let parent = place - number;
        if left_out[parent] == 0 {
            continue;
        }
        let calls =
            reuselens_document::numbers::noun(left_out[parent], "smaller call", "smaller calls");
        nodes.push(ContextTreeNode {
            parent,
            function: format!("({calls})"),
            call: String::new(),
            histogram,
        });
    }
}

/// For each context the node of it, or of its nearest caller that is shown; the first node if none
/// is. Callers come first, so one pass is enough, however deep they are.
fn nearest(parents: &[usize], shown: &[Option<usize>]) -> Vec<usize> {
    let mut nearest = vec![0; parents.len()];
    for (context, parent) in parents.iter().enumerate() {
        let caller = if *parent < context {
            nearest[*parent]
        } else {
            0
        };
        nearest[context] = shown[context].unwrap_or(caller);
    }
    nearest
}

fn place(file: &str, line: u32) -> String {
    match (file.rsplit('/').next().unwrap_or(file), line) {
        ("", _) => String::new(),
        (file, 0) => file.to_owned(),
        (file, line) => format!("{file}:{line}"),
    }
}

/// Everything for the script, as JSON.
pub(crate) fn json(
    scene: &Scene,
    tables: &[GroupTable],
    tree: &[ContextTreeNode],
    sources: &[Value],
) -> String {
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
