//! The rules by which objects can be placed, as one list.

use crate::problem::{Choice, Problem};
use crate::{baselines, greedy};

/// A way to place objects.
#[derive(Clone, Copy, Debug)]
pub struct PlacementRule {
    /// Its name in reports.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Places. Every choice is within the capacities.
    pub place: fn(&Problem) -> Choice,
}

/// All rules. The optimum is none of them: it begins with their choices.
pub const RULES: &[PlacementRule] = &[
    PlacementRule {
        name: "all slow",
        summary: "nothing is placed",
        place: baselines::all_slow,
    },
    PlacementRule {
        name: "first come",
        summary: "by allocation, or by name, while there is room",
        place: baselines::first_come,
    },
    PlacementRule {
        name: "hot set",
        summary: "SICM: accesses per byte until one does not fit",
        place: baselines::hot_set,
    },
    PlacementRule {
        name: "ecoHMEM",
        summary: "accesses per page",
        place: baselines::eco_hmem,
    },
    PlacementRule {
        name: "greedy",
        summary: "worth per byte, as DataPlacer does",
        place: greedy::place,
    },
];
