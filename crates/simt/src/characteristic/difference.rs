//! [`Difference`]: what changed between two characteristics, distance by distance.

use crate::characteristic::Characteristic;

/// One characteristic minus another, distance by distance.
///
/// Source: Garrido 2013, figures 71 to 84.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Distances where they differ, and by how much, nearest first.
    pub changes: Vec<(u64, i128)>,
    /// The sum of all differences: how much more is reused in all.
    pub sum: i128,
    /// The reuse-distance domain before and after.
    pub domain: (u64, u64),
}

impl Difference {
    /// `after` minus `before`.
    pub fn between(before: &Characteristic, after: &Characteristic) -> Difference {
        let domain = (before.domain(), after.domain());
        let mut changes = Vec::new();
        for distance in 1..=domain.0.max(domain.1) {
            let change = i128::from(after.degree(distance)) - i128::from(before.degree(distance));
            if change != 0 {
                changes.push((distance, change));
            }
        }
        let sum = changes.iter().map(|(_, change)| change).sum();
        Difference {
            changes,
            sum,
            domain,
        }
    }
}
