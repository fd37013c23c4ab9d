//! Accesses of loops in which a thread waits for another: how many there are depends on how long it
//! waits, and not on what the program does.

use std::collections::BTreeMap;

use reuselens_locality::{ExactHistogram, FineHistogram};
use reuselens_units::Distance;

use crate::Profile;

impl Profile {
    /// Leaves the accesses of waiting loads out of all counts but [`Profile::waiting`], which
    /// becomes their number. `waits`: by site, whether it is such a load.
    ///
    /// Left out are the looks at what the thread had looked at just before, at distances that bins
    /// have by themselves. A look that is cold or far is one at data that another thread has
    /// changed or that the cache has lost: it counts, as it costs what other misses cost.
    ///
    /// Nothing is left out where counts of other kinds, which have no sites, would still have the
    /// accesses: reuse times, forward distances, paths, and estimates of samples.
    pub fn leave_out_waiting(&mut self, waits: &[bool]) {
        let has_others = self.reuse_times.is_some() || self.paths.is_some();
        if has_others || !self.method.exact || self.requested_bytes.is_some() {
            return;
        }
        let mut left_out: BTreeMap<u64, u64> = BTreeMap::new();
        for cell in &mut self.cells {
            let is_waiting = waits.get(cell.site as usize).is_some_and(|it| *it);
            if !is_waiting || !cell.forward.is_empty() {
                continue;
            }
            let mut kept = FineHistogram::new();
            kept.add(Distance::COLD, cell.histogram.cold());
            for (low, high, accesses) in cell.histogram.iter() {
                if low < high {
                    kept.add(Distance::new(low), accesses);
                    continue;
                }
                *left_out.entry(low).or_default() += accesses;
                let sum = u128::from(low) * u128::from(accesses);
                cell.distance_sum = cell.distance_sum.saturating_sub(sum);
            }
            cell.histogram = kept;
        }
        if left_out.is_empty() {
            return;
        }
        self.cells.retain(|cell| !cell.histogram.is_empty());
        self.histogram = without(&self.histogram, &left_out);
        self.waiting = left_out.values().sum();
        self.references = self.references.saturating_sub(self.waiting);
    }
}

/// A histogram without some accesses by distance.
fn without(all: &ExactHistogram, left_out: &BTreeMap<u64, u64>) -> ExactHistogram {
    let mut kept = ExactHistogram::new();
    kept.add(Distance::COLD, all.cold());
    for (distance, accesses) in all.iter() {
        let out = left_out.get(&distance).copied().unwrap_or(0);
        if let Some(accesses) = accesses.checked_sub(out).filter(|it| *it > 0) {
            kept.add(Distance::new(distance), accesses);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, Site};
    use reuselens_units::Granularity;

    /// Two sites, of which the second waits, with accesses at these distances each.
    fn profile(distances: &[u64]) -> Profile {
        let mut profile = Profile::empty(Granularity::LINE_64);
        profile.method.exact = true;
        profile.sites.push(Site::default());
        for site in 0..2 {
            let mut cell = Cell {
                site,
                ..Cell::default()
            };
            for distance in distances.iter().map(|raw| Distance::new(*raw)) {
                cell.histogram.add(distance, 1);
                profile.histogram.add(distance, 1);
            }
            profile.cells.push(cell);
            profile.references += distances.len() as u64;
        }
        profile
    }

    #[test]
    fn near_looks_of_waiting_loads_are_left_out_and_all_else_counts() {
        let far = 1_000_001;
        let distances = [0, 0, 3, 3, far, u64::MAX];
        let mut waited = profile(&distances);
        waited.leave_out_waiting(&[false, true]);
        assert_eq!((waited.waiting, waited.references), (4, 8));
        assert_eq!(waited.histogram.accesses(), 8);
        let counts: Vec<_> = waited.histogram.iter().collect();
        assert_eq!(counts, [(0, 2), (3, 2), (far, 2)]);
        let cells: Vec<u64> = waited
            .cells
            .iter()
            .map(|it| it.histogram.accesses())
            .collect();
        assert_eq!(cells, [6, 2]);
        let sum: u64 = cells.iter().sum();
        assert_eq!(sum, waited.histogram.accesses());
    }

    #[test]
    fn nothing_is_left_out_of_a_program_that_does_not_wait() {
        let before = profile(&[0, 0, 3, 90]);
        let mut after = before.clone();
        after.leave_out_waiting(&[false, false]);
        assert!(before == after);
        after.leave_out_waiting(&[]);
        assert!(before == after);
    }

    #[test]
    fn estimates_stay_as_they_are() {
        let mut before = profile(&[0, 0]);
        before.method.exact = false;
        let mut after = before.clone();
        after.leave_out_waiting(&[true, true]);
        assert!(before == after);
    }
}
