//! Grouping the cells of a profile by name.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use crate::{Cell, CrossGroup, Dimension, Group, Profile, names, sums};

/// The accesses of a profile, to be grouped in several ways.
pub struct Grouping<'a> {
    profile: &'a Profile,
    /// The cells without their contexts.
    cells: Vec<Cell>,
    /// The names of each dimension, once they were asked for.
    names: [OnceCell<DimensionNames>; Dimension::ALL.len()],
}

impl<'a> Grouping<'a> {
    pub(crate) fn of(profile: &'a Profile) -> Self {
        Grouping {
            profile,
            cells: profile.cells_of_all_contexts(),
            names: Default::default(),
        }
    }

    fn names(&self, by: Dimension) -> &DimensionNames {
        self.names[by as usize].get_or_init(|| DimensionNames::new(self.profile, by))
    }

    /// As [`Profile::tells`].
    pub fn tells(&self, by: Dimension) -> bool {
        let cells = match by {
            Dimension::Program | Dimension::Thread | Dimension::Element | Dimension::Path => {
                return self.profile.tells(by);
            }
            Dimension::Context => &self.profile.cells,
            _ => &self.cells,
        };
        let names = self.names(by);
        let is_known: Vec<bool> = names.values.iter().map(|name| by.is_known(name)).collect();
        cells.iter().any(|cell| is_known[names.of(cell)])
            // Lines are shown with their objects.
            || by == Dimension::Line && self.tells(Dimension::Object)
    }

    /// As [`Profile::groups`].
    pub fn groups(&self, by: Dimension) -> Vec<Group> {
        match by {
            Dimension::Program | Dimension::Element | Dimension::Path => self.profile.groups(by),
            Dimension::Context => groups(&self.profile.cells, self.names(by)),
            _ => groups(&self.cells, self.names(by)),
        }
    }

    /// As [`Profile::cross`].
    pub fn cross(&self, first: Dimension, second: Dimension) -> Vec<CrossGroup> {
        if [first, second].contains(&Dimension::Context) {
            return self.profile.cross(first, second);
        }
        cross(&self.cells, self.names(first), self.names(second))
    }
}

/// Cells grouped by one dimension.
pub(crate) fn groups(cells: &[Cell], names: &DimensionNames) -> Vec<Group> {
    let tallies = sums::tallies(cells, names.values.len(), |cell| names.of(cell));
    let named = tallies.into_iter().zip(&names.values);
    let mut groups: Vec<Group> = named
        .filter_map(|(tally, name)| Some(tally?.group(names.by, name.clone())))
        .collect();
    // Stable, and they were in the order of their names.
    groups.sort_by_key(|group| std::cmp::Reverse(group.accesses));
    groups
}

/// Cells grouped by two dimensions.
pub(crate) fn cross(
    cells: &[Cell],
    firsts: &DimensionNames,
    seconds: &DimensionNames,
) -> Vec<CrossGroup> {
    let pair = |cell: &Cell| (firsts.of(cell) as u64) << 32 | seconds.of(cell) as u64;
    let mut pairs: Vec<u64> = cells.iter().map(pair).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let tallies = sums::tallies(cells, pairs.len(), |cell| {
        pairs.partition_point(|other| *other < pair(cell))
    });
    let mut groups: Vec<CrossGroup> = pairs
        .iter()
        .zip(tallies)
        .filter_map(|(pair, tally)| {
            let (first, second) = ((pair >> 32) as usize, *pair as u32 as usize);
            Some(CrossGroup {
                group: tally?.group(firsts.by, firsts.values[first].clone()),
                by: seconds.by,
                name: seconds.values[second].clone(),
            })
        })
        .collect();
    // Stable, and they were in the order of their names.
    groups.sort_by_key(|cross| std::cmp::Reverse(cross.group.accesses));
    groups
}

/// The names of a dimension, and which cell has which.
pub(crate) struct DimensionNames {
    by: Dimension,
    /// In order, each once; that of what is unknown among them.
    values: Vec<String>,
    /// For each index of the table that the dimension groups by, the number of its name.
    numbers: Vec<u32>,
    unknown: u32,
}

impl DimensionNames {
    pub(crate) fn new(profile: &Profile, by: Dimension) -> Self {
        let names = names::names(profile, by);
        let unknown = names::unknown(by);
        let all = || names.iter().chain([&unknown]);
        // Most names come often: what is equal is found before anything is sorted.
        let apart: HashSet<&String> = all().collect();
        let mut values: Vec<&String> = apart.into_iter().collect();
        values.sort_unstable();
        let numbers: HashMap<&String, u32> = values.iter().copied().zip(0..).collect();
        DimensionNames {
            by,
            numbers: names.iter().map(|name| numbers[name]).collect(),
            unknown: numbers[&unknown],
            values: values.into_iter().cloned().collect(),
        }
    }

    /// The number of a cell's name.
    fn of(&self, cell: &Cell) -> usize {
        let number = self.numbers.get(self.by.index(cell));
        *number.unwrap_or(&self.unknown) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn groups_are_those_of_the_profile() {
        let profile = testing::profile();
        let grouping = profile.grouping();
        for by in [
            Dimension::Program,
            Dimension::Function,
            Dimension::Line,
            Dimension::Object,
            Dimension::Context,
            Dimension::Instruction,
            Dimension::Path,
        ] {
            assert_eq!(grouping.groups(by), profile.groups(by), "{by}");
            assert_eq!(grouping.tells(by), profile.tells(by), "{by}");
        }
    }
}
