//! Chunks of objects, under the names of their objects.
//!
//! Allocations at several places can turn out to be of one object, and may have chunks of different
//! sizes. The largest size is then that of all: smaller chunks are in larger ones
//! ([`crate::chunks`]).

use reuselens_profile::{Lifetime, Object, ObjectPart};

use super::{NamedObject, Resolver};
use crate::cells::CellKey;
use crate::chunks::ObjectChunks;
use crate::hash::FastMap;
use crate::objects::ObjectKey;

/// The chunks of one object of the final table.
#[derive(Clone, Copy, Debug, Default)]
struct ChunkSize {
    chunk: u64,
    longest: u64,
}

impl ChunkSize {
    /// The part of the object that holds the byte at an offset; `None` if the object has one chunk.
    fn part(self, start: u64) -> Option<ObjectPart> {
        let first = start / self.chunk * self.chunk;
        let part = ObjectPart {
            start: first,
            end: first.saturating_add(self.chunk).min(self.longest),
            chunk: self.chunk,
            longest: self.longest,
        };
        (self.longest > self.chunk && part.start < part.end).then_some(part)
    }
}

/// The chunks of all objects that were accessed.
#[derive(Debug, Default)]
pub(super) struct FinalChunks {
    sizes: FastMap<NamedObject, ChunkSize>,
    /// By raw object, its chunks in the final size.
    usage: FastMap<u32, ObjectChunks>,
    /// The chunks that are in the table already: raw object, and first byte.
    added: FastMap<(u32, u64), ()>,
}

impl Resolver<'_> {
    /// Finds the size of the chunks of each object that was accessed, if there are any.
    pub(super) fn find_chunks(&mut self, cells: &[CellKey]) {
        let Some(chunks) = self.shared.chunks.take() else {
            return;
        };
        let mut found = FinalChunks::default();
        let mut names: FastMap<u32, NamedObject> = FastMap::default();
        for cell in cells {
            let (object, _) = self.shared.objects.start_of(cell.object);
            let Some(of_object) = chunks.of(object).filter(|_| !names.contains_key(&object)) else {
                continue;
            };
            let raw = self.shared.objects.get(object).clone();
            let named = self.named_object(object, &raw);
            let size = found.sizes.entry(named.clone()).or_default();
            size.chunk = size.chunk.max(of_object.chunk);
            size.longest = size.longest.max(of_object.longest);
            names.insert(object, named);
        }
        for (object, named) in names {
            if let Some(mut usage) = chunks.of(object).cloned() {
                usage.coarsen(found.sizes[&named].chunk);
                found.usage.insert(object, usage);
            }
        }
        self.chunks = Some(found);
    }

    /// The part of its object that a raw object is: `named` is that object.
    pub(super) fn part_of(&self, raw: u32, named: &NamedObject) -> Option<ObjectPart> {
        let size = self.chunks.as_ref()?.sizes.get(named)?;
        size.part(self.shared.objects.start_of(raw).1)
    }

    /// Adds the memory of the chunk that a raw object is in to entry `number` of the table, unless
    /// that was done. Returns whether there is such a chunk: else the counts are those of the
    /// object.
    pub(super) fn add_chunk(&mut self, number: u32, raw: u32) -> bool {
        let (object, start) = self.shared.objects.start_of(raw);
        let Some(chunks) = &mut self.chunks else {
            return false;
        };
        let Some(of_object) = chunks.usage.get(&object) else {
            return false;
        };
        let chunk = start / of_object.chunk;
        let usage = usize::try_from(chunk).ok();
        let Some(usage) = usage.and_then(|chunk| of_object.usage.get(chunk)) else {
            return false;
        };
        if chunks.added.insert((object, chunk), ()).is_some() {
            return true;
        }
        let into = &mut self.objects[number as usize];
        into.bytes = into.bytes.saturating_add(usage.peak);
        into.blocks = match self.shared.objects.get(object).key {
            ObjectKey::Static { .. } => 1,
            _ => into.blocks.saturating_add(usage.blocks),
        };
        let (begin, end) = match self.shared.objects.get(object).key {
            ObjectKey::Static { .. } => (0, self.shared.references),
            _ => usage.lifetime(self.shared.references),
        };
        add_lifetime(into, Lifetime { begin, end });
        true
    }
}

fn add_lifetime(object: &mut Object, more: Lifetime) {
    let old = object.lifetime.unwrap_or(more);
    object.lifetime = Some(Lifetime {
        begin: old.begin.min(more.begin),
        end: old.end.max(more.end),
    });
}
