//! The average footprint of a trace, from its [`ReuseTimes`]: how many distinct items a window of
//! accesses has.

use crate::{FineHistogram, ReuseTimes};

/// What the gaps of at least some length take from the footprint.
#[derive(Clone, Copy, Default)]
struct Longer {
    gaps: u128,
    lengths: u128,
}

impl ReuseTimes {
    /// The average footprint: for windows of each length, the mean number of distinct items
    /// over all windows of that length in the trace (in all runs, where there are several). A point
    /// for every window length that is the lowest of a fine bin (each up to 32, then sixteen to an
    /// octave), up to the longest run. Exact. Never falls. Cost: linear in the bins and in points
    /// times runs.
    ///
    /// Of the `n − w + 1` windows of `w` accesses, an item is absent from those that fit into its
    /// gaps: before its first access, between two, and after its last. A gap of `g` accesses has
    /// room for `g − w + 1`. The gaps are those between two accesses, which are the reuse times,
    /// and those before the first access and after the last.
    ///
    /// Source: Xiang, Bao, Ding & Gao, *Linear-time modeling of program working set in shared
    /// cache*, PACT 2011 (there with the time from access to access, one more than the accesses
    /// between).
    pub fn footprint_curve(&self) -> Vec<(u64, f64)> {
        let longest = self.runs.last().map_or(0, |run| run.accesses);
        let windows: Vec<u64> = (1..FineHistogram::BINS)
            .map(|bin| FineHistogram::range(bin).0)
            .take_while(|window| *window <= longest)
            .collect();
        let longer = self.longer(windows.len());
        let point = |(&window, longer): (&u64, &Longer)| (window, self.point(window, *longer));
        windows.iter().zip(&longer).map(point).collect()
    }

    /// The average footprint of windows of `window` accesses (1 at least): exact where
    /// [`footprint_curve`](Self::footprint_curve) has a point, on the straight line between two
    /// points otherwise, the last one beyond. `None` if there are no accesses.
    pub fn footprint(&self, window: u64) -> Option<f64> {
        let curve = self.footprint_curve();
        let next = curve.partition_point(|(at, _)| *at < window);
        let Some(&(right, above)) = curve.get(next) else {
            return curve.last().map(|(_, items)| *items);
        };
        let Some(&(left, below)) = next.checked_sub(1).and_then(|at| curve.get(at)) else {
            return Some(above);
        };
        let share = (window - left) as f64 / (right - left) as f64;
        Some(below + (above - below) * share)
    }

    /// For each of the bins 1 to `bins`: the gaps that are in it or in a later one.
    fn longer(&self, bins: usize) -> Vec<Longer> {
        let mut longer = vec![Longer::default(); bins];
        let mut add = |bin: u16, count: u64, sum: u128| {
            // A gap is shorter than its run, so its bin is there or is bin 0, in no window's way.
            if let Some(at) = usize::from(bin)
                .checked_sub(1)
                .and_then(|at| longer.get_mut(at))
            {
                at.gaps = at.gaps.saturating_add(u128::from(count));
                at.lengths = at.lengths.saturating_add(sum);
            }
        };
        for (bin, count, sum) in self.between.iter().chain(self.around.iter()) {
            add(bin, count, sum);
        }
        let mut sum = Longer::default();
        for at in longer.iter_mut().rev() {
            sum.gaps = sum.gaps.saturating_add(at.gaps);
            sum.lengths = sum.lengths.saturating_add(at.lengths);
            *at = sum;
        }
        longer
    }

    /// All items in all windows, less those absent, per window.
    fn point(&self, window: u64, longer: Longer) -> f64 {
        let (mut windows, mut items) = (0_u128, 0_u128);
        for run in self.runs.iter().filter(|run| run.accesses >= window) {
            let here = u128::from(run.accesses - window) + 1;
            windows = windows.saturating_add(here);
            items = items.saturating_add(here.saturating_mul(u128::from(run.distinct)));
        }
        let skipped = longer.gaps.saturating_mul(u128::from(window - 1));
        let absent = longer.lengths.saturating_sub(skipped);
        items.saturating_sub(absent) as f64 / windows.max(1) as f64
    }
}
