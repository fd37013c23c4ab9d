//! Questions about the elements of data objects: [`Profile::elements`], and the groups of
//! [`Dimension::Element`].

use std::collections::BTreeMap;

use crate::element::merge_elements;
use crate::group::CellSum;
use crate::{Dimension, Element, Group, Profile, names};

impl Profile {
    /// The elements of every object whose accesses are broken down by element, by the object's name
    /// in [`groups`](Profile::groups): ascending, those of objects of one name united. Cost: linear
    /// in the objects and their elements.
    pub fn elements(&self) -> BTreeMap<String, Vec<Element>> {
        let mut elements: BTreeMap<String, Vec<Element>> = BTreeMap::new();
        for object in &self.objects {
            if !object.elements.is_empty() {
                let name = names::object(object).to_owned();
                merge_elements(elements.entry(name).or_default(), &object.elements);
            }
        }
        elements
    }

    /// The groups by element: most accesses first, then in the order of objects and indices.
    ///
    /// Accesses of no element with known distances are one group, so that all groups together are
    /// all cells. Its largest distance is only known to a fine bin: it is at most 1/16
    /// too large.
    pub(crate) fn element_groups(&self) -> Vec<Group> {
        let mut elements: BTreeMap<(&str, u64), CellSum> = BTreeMap::new();
        let mut known = CellSum::default();
        for object in &self.objects {
            let name = names::object(object);
            let elements_of = object.elements.iter();
            for element in elements_of.filter(|element| !element.histogram.is_empty()) {
                let part = CellSum {
                    histogram: element.histogram.clone(),
                    sum: element.distance_sum,
                    max: element.distance_max,
                    ..CellSum::default()
                };
                known.merge(&part);
                elements
                    .entry((name, element.index))
                    .or_default()
                    .merge(&part);
            }
        }
        let mut groups: Vec<Group> = elements
            .into_iter()
            .map(|((name, index), tally)| tally.group(Dimension::Element, of(name, index)))
            .collect();
        let rest = self.all_cells().without(&known);
        if !rest.histogram.is_empty() {
            groups.push(rest.group(Dimension::Element, Dimension::Element.unknown_name()));
        }
        groups.sort_by_key(|group| std::cmp::Reverse(group.accesses));
        groups
    }

    pub(crate) fn all_cells(&self) -> CellSum {
        let mut all = CellSum::default();
        self.cells.iter().for_each(|cell| all.add(cell));
        all
    }
}

impl CellSum {
    fn merge(&mut self, other: &CellSum) {
        self.histogram.merge(&other.histogram);
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }

    fn without(&self, other: &CellSum) -> CellSum {
        let histogram = self.histogram.without(&other.histogram);
        let top = histogram.iter().last().map_or(0, |(_, high, _)| high);
        CellSum {
            histogram,
            sum: self.sum.saturating_sub(other.sum),
            max: self.max.min(top),
            ..CellSum::default()
        }
    }
}

/// `A[17]`; of `table (a.c)`, `table[17] (a.c)`.
fn of(object: &str, index: u64) -> String {
    match object.rsplit_once(" (").filter(|_| object.ends_with(')')) {
        Some((name, place)) => format!("{name}[{index}] ({place}"),
        None => format!("{object}[{index}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use reuselens_units::Distance;

    /// Gives an object elements, with distances that a cell of it has too.
    fn give(profile: &mut Profile, object: usize, index: u64, raw: &[u64]) {
        testing::add_cell(profile, [1, object as u32, 1, 0], raw.iter().copied());
        let mut element = Element::counted(index, raw.len() as u64);
        for distance in raw.iter().copied().map(Distance::new) {
            element.histogram.add(distance, 1);
            let items = distance.items().unwrap_or(0);
            element.distance_sum += u128::from(items);
            element.distance_max = element.distance_max.max(items);
        }
        profile.objects[object].elements.push(element);
    }

    #[test]
    fn element_groups_sum_to_all_accesses() {
        let mut profile = testing::profile();
        let before = profile.groups(Dimension::Element);
        assert_eq!(before.len(), 1);
        assert_eq!(before[0].name, "(no element)");
        let all = profile.histogram.accesses();
        let max = profile.histogram.max().unwrap();
        assert_eq!((before[0].accesses, before[0].max), (all, max));

        give(&mut profile, 1, 10, &[1 << 40, u64::MAX]);
        give(&mut profile, 1, 2, &[5, 6]);
        give(&mut profile, 2, 0, &[u64::MAX, 1, 1]);
        profile.objects[2].elements.push(Element::counted(1, 99));
        let groups = profile.groups(Dimension::Element);
        let names: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "(no element)",
                "heap from solve[0] (b.c:5)",
                "table[2] (a.c)",
                "table[10] (a.c)",
            ]
        );
        assert_eq!(
            groups[0].histogram, before[0].histogram,
            "counts alone change nothing"
        );
        assert_eq!(groups[0].mean, before[0].mean);
        assert!((max..=max + max / 16).contains(&groups[0].max));
        assert_eq!((groups[2].mean, groups[2].max, groups[2].cold), (5.5, 6, 0));
        let sum: u64 = groups.iter().map(|group| group.accesses).sum();
        assert_eq!(sum, profile.histogram.accesses());
    }

    #[test]
    fn elements_of_equally_named_objects_are_united() {
        let mut profile = testing::profile();
        give(&mut profile, 1, 3, &[1]);
        give(&mut profile, 2, 3, &[1, 2]);
        give(&mut profile, 2, 7, &[1]);
        profile.objects[2].name = profile.objects[1].name.clone();
        let elements = profile.elements();
        assert_eq!(elements.len(), 1);
        let counts: Vec<_> = elements["table (a.c)"]
            .iter()
            .map(|element| (element.index, element.accesses))
            .collect();
        assert_eq!(counts, [(3, 3), (7, 1)]);
        assert_eq!(profile.groups(Dimension::Element)[1].name, "table[3] (a.c)");
    }
}
