//! [`Graph`]: the input of the irregular kernels of [`generate`](crate::generate), read from a
//! METIS file, the connections of a netlist, or a random mesh.

use crate::SimtError;

/// A directed graph as compressed rows: the targets of node `n` are
/// `targets[offsets[n]..offsets[n + 1]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where each node's targets begin; one more than there are nodes.
    pub offsets: Vec<u32>,
    /// Targets, node by node.
    pub targets: Vec<u32>,
}

impl Graph {
    /// From edges, in any order; a node's targets keep the order in which its edges come.
    ///
    /// # Errors
    /// [`SimtError::Unfit`] if an edge leads to a node that there is not.
    pub fn new(nodes: u32, edges: &[(u32, u32)]) -> Result<Graph, SimtError> {
        let mut offsets = vec![0_u32; nodes as usize + 1];
        for &(from, to) in edges {
            if from >= nodes || to >= nodes {
                return Err(SimtError::Unfit(format!(
                    "an edge from {from} to {to} in a graph of {nodes} nodes"
                )));
            }
            offsets[from as usize + 1] += 1;
        }
        for node in 0..nodes as usize {
            offsets[node + 1] += offsets[node];
        }
        let mut next = offsets.clone();
        let mut targets = vec![0; edges.len()];
        for &(from, to) in edges {
            let place = &mut next[from as usize];
            targets[*place as usize] = to;
            *place += 1;
        }
        Ok(Graph { offsets, targets })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.offsets.len() as u32 - 1
    }

    /// The targets of a node.
    pub fn targets(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.targets[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    /// Reads a graph in the format of METIS: a line with the numbers of nodes and edges, then for
    /// each node a line with its neighbours, from 1. Lines that begin with `%` are comments.
    /// Weights are refused.
    ///
    /// # Errors
    /// [`SimtError::Text`] with the line.
    pub fn from_metis(text: &str, name: &str) -> Result<Graph, SimtError> {
        let bad = |line: usize, what: String| SimtError::Text {
            name: name.to_owned(),
            line,
            what,
        };
        let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        let mut lines = lines.filter(|(_, line)| !line.starts_with('%'));
        let (at, head) = lines
            .next()
            .ok_or_else(|| bad(0, "it is empty".to_owned()))?;
        let words: Vec<&str> = head.split_ascii_whitespace().collect();
        let number = |word: &str| word.parse::<u32>().ok();
        let sizes = match words[..] {
            [nodes, edges] | [nodes, edges, "0" | "00" | "000"] => number(nodes).zip(number(edges)),
            _ => None,
        };
        let wanted = "the first line should be the numbers of nodes and edges, without weights";
        let (nodes, edges) = sizes.ok_or_else(|| bad(at, wanted.to_owned()))?;
        let mut graph = Graph {
            offsets: vec![0],
            targets: Vec::new(),
        };
        for node in 0..nodes {
            let Some((at, line)) = lines.next() else {
                return Err(bad(0, format!("it ends at node {node} of {nodes}")));
            };
            for word in line.split_ascii_whitespace() {
                let target = number(word).filter(|target| (1..=nodes).contains(target));
                let shown = word.escape_debug();
                let target = target.ok_or_else(|| bad(at, format!("'{shown}' is no node")))?;
                graph.targets.push(target - 1);
            }
            graph.offsets.push(graph.targets.len() as u32);
        }
        if graph.targets.len() as u64 != 2 * u64::from(edges) {
            let found = graph.targets.len();
            let what = format!(
                "{edges} edges should be {} entries, and there are {found}",
                2 * u64::from(edges)
            );
            return Err(bad(at, what));
        }
        Ok(graph)
    }

    /// A mesh in three dimensions: nodes on a lattice, each connected with the nearest others, both
    /// ways, until there are `edges`; then nodes are renumbered at random within segments of
    /// 1024, so that numbering is local and irregular, as mesh generators leave it.
    ///
    /// # Errors
    /// [`SimtError::Unfit`] if `nodes` nodes have fewer than `edges` near neighbours.
    pub fn mesh(nodes: u32, edges: u32, seed: u64) -> Result<Graph, SimtError> {
        let side = (1..)
            .find(|side: &u64| side.pow(3) >= u64::from(nodes))
            .unwrap_or(1) as i64;
        let mut numbers: Vec<u32> = (0..nodes).collect();
        let mut random = SplitMix64(seed);
        for stretch in numbers.chunks_mut(1024) {
            for at in (1..stretch.len()).rev() {
                stretch.swap(at, random.below(at as u64 + 1) as usize);
            }
        }
        let mut list = Vec::with_capacity(2 * edges as usize);
        'all: for (x, y, z) in nearest() {
            for node in 0..i64::from(nodes) {
                if list.len() == 2 * edges as usize {
                    break 'all;
                }
                let (at_x, at_y, at_z) = (node % side, node / side % side, node / side / side);
                let inside = |at: i64| (0..side).contains(&at);
                let to = (at_z + z) * side * side + (at_y + y) * side + at_x + x;
                if inside(at_x + x) && inside(at_y + y) && (0..i64::from(nodes)).contains(&to) {
                    let (from, to) = (numbers[node as usize], numbers[to as usize]);
                    list.push((from, to));
                    list.push((to, from));
                }
            }
        }
        if list.len() < 2 * edges as usize {
            return Err(SimtError::Unfit(format!(
                "{nodes} nodes do not have {edges} edges to near neighbours: take more nodes"
            )));
        }
        Graph::new(nodes, &list)
    }
}

/// Half of the neighbours up to two steps away, nearest first.
fn nearest() -> Vec<(i64, i64, i64)> {
    let steps = -2..=2_i64;
    let mut all: Vec<_> = steps
        .clone()
        .flat_map(|z| steps.clone().map(move |y| (y, z)))
        .flat_map(|(y, z)| (-2..=2).map(move |x| (x, y, z)))
        .filter(|&(x, y, z)| (z, y, x) > (0, 0, 0))
        .collect();
    all.sort_by_key(|&(x, y, z)| (x * x + y * y + z * z, z, y, x));
    all
}

/// Numbers at random, the same for the same seed (splitmix64).
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// Below `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mesh_has_the_size_asked_for_and_goes_both_ways() {
        let mesh = Graph::mesh(1000, 6000, 1).unwrap();
        assert_eq!((mesh.nodes(), mesh.targets.len()), (1000, 12_000));
        for node in 0..1000 {
            for &to in mesh.targets(node) {
                assert!(mesh.targets(to).contains(&node) && to != node);
            }
        }
        assert_eq!(Graph::mesh(1000, 6000, 1).unwrap(), mesh);
        assert!(Graph::mesh(10, 6000, 1).is_err());
    }

    #[test]
    fn metis_files_are_read_and_damage_is_named() {
        let graph = Graph::from_metis("% c\n3 2\n2\n1 3\n2\n", "g").unwrap();
        assert_eq!(graph.targets, [1, 0, 2, 1]);
        for (text, says) in [
            ("", "empty"),
            ("3 2 1\n", "line 1"),
            ("3 2\n2\n1 4\n2\n", "line 3: '4'"),
            ("3 2\n2\n", "node 1 of 3"),
            ("2 2\n2\n1\n", "4 entries"),
        ] {
            let error = Graph::from_metis(text, "g").unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
