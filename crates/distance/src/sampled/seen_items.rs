//! [`SeenItems`]: the items that the bursts of a recording have met, and how many there were that
//! none has met.

use hashbrown::HashMap;
use reuselens_units::Bytes;

use super::unseen::NEVER_SEEN;
use crate::growth::map_ahead;

/// So many standard deviations more new items may have been between bursts than in them.
const DEVIATIONS: f64 = 2.0;
/// Sightings are counted up to this.
const OFTEN: usize = 3;

/// The items that were seen.
#[derive(Default)]
pub(super) struct SeenItems {
    /// In how many bursts, up to [`OFTEN`]; the beginning of the run counts as one.
    sightings: HashMap<u64, u8>,
    /// How many items have so many sightings.
    with: [u64; OFTEN + 1],
    /// The items of the beginning.
    beginning: u64,
    /// Accesses in bursts to items that were new, and how many accesses each of them stands for.
    new: u64,
    stands_for: u64,
}

impl SeenItems {
    /// An item is accessed for the first time in a burst. Whether it is new: seen in no burst
    /// before.
    pub(super) fn meet(&mut self, item: u64) -> bool {
        let sightings = self.sightings.entry(item).or_insert(0);
        let before = usize::from(*sightings);
        let now = (before + 1).min(OFTEN);
        *sightings = now as u8;
        if before > 0 {
            self.with[before] -= 1;
        }
        self.with[now] += 1;
        before == 0
    }

    /// The beginning is over.
    pub(super) fn end_beginning(&mut self) {
        self.beginning = self.sightings.len() as u64;
    }

    /// A burst is over, in which `new` items were met that were new, and of which each access
    /// stands for so many.
    pub(super) fn end_burst(&mut self, new: u64, stands_for: u64) {
        self.new += new;
        self.stands_for = stands_for;
    }

    /// How many items there were about, those included that no burst has met: from how many were
    /// met once and twice (Chao 1987). Too small where items have their times.
    pub(super) fn likely(&self) -> u64 {
        let [_, once, twice, _] = self.with.map(|items| items as f64);
        let unseen = if twice > 0.0 {
            once * once / (2.0 * twice)
        } else {
            once * (once - 1.0) / 2.0
        };
        let between = (self.new * self.stands_for) as f64;
        self.sightings.len() as u64 + unseen.min(between) as u64
    }

    /// Of the accesses to items that are new in a burst, the share that is likely to be the first
    /// to them in the run: there are as many first accesses as items.
    pub(super) fn first(&self) -> f64 {
        match self.new * self.stands_for {
            0 => 0.5,
            between => ((self.likely() - self.beginning) as f64 / between as f64).min(1.0),
        }
    }

    /// How many there were at most: as if no access between bursts was to the same new item as
    /// another. If no access was to a new item, three may have been (the rule of three).
    pub(super) fn most(&self) -> u64 {
        let new = self.new as f64;
        let most = new + DEVIATIONS * new.sqrt() + NEVER_SEEN;
        self.sightings.len() as u64 + (most * self.stands_for as f64) as u64
    }

    /// As [`Engine::memory_ahead`](crate::Engine::memory_ahead).
    pub(super) fn memory_ahead(&self, accesses: u64) -> Bytes {
        Bytes(map_ahead(&self.sightings, accesses as usize) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Generator, Uniform};

    #[test]
    fn items_that_no_burst_has_met_are_estimated() {
        let (mut seen, mut uniform) = (SeenItems::default(), Uniform::new(10_000, 1));
        for _ in 0..20 {
            let mut items: Vec<u64> = (0..500).map(|_| uniform.next_item()).collect();
            items.sort_unstable();
            items.dedup();
            let new = items.iter().filter(|item| seen.meet(**item)).count();
            seen.end_burst(new as u64, 32);
        }
        // A third of them was never met.
        assert!(seen.sightings.len() < 6600);
        assert!((9000..11_000).contains(&seen.likely()), "{}", seen.likely());
        assert!(seen.most() > 100_000);
        assert!(seen.first() < 0.06, "{}", seen.first());
    }

    #[test]
    fn items_that_never_come_again_are_as_many_as_bursts_say() {
        let mut seen = SeenItems::default();
        assert!((0..100).all(|item| seen.meet(item)));
        seen.end_burst(100, 10);
        assert_eq!((seen.likely(), seen.most()), (1100, 1330));
        assert!(seen.first() >= 1.0);
        assert!(!seen.meet(5));
    }
}
