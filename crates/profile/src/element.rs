//! [`Element`]: one element of a data object, with the accesses to it. A plain value, stored in
//! [`Object`](crate::Object).

use std::collections::BTreeMap;

use reuselens_locality::FineHistogram;
use serde::{Deserialize, Serialize, Serializer};

/// One element of a data object: the accesses to it, and their distances.
///
/// Source: Ding & Zhong 2001, section 2 (source-level data).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
pub struct Element {
    /// Its index in the object, from 0, in the order of memory.
    pub index: u64,
    /// The accesses to it (of items, as everywhere).
    pub accesses: u64,
    /// Their distances; empty where there were too many elements to keep them for each.
    #[serde(default)]
    pub histogram: FineHistogram,
    /// Sum of the finite distances, for the mean.
    #[serde(default)]
    pub distance_sum: u128,
    /// Largest finite distance.
    #[serde(default)]
    pub distance_max: u64,
}

/// Its fields in their order, without their names: a profile can have a hundred thousand of these.
/// The fields after the second go if there are no distances.
impl Serialize for Element {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts = (self.index, self.accesses);
        if self.histogram.is_empty() {
            return counts.serialize(serializer);
        }
        let (histogram, sum, max) = (&self.histogram, self.distance_sum, self.distance_max);
        (counts.0, counts.1, histogram, sum, max).serialize(serializer)
    }
}

impl Element {
    /// An element of which only the accesses were counted.
    pub fn counted(index: u64, accesses: u64) -> Self {
        Element {
            index,
            accesses,
            ..Element::default()
        }
    }

    /// The mean of the finite distances, or `None` if there are none, or they are not known.
    pub fn mean(&self) -> Option<f64> {
        let reuses = self.histogram.accesses() - self.histogram.cold();
        (reuses > 0).then(|| self.distance_sum as f64 / reuses as f64)
    }

    /// Takes in the accesses of the same element in another run, or under another number.
    pub fn merge(&mut self, other: &Element) {
        self.accesses = self.accesses.saturating_add(other.accesses);
        self.histogram.merge(&other.histogram);
        self.distance_sum = self.distance_sum.saturating_add(other.distance_sum);
        self.distance_max = self.distance_max.max(other.distance_max);
    }
}

/// Adds elements to others: equal indices become one, ascending.
pub(crate) fn merge_elements(into: &mut Vec<Element>, others: &[Element]) {
    if into.is_empty() && others.is_sorted_by(|a, b| a.index < b.index) {
        return into.extend_from_slice(others);
    }
    let mut by_index: BTreeMap<u64, Element> = BTreeMap::new();
    for element in into.drain(..).chain(others.iter().cloned()) {
        by_index
            .entry(element.index)
            .and_modify(|sum| sum.merge(&element))
            .or_insert(element);
    }
    into.extend(by_index.into_values());
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_units::Distance;

    fn element(index: u64, raw: &[u64]) -> Element {
        let mut element = Element::counted(index, raw.len() as u64);
        for &raw in raw {
            element.histogram.add(Distance::new(raw), 1);
            let items = Distance::new(raw).items().unwrap_or(0);
            element.distance_sum += u128::from(items);
            element.distance_max = element.distance_max.max(items);
        }
        element
    }

    #[test]
    fn equal_elements_become_one() {
        let one = [element(0, &[u64::MAX, 3]), element(4, &[u64::MAX])];
        let other = [element(4, &[7, 9]), element(2, &[u64::MAX])];
        let mut sum = Vec::new();
        merge_elements(&mut sum, &one);
        assert_eq!(sum, one);
        merge_elements(&mut sum, &other);
        let expected = [
            element(0, &[u64::MAX, 3]),
            element(2, &[u64::MAX]),
            element(4, &[7, u64::MAX, 9]),
        ];
        assert_eq!(sum, expected);
        assert_eq!((sum[2].mean(), sum[1].mean()), (Some(8.0), None));
        let mut turned = other.to_vec();
        merge_elements(&mut turned, &one);
        assert_eq!(turned, expected);
    }

    #[test]
    fn elements_with_counts_only_read_old_files() {
        let old: Vec<Element> = serde_json::from_str("[[3,17],[9,1]]").unwrap();
        assert_eq!(old, [Element::counted(3, 17), Element::counted(9, 1)]);
        let new = [Element::counted(3, 17), element(9, &[5, 1 << 40])];
        let text = serde_json::to_string(&new).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Element>>(&text).unwrap(), new);
        assert!(text.starts_with("[[3,17],[9,2,{"), "{text}");
    }
}
