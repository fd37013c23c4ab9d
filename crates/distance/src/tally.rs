//! [`Tally`]: the distances of a stream for callers that build a histogram: the near ones counted,
//! the others in a list, without the access that each belongs to.

use reuselens_units::{Bytes, Distance};

/// Distances below this may be counted at once.
const NEAR: usize = 32;

/// What [`Engine::tally`](crate::Engine::tally) makes of accesses: near distances counted, the
/// others in a list. Together they are those that [`Engine::process`](crate::Engine::process)
/// gives; whose each is, and in which order they came, is not kept.
///
/// Most accesses of programs are near ones. A caller that builds a histogram needs no number of 64
/// bits for each, which the engine writes and the caller reads and counts: that takes a fifth of
/// the time of an analysis.
///
/// Memory: 8 bytes for each distance in the list, which the caller empties after counting them.
///
/// ```
/// use reuselens_distance::{CountingTree, Engine, Tally};
/// use reuselens_units::Distance;
///
/// let (mut engine, mut tally) = (CountingTree::new(), Tally::new());
/// engine.tally(&[7, 7, 8, 7], &mut tally);
/// let at = |distance| {
///     let listed = tally.rest().iter().filter(|one| **one == distance);
///     let near = distance.items().and_then(|items| tally.near().get(items as usize));
///     listed.count() as u64 + near.copied().unwrap_or(0)
/// };
/// assert_eq!((at(Distance::new(0)), at(Distance::new(1)), at(Distance::COLD)), (1, 1, 2));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tally {
    near: [u64; NEAR],
    /// The first `len` are the list; the others are kept for reuse, so that the list can grow
    /// without clearing them.
    rest: Vec<Distance>,
    len: usize,
    /// The items of the cold accesses of the list, in order, if they are wanted.
    firsts: Option<Vec<u64>>,
}

impl Tally {
    /// Of no accesses.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on also keeps the item of each cold access.
    pub(crate) fn keep_firsts(&mut self) {
        self.firsts.get_or_insert_default();
    }

    /// How many accesses had each of the smallest distances, and are not in the list.
    pub fn near(&self) -> &[u64] {
        &self.near
    }

    /// The distances of all other accesses, cold ones and perhaps near ones among them.
    pub fn rest(&self) -> &[Distance] {
        &self.rest[..self.len]
    }

    /// Empties the list, when all in it were counted. What was counted here stays.
    pub fn forget_rest(&mut self) {
        self.len = 0;
    }

    /// Adds `accesses` to the list and returns their distances, for an engine that writes them
    /// itself. Until then they have any value.
    pub fn column(&mut self, accesses: usize) -> &mut [Distance] {
        self.make_room(accesses);
        let before = self.len;
        self.len += accesses;
        &mut self.rest[before..self.len]
    }

    /// Makes room for `accesses` more in the list.
    pub(crate) fn make_room(&mut self, accesses: usize) {
        let needed = self.len + accesses;
        if self.rest.len() < needed {
            self.rest.resize(needed, Distance::COLD);
        }
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        let firsts = self.firsts.as_ref().map_or(0, Vec::capacity);
        Bytes((size_of::<Self>() + 8 * (self.rest.capacity() + firsts)) as u64)
    }

    /// Counters of distances by themselves.
    #[inline(always)]
    pub(crate) fn near_mut(&mut self) -> &mut [u64; NEAR] {
        &mut self.near
    }

    /// One more for the list, in which there is [room](Self::make_room), and whose it is if it is
    /// cold.
    #[inline(always)]
    pub(crate) fn push(&mut self, distance: Distance, item: u64) {
        self.rest[self.len] = distance;
        self.len += 1;
        if distance.is_cold()
            && let Some(firsts) = &mut self.firsts
        {
            firsts.push(item);
        }
    }

    /// Keeps the items of the cold ones among accesses whose distances are the last of the list.
    pub(crate) fn note_firsts(&mut self, items: &[u64]) {
        if let Some(firsts) = &mut self.firsts {
            let distances = &self.rest[self.len - items.len()..self.len];
            note_firsts(firsts, items, distances);
        }
    }

    /// The items of the cold accesses since this was last called, in order.
    pub(crate) fn firsts(&mut self) -> impl Iterator<Item = u64> + '_ {
        self.firsts.iter_mut().flat_map(|firsts| firsts.drain(..))
    }
}

/// Appends the items of cold accesses.
pub(crate) fn note_firsts(firsts: &mut Vec<u64>, items: &[u64], distances: &[Distance]) {
    for (items, distances) in items.chunks(64).zip(distances.chunks(64)) {
        // Most chunks have no cold access. Only the cold distance has its highest bit set, so the
        // highest bit of all distances together shows whether there is one.
        let any = distances.iter().fold(0, |any, one| any | one.raw());
        if any >> 63 == 1 {
            let all = items.iter().zip(distances);
            firsts.extend(all.filter_map(|(&item, distance)| distance.is_cold().then_some(item)));
        }
    }
}
