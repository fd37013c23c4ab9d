//! Which rows of the objects are the same data for the rules.
//!
//! Blocks that several calls allocate on one line have one name, and advice about them is one. But
//! `std::vector<std::vector<double>>` allocates both its rows and their headers on one line:
//! numbers and structures of 24 bytes, each with its own use of lines. So rows of one name are the
//! same data only if their elements are alike.

use std::collections::HashMap;

use reuselens_profile::{ElementUse, Object, ObjectKind, Profile};

use super::total;

/// The elements of an object: their type, if it is known, and their bytes.
type ElementKind = (Option<u32>, usize);

/// For each object, the first one of the same data. Unknown objects are the first. Cost: linear in
/// the objects and their elements.
pub(super) fn united(profile: &Profile) -> Vec<u32> {
    let owners = owners(&profile.objects);
    let kinds = element_kinds(profile, &owners);
    let mut first = HashMap::new();
    let numbered = (0..).zip(profile.objects.iter().zip(&owners));
    numbered
        .map(|(index, (row, owner))| {
            // Elements that were not counted are a kind of their own: those of a table that grows
            // beside its nodes are.
            let kind = kinds.get(owner).map(|(kind, _)| *kind);
            *first.entry((name_of(row), kind)).or_insert(index)
        })
        .collect()
}

fn name_of(object: &Object) -> (ObjectKind, &str) {
    (object.kind, &object.name)
}

/// For each row, the first one of the same object: the chunks of an object are rows of their own.
fn owners(objects: &[Object]) -> Vec<u32> {
    let mut first = HashMap::new();
    let numbered = (0..).zip(objects);
    numbered
        .map(|(index, row)| match row.chunked_key() {
            Some(object) => *first.entry(object).or_insert(index),
            None => index,
        })
        .collect()
}

/// For each owner with counted elements, their kind, and the bytes of it that were brought in. Of
/// several kinds, the one with the most bytes counts.
fn element_kinds(profile: &Profile, owners: &[u32]) -> HashMap<u32, (ElementKind, u64)> {
    let mut kinds: HashMap<u32, (ElementKind, u64)> = HashMap::new();
    for elements in profile.causes.iter().flat_map(|causes| &causes.elements) {
        let Some(owner) = owners.get(elements.object as usize) else {
            continue;
        };
        let brought = total(elements.brought.iter().copied());
        let most = kinds.entry(*owner).or_insert((kind_of(elements), brought));
        if most.1 < brought {
            *most = (kind_of(elements), brought);
        }
    }
    kinds
}

fn kind_of(elements: &ElementUse) -> ElementKind {
    (elements.layout, elements.accesses.len())
}
