//! The accesses of a profile, grouped by what they belong to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::grouping::{DimensionNames, Grouping, cross, groups};
use crate::{Cell, ExactHistogram, FineHistogram, Profile};

/// What to group accesses by: the names that `--by` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dimension {
    /// All accesses in one group.
    Program,
    /// The thread that accessed.
    Thread,
    /// The function whose source the access is in: the innermost, if it was inlined.
    Function,
    /// The source line.
    Line,
    /// The data object that was accessed.
    Object,
    /// The element of a data object that was accessed, where elements are told apart.
    Element,
    /// The calls that led to the access.
    Context,
    /// The instruction that accessed.
    Instruction,
    /// The way to the instruction that accessed: recent outcomes of branches, where they were
    /// followed.
    Path,
}

/// A name that `--by` does not take.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{fact}; use one of program, thread, function, line, object, element, context, instruction, path, for instance --by line"
)]
pub struct DimensionError {
    fact: String,
}

impl Dimension {
    /// Whether a group of this name says more than that nothing is known.
    pub(crate) fn is_known(self, name: &str) -> bool {
        let unknown = match self {
            Dimension::Function => "(unknown function)",
            Dimension::Line => "(unknown line)",
            Dimension::Object => "unknown",
            Dimension::Context => "(root)",
            Dimension::Instruction => "(unknown instruction)",
            Dimension::Path => "(unknown path)",
            Dimension::Program | Dimension::Thread | Dimension::Element => return true,
        };
        // Builds the second name only where the first characters agree.
        name != unknown && !(name.starts_with("(unknown") && name == crate::names::unknown(self))
    }

    /// All of them, from coarse to fine.
    pub const ALL: [Dimension; 9] = [
        Dimension::Program,
        Dimension::Thread,
        Dimension::Function,
        Dimension::Line,
        Dimension::Object,
        Dimension::Element,
        Dimension::Context,
        Dimension::Instruction,
        Dimension::Path,
    ];

    /// The name that `--by` takes.
    pub const fn name(self) -> &'static str {
        match self {
            Dimension::Program => "program",
            Dimension::Thread => "thread",
            Dimension::Function => "function",
            Dimension::Line => "line",
            Dimension::Object => "object",
            Dimension::Element => "element",
            Dimension::Context => "context",
            Dimension::Instruction => "instruction",
            Dimension::Path => "path",
        }
    }

    /// The index by which a cell says which name of this dimension it has.
    pub(crate) fn index(self, cell: &Cell) -> usize {
        let index = match self {
            Dimension::Program => 0,
            Dimension::Thread => cell.thread,
            Dimension::Function | Dimension::Line | Dimension::Instruction | Dimension::Path => {
                cell.site
            }
            // Cells hold all elements of their object, so none has a name of this dimension.
            Dimension::Object | Dimension::Element => cell.object,
            Dimension::Context => cell.context,
        };
        index as usize
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Dimension {
    type Err = DimensionError;

    fn from_str(text: &str) -> Result<Self, DimensionError> {
        if let Some(dimension) = Dimension::ALL
            .into_iter()
            .find(|dimension| dimension.name() == text)
        {
            return Ok(dimension);
        }
        let fact = format!("'{text}' is nothing to group by");
        Err(DimensionError { fact })
    }
}

/// The accesses that share one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What was grouped by.
    pub by: Dimension,
    /// Its name: `src/a.c:12`, `sweep`, `main > solve > sweep`, `prog+0x12ab (a.c:12)`; names of
    /// what is not known are in parentheses.
    pub name: String,
    /// The number of accesses.
    pub accesses: u64,
    /// How many of them were the first to their item.
    pub cold: u64,
    /// How many of them found their item invalidated by another thread's store, which is not cold
    /// here but is in `histogram`. Not known of elements and paths: 0.
    pub invalidated: u64,
    /// The distances.
    pub histogram: FineHistogram,
    /// Mean of the finite distances; 0 if there is none.
    pub mean: f64,
    /// Largest finite distance; 0 if there is none.
    pub max: u64,
    /// The forward distances, if they were measured (not known of elements).
    pub forward: Option<FineHistogram>,
}

impl Group {
    /// Misses in a fully associative LRU cache of `items` items; see [`FineHistogram::misses`].
    pub fn misses(&self, items: u64) -> u64 {
        self.histogram.misses(items)
    }
}

/// The accesses that share a name in each of two dimensions: which array misses on which line.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossGroup {
    /// The accesses, under their name in the first dimension.
    pub group: Group,
    /// The second dimension.
    pub by: Dimension,
    /// Their name in the second dimension.
    pub name: String,
}

/// A sum of cells.
#[derive(Default)]
pub(crate) struct CellSum {
    pub(crate) histogram: FineHistogram,
    pub(crate) sum: u128,
    pub(crate) max: u64,
    pub(crate) invalidated: u64,
    pub(crate) forward: FineHistogram,
}

impl CellSum {
    pub(crate) fn add(&mut self, cell: &Cell) {
        self.histogram.merge(&cell.histogram);
        self.add_rest(cell);
    }

    /// Adds all but the histogram.
    pub(crate) fn add_rest(&mut self, cell: &Cell) {
        self.sum = self.sum.saturating_add(cell.distance_sum);
        self.max = self.max.max(cell.distance_max);
        self.invalidated = self.invalidated.saturating_add(cell.invalidated);
        self.forward.merge(&cell.forward);
    }

    pub(crate) fn group(self, by: Dimension, name: String) -> Group {
        let accesses = self.histogram.accesses();
        let all_cold = self.histogram.cold();
        let reuses = accesses - all_cold;
        let mean = if reuses == 0 {
            0.0
        } else {
            self.sum as f64 / reuses as f64
        };
        Group {
            by,
            name,
            accesses,
            cold: all_cold.saturating_sub(self.invalidated),
            invalidated: self.invalidated,
            histogram: self.histogram,
            mean,
            max: self.max,
            forward: Some(self.forward).filter(|forward| !forward.is_empty()),
        }
    }
}

impl Profile {
    /// The accesses grouped by one dimension: most accesses first, then by name. The counts of the
    /// groups sum to those of the cells; entries of equal name are one group. The program as a
    /// whole is all accesses, cells or not. Elements (`A[17]`, in the order of memory from 0) of
    /// equally many accesses come by index; what belongs to none of known distances is `(no
    /// element)`. Cost: linear in the cells, or in the elements. For several dimensions, see
    /// [`grouping`](Self::grouping).
    pub fn groups(&self, by: Dimension) -> Vec<Group> {
        match by {
            Dimension::Program => {
                let mut whole = whole(&self.histogram);
                whole.cold = self.first_touches();
                whole.invalidated = self.invalidated;
                whole.forward = self.all_cells().group(by, String::new()).forward;
                vec![whole]
            }
            Dimension::Element => self.element_groups(),
            Dimension::Path => self.path_groups(),
            _ => groups(&self.cells, &DimensionNames::new(self, by)),
        }
    }

    /// Whether its groups of a dimension say more than that nothing is known. What is missing of
    /// elements has words of its own. Cost: linear in the names, and in the cells only until one
    /// has a name; that of [`groups`](Self::groups) for paths.
    pub fn tells(&self, by: Dimension) -> bool {
        match by {
            Dimension::Program | Dimension::Thread | Dimension::Element => return true,
            Dimension::Path => return self.groups(by).iter().any(|group| by.is_known(&group.name)),
            _ => {}
        }
        // A histogram of each group is what takes the time, and nothing here depends on one.
        let names = crate::names::names(self, by);
        let is_named = |cell: &Cell| {
            names
                .get(by.index(cell))
                .is_some_and(|name| by.is_known(name))
        };
        self.cells.iter().any(is_named)
            // Lines are shown with their objects.
            || by == Dimension::Line && self.tells(Dimension::Object)
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

    /// To group by several dimensions: what they share is done once.
    pub fn grouping(&self) -> Grouping<'_> {
        Grouping::of(self)
    }
}

/// All accesses of a run.
pub(crate) fn whole(histogram: &ExactHistogram) -> Group {
    let mut fine = FineHistogram::new();
    fine.add_exact(histogram);
    Group {
        by: Dimension::Program,
        name: "program".to_owned(),
        accesses: fine.accesses(),
        cold: fine.cold(),
        invalidated: 0,
        histogram: fine,
        mean: histogram.mean().unwrap_or(0.0),
        max: histogram.max().unwrap_or(0),
        forward: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn names_read_and_print() {
        for dimension in Dimension::ALL {
            assert_eq!(dimension.to_string().parse(), Ok(dimension));
        }
        let wrong = "way".parse::<Dimension>().unwrap_err().to_string();
        assert!(
            wrong.starts_with("'way' is nothing to group by; use one of program"),
            "{wrong}"
        );
        assert!("Line".parse::<Dimension>().is_err());
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
        let tells = |profile: &Profile, by| {
            let unknown = ["unknown", "(root)", &*crate::names::unknown(by)];
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
        // Names that no cell has tell nothing.
        for emptied in [false, true] {
            if emptied {
                profile.cells.truncate(1);
                let cell = &mut profile.cells[0];
                (cell.site, cell.object, cell.context) = (0, 0, u32::MAX);
            }
            for by in dimensions {
                assert_eq!(profile.tells(by), tells(&profile, by), "{by} {emptied}");
            }
            assert_eq!(profile.tells(Dimension::Function), !emptied);
        }
    }

    #[test]
    fn a_cross_of_two_says_which_object_on_which_line() {
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
    fn indices_that_lead_nowhere_are_unknown() {
        let mut profile = testing::profile();
        profile.sites.clear();
        assert_eq!(
            profile.groups(Dimension::Function)[0].name,
            "(unknown function)"
        );
    }
}
