//! [`WarpScheduler`]: in which order the warps of one memory instruction are served where it does
//! not fit the load/store units.

/// Orders the warps that issue one memory instruction.
pub trait WarpScheduler: Sync {
    /// Puts `order`, which holds `0..warps.len()`, in the order in which warps are served. `warps`
    /// are the items of each warp, in order of blocks and warps; `before` those that were issued
    /// last. Called once for each instruction that does not fit the load/store units, with the same
    /// arguments each time.
    fn order(&self, warps: &[&[u32]], before: &[u32], order: &mut [usize]);
}

/// Names of warp schedulers, and what they do.
pub const WARP_SCHEDULERS: [(&str, &str); 2] = [
    ("round-robin", "each warp in turn, as published"),
    (
        "sharing",
        "the warp that has most data in common with the one before",
    ),
];

/// The warp scheduler with that name.
pub fn warp_scheduler(name: &str) -> Option<Box<dyn WarpScheduler>> {
    match name {
        "round-robin" => Some(Box::new(RoundRobin)),
        "sharing" => Some(Box::new(SharingWarps)),
        _ => None,
    }
}

/// Each warp in turn.
#[derive(Clone, Copy, Debug)]
pub struct RoundRobin;

impl WarpScheduler for RoundRobin {
    fn order(&self, _: &[&[u32]], _: &[u32], _: &mut [usize]) {}
}

/// The warp that touches most of the items that were touched just before; the first of equals.
#[derive(Clone, Copy, Debug)]
pub struct SharingWarps;

impl WarpScheduler for SharingWarps {
    fn order(&self, warps: &[&[u32]], before: &[u32], order: &mut [usize]) {
        let mut last: Vec<u32> = before.to_vec();
        for served in 0..order.len() {
            last.sort_unstable();
            let common = |warp: usize| {
                let items = warps[warp].iter();
                items
                    .filter(|item| last.binary_search(item).is_ok())
                    .count()
            };
            let rest = order[served..].iter().enumerate();
            let best = rest.max_by_key(|&(at, &warp)| (common(warp), std::cmp::Reverse(at)));
            let best = best.map_or(0, |(at, _)| at);
            order[served..=served + best].rotate_right(1);
            last.clear();
            last.extend_from_slice(warps[order[served]]);
        }
    }
}
