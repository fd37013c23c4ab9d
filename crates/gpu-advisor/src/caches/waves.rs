//! [`CacheSimulator`]: runs waves of blocks through the L1 caches and the L2.

use std::sync::Arc;

use reuselens_simd::{Level, entry_point};
use reuselens_warp::WarpKind;

use super::lru::SectorCache;
use super::requests::{BlockRequests, CacheRequest, CacheStep, L2Request};
use super::{CacheCounts, CacheDistances, CacheReport, DistanceMeter};
use crate::order::Lockstep;
use crate::request::count_sectors;
use crate::tally::{ObjectTallies, SiteTallies};
use crate::{AdvisorOptions, BypassOracle, GpuModel, StorePolicy};

/// The caches of a GPU, and the blocks that wait for their wave to be complete.
#[derive(Debug)]
pub(crate) struct CacheSimulator {
    model: GpuModel,
    window: usize,
    searches_bypass: bool,
    /// By the site: whether it is a load that passes the L1 by. Empty if the launch has none.
    bypassing: Arc<[bool]>,
    l1: Vec<L1>,
    l2: SectorCache,
    /// Blocks of the wave.
    wave: Vec<BlockRequests>,
    /// What their L1s ask of the L2; as many lists at least.
    misses: Vec<Vec<L2Request>>,
    /// By the block: where the lines of its next request begin.
    next_lines: Vec<usize>,
    /// Lines of their requests.
    kept: usize,
    /// Blocks of a wave that is not cut.
    full: usize,
    /// Blocks of the launch before this wave.
    before: usize,
    spare: Vec<BlockRequests>,
    oracle: OracleCaches,
    meter: Option<DistanceMeter>,
    level: Level,
    /// Of the launch.
    report: CacheReport,
    pub sites: SiteTallies,
    pub objects: ObjectTallies,
}

/// What the model says of a launch.
#[derive(Debug)]
pub(crate) struct CacheOutcome {
    pub report: CacheReport,
    /// If it was searched for, and anything was loaded.
    pub oracle: Option<BypassOracle>,
    /// If they were measured.
    pub distances: Option<CacheDistances>,
}

#[derive(Clone, Debug)]
struct L1 {
    cache: SectorCache,
    /// Whether this launch has used it.
    is_used: bool,
}

/// The first SM's L1, once for each number of warps that use it.
#[derive(Debug, Default)]
struct OracleCaches {
    /// Index *w* − 1: *w* warps of each block use it.
    caches: Vec<SectorCache>,
    traffic: Vec<u64>,
    loads: u64,
}

/// More warps of a block than this are as many for the oracle. CUDA has up to 32.
const MOST_WARPS: u64 = 64;

impl CacheSimulator {
    pub fn new(options: &AdvisorOptions) -> CacheSimulator {
        let model = options.model;
        let l1 = L1 {
            cache: SectorCache::new(model.l1),
            is_used: false,
        };
        CacheSimulator {
            model,
            window: options.resident_window as usize,
            searches_bypass: options.bypass,
            bypassing: Arc::default(),
            l1: vec![l1; model.sms.max(1) as usize],
            l2: SectorCache::new(model.l2),
            wave: Vec::new(),
            misses: Vec::new(),
            next_lines: Vec::new(),
            kept: 0,
            full: 0,
            before: 0,
            spare: Vec::new(),
            oracle: OracleCaches::default(),
            meter: options.cache_distances.then(DistanceMeter::default),
            level: Level::best(),
            report: CacheReport::default(),
            sites: SiteTallies::default(),
            objects: ObjectTallies::default(),
        }
    }

    /// A launch begins, of blocks with this many warps and bytes of shared memory. `bypassing` is
    /// what [`bypassing_sites`](super::bypassing_sites) says of its sites.
    pub fn begin(&mut self, warps: u64, shared_bytes: u64, blocks: u64, bypassing: Arc<[bool]>) {
        self.bypassing = bypassing;
        for l1 in self.l1.iter_mut().filter(|l1| l1.is_used) {
            l1.cache.clear();
            l1.is_used = false;
        }
        let sms = self.l1.len() as u64;
        let resident = u64::from(self.model.resident_blocks(warps, shared_bytes));
        let held = resident.min(blocks.div_ceil(sms)).max(1);
        self.full = (sms * resident) as usize;
        self.before = 0;
        self.report = CacheReport {
            model: self.model,
            resident_blocks: held as u32,
            ..CacheReport::default()
        };
        self.sites.0.clear();
        self.objects.entries.clear();
        if let Some(meter) = &mut self.meter {
            meter.begin();
        }
        self.oracle.loads = 0;
        self.oracle.traffic.clear();
        if self.searches_bypass {
            let warps = warps.clamp(1, MOST_WARPS) as usize;
            self.oracle.traffic.resize(warps, 0);
            let shape = self.model.l1;
            self.oracle.caches.iter_mut().for_each(SectorCache::clear);
            self.oracle
                .caches
                .resize_with(warps, || SectorCache::new(shape));
        }
    }

    /// Takes the requests of the next block, and leaves room for another's.
    pub fn push(&mut self, requests: &mut BlockRequests) {
        let empty = self.spare.pop().unwrap_or_default();
        let requests = std::mem::replace(requests, empty);
        self.report.cut_blocks += u64::from(requests.is_cut);
        if self.kept + requests.lines.len() > self.window && !self.wave.is_empty() {
            self.report.cut_waves += 1;
            self.run();
        }
        self.kept += requests.lines.len();
        self.wave.push(requests);
        if self.wave.len() == self.full {
            self.run();
        }
    }

    /// The launch has ended.
    pub fn end(&mut self) -> CacheOutcome {
        if !self.wave.is_empty() {
            self.run();
        }
        for site in &self.sites.0 {
            self.report.l1.merge(&site.counts.l1);
            self.report.l2.merge(&site.counts.l2);
        }
        let has_oracle = self.searches_bypass && self.oracle.loads > 0;
        CacheOutcome {
            report: self.report,
            oracle: has_oracle.then(|| BypassOracle {
                loads: self.oracle.loads,
                traffic: self.oracle.traffic.clone(),
            }),
            distances: self.meter.as_mut().map(DistanceMeter::end),
        }
    }

    fn run(&mut self) {
        self.report.waves += 1;
        if self.misses.len() < self.wave.len() {
            self.misses.resize(self.wave.len(), Vec::new());
        }
        self.next_lines.clear();
        self.next_lines.resize(self.wave.len(), 0);
        let sms = self.l1.len();
        // The wave's first block follows the last one of the wave before.
        for first in 0..sms.min(self.wave.len()) {
            run_l1(self.level, self, (self.before + first) % sms, first);
        }
        run_l2(self.level, self);
        if let Some(meter) = &mut self.meter {
            let bypassing = &self.bypassing;
            let passes_by = |step: &CacheStep| is_bypassing(bypassing, step);
            meter.run(&self.wave, self.before % sms, sms, passes_by);
        }
        self.before += self.wave.len();
        self.kept = 0;
        for mut requests in self.wave.drain(..) {
            requests.clear();
            self.spare.push(requests);
        }
    }

    /// Runs the blocks of an SM through its L1: each block of the wave that is a multiple of the
    /// number of SMs after `first`.
    #[inline(always)]
    fn run_l1(&mut self, sm: usize, first: usize) {
        let sms = self.l1.len();
        let (l1, stores) = (&mut self.l1[sm], self.model.stores);
        l1.is_used = true;
        let has_oracle = sm == 0 && self.searches_bypass;
        let mut counts = OpenCounts::new(CacheLevel::L1);
        let blocks = self.wave.iter().map(|requests| &requests.steps[..]);
        let blocks = blocks.enumerate().skip(first).step_by(sms);
        for (block, step) in Lockstep::new(blocks) {
            let begin = self.next_lines[block];
            let end = begin + usize::from(step.lines);
            self.next_lines[block] = end;
            let lines = &self.wave[block].lines[begin..end];
            let is_bypassing = is_bypassing(&self.bypassing, step);
            if has_oracle {
                self.oracle.request(step, lines, stores, is_bypassing);
            }
            for &line in lines {
                let sectors = u32::from(line.sectors);
                let hits = if is_bypassing {
                    0
                } else {
                    access(&mut l1.cache, step.kind, line.line, sectors, stores)
                };
                counts.open(step.site, line.object, &mut self.sites, &mut self.objects);
                counts.counts.count(step.kind, sectors, hits);
                let missing = match step.kind {
                    WarpKind::Load => line.sectors & !hits as u8,
                    WarpKind::Store | WarpKind::Atomic => line.sectors,
                };
                if missing != 0 {
                    self.misses[block].push(L2Request {
                        position: step.position,
                        site: step.site,
                        kind: step.kind,
                        line: CacheRequest {
                            sectors: missing,
                            ..line
                        },
                    });
                }
            }
        }
        counts.flush_into(&mut self.sites, &mut self.objects);
    }

    /// Runs what the L1s did not have through the L2.
    #[inline(always)]
    fn run_l2(&mut self) {
        let mut counts = OpenCounts::new(CacheLevel::L2);
        let blocks = self.misses.iter().map(|misses| &misses[..]).enumerate();
        for (_, request) in Lockstep::new(blocks) {
            let line = &request.line;
            let sectors = u32::from(line.sectors);
            let hits = self.l2.fetch(line.line, sectors);
            counts.open(
                request.site,
                line.object,
                &mut self.sites,
                &mut self.objects,
            );
            counts.counts.count(request.kind, sectors, hits);
        }
        counts.flush_into(&mut self.sites, &mut self.objects);
        self.misses.iter_mut().for_each(Vec::clear);
    }
}

entry_point! {
    fn run_l1(level, caches: &mut CacheSimulator, sm: usize, first: usize) {
        V4(_) => caches.run_l1(sm, first),
        V3(_) => caches.run_l1(sm, first),
        _ => caches.run_l1(sm, first),
    }
}

entry_point! {
    fn run_l2(level, caches: &mut CacheSimulator) {
        V4(_) => caches.run_l2(),
        V3(_) => caches.run_l2(),
        _ => caches.run_l2(),
    }
}

#[derive(Clone, Copy, Debug)]
enum CacheLevel {
    L1,
    L2,
}

/// What was counted since the site or the object changed.
#[derive(Clone, Copy, Debug)]
struct OpenCounts {
    level: CacheLevel,
    site: u16,
    object: u32,
    counts: CacheCounts,
}

impl OpenCounts {
    fn new(level: CacheLevel) -> OpenCounts {
        OpenCounts {
            level,
            site: 0,
            object: 0,
            counts: CacheCounts::default(),
        }
    }

    /// Counts of this site and object follow.
    #[inline(always)]
    fn open(
        &mut self,
        site: u16,
        object: u32,
        sites: &mut SiteTallies,
        objects: &mut ObjectTallies,
    ) {
        if (self.site, self.object) != (site, object) {
            self.flush_into(sites, objects);
            (self.site, self.object) = (site, object);
        }
    }

    /// Adds the counts to the tallies of their site and object, and clears them.
    fn flush_into(&mut self, sites: &mut SiteTallies, objects: &mut ObjectTallies) {
        let counts = std::mem::take(&mut self.counts);
        if counts == CacheCounts::default() {
            return;
        }
        let site = sites.of(self.site.into());
        let object = objects.of(self.object);
        let (of_site, of_object) = match self.level {
            CacheLevel::L1 => (&mut site.counts.l1, &mut object.counts.l1),
            CacheLevel::L2 => (&mut site.counts.l2, &mut object.counts.l2),
        };
        of_site.merge(&counts);
        of_object.merge(&counts);
    }
}

/// Whether a request passes the L1 by; `bypassing` are the sites whose loads do.
#[inline(always)]
fn is_bypassing(bypassing: &[bool], step: &CacheStep) -> bool {
    step.kind == WarpKind::Load && bypassing.get(usize::from(step.site)) == Some(&true)
}

/// What a request does to an L1. Returns the sectors that it had.
#[inline(always)]
fn access(
    cache: &mut SectorCache,
    kind: WarpKind,
    line: u64,
    sectors: u32,
    stores: StorePolicy,
) -> u32 {
    match (kind, stores) {
        (WarpKind::Load, _) => cache.fetch(line, sectors),
        (WarpKind::Store, StorePolicy::Update) => cache.update(line, sectors),
        (WarpKind::Store, StorePolicy::Evict) => cache.evict(line, sectors),
        (WarpKind::Atomic, _) => {
            cache.evict(line, sectors);
            0
        }
    }
}

impl CacheCounts {
    #[inline(always)]
    fn count(&mut self, kind: WarpKind, sectors: u32, hits: u32) {
        let (all, had) = match kind {
            WarpKind::Load => (&mut self.loads, &mut self.load_hits),
            WarpKind::Store | WarpKind::Atomic => (&mut self.stores, &mut self.store_hits),
        };
        *all += u64::from(count_sectors(sectors));
        *had += u64::from(count_sectors(hits));
    }
}

impl OracleCaches {
    fn request(
        &mut self,
        step: &CacheStep,
        lines: &[CacheRequest],
        stores: StorePolicy,
        is_bypassing: bool,
    ) {
        let is_load = step.kind == WarpKind::Load;
        // Of blocks with more warps than there are caches, the last cache has all.
        let least = (usize::from(step.warp) + 1).min(self.caches.len());
        let wanted = lines.iter().map(|line| count_sectors(line.sectors.into()));
        let wanted: u64 = wanted.map(u64::from).sum();
        if is_load {
            self.loads += wanted;
        }
        let pairs = self.caches.iter_mut().zip(&mut self.traffic);
        for (warps, (cache, traffic)) in (1..).zip(pairs) {
            if is_bypassing || is_load && warps < least {
                *traffic += wanted;
                continue;
            }
            for line in lines {
                let sectors = u32::from(line.sectors);
                let hits = access(cache, step.kind, line.line, sectors, stores);
                if is_load {
                    *traffic += u64::from(count_sectors(sectors & !hits));
                }
            }
        }
    }
}
