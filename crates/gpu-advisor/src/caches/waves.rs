//! [`CacheSimulator`]: runs waves of blocks through the L1 caches and the L2.

use reuselens_warp::WarpKind;

use super::lru::SectorCache;
use super::requests::{BlockRequests, CacheStep};
use super::{CacheCounts, CacheReport};
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
        (self.searches_bypass && self.oracle.loads > 0).then(|| BypassOracle {
            loads: self.oracle.loads,
            traffic: self.oracle.traffic.clone(),
        })
    }

    fn run(&mut self) {
        self.report.waves += 1;
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
    /// number of SMs after `first`. What the L1 does not have stays in the requests.
    fn run_l1(&mut self, sm: usize, first: usize) {
        let mut wave = std::mem::take(&mut self.wave);
        let blocks = (first..wave.len()).step_by(self.l1.len());
        self.l1[sm].is_used = true;
        lockstep(&mut wave, blocks, |requests, begin, step| {
            let mut counts = CacheCounts::default();
            for at in begin..step.end as usize {
                let mut counted = CacheCounts::default();
                let request = &mut requests.lines[at];
                let sectors = u32::from(request.sectors);
                if sm == 0 && self.searches_bypass {
                    self.oracle
                        .request(step, request.line, sectors, self.model.stores);
                }
                let cache = &mut self.l1[sm].cache;
                let hits = access(cache, step.kind, request.line, sectors, self.model.stores);
                counted.count(step.kind, sectors, hits);
                if step.kind == WarpKind::Load {
                    request.sectors &= !hits as u8;
                }
                self.objects.of(request.object).l1.merge(&counted);
                counts.merge(&counted);
            }
            self.report.l1.merge(&counts);
            self.sites.of(step.site).l1.merge(&counts);
        });
        self.wave = wave;
    }

    /// Runs what the L1s did not have through the L2.
    fn run_l2(&mut self) {
        let mut wave = std::mem::take(&mut self.wave);
        let blocks = 0..wave.len();
        lockstep(&mut wave, blocks, |requests, begin, step| {
            let mut counts = CacheCounts::default();
            for request in &requests.lines[begin..step.end as usize] {
                let sectors = u32::from(request.sectors);
                if sectors != 0 {
                    let hits = self.l2.fetch(request.line, sectors);
                    let mut counted = CacheCounts::default();
                    counted.count(step.kind, sectors, hits);
                    self.objects.of(request.object).l2.merge(&counted);
                    counts.merge(&counted);
                }
            }
            self.report.l2.merge(&counts);
            self.sites.of(step.site).l2.merge(&counts);
        });
        self.wave = wave;
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
        let (sectors, hits) = (sectors.count_ones().into(), u64::from(hits.count_ones()));
        match kind {
            WarpKind::Load => (self.loads, self.load_hits) = (sectors, hits),
            WarpKind::Store | WarpKind::Atomic => (self.stores, self.store_hits) = (sectors, hits),
        }
    }
}

impl OracleCaches {
    #[inline]
    fn request(&mut self, step: &CacheStep, line: u64, sectors: u32, stores: StorePolicy) {
        let is_load = step.kind == WarpKind::Load;
        if is_load {
            self.loads += u64::from(sectors.count_ones());
        }
        // Of blocks with more warps than there are caches, the last cache has all.
        let least = (usize::from(step.warp) + 1).min(self.caches.len());
        let pairs = self.caches.iter_mut().zip(&mut self.traffic);
        for (warps, (cache, traffic)) in (1..).zip(pairs) {
            let hits = match is_load && warps < least {
                true => 0,
                false => access(cache, step.kind, line, sectors, stores),
            };
            if is_load {
                *traffic += u64::from((sectors & !hits).count_ones());
            }
        }
    }
}

/// Visits the steps of blocks by position, then by block: each with its block and where its lines
/// begin.
fn lockstep(
    wave: &mut [BlockRequests],
    blocks: impl Iterator<Item = usize>,
    mut visit: impl FnMut(&mut BlockRequests, usize, &CacheStep),
) {
    // Of each block with steps left: its index, its next step, and that one's lines.
    let mut going: Vec<(usize, usize, usize)> = blocks
        .filter(|&block| !wave[block].steps.is_empty())
        .map(|block| (block, 0, 0))
        .collect();
    while !going.is_empty() {
        let positions = going
            .iter()
            .map(|&(block, next, _)| wave[block].steps[next].position);
        let position = positions.min().unwrap_or(0);
        let mut has_ended = false;
        for (block, next, begin) in &mut going {
            let requests = &mut wave[*block];
            while let Some(&step) = requests.steps.get(*next)
                && step.position <= position
            {
                visit(requests, *begin, &step);
                (*next, *begin) = (*next + 1, step.end as usize);
            }
            has_ended |= *next == requests.steps.len();
        }
        if has_ended {
            going.retain(|&(block, next, _)| next < wave[block].steps.len());
        }
    }
}
