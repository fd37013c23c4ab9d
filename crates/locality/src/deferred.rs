//! [`DeferredHistogram`]: an exact histogram while it is filled. It puts increments off and does
//! many together, which saves cache misses; in the end it becomes an [`ExactHistogram`].

use reuselens_hugepages::Huge;
use reuselens_units::{Bytes, Distance};

use crate::ExactHistogram;
use crate::exact::slot;

/// Slots of a region: their counters stay in a processor's first caches.
const REGION: usize = 1 << 15;
/// Increments of a region that are put off until they are done together, several to each of its
/// cache lines.
const BATCH: usize = REGION / 2;
/// Slots from which on the counters are beyond the caches that the engine leaves to them.
const WORTH: u64 = 1 << 17;
/// Accesses after which the distances are looked at again, how many then, and of how many cache
/// lines their counters must be for increments to be put off.
const LOOK_EVERY: usize = 1 << 13;
const LOOKS: usize = 32;
const SPREAD: u32 = 8;
/// Slots of a cache line.
const LINE: u64 = 32;

/// Slots of a region, in the order in which they came, and room for a cache line more: lists fill
/// at about the same pace, and if they all began at the same place of a page, their ends would
/// evict each other from a near cache.
type Batch = [u16; BATCH + LINE as usize];

/// Counts columns of distances, as an [`ExactHistogram`] does, to which it comes in the end; faster
/// if the distances are many and far from each other.
///
/// The counters of a large trace are in no cache when an engine works beside them, so each
/// increment waits for memory. Here it is appended to a list of increments that are near each
/// other, and done when that list is full: two steps that memory is good at (the partitioning of
/// Manegold, Boncz & Kersten, *Optimizing main-memory join on modern hardware*, TKDE 2002). Few or
/// short distances need none of this; a sample of the distances decides now and then. Cost per
/// access: some instructions more, and a cache miss less. Memory: beside that of the histogram 1 to
/// 2 bytes per distance up to the largest, once increments are put off.
///
/// ```
/// use reuselens_locality::DeferredHistogram;
/// use reuselens_units::Distance;
///
/// let mut histogram = DeferredHistogram::new();
/// histogram.add_column(&[Distance::COLD, Distance::COLD, Distance::new(1)]);
/// let histogram = histogram.finish();
/// assert_eq!((histogram.cold(), histogram.misses(1)), (2, 3));
/// ```
#[derive(Default)]
pub struct DeferredHistogram {
    /// Without what is put off.
    histogram: ExactHistogram,
    /// For each region of the histogram's array its list, and how long that is: less than
    /// [`BATCH`].
    batches: Huge<Batch>,
    lengths: Vec<u16>,
    /// Whether the distances were far from each other when they were last looked at, and the
    /// accesses since.
    is_spread: bool,
    unseen: usize,
}

impl DeferredHistogram {
    /// A histogram of no accesses.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a column of distances.
    pub fn add_column(&mut self, distances: &[Distance]) {
        if self.is_worth(distances) {
            self.defer(distances);
        } else {
            self.histogram.add_column(distances);
        }
    }

    /// Counts `accesses` accesses at `distance`.
    pub fn add(&mut self, distance: Distance, accesses: u64) {
        self.histogram.add(distance, accesses);
    }

    /// Whether to put off the increments of these.
    #[inline]
    fn is_worth(&mut self, distances: &[Distance]) -> bool {
        if self.histogram.slots() < WORTH {
            return false;
        }
        self.unseen = self.unseen.saturating_add(distances.len());
        if self.unseen >= LOOK_EVERY {
            self.unseen = 0;
            self.is_spread = are_spread(distances);
        }
        self.is_spread
    }

    /// Writes increments to the lists, or does them if there is no list. How far the array may grow
    /// depends on the accesses counted so far, and those put off are counted late: slots that do
    /// not fit until then are counted in the map.
    fn defer(&mut self, distances: &[Distance]) {
        let regions = self.histogram.slots() as usize / REGION;
        if self.lengths.len() < regions {
            self.settle();
            self.batches = Huge::new(regions);
            self.lengths = vec![0; regions];
        }
        let lengths = &mut self.lengths[..];
        let batches = &mut self.batches[..lengths.len()];
        for distance in distances {
            let slot = slot(*distance);
            let region = usize::try_from(slot / REGION as u64).unwrap_or(usize::MAX);
            let Some(length) = lengths.get_mut(region) else {
                self.histogram.add(*distance, 1);
                continue;
            };
            batches[region][usize::from(*length) % BATCH] = (slot % REGION as u64) as u16;
            *length += 1;
            if usize::from(*length) == BATCH {
                *length = 0;
                let batch = &batches[region][..BATCH];
                self.histogram.add_batch(region * REGION, batch);
            }
        }
    }

    /// Does the increments that were put off.
    fn settle(&mut self) {
        let batches = self.batches.iter().zip(&mut self.lengths);
        for (region, (batch, length)) in batches.enumerate() {
            let batch = &batch[..usize::from(std::mem::take(length))];
            self.histogram.add_batch(region * REGION, batch);
        }
    }

    /// Gives the memory of the lists back, until there are again columns to put off: for those who
    /// expect none.
    pub fn shrink(&mut self) {
        self.settle();
        (self.batches, self.lengths) = (Huge::default(), Vec::new());
        self.is_spread = false;
    }

    /// Adds all counts of another.
    pub fn merge(&mut self, other: DeferredHistogram) {
        self.histogram.merge(&other.finish());
    }

    /// The histogram.
    pub fn finish(mut self) -> ExactHistogram {
        self.settle();
        self.histogram
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        let lengths = size_of_val(&self.lengths[..]);
        self.histogram.memory() + Bytes((self.batches.bytes() + lengths) as u64)
    }
}

/// Whether a good part of the distances are neither short nor of few counters.
fn are_spread(distances: &[Distance]) -> bool {
    // An odd step, so that a pattern with a period of a power of two is not always seen at the same
    // place.
    let step = (distances.len() / LOOKS) | 1;
    let slots = distances.iter().step_by(step).take(LOOKS).map(|d| slot(*d));
    // A bit for each cache line, but that some share one: of 32 lines about 25 bits are set.
    let bits = slots.filter(|slot| *slot >= REGION as u64).map(|slot| {
        let line = slot / LINE;
        1_u64 << (line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)
    });
    bits.fold(0, |all, bit| all | bit).count_ones() >= SPREAD
}

#[cfg(test)]
mod tests;
