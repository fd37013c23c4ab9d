//! [`KernelTotals`]: sums over the launches of one kernel from one call path.

use std::collections::BTreeMap;
use std::sync::Arc;

use reuselens_warp::{KernelSite, Launch, SharedArray, Space, WarpKind};

use crate::caches::{CacheOutcome, bypassing_sites};
use crate::left_out;
use crate::neighbours::KeptBlocks;
use crate::occupancy::Configurations;
use crate::tally::{NO_OBJECT, ObjectTally, OfObject, SiteObject, SiteTally, Tally};
use crate::{
    AdvisorOptions, BankCounts, BranchReport, BypassInputs, BypassOracle, BypassReport,
    CacheDistances, CacheReport, GlobalCounts, HeatMap, InstructionCounts, KernelReport,
    LaunchConfiguration, LaunchMetric, LaunchStatistics, LeftOutAccesses, MappingReport,
    ObjectReport, ReuseCounts, ReuseReport, SharedArrayReport, SiteReport,
};

/// Sums over launches.
#[derive(Clone, Debug)]
pub(crate) struct KernelTotals {
    name: String,
    call_path: u32,
    sites: Arc<[KernelSite]>,
    arrays: Arc<[SharedArray]>,
    /// By the site: whether it is a load that passes the L1 by. Empty if none is.
    pub bypassing: Arc<[bool]>,
    tally: Tally,
    objects: BTreeMap<u32, ObjectTally>,
    heat: BTreeMap<u32, HeatMap>,
    caches: Option<CacheReport>,
    distances: Option<CacheDistances>,
    oracle: Option<BypassOracle>,
    branches: BranchReport,
    left_out: Vec<LeftOutAccesses>,
    instructions: InstructionCounts,
    launches: LaunchStatistics,
    configurations: Configurations,
    /// Launches that began.
    begun: u64,
    mapping: Option<MappingReport>,
    /// Of the accesses for which an order of threads was looked for last.
    mapped_digest: Option<u64>,
    /// The most warps of a block.
    warps: u64,
    /// The most bytes of shared memory of a block.
    shared_bytes: u64,
    /// Whether a launch was added: one that ended or was stopped, not one that was abandoned.
    has_counts: bool,
}

impl KernelTotals {
    pub fn new(launch: &Launch, call_path: u32) -> KernelTotals {
        KernelTotals {
            name: launch.kernel.clone(),
            call_path,
            sites: Arc::clone(&launch.sites),
            arrays: Arc::clone(&launch.arrays),
            bypassing: bypassing_sites(&launch.sites),
            tally: Tally::default(),
            objects: BTreeMap::new(),
            heat: BTreeMap::new(),
            caches: None,
            distances: None,
            oracle: None,
            branches: BranchReport::default(),
            left_out: Vec::new(),
            instructions: InstructionCounts::default(),
            launches: LaunchStatistics::default(),
            configurations: Configurations::default(),
            begun: 0,
            mapping: None,
            mapped_digest: None,
            warps: 0,
            shared_bytes: 0,
            has_counts: false,
        }
    }

    /// Whether a launch has the same instructions and shared arrays, so that their numbers mean the
    /// same in both. Launches of one kernel most often share both lists.
    pub fn has_code_of(&self, launch: &Launch) -> bool {
        let has_sites = Arc::ptr_eq(&self.sites, &launch.sites) || self.sites == launch.sites;
        let has_arrays = Arc::ptr_eq(&self.arrays, &launch.arrays) || self.arrays == launch.arrays;
        has_sites && has_arrays
    }

    /// Whether a launch was added: one that ended or was stopped, not one that was abandoned.
    pub fn has_counts(&self) -> bool {
        self.has_counts
    }

    /// The number of a launch that begins now, from 1. Its blocks have this much shared memory.
    pub fn begin(&mut self, shared_bytes: u64) -> u64 {
        self.shared_bytes = self.shared_bytes.max(shared_bytes);
        self.begun += 1;
        self.begun
    }

    /// Maps the threads of a launch with this number, unless the last one that was mapped had the
    /// same accesses. Keeps the mapping if it gains more than those of earlier launches.
    pub fn map(&mut self, launch: &Launch, number: u64, kept: KeptBlocks) {
        let digest = Some(kept.digest());
        if std::mem::replace(&mut self.mapped_digest, digest) == digest {
            return;
        }
        let mapping = kept.map(launch, number);
        let saved = |report: &Option<MappingReport>| report.as_ref().map(MappingReport::saved);
        if saved(&mapping) > saved(&self.mapping) {
            self.mapping = mapping;
        }
    }

    /// Adds accesses that a launch has left out.
    pub fn left_out(&mut self, accesses: &[LeftOutAccesses]) {
        left_out::add(&mut self.left_out, accesses);
    }

    /// A launch with this configuration has ended, well or not.
    pub fn configured(&mut self, configuration: LaunchConfiguration, is_well: bool) {
        self.configurations.add(configuration, is_well);
    }

    /// Adds a launch; `instructions` are none if it was stopped, and it is not counted then.
    pub fn add(
        &mut self,
        mut tally: Tally,
        caches: Option<CacheOutcome>,
        branches: BranchReport,
        instructions: Option<InstructionCounts>,
        warps: u64,
    ) {
        self.has_counts = true;
        if let Some(instructions) = instructions {
            let report = caches.as_ref().map(|caches| &caches.report);
            // Both are sums: of all sites, and of all kinds of requests.
            let (global, banks) = (tally.global(), tally.banks.all());
            let launch = LaunchValues {
                global: &global,
                banks: &banks,
                reuse: &tally.reuse,
                caches: report,
                branches: &branches,
                instructions,
            };
            self.launches.add(|metric| launch.value(metric));
            self.instructions.warps += instructions.warps;
            self.instructions.threads += instructions.threads;
        }
        for object in tally.objects.entries.drain(..) {
            let known = self.objects.entry(object.object);
            known
                .and_modify(|known| known.merge(&object))
                .or_insert(object);
        }
        for heat in tally.heat.entries.drain(..) {
            self.heat.entry(heat.object).or_default().merge(&heat.map);
        }
        self.tally.merge(&tally);
        if let Some(caches) = caches {
            add_to(&mut self.caches, Some(caches.report), CacheReport::merge);
            add_to(&mut self.oracle, caches.oracle, BypassOracle::merge);
            add_to(&mut self.distances, caches.distances, CacheDistances::merge);
        }
        self.branches.merge(&branches);
        self.warps = self.warps.max(warps);
    }

    /// What is known of the launches.
    pub fn report(mut self, options: &AdvisorOptions) -> KernelReport {
        let bypass = options.reuse.then(|| self.bypass(options));
        let configurations = std::mem::take(&mut self.configurations);
        let (configurations, other_configurations) = configurations.report(&options.model);
        let objects = std::mem::take(&mut self.objects);
        let constants = objects.values().filter(|tally| tally.is_constant);
        let constants = constants.map(|tally| tally.object);
        let constants = constants.filter(|&object| object != NO_OBJECT).collect();
        let globals = objects.into_values().filter(ObjectTally::is_global);
        let heat = |tally| object(tally, &self.heat);
        let mut by_object: Vec<ObjectReport> = globals.map(heat).collect();
        by_object.sort_by_key(|report| report.object);
        let tally = self.tally;
        let sites = self.sites;
        let by_site = (0..)
            .zip(&tally.sites.0)
            .filter_map(|(number, tally)| site(number, tally, &sites, &self.arrays))
            .collect();
        let arrays = self.arrays.iter().cloned().map(Some).chain([None]);
        let arrays = arrays.zip(tally.arrays.iter().copied());
        let accessed = arrays.filter(|(_, counts)| counts.requests > 0);
        let shared_arrays = accessed
            .map(|(array, counts)| SharedArrayReport { array, counts })
            .collect();
        KernelReport {
            kernel: self.name,
            call_path: self.call_path,
            launches: self.launches,
            configurations,
            other_configurations,
            instructions: self.instructions,
            mix: if self.branches.instructions.is_empty() {
                tally.spaces.mix()
            } else {
                self.branches.mix()
            },
            spaces: tally.spaces,
            global: tally.global(),
            reuse: options.reuse.then_some(ReuseReport {
                element_bytes: 1 << options.element_shift(),
                line_bytes: 1 << options.line_shift(),
                ..tally.reuse
            }),
            divergence: tally.divergence,
            banks: tally.banks,
            shared_arrays,
            caches: self.caches,
            cache_distances: self.distances,
            bypass,
            mapping: self.mapping,
            branches: self.branches,
            left_out: self.left_out,
            by_site,
            by_object,
            constants,
        }
    }

    fn bypass(&self, options: &AdvisorOptions) -> BypassReport {
        let resident = options.model.resident_blocks(self.warps, self.shared_bytes);
        let inputs = |counts: &ReuseCounts| BypassInputs {
            l1_bytes: options.model.l1.bytes,
            line_bytes: 1 << options.line_shift(),
            reuse_distance: counts.mean_distance(),
            memory_divergence: self.tally.divergence.loads.line_degree(),
            blocks_per_sm: self
                .caches
                .map_or(resident, |caches| caches.resident_blocks),
            warps_per_block: self.warps.clamp(1, u32::MAX.into()) as u32,
        };
        BypassReport {
            per_warp: inputs(&self.tally.reuse.warp_lines),
            per_cta: inputs(&self.tally.reuse.cta_lines),
            oracle: self.oracle.clone(),
        }
    }
}

/// Adds what a launch has to what earlier ones had; either may have nothing.
fn add_to<S>(known: &mut Option<S>, more: Option<S>, merge: impl Fn(&mut S, &S)) {
    match (known.as_mut(), more) {
        (Some(known), Some(more)) => merge(known, &more),
        (None, more) => *known = more,
        (Some(_), None) => {}
    }
}

fn site(
    number: u32,
    tally: &SiteTally,
    sites: &[KernelSite],
    arrays: &[SharedArray],
) -> Option<SiteReport> {
    let (space, kind): (Space, WarpKind) = tally.access?;
    Some(SiteReport {
        site: number,
        code: sites.get(number as usize).cloned().unwrap_or_default(),
        space,
        kind,
        object: match tally.object {
            SiteObject::One(object) if object != NO_OBJECT => Some(object),
            _ => None,
        },
        array: match tally.array {
            SiteObject::One(array) => arrays.get(array as usize).map(|array| array.name.clone()),
            _ => None,
        },
        counts: tally.counts,
    })
}

fn object(tally: ObjectTally, heat: &BTreeMap<u32, HeatMap>) -> ObjectReport {
    let object = (tally.object != NO_OBJECT).then_some(tally.object);
    let heat = object.and_then(|object| heat.get(&object));
    ObjectReport {
        object,
        counts: tally.counts,
        heat: heat.copied().unwrap_or_default(),
    }
}

/// What was counted of one launch.
struct LaunchValues<'a> {
    global: &'a GlobalCounts,
    banks: &'a BankCounts,
    reuse: &'a ReuseReport,
    caches: Option<&'a CacheReport>,
    branches: &'a BranchReport,
    instructions: InstructionCounts,
}

impl LaunchValues<'_> {
    /// The launch's value of a metric, where it has one.
    fn value(&self, metric: LaunchMetric) -> Option<f64> {
        let per_cent = |share: f64| 100.0 * share;
        match metric {
            LaunchMetric::WarpInstructions => {
                (self.instructions.warps > 0).then_some(self.instructions.warps as f64)
            }
            LaunchMetric::LanesPerInstruction => (self.instructions.warps > 0)
                .then(|| self.instructions.threads as f64 / self.instructions.warps as f64),
            LaunchMetric::GlobalRequests => Some(self.global.requests as f64),
            LaunchMetric::Sectors => Some(self.global.sectors as f64),
            LaunchMetric::ExcessiveSectors => Some(self.global.excessive_sectors() as f64),
            LaunchMetric::SectorsPerRequest => {
                (self.global.requests > 0).then(|| self.global.sectors_per_request())
            }
            LaunchMetric::SharedRequests => Some(self.banks.requests as f64),
            LaunchMetric::BankConflicts => Some(self.banks.conflicts() as f64),
            LaunchMetric::L1HitRate => self
                .caches
                .filter(|caches| caches.l1.loads > 0)
                .map(|caches| per_cent(caches.l1.load_hit_rate())),
            LaunchMetric::L2HitRate => self
                .caches
                .filter(|caches| caches.l2.loads + caches.l2.stores > 0)
                .map(|caches| per_cent(caches.l2.hit_rate())),
            LaunchMetric::ReuseDistance => self.reuse.cta_lines.mean_distance(),
            LaunchMetric::BranchDivergence => {
                (self.branches.executions() > 0).then(|| per_cent(self.branches.divergence()))
            }
        }
    }
}
