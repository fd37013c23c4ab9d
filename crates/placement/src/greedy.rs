//! The published rule: by falling worth of a byte, until a memory is full.

use crate::problem::{Choice, Filling, Problem};

/// Fills the memories in order, fastest first, each with the objects whose bytes are worth the most
/// (Shen 2021, sections 2.5.1 and 2.5.2). Where the machine has memories that belong to cores, a
/// shared memory takes shared objects first, and objects of one thread if there is room left.
///
/// Cost: n log n for each memory.
pub fn place(problem: &Problem) -> Choice {
    let has_private = problem.bins.iter().any(|bin| bin.owner.is_some());
    let order = by_density(problem, |item| problem.items[item].weight);
    let mut filling = Filling::new(problem);
    for (bin, known) in problem.bins.iter().enumerate() {
        let first_shared = has_private && known.owner.is_none();
        let is_local = |item: &usize| problem.items[*item].owner.is_some();
        let (local, shared): (Vec<usize>, Vec<usize>) = if first_shared {
            order.iter().copied().partition(is_local)
        } else {
            (Vec::new(), order.clone())
        };
        for item in shared.into_iter().chain(local) {
            filling.put(bin, item);
        }
    }
    filling.finish()
}

/// The items that count with more than nothing, by falling count for each byte; equal ones in their
/// own order.
pub(crate) fn by_density(problem: &Problem, count: impl Fn(usize) -> f64) -> Vec<usize> {
    let density = |item: usize| count(item) / problem.items[item].bytes as f64;
    let mut order: Vec<usize> = (0..problem.items.len())
        .filter(|&item| count(item) > 0.0)
        .collect();
    order.sort_by(|&a, &b| density(b).total_cmp(&density(a)).then(a.cmp(&b)));
    order
}
