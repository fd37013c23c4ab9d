//! Sums of what call paths that are written alike did: the same line of the host, which the
//! compiler has put in several places, as when it unrolls a loop.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use crate::by_kind::RequestSums;
use crate::bypass::{BypassInputs, BypassReport};
use crate::ledger::{CopySum, FillSum, LaunchSum, Ledger};
use crate::left_out;
use crate::report::{KernelReport, ObjectReport, SharedArrayReport, SiteReport};
use crate::{CacheDistances, CacheReport, ConfiguredLaunches, ReuseReport};

impl Ledger {
    /// Gives call paths other numbers, and adds up what then has the same: copies, fills, launches
    /// and faults. `numbers` has the new number of each; those beyond stay.
    pub fn renumber_call_paths(&mut self, numbers: &[u32]) {
        let number = |path: u32| numbers.get(path as usize).copied().unwrap_or(path);
        for object in &mut self.objects {
            object.call_path = number(object.call_path);
        }
        let copies = self.copies.iter().map(|copy| CopySum {
            call_path: number(copy.call_path),
            ..*copy
        });
        let key = |copy: &CopySum| (copy.from, copy.to, copy.direction, copy.call_path);
        self.copies = sums(copies.collect(), key, |known, more| {
            known.count += more.count;
            known.bytes = known.bytes.saturating_add(more.bytes);
            known.redundant += more.redundant;
            known.redundant_bytes = known.redundant_bytes.saturating_add(more.redundant_bytes);
        });
        let fills = self.fills.iter().map(|fill| FillSum {
            call_path: number(fill.call_path),
            ..*fill
        });
        let key = |fill: &FillSum| (fill.object, fill.call_path);
        self.fills = sums(fills.collect(), key, |known, more| {
            known.count += more.count;
            known.bytes = known.bytes.saturating_add(more.bytes);
        });
        let launches = self.launches.drain(..).map(|launch| LaunchSum {
            call_path: number(launch.call_path),
            ..launch
        });
        let launches = launches.collect();
        let key = |launch: &LaunchSum| (launch.kernel.clone(), launch.call_path);
        self.launches = sums(launches, key, |known, more| {
            known.launches += more.launches;
            known.failed += more.failed;
        });
        for mut fault in std::mem::take(&mut self.faults) {
            fault.call_path = number(fault.call_path);
            self.count_fault(fault);
        }
    }
}

/// The rows with those of equal keys added to the first of them.
fn sums<T, K: Eq + Hash>(rows: Vec<T>, key: impl Fn(&T) -> K, add: impl Fn(&mut T, &T)) -> Vec<T> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut sums: Vec<T> = Vec::new();
    for row in rows {
        match places.entry(key(&row)) {
            Entry::Occupied(known) => add(&mut sums[*known.get()], &row),
            Entry::Vacant(place) => {
                place.insert(sums.len());
                sums.push(row);
            }
        }
    }
    sums
}

/// Gives the call paths of kernels other numbers, as [`Ledger::renumber_call_paths`] does, and adds
/// up the launches of one kernel's code that then have the same.
pub fn renumber_call_paths(kernels: Vec<KernelReport>, numbers: &[u32]) -> Vec<KernelReport> {
    let mut merged: Vec<KernelReport> = Vec::new();
    // A kernel may have several codes: of several modules.
    let mut places: HashMap<(String, u32), Vec<usize>> = HashMap::new();
    for mut kernel in kernels {
        let number = numbers.get(kernel.call_path as usize).copied();
        kernel.call_path = number.unwrap_or(kernel.call_path);
        let places = places.entry((kernel.kernel.clone(), kernel.call_path));
        let places = places.or_default();
        let same = places.iter().find(|&&at| merged[at].has_same_code(&kernel));
        match same.copied() {
            Some(at) => merged[at].merge(&kernel),
            None => {
                places.push(merged.len());
                merged.push(kernel);
            }
        }
    }
    merged
}

impl KernelReport {
    /// Whether another one, of a kernel of this name, is of the same code, as far as both executed
    /// it.
    fn has_same_code(&self, other: &KernelReport) -> bool {
        let agrees = |site: &SiteReport| {
            let own = self
                .by_site
                .binary_search_by_key(&site.site, |own| own.site);
            own.is_err() || own.is_ok_and(|at| self.by_site[at].code == site.code)
        };
        other.by_site.iter().all(agrees)
    }

    /// Adds other launches of the same kernel. Of the orders of threads that were looked at, the
    /// one of more threads stays. Cost: linear in what both have.
    fn merge(&mut self, other: &KernelReport) {
        // All fields are named, so that none is forgotten.
        let KernelReport {
            kernel: _,
            call_path: _,
            launches,
            configurations,
            other_configurations,
            instructions,
            mix,
            spaces,
            global,
            reuse,
            divergence,
            banks,
            shared_arrays,
            caches,
            cache_distances,
            bypass,
            mapping,
            branches,
            left_out,
            by_site,
            by_object,
            constants,
        } = other;
        self.launches.merge(launches);
        self.merge_configurations(configurations);
        self.other_configurations += other_configurations;
        self.instructions.warps += instructions.warps;
        self.instructions.threads += instructions.threads;
        self.mix.merge(mix);
        self.spaces.merge(spaces);
        self.global.merge(global);
        self.divergence.merge(divergence);
        self.banks.merge(banks);
        self.branches.merge(branches);
        left_out::add(&mut self.left_out, left_out);
        merge_option(&mut self.reuse, reuse, ReuseReport::merge);
        merge_option(&mut self.caches, caches, CacheReport::merge);
        let distances = &mut self.cache_distances;
        merge_option(distances, cache_distances, CacheDistances::merge);
        merge_option(&mut self.mapping, mapping, |known, more| {
            if more.threads > known.threads {
                *known = *more;
            }
        });
        self.merge_bypass(bypass);
        self.merge_shared_arrays(shared_arrays);
        self.merge_sites(by_site);
        self.merge_objects(by_object, constants);
    }

    fn merge_configurations(&mut self, others: &[ConfiguredLaunches]) {
        for more in others {
            let mut known = self.configurations.iter_mut();
            match known.find(|known| known.configuration == more.configuration) {
                Some(known) => known.launches += more.launches,
                None => self.configurations.push(*more),
            }
        }
    }

    /// After reuse distances and divergence, of which its inputs are means.
    fn merge_bypass(&mut self, other: &Option<BypassReport>) {
        let means = self.reuse.as_ref().map(|reuse| {
            let distances = [&reuse.warp_lines, &reuse.cta_lines].map(|it| it.mean_distance());
            (distances, self.divergence.loads.line_degree())
        });
        merge_option(&mut self.bypass, other, |known, more| {
            known.merge(more);
            let Some(([of_warps, of_ctas], memory_divergence)) = means else {
                return;
            };
            let inputs = [
                (&mut known.per_warp, of_warps),
                (&mut known.per_cta, of_ctas),
            ];
            for (input, reuse_distance) in inputs {
                (input.reuse_distance, input.memory_divergence) =
                    (reuse_distance, memory_divergence);
            }
        });
    }

    fn merge_shared_arrays(&mut self, others: &[SharedArrayReport]) {
        for more in others {
            let mut known = self.shared_arrays.iter_mut();
            match known.find(|known| known.array == more.array) {
                Some(known) => known.counts.merge(&more.counts),
                None => self.shared_arrays.push(more.clone()),
            }
        }
        // What belongs to no array is last.
        let start = |array: Option<u64>| array.unwrap_or(u64::MAX);
        self.shared_arrays
            .sort_by_key(|report| start(report.array.as_ref().map(|array| array.start)));
    }

    fn merge_sites(&mut self, others: &[SiteReport]) {
        for more in others {
            match self
                .by_site
                .binary_search_by_key(&more.site, |known| known.site)
            {
                Ok(at) => {
                    let known = &mut self.by_site[at];
                    known.counts.merge(&more.counts);
                    known.object = known.object.filter(|_| known.object == more.object);
                    if known.array != more.array {
                        known.array = None;
                    }
                }
                Err(at) => self.by_site.insert(at, more.clone()),
            }
        }
    }

    fn merge_objects(&mut self, others: &[ObjectReport], constants: &[u32]) {
        for more in others {
            match self
                .by_object
                .binary_search_by_key(&more.object, |known| known.object)
            {
                Ok(at) => {
                    let known = &mut self.by_object[at];
                    known.counts.merge(&more.counts);
                    known.heat.merge(&more.heat);
                }
                Err(at) => self.by_object.insert(at, more.clone()),
            }
        }
        self.constants.extend(constants);
        self.constants.sort_unstable();
        self.constants.dedup();
    }
}

impl BypassReport {
    /// Adds other launches; means have to be calculated anew.
    fn merge(&mut self, other: &BypassReport) {
        let larger = |known: &mut BypassInputs, more: &BypassInputs| {
            known.blocks_per_sm = known.blocks_per_sm.max(more.blocks_per_sm);
            known.warps_per_block = known.warps_per_block.max(more.warps_per_block);
        };
        larger(&mut self.per_warp, &other.per_warp);
        larger(&mut self.per_cta, &other.per_cta);
        merge_option(&mut self.oracle, &other.oracle, |known, more| {
            known.merge(more)
        });
    }
}

/// Adds what there is to what there is.
fn merge_option<T: Clone>(known: &mut Option<T>, more: &Option<T>, add: impl FnOnce(&mut T, &T)) {
    match (&mut *known, more) {
        (Some(known), Some(more)) => add(known, more),
        (None, Some(more)) => *known = Some(more.clone()),
        (_, None) => {}
    }
}
