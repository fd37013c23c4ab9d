//! [`Tally`]: sums of what was counted, by site, by object, and in total. Its order never shows.

use reuselens_warp::{Space, WarpKind};

use crate::heat::HeatMaps;
use crate::{
    BankCounts, ByKind, DegreeHistograms, GlobalCounts, ObjectCounts, RequestSums, ReuseReport,
    SiteCounts, SpaceCounts,
};

/// The number that stands for addresses of no known object.
pub(crate) const NO_OBJECT: u32 = u32::MAX;

/// The objects that a site accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SiteObject {
    #[default]
    Nothing,
    One(u32),
    Several,
}

impl SiteObject {
    #[inline]
    pub fn merge(&mut self, other: SiteObject) {
        *self = match (*self, other) {
            (SiteObject::Nothing, other) => other,
            (known, other) if known == other || other == SiteObject::Nothing => known,
            _ => SiteObject::Several,
        };
    }
}

/// What was counted of one site.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SiteTally {
    /// Of its first record.
    pub access: Option<(Space, WarpKind)>,
    pub object: SiteObject,
    /// Of shared memory: an index into the launch's arrays, [`NO_OBJECT`] for none of them.
    pub array: SiteObject,
    pub counts: SiteCounts,
}

impl SiteTally {
    pub fn merge(&mut self, other: &SiteTally) {
        self.access = self.access.or(other.access);
        self.object.merge(other.object);
        self.array.merge(other.array);
        self.counts.merge(&other.counts);
    }
}

/// What was counted of one object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectTally {
    pub object: u32,
    /// Whether constants were loaded from it.
    pub is_constant: bool,
    pub counts: ObjectCounts,
}

impl ObjectTally {
    /// Whether requests of global memory accessed it.
    pub fn is_global(&self) -> bool {
        self.counts.global.all().requests > 0
    }
}

/// Sites with this number and above count as one. No compiler makes so many, but a damaged file may
/// have any number.
pub(crate) const LAST_SITE: u32 = (1 << 16) - 1;

/// Tallies of sites, by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct SiteTallies(pub Vec<SiteTally>);

impl SiteTallies {
    /// The tally of a site.
    #[inline]
    pub fn of(&mut self, site: u32) -> &mut SiteTally {
        let at = site.min(LAST_SITE) as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, SiteTally::default());
        }
        &mut self.0[at]
    }

    pub fn merge(&mut self, other: &SiteTallies) {
        for (site, more) in (0..).zip(&other.0) {
            self.of(site).merge(more);
        }
    }
}

/// What is kept for each object.
pub(crate) trait OfObject {
    /// Nothing was counted of this object.
    fn new(object: u32) -> Self;
    /// Its number.
    fn object(&self) -> u32;
    /// Adds what was counted elsewhere of the same object.
    fn merge(&mut self, other: &Self);
}

impl OfObject for ObjectTally {
    fn new(object: u32) -> ObjectTally {
        ObjectTally {
            object,
            is_constant: false,
            counts: ObjectCounts::default(),
        }
    }

    fn object(&self) -> u32 {
        self.object
    }

    fn merge(&mut self, other: &ObjectTally) {
        self.is_constant |= other.is_constant;
        self.counts.merge(&other.counts);
    }
}

/// What is kept for each object, in the order in which objects come.
#[derive(Clone, Debug)]
pub(crate) struct ByObject<T> {
    pub entries: Vec<T>,
    /// Where objects were found last, by the low bits of their numbers.
    recent: [u32; RECENT],
}

const RECENT: usize = 16;

/// Tallies of objects.
pub(crate) type ObjectTallies = ByObject<ObjectTally>;

impl<T> Default for ByObject<T> {
    fn default() -> ByObject<T> {
        ByObject {
            entries: Vec::new(),
            recent: [0; RECENT],
        }
    }
}

impl<T: OfObject> ByObject<T> {
    /// What is kept for an object.
    #[inline]
    pub fn of(&mut self, object: u32) -> &mut T {
        let at = self.place(object);
        &mut self.entries[at]
    }

    /// The index of an object in the entries.
    #[inline]
    pub fn place(&mut self, object: u32) -> usize {
        let recent = object as usize % RECENT;
        let at = self.recent[recent] as usize;
        let at = match self.entries.get(at) {
            Some(entry) if entry.object() == object => at,
            _ => self.search(object),
        };
        self.recent[recent] = at as u32;
        at
    }

    #[cold]
    fn search(&mut self, object: u32) -> usize {
        let found = self
            .entries
            .iter()
            .position(|entry| entry.object() == object);
        found.unwrap_or_else(|| {
            self.entries.push(T::new(object));
            self.entries.len() - 1
        })
    }

    pub fn merge(&mut self, other: &ByObject<T>) {
        for entry in &other.entries {
            self.of(entry.object()).merge(entry);
        }
    }
}

/// Sums of what was counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub spaces: SpaceCounts,
    pub divergence: ByKind<DegreeHistograms>,
    pub banks: ByKind<BankCounts>,
    /// By the launch's shared arrays; the last is what belongs to none.
    pub arrays: Vec<BankCounts>,
    pub reuse: ReuseReport,
    pub sites: SiteTallies,
    pub objects: ObjectTallies,
    pub heat: HeatMaps,
}

impl Tally {
    pub fn merge(&mut self, other: &Tally) {
        self.spaces.merge(&other.spaces);
        self.divergence.merge(&other.divergence);
        self.banks.merge(&other.banks);
        if self.arrays.len() < other.arrays.len() {
            self.arrays
                .resize(other.arrays.len(), BankCounts::default());
        }
        for (sum, more) in self.arrays.iter_mut().zip(&other.arrays) {
            sum.merge(more);
        }
        self.reuse.merge(&other.reuse);
        self.sites.merge(&other.sites);
        self.objects.merge(&other.objects);
        self.heat.merge(&other.heat);
    }

    /// Requests of global memory of all sites.
    pub fn global(&self) -> GlobalCounts {
        let mut all = GlobalCounts::default();
        self.sites
            .0
            .iter()
            .for_each(|site| all.merge(&site.counts.global));
        all
    }

    /// Removes the counts and keeps the memory.
    pub fn clear(&mut self) {
        self.spaces = SpaceCounts::default();
        self.divergence = ByKind::default();
        self.banks = ByKind::default();
        self.arrays.clear();
        self.reuse = ReuseReport::default();
        self.sites.0.fill(SiteTally::default());
        self.objects.entries.clear();
        self.heat.entries.clear();
    }
}
