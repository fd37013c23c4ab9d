//! [`TransferArrays`]: what a transfer has in the device's memory, and the steps of its analysis:
//! the host side of `kernels/distance/hp_rda.cu`.

use reuselens_baselines::{BlockCount, HpRdaSettings};
use reuselens_cuda::{Device, DeviceArray, Gpu, Params};
use reuselens_hugepages::random_key;
use reuselens_units::{Bytes, Distance, Items};

use super::all_items::AllItems;
use crate::error::GpuDistanceError;
use crate::kernels::KernelCode;
use crate::times::{HpRdaGpuTimes, timed};

/// Threads of a block that merges its chunks, as published.
const THREADS: u32 = 64;
/// Threads of the blocks that merge a block into those before.
pub(super) const MERGE_THREADS: u32 = 256;
/// Where the first block begins: no place can be 0, and none below the beginning.
const BEGIN: u64 = 1 << 32;
/// Bytes for what does not grow with the transfer: that arrays end at pages, and what kernels are
/// staged in.
const OVERHEAD: u64 = (96 << 10) + AllItems::FEWEST_BYTES;

/// The numbers that arrays of a transfer have.
struct Sizes {
    references: u64,
    /// Chunks, those that the last block lacks among them.
    chunks: u64,
    blocks: u64,
    /// Slots of the hash table of a chunk, and of that of a block.
    chunk_slots: u64,
    block_slots: u64,
    /// Words of the flags of a chunk.
    words: u64,
}

impl Sizes {
    fn new(settings: &HpRdaSettings) -> Self {
        let table = |references: usize| (2 * references as u64).next_power_of_two();
        Sizes {
            references: settings.transfer() as u64,
            chunks: (settings.chunks_per_block * settings.blocks) as u64,
            blocks: settings.blocks as u64,
            chunk_slots: table(settings.chunk),
            block_slots: table(settings.block()),
            words: settings.chunk.div_ceil(32) as u64,
        }
    }

    /// Slots of all hash tables: those of chunks are done with when those of blocks begin.
    fn slots(&self) -> u64 {
        (self.chunks * self.chunk_slots).max(self.blocks * self.block_slots)
    }

    fn bytes(&self) -> u64 {
        let by_reference = 2 * 8 + 4 * 4;
        let flags = 2 * self.words + 1;
        let numbers = self.slots() + self.chunks * flags + 2 * self.blocks;
        self.references * by_reference + 4 * numbers + OVERHEAD
    }
}

/// A transfer in the device's memory.
pub(super) struct TransferArrays<D> {
    gpu: Gpu<D>,
    settings: HpRdaSettings,
    sizes: Sizes,
    key: u64,
    items: DeviceArray<u64>,
    distances: DeviceArray<u64>,
    tables: DeviceArray<u32>,
    flags: DeviceArray<u32>,
    /// By entry; `kernels/distance/hp_rda.cu` says what they are.
    ats: DeviceArray<u32>,
    firsts: DeviceArray<u32>,
    lasts: DeviceArray<u32>,
    heads: DeviceArray<u32>,
    /// Items of each chunk.
    counts: DeviceArray<u32>,
    /// The sum of the items of each block's chunks, and the number of its heads.
    lengths: DeviceArray<u32>,
    head_counts: DeviceArray<u32>,
    all_items: AllItems,
    /// Blocks so far.
    blocks: u64,
    /// What they count as, from [`BEGIN`] on: the place where the next one begins.
    end: u64,
    pub times: HpRdaGpuTimes,
}

impl<D: Device> TransferArrays<D> {
    pub fn new(
        device: D,
        settings: HpRdaSettings,
        code: &KernelCode,
    ) -> Result<Self, GpuDistanceError> {
        let settings = fitting(settings, device.memory().0)?;
        let sizes = Sizes::new(&settings);
        let mut gpu = Gpu::new(device, &code.hp_rda())?;
        Ok(TransferArrays {
            items: gpu.array(sizes.references)?,
            distances: gpu.array(sizes.references)?,
            tables: gpu.array(sizes.slots())?,
            flags: gpu.array(sizes.chunks * 2 * sizes.words)?,
            ats: gpu.array(sizes.references)?,
            firsts: gpu.array(sizes.references)?,
            lasts: gpu.array(sizes.references)?,
            heads: gpu.array(sizes.references)?,
            counts: gpu.array(sizes.chunks)?,
            lengths: gpu.array(sizes.blocks)?,
            head_counts: gpu.array(sizes.blocks)?,
            all_items: AllItems::new(&mut gpu)?,
            blocks: 0,
            end: BEGIN,
            times: HpRdaGpuTimes::default(),
            key: random_key(),
            settings,
            sizes,
            gpu,
        })
    }

    pub fn settings(&self) -> &HpRdaSettings {
        &self.settings
    }

    /// The distinct items so far.
    pub fn distinct(&self) -> Items {
        Items(self.all_items.items())
    }

    /// The sum of the counts that distances are made of.
    pub fn counts(&self) -> u64 {
        self.end - BEGIN
    }

    pub fn used(&self) -> u64 {
        self.gpu.used()
    }

    pub fn into_device(self) -> D {
        self.gpu.into_device()
    }

    /// Analyses the next references, a transfer at most and one at least, and appends their
    /// distances.
    pub fn analyse(
        &mut self,
        items: &[u64],
        distances: &mut Vec<Distance>,
    ) -> Result<(), GpuDistanceError> {
        let blocks = items.len().div_ceil(self.settings.block()) as u64;
        let references = items.len() as u64;
        timed(&mut self.times.transfer, || {
            self.gpu.write(&self.items, 0, items)
        })?;
        let mut times = self.times;
        timed(&mut times.steps.local, || self.local(references, blocks))?;
        timed(&mut times.steps.thread_merge, || self.merge_chunks(blocks))?;
        let (lengths, heads) = timed(&mut times.transfer, || {
            let lengths = self.gpu.read(&self.lengths, 0..blocks)?;
            Ok::<_, GpuDistanceError>((lengths, self.gpu.read(&self.head_counts, 0..blocks)?))
        })?;
        timed(&mut times.steps.block_merge, || {
            self.merge_blocks(&lengths, &heads)
        })?;
        let found: Vec<u64> = timed(&mut times.transfer, || {
            self.gpu.read(&self.distances, 0..references)
        })?;
        distances.extend(found.into_iter().map(Distance::new));
        self.times = times;
        Ok(())
    }

    /// A thread for each chunk, as many to a block as it has chunks.
    fn local(&mut self, references: u64, blocks: u64) -> Result<(), GpuDistanceError> {
        let (gpu, sizes) = (&mut self.gpu, &self.sizes);
        let chunks = blocks * self.settings.chunks_per_block as u64;
        gpu.fill(&self.tables, 0..chunks * sizes.chunk_slots, 0)?;
        gpu.fill(&self.flags, 0..chunks * 2 * sizes.words, 0)?;
        let params = Params::default()
            .array(&self.items)
            .long(references)
            .word(self.settings.chunk as u32)
            .word(sizes.chunk_slots as u32)
            .word(sizes.words as u32)
            .long(self.key)
            .arrays([&self.tables, &self.flags])
            .array(&self.distances)
            .arrays([&self.ats, &self.firsts, &self.counts]);
        let threads = self.settings.chunks_per_block as u32;
        Ok(gpu.launch_blocks("hp_local", blocks as u32, threads, params)?)
    }

    fn merge_chunks(&mut self, blocks: u64) -> Result<(), GpuDistanceError> {
        let (gpu, slots) = (&mut self.gpu, self.sizes.block_slots);
        gpu.fill(&self.tables, 0..blocks * slots, 0)?;
        let params = Params::default()
            .array(&self.items)
            .word(self.settings.chunk as u32)
            .word(self.settings.chunks_per_block as u32)
            .word(slots as u32)
            .long(self.key)
            .arrays([&self.tables, &self.ats, &self.firsts, &self.lasts])
            .arrays([&self.heads, &self.counts])
            .array(&self.distances)
            .arrays([&self.lengths, &self.head_counts]);
        Ok(gpu.launch_blocks("hp_merge_chunks", blocks as u32, THREADS, params)?)
    }

    fn merge_blocks(&mut self, lengths: &[u32], heads: &[u32]) -> Result<(), GpuDistanceError> {
        let more = heads.iter().map(|&heads| u64::from(heads)).sum();
        self.all_items.make_room(&mut self.gpu, more, self.key)?;
        for (index, (&length, &heads)) in lengths.iter().zip(heads).enumerate() {
            let begin = self.end;
            self.end += u64::from(match self.settings.block_count {
                BlockCount::Chunks => length,
                BlockCount::Distinct => heads,
            });
            self.blocks += 1;
            self.merge_block(index, heads, begin, length)?;
        }
        Ok(self.all_items.count(&self.gpu)?)
    }

    fn merge_block(
        &mut self,
        index: usize,
        heads: u32,
        begin: u64,
        length: u32,
    ) -> Result<(), GpuDistanceError> {
        let references = self.settings.block() as u64;
        let first = index as u64 * references;
        let of = |array: &DeviceArray<u32>| array.view::<u32>(first, references);
        let (slots, mask, used) = self.all_items.parts();
        let params = Params::default()
            .array(&self.items.view::<u64>(first, references))
            .word(self.settings.chunk as u32)
            .arrays([&of(&self.ats), &of(&self.firsts), &of(&self.lasts)])
            .array(&of(&self.heads))
            .word(heads)
            .long(begin)
            .long(self.end)
            .word(length)
            .long(self.key)
            .long(self.blocks)
            .array(slots)
            .long(mask)
            .array(&self.distances.view::<u64>(first, references))
            .array(used);
        let blocks = heads.div_ceil(MERGE_THREADS).max(1);
        let gpu = &mut self.gpu;
        Ok(gpu.launch_blocks("hp_merge_block", blocks, MERGE_THREADS, params)?)
    }
}

/// These settings with as many blocks in a transfer as half of the free memory has room for, since
/// the table of all items takes the other half.
fn fitting(settings: HpRdaSettings, free: u64) -> Result<HpRdaSettings, GpuDistanceError> {
    let with = |blocks| HpRdaSettings { blocks, ..settings };
    let bytes = |blocks| Sizes::new(&with(blocks)).bytes();
    let blocks = (1..=settings.blocks)
        .rev()
        .find(|&blocks| bytes(blocks) <= free / 2);
    match blocks {
        Some(blocks) => Ok(with(blocks)),
        None => Err(GpuDistanceError::TooLittleMemory {
            references: settings.block() as u64,
            needed: Bytes(2 * bytes(1)),
            free: Bytes(free),
            most: 0,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_have_as_many_blocks_as_fit() {
        let settings = HpRdaSettings::default();
        assert_eq!(fitting(settings, 1 << 30), Ok(settings));
        let fits = fitting(settings, 100 << 20).unwrap();
        assert!(fits.blocks > 1 && fits.blocks < 16, "{fits:?}");
        let error = fitting(settings, 1 << 20).unwrap_err().to_string();
        assert!(
            error.starts_with("131072 references at a time take"),
            "{error}"
        );
        assert!(error.contains("--engine counting"), "{error}");
    }

    #[test]
    fn a_reference_of_a_transfer_takes_what_is_said() {
        for chunk in [1000, 2048, 2049] {
            let settings = HpRdaSettings {
                chunk,
                ..HpRdaSettings::default()
            };
            let sizes = Sizes::new(&settings);
            let each = (sizes.bytes() - OVERHEAD) as f64 / sizes.references as f64;
            assert!(
                (40.0..50.0).contains(&each),
                "{each} bytes in chunks of {chunk}"
            );
        }
    }
}
