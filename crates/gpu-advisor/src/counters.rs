//! [`SiteCounters`]: counts of requests of global memory, by site, until they are added to a
//! [`Tally`].

use reuselens_warp::{Space, WarpKind, WarpRow};

use crate::counts::SECTOR_BYTES;
use crate::heat::SiteHeat;
use crate::request::{LinePart, count_sectors, sector_mask};
use crate::tally::{LAST_SITE, NO_OBJECT, SiteObject, Tally};
use crate::{GlobalCounts, LaunchContext, ObjectRange, RequestSums};

/// Counts of a block by site. A request is counted once, and its site, its object and the sums of
/// its kind get what came together as long as these stay the same, which is most often the whole
/// block.
#[derive(Debug, Default)]
pub(crate) struct SiteCounters {
    by_site: Vec<SiteCounter>,
    /// The objects of a request that accesses several, each with its distinct bytes; empty between
    /// requests.
    several: Vec<(u32, u32, GlobalCounts)>,
}

/// What a site counts.
#[derive(Clone, Copy, Debug)]
struct SiteCounter {
    /// Whether the site has counts that no tally has.
    is_open: bool,
    kind: WarpKind,
    /// The addresses of the object that it accesses.
    range: ObjectRange,
    heat: SiteHeat,
    counts: GlobalCounts,
}

/// Holds no address.
pub(crate) const NOWHERE: ObjectRange = ObjectRange {
    start: 0,
    end: 0,
    object: NO_OBJECT,
};

/// A site that has counted nothing.
const CLOSED: SiteCounter = SiteCounter {
    is_open: false,
    kind: WarpKind::Load,
    range: NOWHERE,
    heat: SiteHeat::NOWHERE,
    counts: GlobalCounts {
        requests: 0,
        lanes: 0,
        bytes: 0,
        lines: 0,
        sectors: 0,
        ideal_sectors: 0,
    },
};

impl SiteCounters {
    /// Counts a request, and sets the object of each of its parts.
    #[inline(always)]
    pub fn add(
        &mut self,
        row: &WarpRow<'_>,
        parts: &mut [LinePart],
        counts: &GlobalCounts,
        context: &LaunchContext,
        tally: &mut Tally,
    ) {
        if let Some(counter) = self.by_site.get_mut(row.site as usize) {
            let range = counter.range;
            let is_open = counter.is_open && counter.kind == row.kind && !parts.is_empty();
            let mut stays = is_open;
            for part in parts.iter_mut() {
                stays &= counter.heat.holds(part.address());
                part.object = range.object;
            }
            if stays || (is_open && counter.leave_part(parts, tally)) {
                counter.counts.merge(counts);
                return;
            }
        }
        self.open(row, parts, counts, context, tally);
    }

    /// Counts a request that is not like the one before it of the same site.
    #[cold]
    fn open(
        &mut self,
        row: &WarpRow<'_>,
        parts: &mut [LinePart],
        counts: &GlobalCounts,
        context: &LaunchContext,
        tally: &mut Tally,
    ) {
        let at = row.site.min(LAST_SITE) as usize;
        if at >= self.by_site.len() {
            self.by_site.resize(at + 1, CLOSED);
        }
        self.by_site[at].flush_into(row.site, tally);
        let site = tally.sites.of(row.site);
        site.access.get_or_insert((Space::Global, row.kind));
        let ranges = parts.iter().map(LinePart::address);
        let range = ranges
            .reduce(|low, _| low)
            .map(|first| context.range(first));
        match range {
            Some(range) if parts.iter().all(|part| range.holds(part.address())) => {
                parts.iter_mut().for_each(|part| part.object = range.object);
                let mut heat = SiteHeat::open(&range, &mut tally.heat);
                heat.leave(&range, parts, 0, &mut tally.heat);
                self.by_site[at] = SiteCounter {
                    is_open: true,
                    kind: row.kind,
                    range,
                    heat,
                    counts: *counts,
                };
            }
            _ => {
                site.counts.global.merge(counts);
                tally.divergence.add_sums(row.kind, counts);
                self.several(row, parts, context, tally);
            }
        }
    }

    /// Counts a request that accesses several objects, or none, for each of these.
    fn several(
        &mut self,
        row: &WarpRow<'_>,
        parts: &mut [LinePart],
        context: &LaunchContext,
        tally: &mut Tally,
    ) {
        if !parts.is_empty() {
            tally.sites.of(row.site).object = SiteObject::Several;
        }
        let objects = &mut self.several;
        for part in parts {
            let range = context.range(part.address());
            part.object = range.object;
            let heat = tally.heat.open(&range);
            tally.heat.add(heat, &range, part);
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
            let of_object = tally.objects.of(object).counts.global.of(row.kind);
            of_object.merge(&counts);
        }
    }

    /// Adds the counts of all sites to a tally, and closes the counters.
    pub fn flush_into(&mut self, tally: &mut Tally) {
        for (site, counter) in (0..).zip(&mut self.by_site) {
            counter.flush_into(site, tally);
        }
    }
}

impl SiteCounter {
    /// Counts the parts of a request that leaves the part of its object where the site is. Returns
    /// false and counts nothing if it leaves the object, too.
    fn leave_part(&mut self, parts: &[LinePart], tally: &mut Tally) -> bool {
        let range = self.range;
        let stays = parts.iter().all(|part| range.holds(part.address()));
        if stays {
            let sectors = self.counts.sectors;
            self.heat.leave(&range, parts, sectors, &mut tally.heat);
        }
        stays
    }

    /// Adds the counts to a tally, as those of this site, and closes the counter.
    fn flush_into(&mut self, site: u32, tally: &mut Tally) {
        if !std::mem::replace(&mut self.is_open, false) {
            return;
        }
        let object = self.range.object;
        self.heat.flush_into(self.counts.sectors, &mut tally.heat);
        let site = tally.sites.of(site);
        site.counts.global.merge(&self.counts);
        site.object.merge(SiteObject::One(object));
        let of_object = tally.objects.of(object).counts.global.of(self.kind);
        of_object.merge(&self.counts);
        tally.divergence.add_sums(self.kind, &self.counts);
    }
}

fn add_part(counts: &mut GlobalCounts, part: &LinePart, bytes: u8) {
    counts.lanes += u64::from(part.lanes);
    counts.bytes += u64::from(part.lanes) * u64::from(bytes);
    counts.lines += 1;
    counts.sectors += u64::from(count_sectors(sector_mask(part.units)));
}
