//! [`Shard`]: the counting tree on one segment of a stream. Segments are analysed independently,
//! and joined afterwards in their order.
//!
//! # What it is
//! The first access to an item within a segment has a distance that depends on what came before;
//! all other distances of the segment do not (Niu, Dinan, Lu & Sadayappan, *PARDA*, IPDPS 2012). So
//! segments are analysed independently, and only their first accesses wait. The engine of the
//! segment before gets those first accesses as an ordinary stream, and what it gives for each is
//! the distance: between two of them, the items that the earlier ones accessed are exactly the
//! distinct items since the segment began. An access whose item that engine has not seen either is
//! a first access of both segments together. Then the engine is fed the items of the later segment
//! once more, in the order of their last access; its state is now as if it had seen both segments.
//! Joining is associative: it may be done in any order, as a chain or a tree.
//!
//! # Cost
//! A segment costs what the engine costs. Joining a segment of M distinct items to the one before
//! costs twice M accesses, or M if nothing follows. Memory: the engine's, and 8 bytes per distinct
//! item.

use reuselens_units::{Bytes, Distance, Items};

use crate::tally::note_firsts;
use crate::{CountingTree, Engine, Expected, Tally};

/// What a segment leaves to the segments around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recency {
    /// Its distinct items in the order of their first access.
    pub firsts: Vec<u64>,
    /// The same items in the order of their last access, the least recent first.
    pub lasts: Vec<u64>,
}

/// An exact engine on one segment of a stream; later segments can be joined to it.
///
/// ```
/// use reuselens_distance::Shard;
/// use reuselens_units::Distance;
///
/// // `a b | c a b`, cut in two.
/// let (mut one, mut two) = (Shard::new(), Shard::new());
/// let mut distances = vec![Distance::ZERO; 2];
/// one.process(&[1, 2], &mut distances);
/// distances.resize(3, Distance::ZERO);
/// two.process(&[3, 1, 2], &mut distances);
/// assert_eq!(distances, [Distance::COLD; 3], "not known to the second alone");
/// one.absorb(two.into_recency(), &mut distances);
/// assert_eq!(distances, [Distance::COLD, Distance::new(2), Distance::new(2)]);
/// ```
#[derive(Default)]
pub struct Shard {
    engine: CountingTree,
    firsts: Vec<u64>,
    /// Items by their last access that the engine knows of but not in this order; most recent last.
    owed: Vec<u64>,
    distances: Vec<Distance>,
}

/// Items taken at once where their distances are of no interest.
const PIECE: usize = 1 << 14;

impl Shard {
    /// A segment without accesses.
    pub fn new() -> Self {
        Self::default()
    }

    /// A segment without accesses, of which `expected` is known: see [`CountingTree::expecting`].
    pub fn expecting(expected: impl Into<Expected>) -> Self {
        Shard {
            engine: CountingTree::expecting(expected),
            ..Self::default()
        }
    }

    /// A segment of which only its recency is left. Later segments get the right distances. Cost:
    /// an access per item, once something follows.
    pub fn from_recency(recency: Recency) -> Self {
        Shard {
            firsts: recency.firsts,
            owed: recency.lasts,
            ..Self::default()
        }
    }

    /// Processes the next items of the segment: `distances[i]` becomes the distance of the access
    /// to `items[i]`, [`Distance::COLD`] if it is the first of its item in the segment.
    ///
    /// # Panics
    /// If the two slices differ in length (a fault of the caller).
    pub fn process(&mut self, items: &[u64], distances: &mut [Distance]) {
        self.settle();
        let known = self.engine.distinct();
        self.engine.process(items, distances);
        if self.engine.distinct() != known {
            note_firsts(&mut self.firsts, items, distances);
        }
    }

    /// The same for callers that only count distances: see [`Engine::tally`].
    pub fn tally(&mut self, items: &[u64], tally: &mut Tally) {
        self.settle();
        tally.keep_firsts();
        self.engine.tally(items, tally);
        self.firsts.extend(tally.firsts());
    }

    /// Joins the segment that follows to this one. `distances` becomes the distances of
    /// `later.firsts`, in order: [`Distance::COLD`] where the access is the first of both
    /// segments. All other distances of the later segment are right already.
    pub fn absorb(&mut self, later: Recency, distances: &mut Vec<Distance>) {
        distances.clear();
        distances.resize(later.firsts.len(), Distance::COLD);
        self.process(&later.firsts, distances);
        self.owed = later.lasts;
    }

    /// The items whose first access was seen since this was last called: for a chain of segments
    /// that hand their firsts on while they go, so that nothing is left to absorb in the end.
    pub fn take_firsts(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.firsts)
    }

    /// How many first accesses [`take_firsts`](Self::take_firsts) would give.
    pub fn firsts(&self) -> usize {
        self.firsts.len()
    }

    /// What the segment leaves.
    pub fn into_recency(mut self) -> Recency {
        self.settle();
        Recency {
            lasts: self.engine.by_recency(),
            firsts: self.firsts,
        }
    }

    /// The number of distinct items so far.
    pub fn distinct(&self) -> Items {
        // A segment made from its recency may not have passed its items to the engine yet.
        Items(self.engine.distinct().get().max(self.owed.len() as u64))
    }

    /// What to expect of a segment like this one.
    pub fn learned(&self) -> Expected {
        Expected {
            distinct: self.distinct(),
            ..self.engine.learned()
        }
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        self.engine.memory() + self.columns()
    }

    /// The most memory held until `accesses` more are processed: see
    /// [`Engine::memory_ahead`].
    pub fn memory_ahead(&self, accesses: u64) -> Bytes {
        self.engine.memory_ahead(accesses) + self.columns()
    }

    /// The memory of all beside the engine.
    fn columns(&self) -> Bytes {
        let numbers = self.firsts.capacity() + self.owed.capacity() + self.distances.capacity();
        Bytes(numbers as u64 * 8)
    }

    /// Brings the engine's order of items up to date.
    fn settle(&mut self) {
        let owed = std::mem::take(&mut self.owed);
        for piece in owed.chunks(PIECE) {
            self.distances.resize(piece.len(), Distance::COLD);
            self.engine.process(piece, &mut self.distances);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absorbing_empty_segments_changes_nothing() {
        let mut distances = vec![Distance::ZERO; 3];
        let mut shard = Shard::new();
        shard.absorb(Recency::default(), &mut distances);
        assert_eq!((distances.len(), shard.distinct()), (0, Items(0)));
        let mut column = [Distance::ZERO; 4];
        shard.process(&[7, 8, 7, 7], &mut column);
        shard.absorb(Recency::default(), &mut distances);
        let expected = Recency {
            firsts: vec![7, 8],
            lasts: vec![8, 7],
        };
        let mut empty = Shard::new();
        empty.absorb(shard.into_recency(), &mut distances);
        assert_eq!(distances, [Distance::COLD; 2]);
        assert_eq!(empty.into_recency(), expected);
        assert_eq!(
            Shard::from_recency(expected.clone()).into_recency(),
            expected
        );
        assert_eq!(
            Shard::from_recency(expected.clone()).distinct(),
            Items(expected.lasts.len() as u64)
        );
    }
}
