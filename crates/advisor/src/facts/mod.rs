//! [`MissFacts`]: what the rules look at.

mod field_use;
mod places;
mod reuses;
mod same_objects;

use reuselens_locality::FineHistogram;
use reuselens_profile::{
    Cache, Causes, Cell, CellCauses, DataLayout, ElementUse, Object, ObjectKind, Profile,
    RunPhases, ShortPaths,
};
use reuselens_units::Bytes;

use crate::rules::LEAST_MISSES;

pub(crate) use field_use::StructureUse;
pub(crate) use reuselens_locality::total;
pub(crate) use reuses::{ReuseRoute, SinkSums, octave_share, regularity};

/// A profile and the sums of its cells that several rules need.
pub(crate) struct MissFacts<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// Why accesses miss; empty where the profile does not have it.
    pub causes: &'a Causes,
    /// The cache that costs are of.
    pub cache: Bytes,
    /// The items that fit there.
    pub items: u64,
    /// All misses there, first touches included.
    pub misses: u64,
    /// Names of the source files: unlike for files of one name in several folders.
    paths: ShortPaths<'a>,
    /// For each index of the objects, the smallest one of the same data: see [`same_objects`].
    same: Vec<u32>,
    /// By that index.
    objects: Vec<MissSums>,
    /// By that index, the bytes of all rows.
    bytes: Vec<u64>,
    /// By that index, the blocks of all rows.
    blocks: Vec<u64>,
    /// By that index, the bytes of the largest block; 0 if that is not known.
    longest: Vec<u64>,
    /// Use of elements by that index, type and size.
    elements: Vec<ElementUse>,
    /// The reuses that miss, the most misses first.
    pub routes: Vec<ReuseRoute<'a>>,
}

/// Sums over cells.
#[derive(Clone, Debug, Default)]
pub(crate) struct MissSums {
    /// Item accesses.
    pub accesses: u64,
    /// Misses, first touches included.
    pub misses: u64,
    /// First touches.
    pub cold: u64,
    /// Why they miss.
    pub causes: CellCauses,
}

/// Where a profile has no causes.
static NO_CAUSES: Causes = Causes {
    cache: Bytes(0),
    elements: Vec::new(),
    sample_rate: None,
    sampled_use: Vec::new(),
    layouts: Vec::new(),
    shared: Vec::new(),
    unlisted_pairs: None,
    carried: Vec::new(),
    scopes: Vec::new(),
    has_loops: false,
    set_caches: Vec::new(),
    phases: RunPhases {
        intervals: Vec::new(),
        phases: Vec::new(),
    },
};

impl<'a> MissFacts<'a> {
    /// Sums up a profile. Cost: linear in the cells and their bins.
    pub fn new(profile: &'a Profile) -> Self {
        let last = profile.machine.data_caches().last().map(|cache| cache.size);
        let cache = match &profile.causes {
            Some(causes) => causes.cache,
            None => last.unwrap_or_default(),
        };
        let items = cache.items(profile.granularity).get();
        let mut facts = MissFacts {
            profile,
            causes: profile.causes.as_ref().unwrap_or(&NO_CAUSES),
            cache,
            items,
            misses: profile.histogram.misses(items),
            paths: ShortPaths::new(profile),
            same: same_objects::united(profile),
            objects: vec![MissSums::default(); profile.objects.len()],
            bytes: vec![0; profile.objects.len()],
            blocks: vec![0; profile.objects.len()],
            longest: vec![0; profile.objects.len()],
            elements: Vec::new(),
            routes: Vec::new(),
        };
        facts.elements = facts.united_elements();
        facts.routes = facts.united_routes();
        for (row, object) in profile.objects.iter().zip(&facts.same) {
            let bytes = &mut facts.bytes[*object as usize];
            *bytes = bytes.saturating_add(row.bytes);
            let longest = &mut facts.longest[*object as usize];
            *longest = row.longest.max(*longest);
            // The chunks of an object are rows of the same blocks.
            if row.part.is_none_or(|part| part.start == 0) {
                let blocks = &mut facts.blocks[*object as usize];
                *blocks = blocks.saturating_add(row.blocks);
            }
        }
        for cell in &profile.cells {
            let misses = facts.misses_of(cell);
            let object = facts.same.get(cell.object as usize).copied();
            let sums = object.and_then(|object| facts.objects.get_mut(object as usize));
            if let Some(sums) = sums {
                sums.add(cell, misses);
            }
        }
        facts
    }

    /// Misses of a cell. Those that the causes counted are exact; those of a histogram are to a
    /// sixteenth of an octave.
    pub fn misses_of(&self, cell: &Cell) -> u64 {
        match self.profile.causes {
            Some(_) => cell.causes.fills,
            None => cell.histogram.misses(self.items),
        }
    }

    /// Whether a cell's accesses load, or do both.
    pub fn is_load(&self, cell: &Cell) -> bool {
        let site = self.profile.sites.get(cell.site as usize);
        site.is_some_and(|site| site.kind.contains("load"))
    }

    /// The name of the cache on the profile's machine.
    pub fn cache_name(&self) -> Option<String> {
        let cache = self.profile.machine.cache_of_size(self.cache);
        cache.map(Cache::name)
    }

    /// The cache as people read it: `L1d (32 KiB)`, `a cache of 48 KiB`.
    pub fn cache_words(&self) -> String {
        cache_words(self.cache_name().as_deref(), self.cache)
    }

    /// Bytes of a line: of an item.
    pub fn line_bytes(&self) -> u64 {
        self.profile.granularity.bytes()
    }

    /// The index of the object that an index of the profile's table means.
    pub fn object_of(&self, index: u32) -> u32 {
        self.same.get(index as usize).copied().unwrap_or(0)
    }

    /// The objects with accesses, without those of which nothing is known.
    pub fn known_objects(&self) -> impl Iterator<Item = (u32, &MissSums)> {
        let numbered = (0..).zip(&self.objects);
        numbered.filter(|(object, sums)| sums.accesses > 0 && self.is_known(*object))
    }

    /// The object with the most misses, known or not; of equal ones the first. Objects that were
    /// kept together for want of room are none.
    pub fn hottest(&self) -> Option<(u32, &MissSums)> {
        let is_one = |object| !self.object(object).name.starts_with("(other ");
        let numbered = (0..).zip(&self.objects);
        let numbered = numbered.filter(|(object, _)| is_one(*object));
        numbered.min_by_key(|(_, sums)| std::cmp::Reverse(sums.misses))
    }

    /// What was counted of an object.
    pub fn object_sums(&self, object: u32) -> &MissSums {
        &self.objects[object as usize]
    }

    /// The entry of an object; the unknown one if there is none.
    pub fn object(&self, object: u32) -> &'a Object {
        let objects = &self.profile.objects;
        objects.get(object as usize).unwrap_or(&objects[0])
    }

    /// Whether something is known of an object, so that advice about it can be followed.
    pub fn is_known(&self, object: u32) -> bool {
        let object = self.object(object);
        // Variables without symbols are all one object of their module.
        object.kind != ObjectKind::Unknown && !object.name.starts_with("unnamed ")
    }

    /// The bytes of an object: of all its rows.
    pub fn object_bytes(&self, object: u32) -> u64 {
        self.bytes.get(object as usize).copied().unwrap_or(0)
    }

    /// The blocks of an object over the run: of all its rows.
    pub fn object_blocks(&self, object: u32) -> u64 {
        self.blocks.get(object as usize).copied().unwrap_or(0)
    }

    /// The bytes of an object's largest block; where that is not known, as of profiles of earlier
    /// versions, those of a block on average.
    pub fn object_longest(&self, object: u32) -> u64 {
        match self.longest.get(object as usize) {
            Some(0) | None => self.object_bytes(object) / self.object_blocks(object).max(1),
            Some(longest) => *longest,
        }
    }

    /// The distances of each object, by index.
    pub fn object_histograms(&self) -> Vec<FineHistogram> {
        let key = |cell: &Cell| self.object_of(cell.object) as usize;
        self.profile.sums(self.profile.objects.len(), key)
    }

    /// What each object's accesses are to within elements, where that is known of most of them.
    pub fn structures(&self) -> impl Iterator<Item = StructureUse<'a>> {
        let causes = self.causes;
        let elements = self.elements.iter();
        elements.filter_map(|elements| {
            let layout = layout_of(causes, elements);
            let structure = StructureUse::new(elements.object, elements, layout)?;
            let fills = self.object_sums(structure.object).misses;
            (structure.misses >= fills.div_ceil(2)).then_some(structure)
        })
    }

    /// Whether each block of an object is a single element, so that what a line has beside the
    /// element is other data. Not known of profiles of earlier versions, which counts as no.
    pub fn is_single(&self, structure: &StructureUse<'_>) -> bool {
        let longest = self.longest.get(structure.object as usize);
        longest.is_some_and(|longest| (1..=structure.element).contains(longest))
    }

    /// Whether the sizes of elements are known of half of the misses of known objects, or of all
    /// but a few. Objects of larger elements than have counters are left out.
    pub fn knows_elements(&self) -> bool {
        let (unknown, all) = self.misses_without_elements();
        unknown < LEAST_MISSES || unknown <= all / 2
    }

    /// The misses of known objects whose elements have no known size, and those of all that could
    /// have counters.
    pub fn misses_without_elements(&self) -> (u64, u64) {
        let known = total((self.elements.iter()).map(|it| total(it.misses.iter().copied())));
        let objects = self
            .known_objects()
            .filter(|(object, _)| self.object(*object).element_bytes <= ElementUse::MOST_BYTES);
        let all = total(objects.map(|(_, sums)| sums.misses));
        (all.saturating_sub(known), all)
    }

    /// The use of an object's elements after a pass that initialises all fields, if there is one.
    /// An estimate: elements have the same share of the lines in first touches as in all fills.
    pub fn later_use(&self, structure: &StructureUse<'a>) -> StructureUse<'a> {
        let sums = self.object_sums(structure.object);
        let brought = sums.misses.saturating_mul(self.line_bytes());
        let of_elements = (structure.brought as f64 / brought.max(1) as f64).min(1.0);
        let cold = sums.cold.saturating_mul(self.line_bytes()) as f64 * of_elements;
        let later = structure.after_first_touches(cold as u64);
        later.unwrap_or_else(|| structure.clone())
    }

    /// The use of an object's elements: by type and size.
    pub fn elements_of(&self, object: u32) -> impl Iterator<Item = &ElementUse> {
        self.elements.iter().filter(move |it| it.object == object)
    }

    /// The use of elements, with that of rows of the same data as one.
    fn united_elements(&self) -> Vec<ElementUse> {
        let mut elements = self.causes.elements.clone();
        for each in &mut elements {
            each.object = self.object_of(each.object);
        }
        elements.sort_by_key(ElementUse::key);
        elements.dedup_by(|next, kept| {
            let is_same = next.key() == kept.key();
            if is_same {
                kept.merge(next);
            }
            is_same
        });
        elements
    }
}

impl MissSums {
    fn add(&mut self, cell: &Cell, misses: u64) {
        self.accesses = self.accesses.saturating_add(cell.histogram.accesses());
        self.misses = self.misses.saturating_add(misses);
        self.cold = self.cold.saturating_add(cell.histogram.cold());
        self.causes.merge(&cell.causes);
    }
}

/// A cache as people read it: `L1d (32 KiB)`; without a name, `a cache of 48 KiB`.
pub(crate) fn cache_words(name: Option<&str>, size: Bytes) -> String {
    match name {
        Some(name) => format!("{name} ({size})"),
        None => format!("a cache of {size}"),
    }
}

/// The type of an object's elements, if it is known.
fn layout_of<'a>(causes: &'a Causes, elements: &ElementUse) -> Option<&'a DataLayout> {
    causes.layouts.get(elements.layout? as usize)
}
