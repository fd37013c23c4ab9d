//! [`Tables`]: the tables of several profiles as one. Entries are united by value and sorted, and
//! cells are renumbered. Part of merging profiles.
//!
//! Entry 0 of sites and objects is the unknown one; it is only united with other entries 0. Entries
//! without accesses are left out, in each profile by itself: else the result would depend on which
//! profiles had been merged before.

use crate::context_union::ContextUnion;
use crate::element::merge_elements;
use crate::{
    Causes, Cell, Context, Frame, Lifetime, Object, ObjectKind, ObjectPart, Profile,
    ProfiledThread, Site,
};

/// What makes an object the same in another run: not how large it was there.
type ObjectKey<'a> = (ObjectKind, &'a str, &'a [Frame], u64);

/// What makes a row of objects the same in another run: the object, and where its part begins.
type RowKey<'a> = (ObjectKey<'a>, Option<u64>);

/// The thread of cells whose thread is missing in the table.
static NO_THREAD: ProfiledThread = ProfiledThread {
    name: String::new(),
    process: 0,
};

/// The united tables of some profiles.
pub(crate) struct Tables<'a> {
    profiles: &'a [Profile],
    /// Which entries of each profile's tables have accesses.
    used: Vec<Used>,
    sites: NumberedValues<&'a Site>,
    objects: NumberedValues<RowKey<'a>>,
    threads: NumberedValues<&'a ProfiledThread>,
    contexts: ContextUnion<'a>,
}

/// For each entry of a profile's tables, whether it has accesses.
struct Used {
    sites: Vec<bool>,
    objects: Vec<bool>,
    /// The last is for threads that are missing in the table.
    threads: Vec<bool>,
    contexts: Vec<u32>,
}

impl Used {
    fn of(profile: &Profile) -> Self {
        let mut used = Used {
            sites: vec![false; profile.sites.len()],
            objects: vec![false; profile.objects.len()],
            threads: vec![false; profile.threads.len() + 1],
            contexts: Vec::new(),
        };
        let mut contexts = vec![false; profile.contexts.len()];
        for cell in profile.cells.iter().filter(|cell| is_used(cell)) {
            mark(&mut used.sites, cell.site);
            mark(&mut used.objects, cell.object);
            mark(&mut contexts, cell.context);
            mark(
                &mut used.threads,
                cell.thread.min(profile.threads.len() as u32),
            );
        }
        // Entry 0 of these is united with other entries 0 only.
        for table in [&mut used.sites, &mut used.objects] {
            if let Some(unknown) = table.first_mut() {
                *unknown = false;
            }
        }
        used.contexts = (0..)
            .zip(contexts)
            .filter_map(|(context, used)| used.then_some(context))
            .collect();
        used
    }
}

fn mark(table: &mut [bool], index: u32) {
    if let Some(entry) = table.get_mut(index as usize) {
        *entry = true;
    }
}

/// The numbers in the united tables of the entries of one profile's.
pub(crate) struct Renumbering {
    sites: Vec<u32>,
    objects: Vec<u32>,
    contexts: Vec<u32>,
    threads: Vec<u32>,
}

impl Renumbering {
    /// Gives the sites and objects of causes their new numbers.
    pub(crate) fn causes(&self, mut causes: Causes) -> Causes {
        let number = |table: &[u32], index: u32| table.get(index as usize).copied().unwrap_or(0);
        causes.renumber(
            |site| number(&self.sites, site),
            |object| number(&self.objects, object),
        );
        causes
    }

    /// The four numbers of a cell, by which cells are sorted.
    fn key(&self, cell: &Cell) -> [u32; 4] {
        let number = |table: &[u32], index: u32| table.get(index as usize).copied().unwrap_or(0);
        let thread = self.threads.get(cell.thread as usize);
        [
            number(&self.sites, cell.site),
            number(&self.objects, cell.object),
            number(&self.contexts, cell.context),
            *thread.or(self.threads.last()).unwrap_or(&1) - 1,
        ]
    }
}

impl<'a> Tables<'a> {
    pub(crate) fn new(profiles: &'a [Profile]) -> Self {
        let used: Vec<Used> = profiles.iter().map(Used::of).collect();
        let both = || profiles.iter().zip(&used);
        Tables {
            profiles,
            sites: NumberedValues::new(both().map(|(profile, used)| {
                let sites = profile.sites.iter();
                (sites.collect(), used.sites.as_slice())
            })),
            objects: NumberedValues::new(both().map(|(profile, used)| {
                let objects = profile.objects.iter().map(key);
                (objects.collect(), used.objects.as_slice())
            })),
            threads: NumberedValues::new(both().map(|(profile, used)| {
                let threads = profile.threads.iter().chain([&NO_THREAD]);
                (threads.collect(), used.threads.as_slice())
            })),
            contexts: ContextUnion::new(
                both().map(|(profile, used)| (profile.contexts.as_slice(), used.contexts.clone())),
            ),
            used,
        }
    }

    /// For each profile, what becomes of the numbers of its cells.
    pub(crate) fn renumberings(&self) -> Vec<Renumbering> {
        let tables = self.sites.numbers.iter().zip(&self.objects.numbers);
        let tables = tables
            .zip(&self.threads.numbers)
            .zip(self.contexts.numbers());
        tables
            .map(|(((sites, objects), threads), contexts)| Renumbering {
                sites: sites.clone(),
                objects: objects.clone(),
                contexts,
                threads: threads.clone(),
            })
            .collect()
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
                // Whatever kind it has: else the result would depend on the order of merging.
                objects[0].blocks = blocks;
            }
        }
        let all = self.profiles.iter().zip(&self.used);
        for ((profile, used), numbers) in all.zip(&self.objects.numbers) {
            let entries = profile.objects.iter().zip(&used.objects).zip(numbers);
            for ((object, _), number) in entries.filter(|((_, used), _)| **used) {
                unite(&mut objects[*number as usize], object);
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
}

/// The cells of all profiles, renumbered, united and sorted. Those that are used are moved, not
/// copied.
pub(crate) fn cells(
    renumberings: &[Renumbering],
    profiles: impl Iterator<Item = Vec<Cell>>,
) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    let mut order: Vec<([u32; 4], u32)> = Vec::new();
    for (renumbering, of_profile) in renumberings.iter().zip(profiles) {
        for cell in of_profile.into_iter().filter(is_used) {
            order.push((renumbering.key(&cell), cells.len() as u32));
            cells.push(cell);
        }
    }
    order.sort_unstable();
    let mut united: Vec<Cell> = Vec::with_capacity(order.len());
    let mut last = None;
    for (key, index) in order {
        let cell = std::mem::take(&mut cells[index as usize]);
        match united.last_mut() {
            Some(into) if last == Some(key) => add(into, &cell),
            _ => {
                let [site, object, context, thread] = key;
                united.push(Cell {
                    site,
                    object,
                    context,
                    thread,
                    ..cell
                });
            }
        }
        last = Some(key);
    }
    united
}

/// Values in order, numbered from 1.
struct NumberedValues<T> {
    values: Vec<T>,
    /// For each table, the numbers of its entries; 0 for those that are not used.
    numbers: Vec<Vec<u32>>,
}

impl<T: Ord> NumberedValues<T> {
    /// Of tables, each with which of its entries are used.
    fn new<'u>(tables: impl Iterator<Item = (Vec<T>, &'u [bool])>) -> Self {
        let mut entries: Vec<(T, usize, usize)> = Vec::new();
        let mut numbers = Vec::new();
        for (table, (values, used)) in tables.enumerate() {
            numbers.push(vec![0; values.len()]);
            let used = values.into_iter().enumerate().zip(used);
            let used = used.filter(|(_, used)| **used);
            entries.extend(used.map(|((index, value), _)| (value, table, index)));
        }
        entries.sort_unstable();
        let mut values: Vec<T> = Vec::new();
        for (value, table, index) in entries {
            if values.last() != Some(&value) {
                values.push(value);
            }
            numbers[table][index] = values.len() as u32;
        }
        NumberedValues { values, numbers }
    }
}

/// Whether a cell has accesses.
fn is_used(cell: &Cell) -> bool {
    !cell.histogram.is_empty()
}

fn key(object: &Object) -> RowKey<'_> {
    let start = object.part.map(|part| part.start);
    (key_of_all_parts(object), start)
}

/// What is the same in all rows of an object.
pub(crate) fn key_of_all_parts(object: &Object) -> ObjectKey<'_> {
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
    let longest = into.longest.max(other.longest);
    let blocks = match other.kind {
        // A symbol is one block in every run.
        ObjectKind::Static => into.blocks.max(other.blocks),
        _ => into.blocks.saturating_add(other.blocks),
    };
    let origins = std::mem::take(&mut into.origins);
    let (part, lifetime) = (
        either(into.part, other.part, longer_part),
        either(into.lifetime, other.lifetime, longest_lifetime),
    );
    if key(other) > key(into) {
        *into = Object {
            elements: Vec::new(),
            origins: Vec::new(),
            ..other.clone()
        };
    }
    (into.bytes, into.blocks, into.elements) = (bytes, blocks, elements);
    into.longest = longest;
    into.origins = origins;
    for origin in &other.origins {
        into.add_origin(origin.clone());
    }
    (into.part, into.lifetime) = (part, lifetime);
}

/// Both united, or the one that there is.
pub(crate) fn either<T>(one: Option<T>, other: Option<T>, unite: impl Fn(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(unite(one, other)),
        (one, other) => one.or(other),
    }
}

/// The part of two that reaches further, of the longer object; both have one start.
fn longer_part(one: ObjectPart, other: ObjectPart) -> ObjectPart {
    let longer = std::cmp::max_by_key(one, other, |part| (part.end, part.start, part.chunk));
    ObjectPart {
        longest: one.longest.max(other.longest),
        ..longer
    }
}

fn longest_lifetime(one: Lifetime, other: Lifetime) -> Lifetime {
    Lifetime {
        begin: one.begin.min(other.begin),
        end: one.end.max(other.end),
    }
}

/// Adds a cell's distances.
fn add(into: &mut Cell, cell: &Cell) {
    into.histogram.merge(&cell.histogram);
    into.distance_sum = into.distance_sum.saturating_add(cell.distance_sum);
    into.distance_max = into.distance_max.max(cell.distance_max);
    into.invalidated = into.invalidated.saturating_add(cell.invalidated);
    into.forward.merge(&cell.forward);
    into.causes.merge(&cell.causes);
}
