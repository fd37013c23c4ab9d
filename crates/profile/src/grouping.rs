//! Groups of a profile's accesses by one dimension or two: [`Profile::groups`], [`Profile::cross`],
//! and [`Grouping`] for callers that ask for several.

use std::sync::OnceLock;

use crate::group::all_accesses;
use crate::{Cell, CrossGroup, Dimension, Group, Profile, names, sums};

impl Profile {
    /// The accesses grouped by one dimension: most accesses first, then by name. The counts of the
    /// groups sum to those of the cells; entries of equal name are one group. The program is
    /// all accesses, cells or not. Elements (`A[17]`, in the order of memory from 0) of
    /// equally many accesses come by index; accesses of no element with known distances are `(no
    /// element)`. Cost: linear in the cells, or in the elements. For several dimensions, see
    /// [`grouping`](Self::grouping).
    pub fn groups(&self, by: Dimension) -> Vec<Group> {
        match by {
            Dimension::Program => {
                let mut all = all_accesses(&self.histogram);
                all.cold = self.first_touches();
                all.invalidated = self.invalidated;
                all.forward = self.all_cells().group(by, String::new()).forward;
                vec![all]
            }
            Dimension::Element => self.element_groups(),
            Dimension::Path => self.path_groups(),
            _ => groups(&self.cells, &DimensionNames::new(self, by)),
        }
    }

    /// Whether any access has a real name in a dimension; if not, all are in the group of what is
    /// unknown. Always true of elements, whose absence reports explain by themselves. Cost: linear
    /// in the names, and in the cells only until one has a name; that of [`groups`](Self::groups)
    /// for paths.
    pub fn has_names(&self, by: Dimension) -> bool {
        match by {
            Dimension::Program | Dimension::Thread | Dimension::Element => return true,
            Dimension::Path => return self.groups(by).iter().any(|group| by.is_known(&group.name)),
            _ => {}
        }
        // No histogram is needed here; building one for each group would take most of the time.
        let names = names::names(self, by);
        let is_named = |cell: &Cell| {
            names
                .get(by.index(cell))
                .is_some_and(|name| by.is_known(name))
        };
        self.cells.iter().any(is_named)
            // Lines are shown with their objects.
            || by == Dimension::Line && self.has_names(Dimension::Object)
    }

    /// The accesses grouped by two dimensions at once: most accesses first, then by both names.
    /// Which element belongs to which other group is not kept: all have `(no element)`.
    pub fn cross(&self, first: Dimension, second: Dimension) -> Vec<CrossGroup> {
        cross(
            &self.cells,
            &DimensionNames::new(self, first),
            &DimensionNames::new(self, second),
        )
    }

    /// To group by several dimensions: shared work is done once.
    pub fn grouping(&self) -> Grouping<'_> {
        Grouping::of(self)
    }
}

/// The accesses of a profile, to be grouped in several ways. What a question needs is made with the
/// first that needs it, and kept; threads that ask at the same time wait for the one that makes it.
pub struct Grouping<'a> {
    profile: &'a Profile,
    /// The cells without their contexts.
    cells: OnceLock<Vec<Cell>>,
    names: [OnceLock<DimensionNames>; Dimension::ALL.len()],
    groups: [OnceLock<Vec<Group>>; Dimension::ALL.len()],
    lines_and_objects: OnceLock<Vec<CrossGroup>>,
}

impl<'a> Grouping<'a> {
    fn of(profile: &'a Profile) -> Self {
        Grouping {
            profile,
            cells: OnceLock::new(),
            names: Default::default(),
            groups: Default::default(),
            lines_and_objects: OnceLock::new(),
        }
    }

    /// The profile whose accesses are grouped.
    pub fn profile(&self) -> &'a Profile {
        self.profile
    }

    fn cells(&self) -> &[Cell] {
        self.cells
            .get_or_init(|| self.profile.cells_of_all_contexts())
    }

    fn names(&self, by: Dimension) -> &DimensionNames {
        self.names[by as usize].get_or_init(|| DimensionNames::new(self.profile, by))
    }

    /// As [`Profile::has_names`].
    pub fn has_names(&self, by: Dimension) -> bool {
        let cells = match by {
            Dimension::Program | Dimension::Thread | Dimension::Element | Dimension::Path => {
                return self.profile.has_names(by);
            }
            Dimension::Context => &self.profile.cells,
            _ => self.cells(),
        };
        let names = self.names(by);
        let is_known: Vec<bool> = names.values.iter().map(|name| by.is_known(name)).collect();
        cells.iter().any(|cell| is_known[names.of(cell)])
            // Lines are shown with their objects.
            || by == Dimension::Line && self.has_names(Dimension::Object)
    }

    /// As [`Profile::groups`].
    pub fn groups(&self, by: Dimension) -> &[Group] {
        self.groups[by as usize].get_or_init(|| match by {
            Dimension::Program | Dimension::Element | Dimension::Path => self.profile.groups(by),
            Dimension::Context => groups(&self.profile.cells, self.names(by)),
            _ => groups(self.cells(), self.names(by)),
        })
    }

    /// The accesses by line and object: see [`Profile::cross`].
    pub fn lines_and_objects(&self) -> &[CrossGroup] {
        self.lines_and_objects
            .get_or_init(|| self.cross(Dimension::Line, Dimension::Object))
    }

    /// As [`Profile::cross`].
    pub fn cross(&self, first: Dimension, second: Dimension) -> Vec<CrossGroup> {
        if [first, second].contains(&Dimension::Context) {
            return self.profile.cross(first, second);
        }
        cross(self.cells(), self.names(first), self.names(second))
    }
}

/// Cells grouped by one dimension.
fn groups(cells: &[Cell], names: &DimensionNames) -> Vec<Group> {
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
fn cross(cells: &[Cell], firsts: &DimensionNames, seconds: &DimensionNames) -> Vec<CrossGroup> {
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
struct DimensionNames {
    by: Dimension,
    /// In order, each once; among them the name of what is unknown.
    values: Vec<String>,
    /// For each index of the table that the dimension groups by, the number of its name.
    numbers: Vec<u32>,
    unknown: u32,
}

impl DimensionNames {
    fn new(profile: &Profile, by: Dimension) -> Self {
        let mut names = names::names(profile, by);
        let unknown = names.len();
        names.push(by.unknown_name());
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_unstable_by(|a, b| names[*a].cmp(&names[*b]));
        let mut numbers = vec![0; names.len()];
        let mut values: Vec<String> = Vec::new();
        for index in order {
            let name = std::mem::take(&mut names[index]);
            if values.last() != Some(&name) {
                values.push(name);
            }
            numbers[index] = values.len() as u32 - 1;
        }
        DimensionNames {
            by,
            unknown: numbers[unknown],
            numbers,
            values,
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
    fn grouping_gives_the_groups_of_the_profile() {
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
            assert_eq!(grouping.has_names(by), profile.has_names(by), "{by}");
            // Asked again, it sums nothing again.
            assert!(std::ptr::eq(grouping.groups(by), grouping.groups(by)));
        }
        let cross = profile.cross(Dimension::Line, Dimension::Object);
        assert_eq!(grouping.lines_and_objects(), cross);
    }

    #[test]
    fn every_grouping_holds_all_accesses() {
        let profile = testing::profile();
        for by in Dimension::ALL {
            let groups = profile.groups(by);
            let sum: u64 = groups.iter().map(|group| group.accesses).sum();
            assert_eq!(sum, profile.histogram.accesses(), "{by}");
            let misses: u64 = groups.iter().map(|group| group.misses(64)).sum();
            assert_eq!(misses, profile.histogram.misses(64), "{by}");
            assert!(groups.is_sorted_by(|a, b| a.accesses >= b.accesses), "{by}");
        }
    }

    #[test]
    fn groups_are_sums_of_cells() {
        let profile = testing::profile();
        let lines = profile.groups(Dimension::Line);
        let names: Vec<_> = lines.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["a.c:12", "b.c:7", "(unknown line)"]);
        let objects = profile.groups(Dimension::Object);
        let table = objects
            .iter()
            .find(|group| group.name == "table (a.c)")
            .unwrap();
        let cells = profile.cells.iter().filter(|cell| cell.object == 1);
        assert_eq!(
            table.max,
            cells.map(|cell| cell.distance_max).max().unwrap()
        );
        let contexts = profile.groups(Dimension::Context);
        assert!(
            contexts.iter().any(|group| group.name == "main > solve"),
            "{contexts:?}"
        );
        let whole = &profile.groups(Dimension::Program)[0];
        assert_eq!(Some(whole.mean), profile.histogram.mean());
    }

    #[test]
    fn dimension_is_known_if_its_groups_are() {
        let mut profile = testing::profile();
        let has_names = |profile: &Profile, by: Dimension| {
            let unknown = ["unknown", "(root)", &*by.unknown_name()];
            let groups = profile.groups(by);
            groups.iter().any(|group| !unknown.contains(&&*group.name))
        };
        let dimensions = [
            Dimension::Function,
            Dimension::Line,
            Dimension::Object,
            Dimension::Context,
            Dimension::Instruction,
            Dimension::Path,
        ];
        // Names that no cell has do not count.
        for emptied in [false, true] {
            if emptied {
                profile.cells.truncate(1);
                let cell = &mut profile.cells[0];
                (cell.site, cell.object, cell.context) = (0, 0, u32::MAX);
            }
            for by in dimensions {
                assert_eq!(
                    profile.has_names(by),
                    has_names(&profile, by),
                    "{by} {emptied}"
                );
            }
            assert_eq!(profile.has_names(Dimension::Function), !emptied);
        }
    }

    #[test]
    fn cross_groups_sum_to_the_groups_of_one_dimension() {
        let profile = testing::profile();
        let cross = profile.cross(Dimension::Line, Dimension::Object);
        for line in profile.groups(Dimension::Line) {
            let mine = cross.iter().filter(|cross| cross.group.name == line.name);
            assert_eq!(
                mine.map(|cross| cross.group.accesses).sum::<u64>(),
                line.accesses
            );
        }
        assert!(cross.is_sorted_by(|a, b| a.group.accesses >= b.group.accesses));
    }

    #[test]
    fn indices_out_of_the_table_are_unknown() {
        let mut profile = testing::profile();
        profile.sites.clear();
        assert_eq!(
            profile.groups(Dimension::Function)[0].name,
            "(unknown function)"
        );
    }
}
