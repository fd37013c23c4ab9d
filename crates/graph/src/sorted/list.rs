//! The sorted neighbours of one vertex.

use super::hub::Hub;
use crate::VertexId;
use crate::requests::ListChange;

/// How many neighbours have room in the vertex array itself.
const FEW: usize = 3;
/// From this number of neighbours on a list is a hub's: moving half of 4096 ids costs 0.2 µs.
const HUB_FROM: usize = 4096;
/// Up to this number of changes, each moves the rest of the array; more are merged in one pass.
const MOVED_SINGLY: usize = 4;
/// Below this number a hub's list is an array again. Far below [`HUB_FROM`], so that a list whose
/// length swings does not change its form each time.
const HUB_UNTIL: usize = 2048;

/// The neighbours of one vertex in ascending order, each once.
///
/// 24 bytes: short lists need no memory of their own.
#[derive(Clone, Debug)]
pub(super) enum NeighborList {
    /// Up to [`FEW`] neighbours.
    Few { len: u32, ids: [VertexId; FEW] },
    /// One sorted array.
    Array(Vec<VertexId>),
    /// Sorted blocks with an index.
    Hub(Box<Hub>),
}

impl Default for NeighborList {
    fn default() -> Self {
        Self::Few {
            len: 0,
            ids: [0; FEW],
        }
    }
}

impl NeighborList {
    /// The number of neighbours.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Few { len, .. } => *len as usize,
            Self::Array(ids) => ids.len(),
            Self::Hub(hub) => hub.len(),
        }
    }

    /// Whether `id` is a neighbour.
    #[inline]
    pub fn contains(&self, id: VertexId) -> bool {
        match self {
            Self::Few { len, ids } => ids[..*len as usize].contains(&id),
            Self::Array(ids) => ids.binary_search(&id).is_ok(),
            Self::Hub(hub) => hub.contains(id),
        }
    }

    /// The neighbours in ascending order.
    #[inline]
    pub fn blocks(&self) -> NeighborBlocks<'_> {
        match self {
            Self::Few { len, ids } => NeighborBlocks::one(&ids[..*len as usize]),
            Self::Array(ids) => NeighborBlocks::one(ids),
            Self::Hub(hub) => NeighborBlocks {
                first: &[],
                rest: hub.blocks().iter(),
            },
        }
    }

    /// The hub, if the list is one.
    pub fn as_hub(&self) -> Option<&Hub> {
        match self {
            Self::Hub(hub) => Some(hub),
            _ => None,
        }
    }

    /// The bytes outside the vertex array.
    pub fn memory(&self) -> usize {
        match self {
            Self::Few { .. } => 0,
            Self::Array(ids) => ids.capacity() * size_of::<VertexId>(),
            Self::Hub(hub) => hub.memory(),
        }
    }

    /// Applies the changes of this list: sorted by neighbour, and each of them changes something.
    pub fn apply(&mut self, changes: &[ListChange]) {
        let inserted = changes.iter().filter(|change| change.insert).count();
        if matches!(self, Self::Hub(_)) || self.len() + inserted > HUB_FROM {
            return self.apply_to_hub(changes);
        }
        if changes.len() <= MOVED_SINGLY {
            changes.iter().for_each(|&change| self.apply_one(change))
        } else {
            self.merge(changes, inserted)
        }
        self.shrink();
    }

    fn apply_to_hub(&mut self, changes: &[ListChange]) {
        let hub = match self {
            Self::Hub(hub) => hub,
            Self::Few { .. } | Self::Array(_) => {
                let ids = self.blocks().next().unwrap_or(&[]);
                *self = Self::Hub(Box::new(Hub::new(ids)));
                let Self::Hub(hub) = self else {
                    unreachable!("it was just made")
                };
                hub
            }
        };
        hub.apply(changes);
        if hub.len() < HUB_UNTIL {
            *self = Self::Array(hub.blocks().concat());
            self.shrink();
        }
    }

    fn apply_one(&mut self, change: ListChange) {
        let id = change.neighbor();
        match (self, change.insert) {
            (Self::Array(ids), true) => insert(ids, id),
            (Self::Array(ids), false) => remove(ids, id),
            (list, insert) => list.apply_to_few(id, insert),
        }
    }

    fn apply_to_few(&mut self, id: VertexId, add: bool) {
        let Self::Few { len, ids } = self else {
            unreachable!("arrays and hubs have ways of their own")
        };
        let count = *len as usize;
        let place = ids[..count].partition_point(|&other| other < id);
        if !add {
            ids.copy_within(place + 1..count, place);
            *len -= 1;
        } else if count < FEW {
            ids.copy_within(place..count, place + 1);
            ids[place] = id;
            *len += 1;
        } else {
            let mut more = Vec::with_capacity(2 * FEW + 2);
            more.extend_from_slice(ids);
            more.insert(place, id);
            *self = Self::Array(more);
        }
    }

    /// Applies many changes in one pass over the list.
    fn merge(&mut self, changes: &[ListChange], inserted: usize) {
        let old = self.blocks().next().unwrap_or(&[]);
        let after = old.len() + 2 * inserted - changes.len();
        let mut merged = Vec::with_capacity(if inserted == 0 {
            after
        } else {
            after + after / 8
        });
        let mut rest = old;
        for change in changes {
            let id = change.neighbor();
            let before = rest.partition_point(|&other| other < id);
            merged.extend_from_slice(&rest[..before]);
            rest = &rest[before + usize::from(!change.insert)..];
            if change.insert {
                merged.push(id);
            }
        }
        merged.extend_from_slice(rest);
        *self = Self::Array(merged);
    }

    /// Gives memory back that deletions left unused.
    fn shrink(&mut self) {
        let Self::Array(ids) = self else { return };
        if ids.len() <= FEW {
            let mut few = [0; FEW];
            few[..ids.len()].copy_from_slice(ids);
            *self = Self::Few {
                len: ids.len() as u32,
                ids: few,
            };
        } else if ids.capacity() > 2 * ids.len() + 8 {
            ids.shrink_to(ids.len() + ids.len() / 4);
        }
    }
}

/// Inserts an id that is missing.
fn insert(ids: &mut Vec<VertexId>, id: VertexId) {
    if ids.len() == ids.capacity() {
        // A quarter, not twice: on average an eighth of the memory is unused.
        ids.reserve_exact(ids.len() / 4 + 4);
    }
    let place = ids.partition_point(|&other| other < id);
    ids.insert(place, id);
}

/// Removes an id that is present.
fn remove(ids: &mut Vec<VertexId>, id: VertexId) {
    let place = ids.partition_point(|&other| other < id);
    ids.remove(place);
}

/// The blocks of one vertex's neighbours, in ascending order.
#[derive(Clone, Debug)]
pub struct NeighborBlocks<'a> {
    first: &'a [VertexId],
    rest: std::slice::Iter<'a, Vec<VertexId>>,
}

impl<'a> NeighborBlocks<'a> {
    fn one(ids: &'a [VertexId]) -> Self {
        Self {
            first: ids,
            rest: [].iter(),
        }
    }
}

impl<'a> Iterator for NeighborBlocks<'a> {
    type Item = &'a [VertexId];

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.first.is_empty() {
            return self.rest.next().map(Vec::as_slice);
        }
        Some(std::mem::take(&mut self.first))
    }
}
