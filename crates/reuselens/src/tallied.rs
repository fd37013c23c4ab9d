//! From an engine's tally to a histogram.

use reuselens_distance::Tally;
use reuselens_locality::{DeferredHistogram, ExactHistogram};
use reuselens_units::{Bytes, Distance};

/// An exact histogram in the making, of distances that an engine tallies: near ones are counted in
/// the engine, the others here. As fast as a histogram can be had, for who does not ask whose the
/// distances are.
///
/// Memory: that of the histogram, and 8 bytes for each access of a call.
///
/// ```
/// use reuselens::TalliedHistogram;
/// use reuselens::distance::{CountingTree, Engine};
///
/// let (mut engine, mut histogram) = (CountingTree::new(), TalliedHistogram::new());
/// for items in [7, 8, 9, 7, 7, 9].chunks(4) {
///     histogram.add(|tally| engine.tally(items, tally));
/// }
/// let histogram = histogram.finish();
/// assert_eq!(histogram.iter().collect::<Vec<_>>(), [(0, 1), (1, 1), (2, 1)]);
/// assert_eq!(histogram.cold(), 3);
/// ```
#[derive(Default)]
pub struct TalliedHistogram {
    tally: Tally,
    histogram: DeferredHistogram,
}

impl TalliedHistogram {
    /// A histogram of no accesses.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what `process` tallies, and returns what it does: calls of
    /// [`Engine::tally`](reuselens_distance::Engine::tally) or
    /// [`Shard::tally`](reuselens_distance::Shard::tally). Some ten thousand accesses at a time
    /// stay in a processor's own cache.
    pub fn add<R>(&mut self, process: impl FnOnce(&mut Tally) -> R) -> R {
        let result = process(&mut self.tally);
        self.histogram.add_column(self.tally.rest());
        self.tally.forget_rest();
        result
    }

    /// For distances that were measured.
    pub(crate) fn deferred(&mut self) -> &mut DeferredHistogram {
        &mut self.histogram
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        self.histogram.memory() + self.tally.memory()
    }

    /// The histogram.
    pub fn finish(self) -> ExactHistogram {
        let mut histogram = self.histogram.finish();
        for (distance, accesses) in (0..).zip(self.tally.near()) {
            histogram.add(Distance::new(distance), *accesses);
        }
        histogram
    }
}
