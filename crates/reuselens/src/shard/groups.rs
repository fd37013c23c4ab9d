//! The counts of numbered groups (cells, elements) in a form that merges and can be stored.

use serde::{Deserialize, Serialize};

use crate::attribution::Group;

/// The groups that have accesses, by number, ascending.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Groups(Vec<(u32, Group)>);

impl Groups {
    /// Those that `get` has, from number 0 up to the first that it does not know.
    pub fn of(get: impl FnMut(u32) -> Option<Group>) -> Groups {
        let all = (0..).map_while({
            let mut get = get;
            move |number| Some((number, get(number)?))
        });
        Groups(all.filter(|(_, group)| !group.0.is_empty()).collect())
    }

    /// Adds the counts of others, number by number.
    pub fn merge(&mut self, more: Groups) {
        let mut mine = std::mem::take(&mut self.0).into_iter().peekable();
        let mut all = Vec::with_capacity(mine.len().max(more.0.len()));
        for (number, mut group) in more.0 {
            while let Some(smaller) = mine.next_if(|(mine, _)| *mine < number) {
                all.push(smaller);
            }
            if let Some((_, other)) = mine.next_if(|(mine, _)| *mine == number) {
                add(&mut group, &other);
            }
            all.push((number, group));
        }
        all.extend(mine);
        self.0 = all;
    }

    /// Gives groups other numbers, the sum of those that get the same one.
    pub fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        let mut all = std::mem::take(&mut self.0);
        all.iter_mut()
            .for_each(|(group, _)| *group = number(*group));
        all.sort_by_key(|(group, _)| *group);
        for (number, group) in all {
            match self.0.last_mut().filter(|(last, _)| *last == number) {
                Some((_, sum)) => add(sum, &group),
                None => self.0.push((number, group)),
            }
        }
    }

    /// Takes out the counts of a group, if it has any.
    pub fn take(&mut self, number: u32) -> Option<Group> {
        let at = self.0.binary_search_by_key(&number, |(number, _)| *number);
        at.ok().map(|at| std::mem::take(&mut self.0[at].1))
    }

    /// Whether the numbers ascend and are below `limit`.
    pub fn is_sound(&self, limit: u32) -> bool {
        self.0.is_sorted_by(|a, b| a.0 < b.0) && self.0.last().is_none_or(|last| last.0 < limit)
    }
}

fn add(sum: &mut Group, more: &Group) {
    sum.0.merge(&more.0);
    sum.1 = sum.1.saturating_add(more.1);
    sum.2 = sum.2.max(more.2);
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_locality::FineHistogram;
    use reuselens_units::Distance;

    fn groups(numbers: &[(u32, u64)]) -> Groups {
        let group = |distance| {
            let mut histogram = FineHistogram::new();
            histogram.add(Distance::new(distance), 1);
            (histogram, u128::from(distance), distance)
        };
        Groups(
            numbers
                .iter()
                .map(|(number, distance)| (*number, group(*distance)))
                .collect(),
        )
    }

    #[test]
    fn equal_numbers_add_up_and_others_keep_their_order() {
        let (one, other) = (groups(&[(0, 3), (4, 1)]), groups(&[(2, 9), (4, 7), (5, 2)]));
        for (mut into, more) in [(one.clone(), other.clone()), (other, one)] {
            into.merge(more);
            assert!(into.is_sound(6) && !into.is_sound(5));
            let numbers: Vec<u32> = into.0.iter().map(|(number, _)| *number).collect();
            assert_eq!(numbers, [0, 2, 4, 5]);
            let (histogram, sum, max) = into.take(4).unwrap();
            assert_eq!((histogram.accesses(), sum, max), (2, 8, 7));
            assert_eq!(into.take(1), None);
        }
        assert!(!groups(&[(3, 1), (3, 1)]).is_sound(9));
    }
}
