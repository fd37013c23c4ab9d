//! [`ContourClass`]: the class of a characteristic's contour.

use std::fmt;

/// The classes of contours of Garrido 2013, section 9.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContourClass {
    /// Nothing is reused.
    Empty,
    /// Each degree is at most the one before, up to the domain's end.
    Decreasing,
    /// The largest degree is at distance 1 and hills become lower, but there are dips between.
    NearlyFromOne,
    /// As before, with the largest degree at distance 2.
    NearlyFromTwo,
    /// Neither.
    NotMonotone,
}

/// How much higher than an earlier hill a later one may be, as a part of the peak.
const TOLERANCE: f64 = 0.1;

impl ContourClass {
    /// The class of degrees by distance (the first one is of distance 0 and not looked at).
    pub(crate) fn of(degrees: &[u64]) -> ContourClass {
        let degrees = degrees.get(1..).unwrap_or_default();
        let Some(&peak) = degrees.iter().max() else {
            return ContourClass::Empty;
        };
        if degrees.is_sorted_by(|before, after| before >= after) {
            return ContourClass::Decreasing;
        }
        if !hills_become_lower(degrees, peak) {
            return ContourClass::NotMonotone;
        }
        match degrees.iter().position(|&degree| degree == peak) {
            Some(0) => ContourClass::NearlyFromOne,
            Some(1) => ContourClass::NearlyFromTwo,
            _ => ContourClass::NotMonotone,
        }
    }

    /// The abbreviation of the literature: MB, AMB, NMB.
    pub const fn abbreviation(self) -> &'static str {
        match self {
            ContourClass::Empty => "-",
            ContourClass::Decreasing => "MB",
            ContourClass::NearlyFromOne | ContourClass::NearlyFromTwo => "AMB",
            ContourClass::NotMonotone => "NMB",
        }
    }
}

impl fmt::Display for ContourClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ContourClass::Empty => "nothing is reused",
            ContourClass::Decreasing => "monotonically decreasing",
            ContourClass::NearlyFromOne => "nearly decreasing, peak at 1",
            ContourClass::NearlyFromTwo => "nearly decreasing, peak at 2",
            ContourClass::NotMonotone => "not monotone",
        })
    }
}

/// Whether no hill after the peak is clearly higher than a hill before it.
fn hills_become_lower(degrees: &[u64], peak: u64) -> bool {
    let slack = (peak as f64 * TOLERANCE) as u64;
    let top = degrees
        .iter()
        .position(|&degree| degree == peak)
        .unwrap_or(0);
    let mut lowest = peak;
    for at in top + 1..degrees.len() {
        let next = degrees.get(at + 1).copied().unwrap_or(0);
        if degrees[at] > degrees[at - 1] && degrees[at] >= next {
            if degrees[at] > lowest.saturating_add(slack) {
                return false;
            }
            lowest = lowest.min(degrees[at]);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contours_get_the_classes_of_the_literature() {
        assert_eq!(ContourClass::of(&[]), ContourClass::Empty);
        assert_eq!(ContourClass::of(&[0, 9, 5, 5, 1]), ContourClass::Decreasing);
        assert_eq!(
            ContourClass::of(&[0, 90, 20, 50, 10, 30, 5]),
            ContourClass::NearlyFromOne
        );
        assert_eq!(
            ContourClass::of(&[0, 20, 90, 10, 50, 0, 30]),
            ContourClass::NearlyFromTwo
        );
        assert_eq!(
            ContourClass::of(&[0, 90, 10, 20, 10, 60]),
            ContourClass::NotMonotone
        );
        assert_eq!(
            ContourClass::of(&[0, 1, 2, 9, 3]),
            ContourClass::NotMonotone
        );
    }
}
