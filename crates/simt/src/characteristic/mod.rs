//! [`Characteristic`]: how much data of a reference stream is reused at each distance, in memory
//! instructions. [`characteristic`] calculates it; [`naive`] does so by the definition.

mod correlate;
mod difference;
mod distinct_lists;
mod engine;
mod index;
mod naive;
mod ntt;
mod shape;

pub use difference::Difference;
pub use engine::{Limits, characteristic};
pub use naive::naive;
pub use shape::ContourClass;

/// Total reuse degree for each reuse distance.
///
/// `M_i(a)` is how often item `a` is among those of memory instruction `i`. The reuse degree of `j`
/// after `i` is the sum of `M_j(a)` over the items that both touch, their distance `j − i`:
/// adjacent instructions have distance 1. The characteristic adds all pairs up by distance.
///
/// Source: Garrido 2013, sections III to V. Its definition of the distance says `j − i + 1`, its
/// listing `i − j`; its examples and figures are `j − i`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Characteristic {
    /// `degrees[d]` is the degree at distance `d`; there is none at 0. Its last entry is not 0.
    degrees: Vec<u64>,
    /// Memory instructions of the stream.
    instructions: u64,
    /// Touches of items in the stream, repetitions counted.
    touches: u64,
    /// Distinct items.
    items: u64,
}

impl Characteristic {
    /// From degrees by distance; the one at 0 counts nothing.
    pub fn new(mut degrees: Vec<u64>, instructions: u64, touches: u64, items: u64) -> Self {
        if let Some(first) = degrees.first_mut() {
            *first = 0;
        }
        let end = degrees.iter().rposition(|&degree| degree > 0);
        degrees.truncate(end.map_or(0, |end| end + 1));
        Characteristic {
            degrees,
            instructions,
            touches,
            items,
        }
    }

    /// The degree at a distance.
    pub fn degree(&self, distance: u64) -> u64 {
        let at = usize::try_from(distance).ok();
        at.and_then(|at| self.degrees.get(at)).copied().unwrap_or(0)
    }

    /// Distances that have a degree, and it, nearest first.
    pub fn entries(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let all = self.degrees.iter().enumerate();
        all.filter(|(_, degree)| **degree > 0)
            .map(|(distance, degree)| (distance as u64, *degree))
    }

    /// The sum of all degrees. 128 bits: one item in each of many instructions has more pairs than
    /// 64 bits hold.
    pub fn total(&self) -> u128 {
        self.degrees.iter().map(|&degree| u128::from(degree)).sum()
    }

    /// The distance with the largest degree, the nearest of equals, and that degree. `None` if
    /// nothing is reused.
    pub fn peak(&self) -> Option<(u64, u64)> {
        self.entries()
            .min_by_key(|&(distance, degree)| (std::cmp::Reverse(degree), distance))
    }

    /// The reuse-distance domain: the largest distance that has a degree; 0 if nothing is reused.
    pub fn domain(&self) -> u64 {
        self.degrees.len().saturating_sub(1) as u64
    }

    /// What its contour looks like.
    pub fn shape(&self) -> ContourClass {
        ContourClass::of(&self.degrees)
    }

    /// Memory instructions of the stream.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Touches of items, repetitions counted.
    pub fn touches(&self) -> u64 {
        self.touches
    }

    /// Distinct items of the stream.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Adds what another stream has: of the clusters of a scenario, one after the other. Items of
    /// both count twice.
    pub fn add(&mut self, other: &Characteristic) {
        self.add_class(other);
        self.instructions += other.instructions;
    }

    /// Adds what the same instructions have of another class of items
    /// ([`ItemClass`](crate::ItemClass)).
    pub fn add_class(&mut self, other: &Characteristic) {
        let longer = self.degrees.len().max(other.degrees.len());
        self.degrees.resize(longer, 0);
        for (degree, more) in self.degrees.iter_mut().zip(&other.degrees) {
            *degree += more;
        }
        self.touches += other.touches;
        self.items += other.items;
    }
}
