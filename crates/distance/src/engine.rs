//! What every engine can do.

use reuselens_units::{Bytes, Distance, Items};

/// A streaming reuse-distance engine.
pub trait Engine: Send {
    /// The name that `--engine` takes.
    fn name(&self) -> &'static str;

    /// Processes the next items of the stream, in order: `distances[i]` becomes the distance of the
    /// access to `items[i]`, [`Distance::COLD`] if it is the first to its item. Where a stream is cut
    /// into calls makes no difference.
    ///
    /// # Panics
    /// If the two slices differ in length (a fault of the caller).
    fn process(&mut self, items: &[u64], distances: &mut [Distance]);

    /// The number of distinct items so far.
    fn distinct(&self) -> Items;

    /// The memory held by the engine's structures.
    fn memory(&self) -> Bytes;
}
