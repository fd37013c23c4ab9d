//! The picture of the calling contexts on a page: callers above callees, with widths by misses.

use std::fmt::Write;

use reuselens_document::html::escape;
use reuselens_document::numbers::grouped;

use super::data::ContextTreeNode;
use super::scene::Scene;

/// Height of a level in pixels.
const LEVEL: usize = 27;
/// Levels that are shown at once.
const DEPTH: usize = 40;
/// The narrowest box, in percent of the width.
const NARROWEST: f64 = 0.25;

/// Misses and accesses of each node with everything that it calls.
fn inclusive(nodes: &[ContextTreeNode], items: u64) -> Vec<(u64, u64)> {
    let own = |node: &ContextTreeNode| (node.histogram.misses(items), node.histogram.accesses());
    let mut costs: Vec<(u64, u64)> = nodes.iter().map(own).collect();
    for node in (1..nodes.len()).rev() {
        let (parent, cost) = (nodes[node].parent, costs[node]);
        costs[parent] = (
            costs[parent].0.saturating_add(cost.0),
            costs[parent].1.saturating_add(cost.1),
        );
    }
    costs
}

/// A box of the picture.
struct Tile {
    node: usize,
    depth: usize,
    /// Left edge and width in percent.
    left: f64,
    width: f64,
}

/// Places all boxes that are wide enough to be seen, callers before callees.
fn place(nodes: &[ContextTreeNode], costs: &[(u64, u64)]) -> Vec<Tile> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (index, node) in nodes.iter().enumerate().skip(1) {
        children[node.parent].push(index);
    }
    let scale = 100.0 / costs[0].0.max(1) as f64;
    let mut tiles = vec![Tile {
        node: 0,
        depth: 0,
        left: 0.0,
        width: 100.0,
    }];
    let mut next = 0;
    while let Some(&Tile {
        node, depth, left, ..
    }) = tiles.get(next)
    {
        next += 1;
        children[node].sort_by_key(|child| (std::cmp::Reverse(costs[*child].0), *child));
        let mut at = left;
        for &child in &children[node] {
            let width = costs[child].0 as f64 * scale;
            if width >= NARROWEST && depth + 1 < DEPTH {
                tiles.push(Tile {
                    node: child,
                    depth: depth + 1,
                    left: at,
                    width,
                });
            }
            at += width;
        }
    }
    tiles
}

/// Appends the section, or nothing if no contexts were recorded.
pub(crate) fn write(out: &mut String, scene: &Scene, nodes: &[ContextTreeNode]) {
    if nodes.len() < 2 {
        return;
    }
    let costs = inclusive(nodes, scene.chosen.items);
    let _ = write!(
        out,
        "<section id=\"contexts\"><h2>Which calls lead to the misses</h2><p class=\"explain\">Each box is a function as it \
         was called from the box above it. Its <b>width</b> is its part of the misses in a cache of <b data-cache>{}</b>, \
         callees included; its <b>colour</b> is the part of its accesses that miss <span class=\"num\">0 %<span \
         class=\"scale\"></span>100 %</span>.<span class=\"needs-js\"> Click a box, or press Enter on it, to zoom; the top \
         box zooms out.</span></p>",
        scene.chosen.label()
    );
    let tiles = place(nodes, &costs);
    let depth = tiles.iter().map(|tile| tile.depth).max().unwrap_or(0) + 1;
    let _ = write!(
        out,
        "<div class=\"icicle\" id=\"icicle\" style=\"height:{}px\">",
        depth * LEVEL
    );
    for tile in &tiles {
        write_tile(out, nodes, &costs, tile);
    }
    out.push_str("</div></section>");
}

fn write_tile(out: &mut String, nodes: &[ContextTreeNode], costs: &[(u64, u64)], tile: &Tile) {
    let node = &nodes[tile.node];
    let (misses, accesses) = costs[tile.node];
    let share = reuselens_document::numbers::percent(misses, costs[0].0);
    let call = if node.call.is_empty() {
        String::new()
    } else {
        format!(" called at {}", node.call)
    };
    let name = if tile.node == 0 {
        "all"
    } else {
        node.function.as_str()
    };
    let slim = if tile.width < 2.0 {
        " class=\"slim\""
    } else {
        ""
    };
    let _ = write!(
        out,
        "<div{slim} style=\"left:{:.3}%;width:{:.3}%;top:{}px;--heat:{:.3}\" title=\"{}\">{}</div>",
        tile.left,
        tile.width,
        tile.depth * LEVEL,
        heat(misses, accesses),
        escape(&format!(
            "{name}{call}: {} misses ({share}) of {} accesses",
            grouped(misses),
            grouped(accesses)
        )),
        if tile.width < 2.0 {
            String::new()
        } else {
            escape(&format!("{name} {share}"))
        },
    );
}

/// How dark a box is: the root of its miss ratio, since a few percent already matter.
fn heat(misses: u64, accesses: u64) -> f64 {
    (misses as f64 / accesses.max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_locality::FineHistogram;
    use reuselens_units::Distance;

    #[test]
    fn icicle_places_callees_under_callers() {
        let node = |parent, accesses| {
            let mut histogram = FineHistogram::new();
            histogram.add(Distance::COLD, accesses);
            ContextTreeNode {
                parent,
                function: "f".into(),
                call: String::new(),
                histogram,
            }
        };
        let nodes = [node(0, 0), node(0, 10), node(1, 60), node(1, 30)];
        let costs = inclusive(&nodes, 1);
        assert_eq!(costs, [(100, 100), (100, 100), (60, 60), (30, 30)]);
        let tiles = place(&nodes, &costs);
        let lefts: Vec<_> = tiles
            .iter()
            .map(|tile| (tile.node, tile.left, tile.width))
            .collect();
        assert_eq!(
            lefts,
            [
                (0, 0.0, 100.0),
                (1, 0.0, 100.0),
                (2, 0.0, 60.0),
                (3, 60.0, 30.0)
            ]
        );
    }
}
