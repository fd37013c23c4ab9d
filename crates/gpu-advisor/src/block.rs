//! [`BlockAdvisor`]: looks at the records of one block of a launch.

use std::sync::Arc;

use reuselens_warp::{Space, WarpKind, WarpRow};

use crate::banks::wavefronts;
use crate::caches::{BlockRequests, CacheRequest, CacheStep};
use crate::order::lockstep;
use crate::request::{Footprint, LinePart, count_sectors, sector_mask};
use crate::reuse::{KeptPart, Tracker};
use crate::tally::{LAST_SITE, NO_OBJECT, SiteObject, Tally};
use crate::{AdvisorOptions, GlobalCounts, LaunchContext, ObjectRange, SECTOR_BYTES};

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
}

impl LaunchSetup {
    pub fn new(options: AdvisorOptions, context: LaunchContext) -> LaunchSetup {
        LaunchSetup {
            element_shift: options.element_shift(),
            line_shift: options.line_shift(),
            options,
            context,
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
/// Cost: about 0.2 µs for a record of neighbouring addresses, and up to 3 µs for one that accesses
/// 32 lines. Memory: 48 bytes for each record and 24 for each further line that it accesses, up to
/// [`AdvisorOptions::window`] lines, and the histories of the block's distinct lines. For the cache
/// model, 24 bytes for each record and 16 for each line, up to [`AdvisorOptions::resident_window`]
/// lines.
#[derive(Debug)]
pub struct BlockAdvisor {
    setup: Arc<LaunchSetup>,
    pub(crate) tally: Tally,
    pub(crate) requests: BlockRequests,
    footprint: Footprint,
    finder: ObjectFinder,
    /// The objects of a request that accesses several, each with its distinct bytes; empty between
    /// requests.
    several: Vec<(u32, u32, GlobalCounts)>,
    warps: Vec<WarpHistory>,
    cta: Tracker,
    kept: usize,
    is_cut: bool,
    is_finished: bool,
}

/// The requests of a warp that wait for their turn.
#[derive(Debug)]
struct WarpHistory {
    requests: Vec<KeptRequest>,
    parts: Vec<KeptPart>,
    tracker: Tracker,
}

#[derive(Clone, Copy, Debug)]
struct KeptRequest {
    position: u64,
    site: u32,
    kind: WarpKind,
    /// Where its parts begin.
    begin: u32,
    /// Where they end.
    end: u32,
}

impl BlockAdvisor {
    pub(crate) fn new(setup: Arc<LaunchSetup>) -> BlockAdvisor {
        let (element_shift, line_shift) = (setup.element_shift, setup.line_shift);
        BlockAdvisor {
            tally: Tally::default(),
            requests: BlockRequests::default(),
            footprint: Footprint::new(element_shift),
            finder: ObjectFinder::default(),
            several: Vec::new(),
            warps: Vec::new(),
            cta: Tracker::new(element_shift, line_shift),
            kept: 0,
            is_cut: false,
            is_finished: false,
            setup,
        }
    }

    /// For another block, of this launch or a later one.
    pub(crate) fn reuse(&mut self, setup: &Arc<LaunchSetup>) {
        if !Arc::ptr_eq(&self.setup, setup) {
            self.setup = Arc::clone(setup);
            self.finder.forget();
        }
        (self.kept, self.is_cut, self.is_finished) = (0, false, false);
    }

    /// Removes what was counted and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.tally.clear();
        self.requests.clear();
    }

    /// Takes a record of the block. Those of a warp must come in their order.
    #[inline]
    pub fn record(&mut self, row: &WarpRow<'_>) {
        self.tally.spaces.requests[row.space as usize] += 1;
        match row.space {
            Space::Global => self.global(row),
            Space::Shared => self.shared(row),
            Space::Constant => self.constant(row),
            Space::Local | Space::Parameter => {
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
            let object = self.finder.object(&self.setup.context, row.site, lanes[0]);
            self.tally.objects.of(object).is_constant = true;
        }
    }

    #[inline]
    fn shared(&mut self, row: &WarpRow<'_>) {
        let (needed, ideal) = wavefronts(row.mask, row.bytes, row.addresses);
        let lanes = row.addresses.len() as u64;
        let site = self.tally.sites.of(row.site);
        site.access.get_or_insert((row.space, row.kind));
        for counts in [&mut site.counts.shared, self.tally.banks.of(row.kind)] {
            counts.requests += 1;
            counts.lanes += lanes;
            counts.bytes += lanes * u64::from(row.bytes);
            counts.wavefronts += u64::from(needed);
            counts.ideal_wavefronts += u64::from(ideal);
        }
    }

    #[inline]
    fn global(&mut self, row: &WarpRow<'_>) {
        self.footprint.set(row.bytes, row.addresses);
        let footprint = &self.footprint;
        let lanes = row.addresses.len() as u64;
        self.tally.divergence.add(row.kind, footprint);
        let site = self.tally.sites.of(row.site);
        site.access.get_or_insert((row.space, row.kind));
        site.counts.global.merge(&GlobalCounts {
            requests: 1,
            lanes,
            bytes: lanes * u64::from(row.bytes),
            lines: footprint.lines().into(),
            sectors: footprint.sectors.into(),
            ideal_sectors: footprint.ideal_sectors().into(),
        });
        self.objects(row);
        if self.setup.keeps() {
            self.keep(row);
        }
    }

    /// Finds the object of each line, and counts the request for each object.
    #[inline]
    fn objects(&mut self, row: &WarpRow<'_>) {
        let (finder, context) = (&mut self.finder, &self.setup.context);
        let mut counts = GlobalCounts::default();
        let mut bytes = 0;
        let mut first = None;
        for part in &mut self.footprint.parts {
            part.object = finder.object(context, row.site, part.address());
            if *first.get_or_insert(part.object) != part.object {
                self.several_objects(row);
                return;
            }
            bytes += part.bytes;
            add_part(&mut counts, part, row.bytes);
        }
        let Some(object) = first else {
            return;
        };
        counts.requests = 1;
        counts.ideal_sectors = u64::from(bytes).div_ceil(SECTOR_BYTES);
        self.tally
            .objects
            .of(object)
            .counts
            .of(row.kind)
            .merge(&counts);
        let site = self.tally.sites.of(row.site);
        site.object.merge(SiteObject::One(object));
    }

    #[cold]
    fn several_objects(&mut self, row: &WarpRow<'_>) {
        self.tally.sites.of(row.site).object = SiteObject::Several;
        let (finder, context) = (&mut self.finder, &self.setup.context);
        let objects = &mut self.several;
        for part in &mut self.footprint.parts {
            part.object = finder.object(context, row.site, part.address());
            let known = objects.iter().position(|entry| entry.0 == part.object);
            let at = known.unwrap_or_else(|| {
                objects.push((part.object, 0, GlobalCounts::default()));
                objects.len() - 1
            });
            let (_, bytes, counts) = &mut objects[at];
            *bytes += part.bytes;
            add_part(counts, part, row.bytes);
        }
        for (object, bytes, mut counts) in objects.drain(..) {
            counts.requests = 1;
            counts.ideal_sectors = u64::from(bytes).div_ceil(SECTOR_BYTES);
            self.tally
                .objects
                .of(object)
                .counts
                .of(row.kind)
                .merge(&counts);
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
            position: row.position,
            site: row.site,
            kind: row.kind,
            begin,
            end: history.parts.len() as u32,
        });
        self.kept += self.footprint.parts.len();
        if self.kept >= self.setup.options.window as usize {
            self.is_cut = true;
            self.flush();
        }
    }

    #[cold]
    fn more_warps(&mut self, warp: usize) {
        let (element_shift, line_shift) = (self.setup.element_shift, self.setup.line_shift);
        self.warps.resize_with(warp + 1, || WarpHistory {
            requests: Vec::new(),
            parts: Vec::new(),
            tracker: Tracker::new(element_shift, line_shift),
        });
    }

    /// Says that the block has ended. [`Advisor::close`](crate::Advisor::close) does it where it
    /// was not done; called on the thread that ran the block, it leaves `close` less to do.
    pub fn finish(&mut self) {
        if std::mem::replace(&mut self.is_finished, true) {
            return;
        }
        self.flush();
        let reuse = &mut self.tally.reuse;
        reuse.cut_blocks += u64::from(self.is_cut);
        self.cta
            .finish(&mut reuse.cta_elements, &mut reuse.cta_lines);
        for warp in &mut self.warps {
            warp.tracker
                .finish(&mut reuse.warp_elements, &mut reuse.warp_lines);
        }
    }

    /// Takes the kept requests in their order.
    #[inline(never)]
    fn flush(&mut self) {
        if self.setup.options.reuse {
            self.flush_warps();
        }
        self.flush_block();
        for warp in &mut self.warps {
            warp.requests.clear();
            warp.parts.clear();
        }
        self.kept = 0;
    }

    fn flush_warps(&mut self) {
        let reuse = &mut self.tally.reuse;
        for warp in &mut self.warps {
            for request in &warp.requests {
                warp.tracker.request(
                    request.kind,
                    &warp.parts[request.begin as usize..request.end as usize],
                    &mut reuse.warp_elements,
                    &mut reuse.warp_lines,
                );
            }
        }
    }

    /// The requests of all warps, by position and then by warp.
    fn flush_block(&mut self) {
        let warps = std::mem::take(&mut self.warps);
        let requests = warps.iter().map(|history| &history.requests[..]);
        lockstep(
            requests.enumerate(),
            |request| request.position,
            |warp, request| {
                let parts = request.begin as usize..request.end as usize;
                self.in_order(warp as u32, request, &warps[warp].parts[parts]);
            },
        );
        self.warps = warps;
    }

    /// The next request of the block.
    #[inline]
    fn in_order(&mut self, warp: u32, request: &KeptRequest, parts: &[KeptPart]) {
        if self.setup.options.reuse {
            let counts = &mut self.tally.reuse;
            let reuses = self.cta.request(
                request.kind,
                parts,
                &mut counts.cta_elements,
                &mut counts.cta_lines,
            );
            if request.kind == WarpKind::Load {
                // Most often all parts are in one object.
                let mut rest = parts.iter().zip(reuses).peekable();
                while let Some((part, sums)) = rest.next() {
                    let mut sum = *sums;
                    while let Some((_, sums)) = rest.next_if(|next| next.0.object == part.object) {
                        sum.merge(sums);
                    }
                    self.tally.sites.of(request.site).counts.reuse.merge(&sum);
                    self.tally.objects.of(part.object).counts.reuse.merge(&sum);
                }
            }
        }
        if self.setup.options.caches {
            let requests = parts.iter().map(|part| CacheRequest {
                line: part.line,
                sectors: sector_mask(part.units) as u8,
                object: part.object,
            });
            let step = CacheStep {
                position: request.position,
                site: request.site,
                warp: warp as u16,
                kind: request.kind,
                begin: 0,
                end: 0,
            };
            let limit = self.setup.options.resident_window;
            self.requests.push(limit, step, requests);
        }
    }
}

#[inline]
fn add_part(counts: &mut GlobalCounts, part: &LinePart, bytes: u8) {
    counts.lanes += u64::from(part.lanes);
    counts.bytes += u64::from(part.lanes) * u64::from(bytes);
    counts.lines += 1;
    counts.sectors += u64::from(count_sectors(sector_mask(part.units)));
}

/// Finds the objects of addresses. Instructions most often stay in one object, so the last one of
/// each site is tried first.
#[derive(Debug, Default)]
struct ObjectFinder {
    by_site: Vec<ObjectRange>,
}

/// Holds no address.
const NOWHERE: ObjectRange = ObjectRange {
    start: 0,
    end: 0,
    object: NO_OBJECT,
};

impl ObjectFinder {
    fn forget(&mut self) {
        self.by_site.fill(NOWHERE);
    }

    /// The object of an address; [`NO_OBJECT`] if there is none.
    #[inline]
    fn object(&mut self, context: &LaunchContext, site: u32, address: u64) -> u32 {
        match self.by_site.get(site as usize) {
            Some(range) if range.start <= address && address < range.end => range.object,
            _ => self.search(context, site, address),
        }
    }

    #[cold]
    fn search(&mut self, context: &LaunchContext, site: u32, address: u64) -> u32 {
        let range = context.range(address);
        let at = site.min(LAST_SITE) as usize;
        if at >= self.by_site.len() {
            self.by_site.resize(at + 1, NOWHERE);
        }
        self.by_site[at] = range;
        range.object
    }
}
