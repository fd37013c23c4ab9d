//! A cache of the address map, page by page, so that most look-ups are one hash and one load.

use crate::hash::FastMap;

/// log2 of the bytes of a page of the shadow.
pub(crate) const PAGE_SHIFT: u32 = 12;
/// log2 of the bytes of a granule: allocators align to 16.
const GRANULE_SHIFT: u32 = 4;
const GRANULES: usize = 1 << (PAGE_SHIFT - GRANULE_SHIFT);
const GRANULE_MASK: u64 = (1 << GRANULE_SHIFT) - 1;
/// Bits of an object's number in a granule; the rest is how many of its bytes are the object's.
const OBJECT_BITS: u32 = 28;
const OBJECT_MASK: u32 = (1 << OBJECT_BITS) - 1;
/// A granule that does not say: ask the exact maps.
const MIXED: u32 = u32::MAX;
/// Objects have numbers below this.
pub(crate) const MAX_OBJECTS: u32 = 1 << 24;
/// Pages kept at most (a page of granules is 1 KiB): beyond, the cache starts anew. As many as fit
/// into a table of 2¹⁸ slots, which are at most seven eighths full.
const MAX_PAGES: usize = (1 << 18) / 8 * 7;

/// No structure.
pub(crate) const NO_STRUCTURE: u32 = u32::MAX;

/// What may make a remembered region untrue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Volatility {
    /// Only mappings of modules.
    Static = 0,
    /// Frees too.
    Heap = 1,
    /// Frames that begin and end.
    Frame = 2,
}

/// Versions of remembered regions, by [`Volatility`]. One more than there are, so that two bits are
/// always an index.
pub(crate) type Versions = [u32; 4];

/// A stretch of memory that belongs to one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub low: u64,
    pub high: u64,
    pub object: u32,
    pub structure: u32,
    pub volatility: Volatility,
}

impl Region {
    /// Memory of which nothing is known.
    pub const UNKNOWN: Region = Region {
        low: 0,
        high: 0,
        object: 0,
        structure: NO_STRUCTURE,
        volatility: Volatility::Heap,
    };
}

/// What the shadow knows of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShadowAnswer {
    /// It is in this region, which covers the page.
    Region(Region),
    /// It belongs to this object.
    Object(u32),
    /// The exact maps know.
    Unclear,
    /// The page is not here yet.
    Absent,
}

/// The granules of a page under construction, or in use.
#[derive(Clone, Debug)]
pub(crate) struct Granules(Box<[u32; GRANULES]>);

impl Granules {
    pub fn new() -> Self {
        Granules(Box::new([0; GRANULES]))
    }

    /// Gives the bytes `low..high` (offsets in the page) to an object; 0 takes them away.
    pub fn paint(&mut self, low: u64, high: u64, object: u32) {
        let (first, last) = (
            (low >> GRANULE_SHIFT) as usize,
            (high >> GRANULE_SHIFT) as usize,
        );
        let tail = (high & GRANULE_MASK) as u32;
        if first == last && low & GRANULE_MASK != 0 {
            self.0[first] = MIXED;
            return;
        }
        let mut whole = first;
        if low & GRANULE_MASK != 0 {
            self.0[first] = MIXED;
            whole += 1;
        }
        self.0[whole..last].fill(object);
        if tail != 0 {
            self.paint_head(last, tail, object);
        }
    }

    /// Gives the first `bytes` bytes of a granule to an object.
    fn paint_head(&mut self, granule: usize, bytes: u32, object: u32) {
        let value = &mut self.0[granule];
        *value = match *value {
            0 if object != 0 => object | bytes << OBJECT_BITS,
            0 => 0,
            old if object == 0 && old != MIXED && old >> OBJECT_BITS == bytes => 0,
            _ => MIXED,
        };
    }

    /// Makes the bytes' owner a matter of the exact maps.
    pub fn blur(&mut self, low: u64, high: u64) {
        let (first, last) = (low >> GRANULE_SHIFT, (high - 1) >> GRANULE_SHIFT);
        self.0[first as usize..=last as usize].fill(MIXED);
    }

    #[inline]
    fn look(&self, address: u64) -> ShadowAnswer {
        let value = self.0[(address >> GRANULE_SHIFT) as usize % GRANULES];
        let bytes = u64::from(value >> OBJECT_BITS);
        if bytes == 0 || (value != MIXED && address & GRANULE_MASK < bytes) {
            ShadowAnswer::Object(value & OBJECT_MASK)
        } else {
            ShadowAnswer::Unclear
        }
    }
}

/// What a page holds.
#[derive(Clone, Debug)]
pub(crate) enum Page {
    /// One region, or nothing known.
    Uniform(Region),
    /// Several.
    Granules(Granules),
}

/// A page, as it is kept.
#[derive(Clone, Copy, Debug)]
enum Kept {
    Uniform(Region),
    /// The number of its granules.
    Granules(u32),
}

/// The cache.
#[derive(Clone, Debug)]
pub(crate) struct Shadow {
    pages: FastMap<u64, Kept>,
    granules: Vec<Granules>,
    /// Numbers of granules that no page has.
    free: Vec<u32>,
    /// Pages of granules that were looked at last, by their lower bits: page and granules.
    recent: Vec<(u64, u32)>,
}

/// Pages that are found without a hash.
const RECENT: usize = 1 << 9;
/// Stands for no page.
const NO_PAGE: (u64, u32) = (u64::MAX, 0);

impl Default for Shadow {
    fn default() -> Self {
        Shadow {
            pages: FastMap::default(),
            granules: Vec::new(),
            free: Vec::new(),
            recent: vec![NO_PAGE; RECENT],
        }
    }
}

impl Shadow {
    /// The object of an address, if its page was looked at lately and says; else 0.
    #[inline(always)]
    pub fn quick(&self, address: u64) -> u32 {
        let page = address >> PAGE_SHIFT;
        let (known, number) = self.recent[page as usize % RECENT];
        if known != page {
            return 0;
        }
        match self.granules[number as usize].look(address) {
            ShadowAnswer::Object(object) => object,
            _ => 0,
        }
    }

    #[inline]
    pub fn look(&mut self, address: u64) -> ShadowAnswer {
        let page = address >> PAGE_SHIFT;
        match self.pages.get(&page) {
            Some(Kept::Uniform(region)) => ShadowAnswer::Region(*region),
            Some(Kept::Granules(number)) => {
                self.recent[page as usize % RECENT] = (page, *number);
                self.granules[*number as usize].look(address)
            }
            None => ShadowAnswer::Absent,
        }
    }

    pub fn set(&mut self, page: u64, content: Page) {
        if self.pages.len() >= MAX_PAGES {
            *self = Shadow::default();
        }
        self.remove(page);
        let kept = match content {
            Page::Uniform(region) => Kept::Uniform(region),
            Page::Granules(granules) => Kept::Granules(self.keep(granules)),
        };
        self.pages.insert(page, kept);
    }

    fn keep(&mut self, granules: Granules) -> u32 {
        if let Some(number) = self.free.pop() {
            self.granules[number as usize] = granules;
            return number;
        }
        self.granules.push(granules);
        self.granules.len() as u32 - 1
    }

    fn remove(&mut self, page: u64) {
        if let Some(Kept::Granules(number)) = self.pages.remove(&page) {
            self.free.push(number);
            let recent = &mut self.recent[page as usize % RECENT];
            if recent.0 == page {
                *recent = NO_PAGE;
            }
        }
    }

    /// Forgets the pages that overlap `low..high`.
    pub fn forget(&mut self, low: u64, high: u64) {
        let (first, last) = pages_of(low, high);
        if last - first >= self.pages.len() as u64 {
            let pages = self.pages.keys().copied();
            let gone: Vec<u64> = pages.filter(|page| (first..=last).contains(page)).collect();
            gone.into_iter().for_each(|page| self.remove(page));
        } else {
            (first..=last).for_each(|page| self.remove(page));
        }
    }

    /// `low..high` now belongs to this object (0: to none): keeps pages of granules up to date, and
    /// forgets the others.
    pub fn paint(&mut self, low: u64, high: u64, object: u32) {
        let (first, last) = pages_of(low, high);
        if last - first >= 2 {
            self.forget((first + 1) << PAGE_SHIFT, last << PAGE_SHIFT);
        }
        self.paint_page(first, low, high, object);
        if last != first {
            self.paint_page(last, low, high, object);
        }
    }

    fn paint_page(&mut self, page: u64, low: u64, high: u64, object: u32) {
        let (base, size) = (page << PAGE_SHIFT, 1 << PAGE_SHIFT);
        let (low, high) = (low.saturating_sub(base), (high - base).min(size));
        match self.pages.get(&page) {
            Some(Kept::Granules(number)) if high - low < size => {
                self.granules[*number as usize].paint(low, high, object);
            }
            Some(Kept::Uniform(region)) if region.object == 0 && object == 0 => {}
            Some(_) => self.remove(page),
            None => {}
        }
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        (self.pages.allocation_size() + self.granules.len() * size_of::<[u32; GRANULES]>()) as u64
    }
}

/// The first and the last page that overlap `low..high`, which must not be empty.
fn pages_of(low: u64, high: u64) -> (u64, u64) {
    (low >> PAGE_SHIFT, (high - 1) >> PAGE_SHIFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_ends_within_a_granule_ends_there() {
        let mut granules = Granules::new();
        granules.paint(16, 40, 7);
        assert_eq!(granules.look(39), ShadowAnswer::Object(7));
        assert_eq!(granules.look(40), ShadowAnswer::Unclear);
        granules.paint(40, 48, 8);
        assert_eq!(granules.look(33), ShadowAnswer::Unclear, "two owners");
        granules.paint(16, 40, 0);
        assert_eq!(granules.look(20), ShadowAnswer::Object(0));
    }

    #[test]
    fn a_block_within_one_granule_is_left_to_the_exact_maps() {
        let mut granules = Granules::new();
        granules.paint(4, 8, 3);
        assert_eq!(granules.look(5), ShadowAnswer::Unclear);
        granules.paint(32, 36, 3);
        assert_eq!(granules.look(35), ShadowAnswer::Object(3));
        granules.paint(32, 36, 0);
        assert_eq!(granules.look(35), ShadowAnswer::Object(0));
    }
}
