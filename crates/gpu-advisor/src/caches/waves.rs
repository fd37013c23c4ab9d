//! [`CacheSimulator`]: runs waves of blocks through the L1 caches and the L2.

use reuselens_warp::WarpKind;

use super::lru::SectorCache;
use super::requests::{BlockRequests, CacheRequest, CacheStep, L2Request};
use super::{CacheCounts, CacheReport};
use crate::order::lockstep;
use crate::request::count_sectors;
use crate::tally::{ObjectTallies, SiteTallies};
use crate::{AdvisorOptions, BypassOracle, GpuModel, StorePolicy};

/// The caches of a GPU, and the blocks that wait for their wave to be complete.
#[derive(Debug)]
pub(crate) struct CacheSimulator {
    model: GpuModel,
    window: usize,
    searches_bypass: bool,
    l1: Vec<L1>,
    l2: SectorCache,
    /// Blocks of the wave.
    wave: Vec<BlockRequests>,
    /// What their L1s ask of the L2; as many lists at least.
    misses: Vec<Vec<L2Request>>,
    /// Lines of their requests.
    kept: usize,
    /// Blocks of a wave that is not cut.
    full: usize,
    /// Blocks of the launch before this wave.
    before: usize,
    spare: Vec<BlockRequests>,
    oracle: OracleCaches,
    /// Of the launch.
    pub report: CacheReport,
    pub sites: SiteTallies,
    pub objects: ObjectTallies,
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
            l1: vec![l1; model.sms.max(1) as usize],
            l2: SectorCache::new(model.l2),
            wave: Vec::new(),
            misses: Vec::new(),
            kept: 0,
            full: 0,
            before: 0,
            spare: Vec::new(),
            oracle: OracleCaches::default(),
            report: CacheReport::default(),
            sites: SiteTallies::default(),
            objects: ObjectTallies::default(),
        }
    }

    /// A launch begins, of blocks with this many warps.
    pub fn begin(&mut self, warps: u64, blocks: u64) {
        for l1 in self.l1.iter_mut().filter(|l1| l1.is_used) {
            l1.cache.clear();
            l1.is_used = false;
        }
        let sms = self.l1.len() as u64;
        let resident = u64::from(self.model.resident_blocks(warps));
        let held = resident.min(blocks.div_ceil(sms)).max(1);
        self.full = (sms * resident) as usize;
        self.before = 0;
        self.report = CacheReport {
            model: self.model,
            resident_blocks: held as u32,
            ..CacheReport::default()
        };
        self.sites.0.clear();
        self.objects.tallies.clear();
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

    /// The launch has ended. Returns the oracle's part, if it was asked for.
    pub fn end(&mut self) -> Option<BypassOracle> {
        if !self.wave.is_empty() {
            self.run();
        }
        for site in &self.sites.0 {
            self.report.l1.merge(&site.counts.l1);
            self.report.l2.merge(&site.counts.l2);
        }
        (self.searches_bypass && self.oracle.loads > 0).then(|| BypassOracle {
            loads: self.oracle.loads,
            traffic: self.oracle.traffic.clone(),
        })
    }

    fn run(&mut self) {
        self.report.waves += 1;
        if self.misses.len() < self.wave.len() {
            self.misses.resize(self.wave.len(), Vec::new());
        }
        let sms = self.l1.len();
        // The wave's first block follows the last one of the wave before.
        for first in 0..sms.min(self.wave.len()) {
            self.run_l1((self.before + first) % sms, first);
        }
        self.run_l2();
        self.before += self.wave.len();
        self.kept = 0;
        for mut requests in self.wave.drain(..) {
            requests.clear();
            self.spare.push(requests);
        }
    }

    /// Runs the blocks of an SM through its L1: each block of the wave that is a multiple of the
    /// number of SMs after `first`.
    fn run_l1(&mut self, sm: usize, first: usize) {
        let wave = std::mem::take(&mut self.wave);
        let mut misses = std::mem::take(&mut self.misses);
        let blocks = wave.iter().map(|requests| &requests.steps[..]).enumerate();
        self.l1[sm].is_used = true;
        lockstep(
            blocks.skip(first).step_by(self.l1.len()),
            |step| step.position,
            |block, step| {
                let lines = &wave[block].lines[step.begin as usize..step.end as usize];
                if sm == 0 && self.searches_bypass {
                    self.oracle.request(step, lines, self.model.stores);
                }
                let missed = lines
                    .iter()
                    .filter_map(|&line| self.l1_line(sm, step, line));
                misses[block].extend(missed);
            },
        );
        (self.wave, self.misses) = (wave, misses);
    }

    /// What one line of a request does to an L1. Returns what the L2 is asked for.
    #[inline]
    fn l1_line(&mut self, sm: usize, step: &CacheStep, line: CacheRequest) -> Option<L2Request> {
        let sectors = u32::from(line.sectors);
        let cache = &mut self.l1[sm].cache;
        let hits = access(cache, step.kind, line.line, sectors, self.model.stores);
        let site = self.sites.of(step.site);
        site.counts.l1.count(step.kind, sectors, hits);
        let object = self.objects.of(line.object);
        object.counts.l1.count(step.kind, sectors, hits);
        let missing = match step.kind {
            WarpKind::Load => line.sectors & !hits as u8,
            WarpKind::Store | WarpKind::Atomic => line.sectors,
        };
        (missing != 0).then_some(L2Request {
            position: step.position,
            site: step.site,
            kind: step.kind,
            line: CacheRequest {
                sectors: missing,
                ..line
            },
        })
    }

    /// Runs what the L1s did not have through the L2.
    fn run_l2(&mut self) {
        let blocks = self.misses.iter().map(|misses| &misses[..]).enumerate();
        lockstep(
            blocks,
            |request| request.position,
            |_, request| {
                let sectors = u32::from(request.line.sectors);
                let hits = self.l2.fetch(request.line.line, sectors);
                let site = self.sites.of(request.site);
                site.counts.l2.count(request.kind, sectors, hits);
                let object = self.objects.of(request.line.object);
                object.counts.l2.count(request.kind, sectors, hits);
            },
        );
        self.misses.iter_mut().for_each(Vec::clear);
    }
}

/// What a request does to an L1. Returns the sectors that it had.
#[inline]
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
    #[inline]
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
    #[inline]
    fn request(&mut self, step: &CacheStep, lines: &[CacheRequest], stores: StorePolicy) {
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
            if is_load && warps < least {
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
