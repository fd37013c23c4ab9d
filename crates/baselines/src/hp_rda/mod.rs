//! [`HpRda`]: the parallel analysis of Cui et al. Chunks are analysed independently; a distance
//! from chunk to chunk is a sum of counts of distinct items, and thus approximate.

mod adjustment;
mod block;
mod chunk;
mod marks;
mod numbers;
mod partition;
mod repeats;
mod settings;
mod share;
mod times;

use std::time::Instant;

use reuselens_units::{Bytes, Distance, Items};

use block::{MergedBlock, Worker};
use partition::{PARTITIONS, Partition};

pub use adjustment::Adjustment;
pub use repeats::ImmediateRepeats;
pub use settings::{BlockCount, HpRdaSettings};
pub use times::HpRdaTimes;

/// The name that `--engine` takes.
const NAME: &str = "hp-rda";

/// The highly parallel reuse distance analysis of Cui et al., here on the threads of a processor.
/// Its distances are *approximate*: those across chunks are sums of distinct items per chunk, which
/// count an item again in every chunk that has it.
///
/// 1. *Preprocess.* [`feed`](Self::feed) drops references to the item of the reference before:
///    their distance is 0.
/// 2. *Divide.* What is left is cut into chunks of 2048 references, 64 chunks to a block, and
///    blocks are analysed by the transfer: as many as one [`analyse`](Self::analyse) spreads over
///    the threads.
/// 3. *Local analysis*, per chunk: exact distances inside of it (a flag per reference, set while
///    that is the last to its item; a distance is the number of flags between), and of each item
///    `first`, the distinct items before its first access, and `latest`, the distinct items after
///    its last.
/// 4. *Merge.* For accesses in chunks i < j with none between, `distance = latest_i + count_{i+1} +
///    … + count_{j−1} + first_j`, where `count` is the number of distinct items of a chunk: first
///    across the chunks of a block, then across blocks.
/// 5. *Adjust*, at the end: [`finish`](Self::finish) has the [`Adjustment`].
///
/// Distances depend on the stream and on [`HpRdaSettings::chunk`] (and `chunks_per_block`, with
/// [`BlockCount::Distinct`]) alone: not on the threads, the size of a transfer, or the pieces in
/// which the stream is fed. A stream of one chunk gets its exact distances.
///
/// It is here to be compared with: [`CountingTree`](reuselens_distance::CountingTree) is exact, and
/// takes about as long as this does on one thread. It is no [`Engine`](reuselens_distance::Engine),
/// because distances come late: by the transfer.
///
/// Cost: per reference one look-up in a table that fits the first cache; per distinct item of a
/// chunk one in a table per block; per distinct item of a block one in a table of all items.
/// Memory: 16 bytes per reference of a transfer and up to 50 more where few items come twice (2 Mi
/// references by default), and 32 to 64 bytes per distinct item.
///
/// Source: Cui, Yi, Xue, Wang, Yang & Feng, *A Highly Parallel Reuse Distance Analysis Algorithm on
/// GPUs*, IPDPS 2012.
///
/// ```
/// use reuselens_baselines::{HpRda, HpRdaSettings};
///
/// let mut rda = HpRda::new(HpRdaSettings::default());
/// let mut kept = Vec::new();
/// rda.feed(&[7, 7, 8, 9, 7], &mut kept);
/// assert_eq!(kept, [0, 2, 3, 4]); // the second 7 has distance 0
/// let finished = rda.finish();
/// assert_eq!(finished.distances[3].items(), Some(2));
/// assert_eq!(finished.adjustment.distinct().get(), 3);
/// ```
pub struct HpRda {
    settings: HpRdaSettings,
    /// What was kept of the stream and is not analysed yet.
    buffer: Vec<u64>,
    repeats: ImmediateRepeats,
    /// The distances of what was analysed last.
    distances: Vec<Distance>,
    workers: Vec<Worker>,
    blocks: Vec<MergedBlock>,
    partitions: Vec<Partition>,
    /// What the blocks so far count as: the place where the next one begins.
    end: u64,
    /// The sum of the counts that distances are made of.
    counts: u64,
    times: HpRdaTimes,
}

/// What is known when the stream is over.
#[derive(Debug)]
pub struct Finished {
    /// The distances of the references that were kept and not yet analysed, in order, as merged.
    pub distances: Vec<Distance>,
    /// The correction of all merged distances.
    pub adjustment: Adjustment,
    /// Where the time went.
    pub times: HpRdaTimes,
}

impl HpRda {
    /// An analysis that has seen nothing.
    pub fn new(settings: HpRdaSettings) -> Self {
        let settings = settings.within_limits();
        HpRda {
            workers: (0..settings.threads.get()).map(|_| Worker::new()).collect(),
            partitions: (0..PARTITIONS).map(Partition::new).collect(),
            // No mark can be 0, and none below the beginning.
            end: 1 << 32,
            settings,
            buffer: Vec::new(),
            repeats: ImmediateRepeats::default(),
            distances: Vec::new(),
            blocks: Vec::new(),
            counts: 0,
            times: HpRdaTimes::default(),
        }
    }

    /// The name that `--engine` takes.
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// Takes in the next items of the stream. `kept` becomes the indices of those that are no
    /// immediate repeat, ascending; the others have distance 0 and are done with.
    pub fn feed(&mut self, items: &[u64], kept: &mut Vec<usize>) {
        let start = Instant::now();
        self.repeats.drop_from(items, kept);
        self.buffer.extend(kept.iter().map(|&index| items[index]));
        self.times.preprocess += start.elapsed();
    }

    /// Whether a transfer is full: time to [`analyse`](Self::analyse), or the buffer grows.
    pub fn is_full(&self) -> bool {
        self.buffer.len() >= self.settings.transfer()
    }

    /// Analyses all complete blocks in the buffer. Returns the distances, as merged, of the kept
    /// references that they hold: those that follow what was returned before.
    pub fn analyse(&mut self) -> &[Distance] {
        let block = self.settings.block();
        self.analyse_first(self.buffer.len() / block * block);
        &self.distances
    }

    /// Analyses what is left.
    pub fn finish(mut self) -> Finished {
        self.analyse_first(self.buffer.len());
        for worker in &self.workers {
            self.times += worker.times;
        }
        Finished {
            adjustment: Adjustment::new(self.distinct(), self.counts),
            distances: self.distances,
            times: self.times,
        }
    }

    /// The number of distinct items in what was analysed.
    pub fn distinct(&self) -> Items {
        Items(self.partitions.iter().map(Partition::items).sum())
    }

    /// The memory held.
    pub fn memory(&self) -> Bytes {
        let columns = self.buffer.capacity() * size_of::<u64>()
            + self.distances.capacity() * size_of::<Distance>();
        let parts = self.workers.iter().map(Worker::bytes).sum::<usize>()
            + self.blocks.iter().map(MergedBlock::bytes).sum::<usize>()
            + self.partitions.iter().map(Partition::bytes).sum::<usize>();
        Bytes((size_of::<Self>() + columns + parts) as u64)
    }

    /// The most memory that is held until the next transfer is analysed.
    pub fn memory_ahead(&self) -> Bytes {
        let transfer = self.settings.transfer();
        let columns = transfer.max(self.buffer.capacity()) * HpRdaSettings::REFERENCE_BYTES;
        // Twice its share of the items: they are dealt out by their hash.
        let more = 2 * transfer / PARTITIONS;
        let tables = |part: &Partition| part.bytes() + part.growth(more);
        let parts = self.workers.iter().map(Worker::bytes).sum::<usize>()
            + self.partitions.iter().map(tables).sum::<usize>();
        Bytes((size_of::<Self>() + columns + parts) as u64)
    }

    /// Analyses the first `length` references of the buffer, transfer by transfer.
    fn analyse_first(&mut self, length: usize) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut distances = std::mem::take(&mut self.distances);
        distances.clear();
        distances.resize(length, Distance::COLD);
        let transfer = self.settings.transfer();
        let columns = buffer[..length].chunks(transfer);
        for (items, distances) in columns.zip(distances.chunks_mut(transfer)) {
            self.transfer(items, distances);
        }
        buffer.drain(..length);
        self.buffer = buffer;
        self.distances = distances;
    }

    fn transfer(&mut self, items: &[u64], distances: &mut [Distance]) {
        let (block, chunk) = (self.settings.block(), self.settings.chunk);
        let number = items.len().div_ceil(block);
        let missing = number.saturating_sub(self.blocks.len());
        self.blocks
            .extend(std::iter::repeat_with(MergedBlock::default).take(missing));
        let blocks = &mut self.blocks[..number];

        let columns = items.chunks(block).zip(distances.chunks_mut(block));
        let tasks = columns.zip(blocks.iter_mut());
        share::share(&mut self.workers, tasks, |worker, (columns, block)| {
            worker.analyse(columns.0, columns.1, chunk, block);
        });
        for block in blocks.iter_mut() {
            let counts = block.counts(self.settings.block_count);
            block.place(self.end, counts);
            self.end += counts;
            self.counts += counts;
        }
        let blocks = &self.blocks[..number];
        let partitions = &mut self.partitions;
        share::share(&mut self.workers, partitions.iter_mut(), |worker, part| {
            worker.times.block_merge += times::timed(|| part.merge(blocks));
        });
        let partitions = &self.partitions;
        let tasks = distances.chunks_mut(block).enumerate();
        share::share(&mut self.workers, tasks, |worker, (index, distances)| {
            worker.times.block_merge += times::timed(|| {
                for partition in partitions {
                    partition.write(index, distances);
                }
            });
        });
    }
}
