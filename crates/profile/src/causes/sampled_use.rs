//! [`SampledUse`]: how well a sample of items knows the utilisation of lines.

use serde::{Deserialize, Serialize};

/// The share of the bytes of fills that are used, as a sample of the items has it, and its bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampledUse {
    /// The object whose fills these are: index into
    /// [`Profile::objects`](crate::Profile::objects). `None` of all together.
    pub object: Option<u32>,
    /// Sampled items with a fill.
    pub items: u64,
    /// The share of the bytes that is used, from 0 to 1.
    pub utilisation: f64,
    /// With a confidence of 95%, that of all items differs by at most this; 1 if too few items were
    /// sampled to say so.
    pub half_width: f64,
}

impl SampledUse {
    /// Unites two parts of one object: the utilisation of both is between those of the parts,
    /// whatever their weights are. The bound holds where both do.
    pub(crate) fn merge(&mut self, other: &Self) {
        let low = (self.utilisation - self.half_width).min(other.utilisation - other.half_width);
        let high = (self.utilisation + self.half_width).max(other.utilisation + other.half_width);
        let (low, high) = (low.max(0.0), high.min(1.0));
        *self = SampledUse {
            object: self.object,
            items: self.items.saturating_add(other.items),
            utilisation: (low + high) / 2.0,
            half_width: match self.half_width.max(other.half_width) {
                1.0.. => 1.0,
                _ => (high - low) / 2.0,
            },
        };
    }

    /// Whether its shares are shares.
    pub(crate) fn is_sound(&self) -> bool {
        let shares = [self.utilisation, self.half_width];
        shares.iter().all(|share| (0.0..=1.0).contains(share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(utilisation: f64, half_width: f64) -> SampledUse {
        SampledUse {
            object: Some(3),
            items: 40,
            utilisation,
            half_width,
        }
    }

    #[test]
    fn the_bound_of_united_parts_holds_those_of_both() {
        let mut united = known(0.25, 0.125);
        united.merge(&known(0.75, 0.0));
        assert_eq!((united.items, united.object), (80, Some(3)));
        assert_eq!((united.utilisation, united.half_width), (0.4375, 0.3125));
        united.merge(&known(0.5, 1.0));
        assert_eq!(united.half_width, 1.0, "nothing is known of one");
        assert!(united.is_sound());
    }

    #[test]
    fn shares_beyond_one_are_unsound() {
        assert!(!known(1.5, 0.0).is_sound());
        assert!(!known(0.5, -0.1).is_sound());
        assert!(!known(f64::NAN, 0.1).is_sound());
    }
}
