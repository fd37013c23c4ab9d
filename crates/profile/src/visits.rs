//! [`Profile::context_visits`] and [`Profile::chunks`]: what a profile with placement data
//! ([`Method::placement`](crate::Method::placement)) says of calling contexts and of chunks, under
//! the names that groups have.

use crate::{ContextFootprint, Dimension, Object, Profile, names};

/// What is known of the visits to a calling context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextVisits {
    /// Index into [`Profile::contexts`].
    pub context: usize,
    /// Its name, as that of its group.
    pub name: String,
    /// Accesses in the context itself.
    pub exclusive: u64,
    /// Accesses in it and in all contexts below it.
    pub inclusive: u64,
    /// How often it was entered; see [`Context::entries`](crate::Context::entries).
    pub entries: Option<u64>,
    /// The distinct items accessed.
    pub footprint: ContextFootprint,
}

/// A row of the table of objects, with its accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectChunk<'a> {
    /// The row; its [`part`](Object::part) is the chunk.
    pub object: &'a Object,
    /// Accesses to it.
    pub accesses: u64,
}

impl Profile {
    /// The visits to each calling context with a footprint, in the order of the contexts. Cost:
    /// linear in the cells and the contexts.
    pub fn context_visits(&self) -> Vec<ContextVisits> {
        if self
            .contexts
            .iter()
            .all(|context| context.footprint.is_none())
        {
            return Vec::new();
        }
        let names = names::names(self, Dimension::Context);
        let costs = self.context_tree(0);
        let contexts = self.contexts.iter().zip(names).zip(&costs).enumerate();
        let visits = contexts.map(|(context, ((visited, name), cost))| {
            Some(ContextVisits {
                context,
                name,
                exclusive: cost.exclusive.accesses,
                inclusive: cost.inclusive.accesses,
                entries: visited.entries,
                footprint: visited.footprint?,
            })
        });
        visits.flatten().collect()
    }

    /// The chunks of all objects that have several, each object's together and in their order; the
    /// objects in theirs. Cost: linear in the cells, and n log n in the objects.
    pub fn chunks(&self) -> Vec<ObjectChunk<'_>> {
        let mut accesses = vec![0_u64; self.objects.len()];
        for cell in &self.cells {
            if let Some(sum) = accesses.get_mut(cell.object as usize) {
                *sum = sum.saturating_add(cell.histogram.accesses());
            }
        }
        let rows = self.objects.iter().zip(accesses);
        let rows = rows.filter(|(object, _)| object.part.is_some());
        let mut chunks: Vec<ObjectChunk<'_>> = rows
            .map(|(object, accesses)| ObjectChunk { object, accesses })
            .collect();
        chunks.sort_by_key(|chunk| {
            let object = chunk.object;
            (object.kind, &object.name, &object.path, object.part)
        });
        chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ObjectPart, testing};

    #[test]
    fn visits_have_the_accesses_of_the_tree() {
        let mut profile = testing::profile();
        assert_eq!(profile.context_visits(), []);
        let footprint = ContextFootprint {
            exclusive: 3,
            inclusive: 8,
        };
        (profile.contexts[1].entries, profile.contexts[1].footprint) = (Some(4), Some(footprint));
        let visits = profile.context_visits();
        let [visit] = &visits[..] else {
            panic!("{visits:?}")
        };
        assert_eq!((visit.context, &*visit.name), (1, "main"));
        assert_eq!((visit.entries, visit.footprint), (Some(4), footprint));
        // One cell is of `main`, and three are below it; the first is of the root.
        assert_eq!(
            (visit.exclusive, visit.inclusive),
            (5 * 9, (2 + 3 + 4 + 5) * 9)
        );
    }

    #[test]
    fn chunks_are_in_the_order_of_their_bytes() {
        let mut profile = testing::profile();
        assert_eq!(profile.chunks(), []);
        let part = |start| ObjectPart {
            start,
            end: start + 64,
            chunk: 64,
            longest: 128,
        };
        let second = profile.objects[1].clone();
        profile.objects[1].part = Some(part(64));
        profile.objects.push(Object {
            part: Some(part(0)),
            ..second
        });
        let chunks = profile.chunks();
        let found: Vec<_> = chunks
            .iter()
            .map(|chunk| (chunk.object.part, chunk.accesses))
            .collect();
        assert_eq!(
            found,
            [(Some(part(0)), 0), (Some(part(64)), (2 + 3 + 5) * 9)]
        );
    }
}
