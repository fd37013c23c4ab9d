//! The tables of several profiles as one: entries united by value and sorted, cells renumbered.
//!
//! Entry 0 of sites and objects stands for the unknown: it is only united with other entries 0. What has
//! no accesses is not looked at, in each profile for itself: else the result would depend on which of
//! them had been merged before.

use std::collections::BTreeMap;

use crate::context_union::ContextUnion;
use crate::element::merge_elements;
use crate::{Cell, Context, Frame, Object, ObjectKind, Profile, ProfiledThread, Site};

/// What makes an object the same in another run: not how large it was there.
type ObjectKey<'a> = (ObjectKind, &'a str, &'a [Frame], u64);

/// A thread that a cell names and the table does not have.
static NO_THREAD: ProfiledThread = ProfiledThread {
    name: String::new(),
    process: 0,
};

/// The united tables of some profiles.
pub(crate) struct Tables<'a> {
    profiles: &'a [Profile],
    sites: Numbers<&'a Site>,
    objects: Numbers<ObjectKey<'a>>,
    threads: Numbers<&'a ProfiledThread>,
    contexts: ContextUnion<'a>,
}

impl<'a> Tables<'a> {
    pub(crate) fn new(profiles: &'a [Profile]) -> Self {
        let all = || {
            profiles
                .iter()
                .flat_map(|profile| used(profile).map(move |cell| (profile, cell)))
        };
        Tables {
            profiles,
            sites: all()
                .filter_map(|(profile, cell)| site(profile, cell))
                .collect(),
            objects: all()
                .filter_map(|(profile, cell)| object(profile, cell).map(key))
                .collect(),
            threads: all().map(|(profile, cell)| thread(profile, cell)).collect(),
            contexts: ContextUnion::new(profiles.iter().map(|profile| {
                (
                    profile.contexts.as_slice(),
                    used(profile).map(|cell| cell.context).collect(),
                )
            })),
        }
    }

    pub(crate) fn sites(&self) -> Vec<Site> {
        let unknown = self
            .profiles
            .iter()
            .filter_map(|profile| profile.sites.first())
            .max();
        std::iter::once(unknown.cloned().unwrap_or_default())
            .chain(self.sites.values.iter().map(|site| (*site).clone()))
            .collect()
    }

    pub(crate) fn objects(&self) -> Vec<Object> {
        let mut objects = vec![Object::default(); self.objects.values.len() + 1];
        for profile in self.profiles {
            if let Some(unknown) = profile.objects.first() {
                let blocks = objects[0].blocks.saturating_add(unknown.blocks);
                unite(&mut objects[0], unknown);
                // Whatever kind it claims to be: else the order of merging would show.
                objects[0].blocks = blocks;
            }
            let mut named: Vec<u32> = used(profile).map(|cell| cell.object).collect();
            named.sort_unstable();
            named.dedup();
            for object in named
                .into_iter()
                .filter_map(|index| entry(&profile.objects, index))
            {
                unite(&mut objects[self.objects.number(&key(object))], object);
            }
        }
        objects
    }

    pub(crate) fn threads(&self) -> Vec<ProfiledThread> {
        self.threads
            .values
            .iter()
            .map(|thread| (*thread).clone())
            .collect()
    }

    pub(crate) fn contexts(&self) -> Vec<Context> {
        self.contexts.table()
    }

    /// The cells of all profiles, renumbered, united and sorted.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let mut cells: BTreeMap<[u32; 4], Cell> = BTreeMap::new();
        for (profile, numbers) in self.profiles.iter().zip(self.contexts.numbers()) {
            for cell in used(profile) {
                let key = [
                    site(profile, cell).map_or(0, |site| self.sites.number(&site)) as u32,
                    object(profile, cell).map_or(0, |object| self.objects.number(&key(object)))
                        as u32,
                    numbers.get(cell.context as usize).copied().unwrap_or(0),
                    self.threads.number(&thread(profile, cell)) as u32 - 1,
                ];
                add(cells.entry(key).or_default(), cell);
            }
        }
        let number = |([site, object, context, thread], cell): ([u32; 4], Cell)| Cell {
            site,
            object,
            context,
            thread,
            ..cell
        };
        cells.into_iter().map(number).collect()
    }
}

/// Values in order, numbered from 1.
struct Numbers<T> {
    values: Vec<T>,
}

impl<T: Ord> FromIterator<T> for Numbers<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut values: Vec<T> = values.into_iter().collect();
        values.sort_unstable();
        values.dedup();
        Numbers { values }
    }
}

impl<T: Ord> Numbers<T> {
    /// The number of a value; of one that is not there, that of its place.
    fn number(&self, value: &T) -> usize {
        self.values.partition_point(|other| other < value) + 1
    }
}

/// The cells that have accesses.
fn used(profile: &Profile) -> impl Iterator<Item = &Cell> {
    profile
        .cells
        .iter()
        .filter(|cell| !cell.histogram.is_empty())
}

/// An entry that is there, and is not entry 0.
fn entry<T>(table: &[T], index: u32) -> Option<&T> {
    table.get(index as usize).filter(|_| index > 0)
}

fn site<'a>(profile: &'a Profile, cell: &Cell) -> Option<&'a Site> {
    entry(&profile.sites, cell.site)
}

fn object<'a>(profile: &'a Profile, cell: &Cell) -> Option<&'a Object> {
    entry(&profile.objects, cell.object)
}

fn thread<'a>(profile: &'a Profile, cell: &Cell) -> &'a ProfiledThread {
    profile
        .threads
        .get(cell.thread as usize)
        .unwrap_or(&NO_THREAD)
}

fn key(object: &Object) -> ObjectKey<'_> {
    (
        object.kind,
        &object.name,
        &object.path,
        object.element_bytes,
    )
}

/// Takes another run's object in: the largest size, the sum of the counts. Names differ only where
/// both are entry 0; the one that orders last stays.
fn unite(into: &mut Object, other: &Object) {
    let mut elements = std::mem::take(&mut into.elements);
    merge_elements(&mut elements, &other.elements);
    let bytes = into.bytes.max(other.bytes);
    let blocks = match other.kind {
        // A symbol is one block in every run.
        ObjectKind::Static => into.blocks.max(other.blocks),
        _ => into.blocks.saturating_add(other.blocks),
    };
    if key(other) > key(into) {
        *into = Object {
            elements: Vec::new(),
            ..other.clone()
        };
    }
    (into.bytes, into.blocks, into.elements) = (bytes, blocks, elements);
}

/// Adds a cell's distances.
fn add(into: &mut Cell, cell: &Cell) {
    into.histogram.merge(&cell.histogram);
    into.distance_sum = into.distance_sum.saturating_add(cell.distance_sum);
    into.distance_max = into.distance_max.max(cell.distance_max);
    into.forward.merge(&cell.forward);
}
