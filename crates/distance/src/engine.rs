//! What every engine can do.

use reuselens_units::{Bytes, Distance, Items};

use crate::Tally;

/// A streaming reuse-distance engine.
pub trait Engine: Send {
    /// The name that `--engine` takes.
    fn name(&self) -> &'static str;

    /// Processes the next items of the stream, in order: `distances[i]` becomes the distance of the
    /// access to `items[i]`, [`Distance::COLD`] if it is the first to its item. Where a stream is
    /// cut into calls makes no difference.
    ///
    /// # Panics
    /// If the two slices differ in length (a fault of the caller).
    fn process(&mut self, items: &[u64], distances: &mut [Distance]);

    /// [`Engine::process`] for items of 32 bits, which are those of the same value with 64. Calls
    /// of the two may be mixed. Cost: a copy of 4096 items at a time, in the nearest cache.
    ///
    /// # Panics
    /// If the two slices differ in length (a fault of the caller).
    fn process_u32(&mut self, items: &[u32], distances: &mut [Distance]) {
        const PIECE: usize = 4096;
        assert_eq!(items.len(), distances.len(), "one distance per item");
        let mut wide = [0; PIECE];
        for (items, distances) in items.chunks(PIECE).zip(distances.chunks_mut(PIECE)) {
            let wide = &mut wide[..items.len()];
            for (wide, &item) in wide.iter_mut().zip(items) {
                *wide = item.into();
            }
            self.process(wide, distances);
        }
    }

    /// [`Engine::process`] for who counts distances and does not ask whose they are: what comes
    /// next of the stream is added to `tally`. Calls of all of these may be mixed. Cost: that of
    /// `process` and no counting of near distances, where the engine sees by itself that they are
    /// such; else that of `process`.
    fn tally(&mut self, items: &[u64], tally: &mut Tally) {
        self.process(items, tally.column(items.len()));
        tally.note_firsts(items);
    }

    /// The number of distinct items so far.
    fn distinct(&self) -> Items;

    /// The memory held by the engine's structures.
    fn memory(&self) -> Bytes;

    /// The most memory that they hold while a table grows, if it does before so many more accesses
    /// are processed: who has a limit looks here, before it grows and not after. An engine that
    /// does not know returns its [`memory`](Self::memory).
    ///
    /// What is known of is growing, by up to half of the items there are, and that a hash table
    /// goes over to shadow pages; not how many pages a table of shadow pages will get, nor that it
    /// goes back, for which [`CountingTree`](crate::CountingTree) takes up to 32 bytes an item for
    /// a moment.
    fn memory_ahead(&self, accesses: u64) -> Bytes;
}
