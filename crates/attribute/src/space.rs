//! The memory of one process: which object owns an address.

use std::sync::Arc;

use crate::chunks::Piece;
use crate::intervals::IntervalMap;
use crate::shadow::{
    Granules, NO_STRUCTURE, PAGE_SHIFT, Page, Region, Shadow, ShadowAnswer, Versions, Volatility,
};

/// A symbol in its module: addresses as in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SymbolExtent {
    pub low: u64,
    pub high: u64,
    pub object: u32,
    /// Where its elements are counted, or [`NO_STRUCTURE`].
    pub structure: u32,
}

/// The static symbols of a module, ascending and disjoint; shared by all processes that map it.
pub(crate) type SymbolExtents = Arc<[SymbolExtent]>;

/// A module's symbols where a process has them.
#[derive(Clone, Debug)]
struct Mapped {
    bias: u64,
    low: u64,
    high: u64,
    extents: SymbolExtents,
}

impl Mapped {
    fn region(&self, extent: &SymbolExtent) -> Region {
        Region {
            low: extent.low.wrapping_add(self.bias),
            high: extent.high.wrapping_add(self.bias),
            object: extent.object,
            structure: extent.structure,
            volatility: Volatility::Static,
        }
    }

    /// The regions that overlap `low..high`.
    fn overlapping(&self, low: u64, high: u64) -> impl Iterator<Item = Region> + '_ {
        let start = low.max(self.low).wrapping_sub(self.bias);
        let first = self.extents.partition_point(|extent| extent.high <= start);
        let regions = self.extents[first..]
            .iter()
            .map(|extent| self.region(extent));
        regions.take_while(move |region| region.low < high && low < self.high)
    }
}

/// Owner of memory that the program named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamedOwner {
    pub object: u32,
    pub structure: u32,
}

/// Three layers of exact intervals (named over heap over static) under one cache.
#[derive(Debug, Default)]
pub(crate) struct AddressSpace {
    shadow: Shadow,
    heap: IntervalMap<u32>,
    named: IntervalMap<NamedOwner>,
    mapped: Vec<Mapped>,
    /// By [`Volatility`]: changes when remembered regions may be untrue.
    versions: Versions,
}

impl AddressSpace {
    /// The memory of a forked child: the same owners.
    pub fn fork(&self) -> AddressSpace {
        AddressSpace {
            shadow: Shadow::default(),
            heap: self.heap.clone(),
            named: self.named.clone(),
            mapped: self.mapped.clone(),
            versions: Versions::default(),
        }
    }

    /// The versions of remembered regions, by [`Volatility`].
    #[inline]
    pub fn versions(&self) -> Versions {
        self.versions
    }

    /// The thread that runs now has these live frames with variables: see
    /// [`crate::locals::LiveFrames`]. 0: no region of a frame is remembered.
    #[inline]
    pub fn set_live_frames(&mut self, number: u32) {
        self.versions[Volatility::Frame as usize] = number;
    }

    /// The number that [`Self::set_live_frames`] set.
    #[inline]
    pub fn live_frames(&self) -> u32 {
        self.versions[Volatility::Frame as usize]
    }

    /// Maps a module's symbols, in place of those of any module that overlaps `low..high`.
    pub fn map(&mut self, low: u64, high: u64, bias: u64, extents: SymbolExtents) {
        self.mapped.retain(|old| old.high <= low || high <= old.low);
        if let (Some(first), Some(last)) = (extents.first(), extents.last()) {
            let from = first.low.wrapping_add(bias);
            let to = last.high.wrapping_add(bias);
            if from < to {
                self.mapped.push(Mapped {
                    bias,
                    low: from,
                    high: to,
                    extents,
                });
            }
        }
        self.shadow = Shadow::default();
        self.changed(Volatility::Static);
        self.changed(Volatility::Heap);
    }

    /// A heap block begins; older blocks and names of its bytes end. `pieces` are the chunks of the
    /// block, each with its object, one at least: each begins where the one before ends. Calls
    /// `removed` with each piece of an older block.
    pub fn allocate(&mut self, pieces: &[Piece], removed: impl FnMut(u64, u64, u32)) {
        let (Some(&(low, ..)), Some(&(_, high, _))) = (pieces.first(), pieces.last()) else {
            return;
        };
        if low >= high {
            return;
        }
        let mapped = self.mapped_in(low, high);
        if mapped || self.heap.overlaps(low, high) || self.named.overlaps(low, high) {
            let hull = self.hull(low, high);
            self.clear(low, high, removed);
            self.changed(Volatility::Static);
            self.repaint(pieces, hull);
        } else {
            self.paint(pieces);
        }
        for &(low, high, object) in pieces {
            self.heap.insert(low, high, object);
        }
    }

    /// The bytes from `low` to the end of the block there, all of its chunks included; 0 if no
    /// block begins there. `follows` tells whether the piece of the second object goes on after
    /// that of the first, which is as long as the third argument says.
    pub fn block_bytes(&self, low: u64, follows: impl Fn(u32, u32, u64) -> bool) -> u64 {
        let Some((first, mut end, mut object)) = self.heap.get(low) else {
            return 0;
        };
        if first != low {
            return 0;
        }
        let mut start = first;
        while let Some((from, to, next)) = self.heap.get(end)
            && from == end
            && follows(object, next, end - start)
        {
            (start, end, object) = (from, to, next);
        }
        end - low
    }

    /// Heap bytes end; `bytes` 0 means all of the block at `low`. Calls `removed` with each piece
    /// of a block that ended. False if there was neither a block nor a name.
    pub fn free(&mut self, low: u64, bytes: u64, removed: impl FnMut(u64, u64, u32)) -> bool {
        let high = match (bytes, self.heap.get(low)) {
            (0, Some((from, to, _))) if from == low => to,
            (0, _) => return false,
            _ => low.saturating_add(bytes),
        };
        let hull = self.hull(low, high);
        if low >= high || !self.clear(low, high, removed) {
            return false;
        }
        self.repaint(&[(low, high, 0)], hull);
        true
    }

    /// Brings the shadow up to date after a change of these pieces, which are one range; `hull` is
    /// all that overlapped it before. What was cut is forgotten whole: its other pages remember
    /// where it ended.
    fn repaint(&mut self, pieces: &[Piece], hull: (u64, u64)) {
        let ends = pieces.first().zip(pieces.last());
        let range = ends.map(|(first, last)| (first.0, last.1));
        if range == Some(hull) && !self.mapped_in(hull.0, hull.1) {
            self.paint(pieces);
        } else {
            self.shadow.forget(hull.0, hull.1);
        }
    }

    fn paint(&mut self, pieces: &[Piece]) {
        for &(low, high, object) in pieces {
            self.shadow.paint(low, high, object);
        }
    }

    /// `low..high` and every region that overlaps it.
    fn hull(&self, low: u64, high: u64) -> (u64, u64) {
        let (heap, named) = (self.heap.hull(low, high), self.named.hull(low, high));
        let start = (low.min(heap.0).min(named.0), high.max(heap.1).max(named.1));
        let fixed = self
            .mapped
            .iter()
            .flat_map(|mapped| mapped.overlapping(low, high));
        fixed.fold(start, |hull, region| {
            (hull.0.min(region.low), hull.1.max(region.high))
        })
    }

    /// Takes heap blocks and names out of `low..high`. Returns whether there were any.
    fn clear(&mut self, low: u64, high: u64, mut removed: impl FnMut(u64, u64, u32)) -> bool {
        let mut any = false;
        self.heap.remove(low, high, |from, to, object| {
            any = true;
            removed(from, to, object);
        });
        if any {
            self.changed(Volatility::Heap);
        }
        any | self.unname(low, high)
    }

    /// Names `low..high`; older names of these bytes end.
    pub fn name(&mut self, low: u64, high: u64, owner: NamedOwner) {
        if low >= high {
            return;
        }
        let hull = self.hull(low, high);
        self.named.remove(low, high, |_, _, _| {});
        self.named.insert(low, high, owner);
        self.shadow.forget(hull.0, hull.1);
        self.changed(Volatility::Static);
        self.changed(Volatility::Heap);
    }

    /// Ends the names of `low..high`; whether there were any.
    pub fn unname(&mut self, low: u64, high: u64) -> bool {
        if self.named.first_in(low, high).is_none() {
            return false;
        }
        let hull = self.named.hull(low, high);
        self.named.remove(low, high, |_, _, _| ());
        self.shadow.forget(hull.0, hull.1);
        self.changed(Volatility::Heap);
        true
    }

    /// The named region of an address, if it has one.
    pub fn find_named(&self, address: u64) -> Option<Region> {
        let (low, high, NamedOwner { object, structure }) = self.named.get(address)?;
        Some(Region {
            low,
            high,
            object,
            structure,
            volatility: Volatility::Heap,
        })
    }

    /// The object of an address where that is known at once and whole; else 0.
    #[inline(always)]
    pub fn quick(&self, address: u64) -> u32 {
        self.shadow.quick(address)
    }

    /// The owner of an address. The region is empty where only the object is known; object 0 is
    /// unknown.
    #[inline]
    pub fn find(&mut self, address: u64) -> Region {
        match self.shadow.look(address) {
            ShadowAnswer::Region(region) => region,
            ShadowAnswer::Object(object) => Region {
                object,
                ..Region::UNKNOWN
            },
            ShadowAnswer::Unclear => self.find_exact(address),
            ShadowAnswer::Absent => self.find_new(address),
        }
    }

    #[cold]
    fn find_new(&mut self, address: u64) -> Region {
        let page = address >> PAGE_SHIFT;
        self.shadow.set(page, self.page(page));
        self.find_exact(address)
    }

    /// The owner by the exact maps alone. All of the region is what the address is.
    pub fn find_exact(&self, address: u64) -> Region {
        if let Some(named) = self.find_named(address) {
            return named;
        }
        let Some(region) = self.find_unnamed(address) else {
            return Region::UNKNOWN;
        };
        clip(region, self.named.gap(address))
    }

    /// The owner of the memory itself, with all of its bytes, those included that others own now.
    pub fn find_unnamed_whole(&self, address: u64) -> Option<Region> {
        if self.heap.get(address).is_some() {
            return self.find_unnamed(address);
        }
        let end = address.saturating_add(1);
        let regions = |mapped: &'_ Mapped| mapped.overlapping(address, end).next();
        self.mapped.iter().find_map(regions)
    }

    /// The owner of the memory itself, whatever the program calls it.
    pub fn find_unnamed(&self, address: u64) -> Option<Region> {
        let volatility = Volatility::Heap;
        if let Some((low, high, object)) = self.heap.get(address) {
            return Some(Region {
                low,
                high,
                object,
                structure: NO_STRUCTURE,
                volatility,
            });
        }
        let end = address.saturating_add(1);
        let region = self
            .mapped
            .iter()
            .find_map(|mapped| mapped.overlapping(address, end).next())?;
        Some(clip(region, self.heap.gap(address)))
    }

    /// The first address after one that nobody owns that somebody does.
    pub fn next_owned(&self, address: u64) -> u64 {
        let after = address.saturating_add(1);
        let symbols = self.mapped.iter().filter_map(|mapped| {
            let next = mapped.overlapping(after, u64::MAX).next();
            next.map(|region| region.low)
        });
        let owned = symbols.chain([self.heap.gap(address).1, self.named.gap(address).1]);
        owned.fold(u64::MAX, u64::min)
    }

    fn mapped_in(&self, low: u64, high: u64) -> bool {
        self.mapped
            .iter()
            .any(|mapped| mapped.low < high && low < mapped.high)
    }

    fn changed(&mut self, volatility: Volatility) {
        let version = &mut self.versions[volatility as usize];
        *version = version.wrapping_add(1);
    }

    /// What a page holds by the exact maps.
    fn page(&self, page: u64) -> Page {
        let base = page << PAGE_SHIFT;
        let end = base.saturating_add(1 << PAGE_SHIFT);
        if let Some(region) = self.uniform(base, end) {
            return Page::Uniform(region);
        }
        let mut granules = Granules::new();
        let inside = |low: u64, high: u64| (low.max(base) - base, high.min(end) - base);
        for region in self
            .mapped
            .iter()
            .flat_map(|mapped| mapped.overlapping(base, end))
        {
            let (low, high) = inside(region.low, region.high);
            if region.structure == NO_STRUCTURE {
                granules.paint(low, high, region.object);
            } else {
                granules.blur(low, high);
            }
        }
        for (low, high, object) in self.heap.overlapping(base, end) {
            let (low, high) = inside(low, high);
            granules.paint(low, high, object);
        }
        for (low, high, _) in self.named.overlapping(base, end) {
            let (low, high) = inside(low, high);
            granules.blur(low, high);
        }
        Page::Granules(granules)
    }

    /// The one region that covers `base..end`, or the unknown one if nothing reaches in.
    fn uniform(&self, base: u64, end: u64) -> Option<Region> {
        let empty = self.named.first_in(base, end).is_none()
            && self.heap.first_in(base, end).is_none()
            && !self.mapped_in(base, end);
        if empty {
            return Some(Region::UNKNOWN);
        }
        let region = self.find_exact(base);
        (region.low <= base && region.high >= end).then_some(region)
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        self.shadow.memory() + (self.heap.len() + self.named.len()) as u64 * 48
    }
}

/// The part of a region that is in `gap`.
fn clip(region: Region, gap: (u64, u64)) -> Region {
    Region {
        low: region.low.max(gap.0),
        high: region.high.min(gap.1),
        ..region
    }
}
