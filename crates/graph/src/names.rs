//! [`VertexNames`]: the ids of vertices in files, and the numbers that graphs use for them.

use hashbrown::HashMap;

use crate::{VERTEX_LIMIT, VertexId};

/// A table of external ids (64-bit, as files and clients write them) and vertex numbers (dense, as
/// graphs use them).
///
/// Ids that come one by one are numbered in the order in which they first appear. Formats whose
/// ids are numbers without gaps (METIS, MatrixMarket, DIMACS) keep them: the id `first + n` is the
/// number `n`, and costs no memory. Other ids cost about 24 bytes each.
#[derive(Clone, Debug, Default)]
pub struct VertexNames {
    /// The id of the vertex number 0, if `consecutive` is not 0.
    first: u64,
    /// The count of vertices whose ids have no gaps.
    consecutive: VertexId,
    /// The ids of the vertices from `consecutive` on.
    ids: Vec<u64>,
    /// The numbers of those ids.
    numbers: HashMap<u64, VertexId>,
}

impl VertexNames {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The ids `first`, `first + 1`, …, for `count` vertices.
    #[must_use]
    pub fn consecutive(first: u64, count: VertexId) -> Self {
        Self {
            first,
            consecutive: count,
            ..Self::default()
        }
    }

    /// The count of vertices that have a number.
    #[must_use]
    pub fn len(&self) -> u64 {
        u64::from(self.consecutive) + self.ids.len() as u64
    }

    /// Whether no vertex has a number.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of a vertex, if it has one. Constant time.
    #[must_use]
    pub fn get(&self, id: u64) -> Option<VertexId> {
        match self.position(id) {
            Some(number) => Some(number),
            None => self.numbers.get(&id).copied(),
        }
    }

    /// The number of a vertex; a vertex that has none gets the next one. `None` if there are
    /// [`VERTEX_LIMIT`] already. Constant time on average.
    pub fn number(&mut self, id: u64) -> Option<VertexId> {
        if let Some(number) = self.get(id) {
            return Some(number);
        }
        let next = self.len();
        if next >= u64::from(VERTEX_LIMIT) {
            return None;
        }
        self.ids.push(id);
        self.numbers.insert(id, next as VertexId);
        Some(next as VertexId)
    }

    /// The id of the vertex with this number, if there is such a vertex.
    #[must_use]
    pub fn id(&self, number: VertexId) -> Option<u64> {
        if number < self.consecutive {
            Some(self.first + u64::from(number))
        } else {
            self.ids.get((number - self.consecutive) as usize).copied()
        }
    }

    /// The first of the ids without gaps, and their count, which can be 0.
    #[must_use]
    pub fn range(&self) -> (u64, VertexId) {
        (self.first, self.consecutive)
    }

    /// All ids, in the order of their numbers.
    pub fn ids(&self) -> impl Iterator<Item = u64> + '_ {
        let consecutive = (0..self.consecutive).map(|number| self.first + u64::from(number));
        consecutive.chain(self.ids.iter().copied())
    }

    /// The ids of the vertices from this number on.
    pub fn ids_from(&self, number: u64) -> impl Iterator<Item = u64> + '_ {
        let count = self.len().saturating_sub(number);
        (0..count).filter_map(move |at| self.id((number + at) as VertexId))
    }

    /// The number of an id in the range without gaps.
    fn position(&self, id: u64) -> Option<VertexId> {
        let place = id.checked_sub(self.first)?;
        (place < u64::from(self.consecutive)).then_some(place as VertexId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_numbered_by_first_appearance_and_found_again() {
        let mut names = VertexNames::new();
        let ids = [900, u64::MAX, 0, 900, 7];
        let numbers: Vec<_> = ids.iter().map(|id| names.number(*id).unwrap()).collect();
        assert_eq!(numbers, [0, 1, 2, 0, 3]);
        assert_eq!(names.ids().collect::<Vec<_>>(), [900, u64::MAX, 0, 7]);
        assert_eq!(
            (names.get(7), names.get(8), names.id(4)),
            (Some(3), None, None)
        );
    }

    #[test]
    fn consecutive_ids_keep_their_places_and_others_follow() {
        let mut names = VertexNames::consecutive(1, 3);
        assert_eq!((names.number(1), names.number(3)), (Some(0), Some(2)));
        assert_eq!((names.number(0), names.number(4)), (Some(3), Some(4)));
        assert_eq!(names.ids().collect::<Vec<_>>(), [1, 2, 3, 0, 4]);
        assert_eq!(
            (names.id(0), names.id(4), names.len()),
            (Some(1), Some(4), 5)
        );
    }
}
