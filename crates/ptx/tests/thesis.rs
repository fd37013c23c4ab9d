//! The kernels of the thesis give what the same calculation on the CPU gives, with and without a
//! mapping of threads, as both compilers made them.

use crate::common::{self, Run, everywhere, noise};
use reuselens_ptx::Argument;

const NODES: usize = 300;

/// A graph as the kernels take it: where each node's targets begin and end, and the targets.
struct Rows {
    begins: Vec<u32>,
    ends: Vec<u32>,
    targets: Vec<u32>,
}

impl Rows {
    /// Up to four targets for each node.
    fn new() -> Rows {
        let (mut begins, mut ends, mut targets) = (Vec::new(), Vec::new(), Vec::new());
        for bits in noise(NODES, 1) {
            begins.push(targets.len() as u32);
            let some = (0..bits % 5).map(|at| (bits >> (8 + 12 * at)) as u32 % NODES as u32);
            targets.extend(some);
            ends.push(targets.len() as u32);
        }
        Rows {
            begins,
            ends,
            targets,
        }
    }

    fn of(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let range = self.begins[node] as usize..self.ends[node] as usize;
        self.targets[range].iter().map(|&target| target as usize)
    }

    fn put(&self, run: &mut Run) -> Vec<Argument> {
        vec![
            run.put(&self.begins),
            run.put(&self.ends),
            run.put(&self.targets),
        ]
    }
}

/// Quarters: sums of them are exact in any order.
fn quarters(count: usize) -> Vec<f32> {
    let quarter = |bits: u64| (bits % 64) as f32 * 0.25;
    noise(count, 2).into_iter().map(quarter).collect()
}

/// All threads, in another order.
fn permutation() -> Vec<u32> {
    (0..320).map(|thread| thread * 7 % 320).collect()
}

/// Runs `name` and its twin with a mapping, on `input` and an output of `outputs` elements.
fn check<T: common::Number + PartialEq + std::fmt::Debug>(
    file: &str,
    input: &dyn Fn(&mut Run) -> Vec<Argument>,
    zeros: &[T],
    expected: &[T],
) {
    everywhere(file, |run| {
        for mapped in [false, true] {
            let mut arguments = Vec::new();
            if mapped {
                arguments.push(run.put(&permutation()));
            }
            arguments.extend(input(run));
            let out = run.put(zeros);
            arguments.extend([out.clone(), Argument::Integer(NODES as i128)]);
            let twin = if mapped { "_mapped" } else { "" };
            run.launch(
                &format!("{file}{twin}"),
                [5, 1, 1],
                [64, 1, 1],
                0,
                &arguments,
            );
            assert_eq!(run.get::<T>(&out, zeros.len()), expected, "{file}{twin}");
        }
    });
}

/// As [`check`], of a kernel that takes the rows of the graph and one array of its own.
fn check_rows<V, T>(file: &str, rows: &Rows, own: &[V], expected: &[T])
where
    V: common::Number,
    T: common::Number + Default + PartialEq + std::fmt::Debug,
{
    let input = |run: &mut Run| [rows.put(run), vec![run.put(own)]].concat();
    let zeros: Vec<T> = expected.iter().map(|_| T::default()).collect();
    check(file, &input, &zeros, expected);
}

#[test]
fn sta_takes_the_latest_input() {
    let (rows, arrival) = (Rows::new(), quarters(NODES));
    let latest = |node| rows.of(node).map(|j| arrival[j]).fold(0.0, f32::max) + 1.0;
    let expected: Vec<f32> = (0..NODES).map(latest).collect();
    check_rows("sta", &rows, &arrival, &expected);
}

#[test]
fn gsim_does_what_its_gates_do() {
    let rows = Rows::new();
    let values: Vec<u32> = noise(NODES, 3)
        .into_iter()
        .map(|bits| bits as u32)
        .collect();
    let kinds: Vec<u32> = (0..NODES as u32).map(|node| node % 10).collect();
    let gate = |node: usize| {
        let of = || rows.of(node).map(|j| values[j]);
        let (and, or) = (of().fold(!0, |a, b| a & b), of().fold(0, |a, b| a | b));
        let parity = of().fold(0, |a, b| a ^ b);
        match kinds[node] {
            0 => 0,
            1 => and,
            2 => !and,
            3 => or,
            4 => !or,
            6 | 7 => !parity,
            _ => parity,
        }
    };
    let expected: Vec<u32> = (0..NODES).map(gate).collect();
    let input = |run: &mut Run| {
        let own = vec![run.put(&kinds), run.put(&values)];
        [rows.put(run), own].concat()
    };
    check("gsim", &input, &[0; NODES], &expected);
}

#[test]
fn bfs_finds_the_reachable_nodes() {
    let rows = Rows::new();
    let reached: Vec<u32> = noise(NODES, 4)
        .iter()
        .map(|bits| *bits as u32 & 1)
        .collect();
    let next = |node| u32::from(rows.of(node).any(|j| reached[j] == 1));
    let expected: Vec<u32> = (0..NODES).map(next).collect();
    check_rows("bfs", &rows, &reached, &expected);
}

#[test]
fn vectoradd_adds() {
    let (a, b) = (quarters(NODES), quarters(NODES));
    let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    let input = |run: &mut Run| vec![run.put(&a), run.put(&b)];
    check("vectoradd", &input, &[0.0; NODES], &expected);
}

#[test]
fn nbf_sums_forces_of_partners() {
    let (rows, place) = (Rows::new(), quarters(NODES));
    let force = |node: usize| {
        let part = |j: usize| {
            let d = place[node] - place[j];
            if d * d > 1e-6 { 1.0 / d } else { 0.0 }
        };
        rows.of(node).fold(0.0, |sum: f32, j| sum + part(j))
    };
    let expected: Vec<f32> = (0..NODES).map(force).collect();
    check_rows("nbf", &rows, &place, &expected);
}

#[test]
fn moldyn_adds_up_forces_in_three_dimensions() {
    let (rows, place) = (Rows::new(), quarters(3 * NODES));
    let force = |node: usize| {
        let mut sum = [0.0_f32; 3];
        for j in rows.of(node) {
            let d: [f32; 3] = std::array::from_fn(|at| place[3 * node + at] - place[3 * j + at]);
            let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01;
            let s = 1.0 / (r2 * r2 * r2);
            let f = s * (s - 0.5) / r2;
            for at in 0..3 {
                sum[at] += f * d[at];
            }
        }
        sum
    };
    let expected: Vec<f32> = (0..NODES).flat_map(force).collect();
    check_rows("moldyn", &rows, &place, &expected);
}

#[test]
fn irreg_adds_flows_to_both_ends() {
    let (rows, value) = (Rows::new(), quarters(NODES));
    let mut expected = vec![0.0_f32; NODES];
    for node in 0..NODES {
        for j in rows.of(node) {
            let flow = 0.5 * (value[node] - value[j]);
            expected[j] += flow;
            expected[node] -= flow;
        }
    }
    check_rows("irreg", &rows, &value, &expected);
}

#[test]
fn euler_takes_differences_of_four_quantities() {
    let (rows, state) = (Rows::new(), quarters(4 * NODES));
    let flux = |node: usize| {
        let mut sum = [0.0_f32; 4];
        for j in rows.of(node) {
            for at in 0..4 {
                sum[at] += state[4 * node + at] - state[4 * j + at];
            }
        }
        sum
    };
    let expected: Vec<f32> = (0..NODES).flat_map(flux).collect();
    check_rows("euler", &rows, &state, &expected);
}
