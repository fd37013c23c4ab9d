//! [`BlockAdvisor`]: looks at the records of one block of a launch.

use std::sync::Arc;

use reuselens_simd::{Level, entry_point};
use reuselens_warp::{SharedArray, Space, WarpKind, WarpRow};

use crate::banks::wavefronts_at;
use crate::caches::{BlockRequests, CacheRequest, CacheStep};
use crate::counters::{NOWHERE, SiteCounters};
use crate::history::{KeptRequest, WarpHistory};
use crate::neighbours::BlockAccesses;
use crate::order::{Lockstep, position_of};
use crate::reference::ReferenceBlock;
use crate::request::{Footprint, sector_mask};
use crate::reuse::{KeptPart, ReuseSums, SeeReuse, Tracker, Unseen};
use crate::tally::{LAST_SITE, NO_OBJECT, ObjectTallies, SiteObject, SiteTallies, Tally};
use crate::{
    AdvisorOptions, BankCounts, GlobalCounts, LaunchContext, LocalCounts, ObjectRange, RequestSums,
};

/// Warps of a block that have histories of their own; CUDA has up to 32.
const MAX_WARPS: u32 = 2048;

/// What the blocks of a launch share.
#[derive(Debug)]
pub(crate) struct LaunchSetup {
    pub options: AdvisorOptions,
    pub context: LaunchContext,
    /// log2 of the bytes of an element.
    pub element_shift: u32,
    /// log2 of the bytes of a line.
    pub line_shift: u32,
    /// The arrays in shared memory, by their addresses.
    arrays: Arc<[SharedArray]>,
}

impl LaunchSetup {
    pub fn new(
        options: AdvisorOptions,
        context: LaunchContext,
        arrays: Arc<[SharedArray]>,
    ) -> LaunchSetup {
        LaunchSetup {
            element_shift: options.element_shift(),
            line_shift: options.line_shift(),
            options,
            context,
            arrays,
        }
    }

    /// The index of the shared array that an address is in; their number if it is in none.
    #[inline]
    fn array(&self, address: u64) -> usize {
        let after = self.arrays.partition_point(|array| array.start <= address);
        match after.checked_sub(1) {
            Some(at) if self.arrays[at].holds(address) => at,
            _ => self.arrays.len(),
        }
    }

    /// Whether requests are kept until the block ends.
    fn keeps(&self) -> bool {
        self.options.reuse || self.options.caches
    }
}

/// Looks at the records of one block, on any thread. [`Advisor::close`](crate::Advisor::close)
/// takes it back.
///
/// Cost: about 0.1 µs for a record of neighbouring addresses, and 1 µs for one that accesses 32
/// lines, if the block does the same as the one before it to other addresses; else up to twice as
/// much. Memory: 48 bytes for each record and 24 for each further line that it accesses, up to
/// [`AdvisorOptions::window`] lines, twice (for this block and the one that it is compared with),
/// and the histories of the block's distinct lines. For the cache model, 16 bytes for each record
/// and 16 for each line, up to [`AdvisorOptions::resident_window`] lines.
#[derive(Debug)]
pub struct BlockAdvisor {
    setup: Arc<LaunchSetup>,
    pub(crate) tally: Tally,
    pub(crate) requests: BlockRequests,
    footprint: Footprint,
    counters: SiteCounters,
    /// Where constants were loaded from last.
    constants: ObjectRange,
    warps: Vec<WarpHistory>,
    /// For one warp after the other; without requests between them.
    spare: Tracker,
    cta: Tracker,
    loads: PendingLoads,
    reference: ReferenceBlock,
    kept: usize,
    is_cut: bool,
    is_finished: bool,
    level: Level,
    /// Its accesses of global memory, if threads are to be mapped.
    pub(crate) accesses: Option<BlockAccesses>,
}

/// What requests are looked at for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FlushPass {
    /// The cache model only.
    Caches,
    /// Reuse distances, and the cache model.
    Both,
}

/// What the last loads reuse, as long as they are of one site and object.
#[derive(Debug, Default)]
struct PendingLoads {
    site: u32,
    object: u32,
    sums: ReuseSums,
}

impl PendingLoads {
    /// Adds the sums to the tallies of their site and object, and clears them.
    fn flush_into(&mut self, sites: &mut SiteTallies, objects: &mut ObjectTallies) {
        let sums = std::mem::take(&mut self.sums);
        if sums.loads > 0 {
            sites.of(self.site).counts.reuse.merge(&sums);
            objects.of(self.object).counts.reuse.merge(&sums);
        }
    }
}

/// Counts the reuse of a request's parts.
#[derive(Debug)]
struct SiteLoads<'b> {
    site: u32,
    is_load: bool,
    /// Gets the number of each part's line.
    numbers: Option<&'b mut Vec<u32>>,
    pending: &'b mut PendingLoads,
    sites: &'b mut SiteTallies,
    objects: &'b mut ObjectTallies,
}

impl SeeReuse for SiteLoads<'_> {
    #[inline(always)]
    fn see(&mut self, part: &KeptPart, number: u32, sums: &ReuseSums) {
        if let Some(numbers) = &mut self.numbers {
            numbers.push(number);
        }
        if !self.is_load {
            return;
        }
        let pending = &mut *self.pending;
        if (pending.site, pending.object) != (self.site, part.object) {
            pending.flush_into(self.sites, self.objects);
            (pending.site, pending.object) = (self.site, part.object);
        }
        pending.sums.merge(sums);
    }
}

entry_point! {
    fn flush_warps(level, block: &mut BlockAdvisor) {
        V4(_) => block.flush_warps(),
        V3(_) => block.flush_warps(),
        _ => block.flush_warps(),
    }
}

entry_point! {
    fn flush_block(level, block: &mut BlockAdvisor, pass: FlushPass) {
        V4(_) => block.flush_block(pass),
        V3(_) => block.flush_block(pass),
        _ => block.flush_block(pass),
    }
}

impl BlockAdvisor {
    pub(crate) fn new(setup: Arc<LaunchSetup>) -> BlockAdvisor {
        let (element_shift, line_shift) = (setup.element_shift, setup.line_shift);
        BlockAdvisor {
            tally: Tally::default(),
            requests: BlockRequests::default(),
            footprint: Footprint::new(element_shift),
            counters: SiteCounters::default(),
            constants: NOWHERE,
            warps: Vec::new(),
            spare: Tracker::new(element_shift, line_shift),
            cta: Tracker::new(element_shift, line_shift),
            loads: PendingLoads::default(),
            reference: ReferenceBlock::default(),
            kept: 0,
            is_cut: false,
            is_finished: false,
            level: Level::best(),
            accesses: None,
            setup,
        }
    }

    /// For another block, of this launch or a later one.
    pub(crate) fn reuse(&mut self, setup: &Arc<LaunchSetup>) {
        if !Arc::ptr_eq(&self.setup, setup) {
            self.setup = Arc::clone(setup);
            self.constants = NOWHERE;
        }
        (self.kept, self.is_cut, self.is_finished) = (0, false, false);
    }

    /// Removes what was counted and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.tally.clear();
        self.requests.clear();
        self.accesses = None;
    }

    /// Takes a record of the block. Those of a warp must come in their order.
    #[inline]
    pub fn record(&mut self, row: &WarpRow<'_>) {
        let lanes = row.addresses.len() as u64;
        self.tally.spaces.add(row.space, row.kind, lanes);
        match row.space {
            Space::Global => self.global(row),
            Space::Shared => self.shared(row),
            Space::Constant => self.constant(row),
            Space::Local => {
                let site = self.tally.sites.of(row.site);
                site.access.get_or_insert((row.space, row.kind));
                site.counts.local.merge(&LocalCounts {
                    requests: 1,
                    lanes,
                    bytes: lanes * u64::from(row.bytes),
                });
            }
            Space::Parameter => {
                let site = self.tally.sites.of(row.site);
                site.access.get_or_insert((row.space, row.kind));
            }
        }
    }

    /// Marks the objects that a load of constants reads.
    fn constant(&mut self, row: &WarpRow<'_>) {
        let site = self.tally.sites.of(row.site);
        site.access.get_or_insert((row.space, row.kind));
        // Most often all lanes load from one address.
        for lanes in row.addresses.chunk_by(|one, next| one == next) {
            let (address, known) = (lanes[0], &mut self.constants);
            if !known.holds(address) {
                *known = self.setup.context.range(address);
            }
            self.tally.objects.of(known.object).is_constant = true;
        }
    }

    #[inline]
    fn shared(&mut self, row: &WarpRow<'_>) {
        let (needed, ideal) = wavefronts_at(self.level, row.mask, row.bytes, row.addresses);
        let lanes = row.addresses.len() as u64;
        let site = self.tally.sites.of(row.site);
        site.access.get_or_insert((row.space, row.kind));
        let arrays = &self.setup.arrays;
        let first = row.addresses.first().copied().unwrap_or(0);
        // An instruction most often accesses one array, so its last one is looked at first.
        let array = match site.array {
            SiteObject::One(at) if arrays.get(at as usize).is_some_and(|it| it.holds(first)) => {
                at as usize
            }
            _ => {
                let array = self.setup.array(first);
                let is_known = array < arrays.len();
                let object = if is_known { array as u32 } else { NO_OBJECT };
                site.array.merge(SiteObject::One(object));
                array
            }
        };
        let of_arrays = &mut self.tally.arrays;
        if of_arrays.is_empty() {
            of_arrays.resize(arrays.len() + 1, BankCounts::default());
        }
        let sums = [
            &mut site.counts.shared,
            self.tally.banks.of(row.kind),
            &mut of_arrays[array],
        ];
        for counts in sums {
            counts.requests += 1;
            counts.lanes += lanes;
            counts.bytes += lanes * u64::from(row.bytes);
            counts.wavefronts += u64::from(needed);
            counts.ideal_wavefronts += u64::from(ideal);
        }
    }

    /// Keeps accesses of global memory as they are.
    pub(crate) fn keep_accesses(&mut self) {
        self.accesses = Some(BlockAccesses::default());
    }

    #[inline(always)]
    fn global(&mut self, row: &WarpRow<'_>) {
        if let Some(accesses) = &mut self.accesses {
            accesses.push(row, self.setup.options.mapped_accesses as usize);
        }
        self.footprint.set(row.bytes, row.addresses);
        let footprint = &mut self.footprint;
        self.tally.divergence.add(row.kind, footprint);
        let lanes = row.addresses.len() as u64;
        let counts = GlobalCounts {
            requests: 1,
            lanes,
            bytes: lanes * u64::from(row.bytes),
            lines: footprint.lines().into(),
            sectors: footprint.sectors.into(),
            ideal_sectors: footprint.ideal_sectors().into(),
        };
        let (context, tally) = (&self.setup.context, &mut self.tally);
        let parts = &mut footprint.parts;
        self.counters.add(row, parts, &counts, context, tally);
        if self.setup.keeps() {
            self.keep(row);
        }
    }

    /// Keeps a request until the order of its block's requests is known.
    #[inline]
    fn keep(&mut self, row: &WarpRow<'_>) {
        let warp = (row.warp % MAX_WARPS) as usize;
        if warp >= self.warps.len() {
            self.more_warps(warp);
        }
        let history = &mut self.warps[warp];
        let begin = history.parts.len() as u32;
        let parts = self.footprint.parts.iter();
        history.parts.extend(parts.map(|part| KeptPart {
            line: part.line,
            units: part.units,
            repeated: part.repeated,
            accesses: part.accesses,
            object: part.object,
        }));
        history.requests.push(KeptRequest {
            position: position_of(row),
            site: row.site,
            kind: row.kind,
            begin,
            end: history.parts.len() as u32,
        });
        self.kept += self.footprint.parts.len();
        if self.kept >= self.setup.options.window as usize {
            self.is_cut = true;
            self.flush(if self.setup.options.reuse {
                FlushPass::Both
            } else {
                FlushPass::Caches
            });
        }
    }

    #[cold]
    fn more_warps(&mut self, warp: usize) {
        self.warps.resize_with(warp + 1, WarpHistory::default);
    }

    /// Says that the block has ended. [`Advisor::close`](crate::Advisor::close) does it where it
    /// was not done; called on the thread that ran the block, it leaves `close` less to do.
    pub fn finish(&mut self) {
        if std::mem::replace(&mut self.is_finished, true) {
            return;
        }
        self.counters.flush_into(&mut self.tally);
        if !self.setup.options.reuse {
            self.flush(FlushPass::Caches);
        } else if self.is_cut {
            self.flush(FlushPass::Both);
            self.finish_reuse();
            self.tally.reuse.cut_blocks += 1;
        } else if self.reference.count(&self.warps, &mut self.tally) {
            self.flush(FlushPass::Caches);
        } else {
            self.finish_reference();
        }
    }

    /// Counts a block that is not as the one before it, and keeps it to compare the next one with.
    fn finish_reference(&mut self) {
        self.reference.prepare(self.warps.len());
        flush_warps(self.level, self);
        flush_block(self.level, self, FlushPass::Both);
        let lines = self.cta.lines();
        self.finish_reuse();
        self.reference.set(&mut self.warps, lines, &self.tally);
        self.clear_histories();
    }

    /// All requests were counted.
    fn finish_reuse(&mut self) {
        self.loads
            .flush_into(&mut self.tally.sites, &mut self.tally.objects);
        let reuse = &mut self.tally.reuse;
        self.cta.finish(reuse.of_ctas());
        for tracker in self.warps.iter_mut().flat_map(|warp| &mut warp.tracker) {
            tracker.finish(reuse.of_warps());
        }
    }

    fn clear_histories(&mut self) {
        self.warps.iter_mut().for_each(WarpHistory::clear);
        self.kept = 0;
    }

    /// Takes the kept requests in their order.
    #[inline(never)]
    fn flush(&mut self, pass: FlushPass) {
        if pass == FlushPass::Both {
            flush_warps(self.level, self);
        }
        flush_block(self.level, self, pass);
        self.clear_histories();
    }

    #[inline(always)]
    fn flush_warps(&mut self) {
        let reuse = &mut self.tally.reuse;
        for warp in &mut self.warps {
            // Most blocks are flushed once, at their end: one tracker then serves all warps, and
            // stays in the processor's caches.
            let tracker = if self.is_cut {
                warp.tracker.get_or_insert_with(|| self.spare.clone())
            } else {
                &mut self.spare
            };
            for request in &warp.requests {
                let parts = &warp.parts[request.parts()];
                tracker.request(request.kind, parts, reuse.of_warps(), &mut Unseen);
            }
            if !self.is_cut {
                tracker.finish(reuse.of_warps());
            }
        }
    }

    /// The requests of all warps, by phase and position and then by warp.
    #[inline(always)]
    fn flush_block(&mut self, pass: FlushPass) {
        let warps = std::mem::take(&mut self.warps);
        if self.setup.options.caches {
            let requests = warps.iter().map(|warp| warp.requests.len()).sum();
            let limit = self.setup.options.resident_window;
            self.requests.reserve(requests, self.kept, limit);
        }
        let requests = warps.iter().map(|history| &history.requests[..]);
        for (warp, request) in Lockstep::new(requests.enumerate()) {
            let parts = &warps[warp].parts[request.parts()];
            if pass == FlushPass::Both {
                self.count_reuse(warp, request, parts);
            }
            if self.setup.options.caches {
                self.keep_for_caches(warp, request, parts);
            }
        }
        self.warps = warps;
    }

    /// The reuse of the next request of the block.
    #[inline(always)]
    fn count_reuse(&mut self, warp: usize, request: &KeptRequest, parts: &[KeptPart]) {
        let mut loads = SiteLoads {
            site: request.site,
            is_load: request.kind == WarpKind::Load,
            numbers: if self.is_cut {
                None
            } else {
                Some(&mut self.reference.numbers[warp])
            },
            pending: &mut self.loads,
            sites: &mut self.tally.sites,
            objects: &mut self.tally.objects,
        };
        let counts = self.tally.reuse.of_ctas();
        self.cta.request(request.kind, parts, counts, &mut loads);
    }

    /// The next request of the block, for the cache model.
    #[inline(always)]
    fn keep_for_caches(&mut self, warp: usize, request: &KeptRequest, parts: &[KeptPart]) {
        let requests = parts.iter().map(|part| CacheRequest {
            line: part.line,
            sectors: sector_mask(part.units) as u8,
            object: part.object,
        });
        let step = CacheStep {
            position: request.position,
            site: request.site.min(LAST_SITE) as u16,
            // Below `MAX_WARPS`.
            warp: warp as u16,
            kind: request.kind,
            // Of 32 lanes with 255 bytes at most, each in three lines.
            lines: parts.len() as u8,
        };
        let limit = self.setup.options.resident_window;
        self.requests.push(limit, step, requests);
    }
}
