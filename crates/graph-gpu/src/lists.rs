//! [`DeviceLists`]: lists of neighbours in the device's memory.
//!
//! A list that a batch changes is written anew after all others, so a batch costs the lengths of
//! its lists, and the lists before the batch stay readable. When the room is used up, all lists are
//! copied to other memory, with room for as many ids again: that costs no more than the batches
//! that used it up, and the memory is bounded by four ids for each id of a list while they are
//! copied.

use reuselens_cuda::{Device, DeviceArray, Gpu, Params};

use crate::error::GpuError;

/// Room for ids of which a small graph needs less.
const LEAST_ROOM: u64 = 1 << 10;

/// What a batch changes in lists: pairs of a list's vertex and an id of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListBatch {
    /// Ids that are new, each with the vertex of its list.
    pub inserted: Vec<(u32, u32)>,
    /// Ids that are gone.
    pub deleted: Vec<(u32, u32)>,
}

/// A batch by lists, as kernels read it.
#[derive(Debug, Default)]
struct GroupedBatch {
    vertices: Vec<u32>,
    inserted: Vec<u32>,
    inserted_ends: Vec<u32>,
    deleted: Vec<u32>,
    deleted_ends: Vec<u32>,
}

/// Lists of neighbours in the device's memory.
#[derive(Debug)]
pub(crate) struct DeviceLists {
    pub begins: DeviceArray<u32>,
    pub degrees: DeviceArray<u32>,
    pub ids: DeviceArray<u32>,
    /// The vertices whose lists the last batch changed, ascending.
    pub changed: Vec<u32>,
    /// Where these lists were before the batch, and how long.
    pub old_begins: DeviceArray<u32>,
    pub old_degrees: DeviceArray<u32>,
    /// The length of each list.
    lengths: Vec<u32>,
    /// The sum of them.
    live: u64,
    /// Ids that are used, by lists and by what they were before.
    used: u64,
}

impl DeviceLists {
    /// Uploads lists. `fill` appends the list of a vertex to its argument, ascending.
    pub fn upload<D: Device>(
        gpu: &mut Gpu<D>,
        vertices: u32,
        mut fill: impl FnMut(u32, &mut Vec<u32>),
    ) -> Result<Self, GpuError> {
        let (mut begins, mut lengths, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        for vertex in 0..vertices {
            let begin = ids.len();
            fill(vertex, &mut ids);
            begins.push(begin as u32);
            lengths.push((ids.len() - begin) as u32);
        }
        let live = ids.len() as u64;
        let lists = Self {
            begins: gpu.array(u64::from(vertices))?,
            degrees: gpu.array(u64::from(vertices))?,
            ids: gpu.array(room_for(live)?)?,
            changed: Vec::new(),
            old_begins: gpu.array(1)?,
            old_degrees: gpu.array(1)?,
            lengths,
            live,
            used: live,
        };
        gpu.write(&lists.begins, 0, &begins)?;
        gpu.write(&lists.degrees, 0, &lists.lengths)?;
        gpu.write(&lists.ids, 0, &ids)?;
        Ok(lists)
    }

    /// Begins, degrees and ids, as kernels take them.
    pub fn arrays(&self) -> [&DeviceArray<u32>; 3] {
        [&self.begins, &self.degrees, &self.ids]
    }

    /// The number of lists.
    pub fn vertices(&self) -> u32 {
        self.lengths.len() as u32
    }

    /// The teams that read lists have 2 to the power of this threads: about as many as half a list
    /// of mean length has ids.
    pub fn shift(&self) -> u32 {
        let mean = self.live / self.lengths.len().max(1) as u64;
        (mean / 2).max(1).ilog2().min(5)
    }

    /// The sum of the lengths of all lists.
    pub fn ids_in_lists(&self) -> u64 {
        self.live
    }

    /// The place of the list of `vertex` among those that the last batch changed.
    pub fn changed_place(&self, vertex: u32) -> Option<u32> {
        let place = self.changed.binary_search(&vertex).ok()?;
        Some(place as u32)
    }

    /// Makes empty lists for new vertices.
    pub fn grow<D: Device>(&mut self, gpu: &mut Gpu<D>, vertices: u32) -> Result<(), GpuError> {
        gpu.grow(&mut self.begins, u64::from(vertices))?;
        gpu.grow(&mut self.degrees, u64::from(vertices))?;
        self.lengths.resize(vertices as usize, 0);
        Ok(())
    }

    /// Changes the lists.
    pub fn apply<D: Device>(&mut self, gpu: &mut Gpu<D>, batch: ListBatch) -> Result<(), GpuError> {
        let batch = GroupedBatch::new(batch);
        let lengths = batch.lengths(&self.lengths);
        let needed: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        if self.used + needed > self.ids.room() {
            self.compact(gpu, needed)?;
        }
        let mut places = Vec::with_capacity(lengths.len());
        for (&vertex, &length) in batch.vertices.iter().zip(&lengths) {
            places.push(self.used as u32);
            self.used += u64::from(length);
            let old = std::mem::replace(&mut self.lengths[vertex as usize], length);
            self.live = self.live + u64::from(length) - u64::from(old);
        }
        self.changed.clone_from(&batch.vertices);
        let count = batch.vertices.len() as u64;
        gpu.grow(&mut self.old_begins, count)?;
        gpu.grow(&mut self.old_degrees, count)?;
        self.run(gpu, &batch, &places)
    }

    fn run<D: Device>(
        &self,
        gpu: &mut Gpu<D>,
        batch: &GroupedBatch,
        places: &[u32],
    ) -> Result<(), GpuError> {
        let count = batch.vertices.len() as u32;
        if count == 0 {
            return Ok(());
        }
        let [
            vertices,
            places,
            inserted,
            inserted_ends,
            deleted,
            deleted_ends,
        ] = gpu.stage([
            &batch.vertices,
            places,
            &batch.inserted,
            &batch.inserted_ends,
            &batch.deleted,
            &batch.deleted_ends,
        ])?;
        let merge = Params::default()
            .arrays(self.arrays())
            .long(vertices)
            .word(count)
            .long(places)
            .long(inserted)
            .long(inserted_ends)
            .long(deleted)
            .long(deleted_ends)
            .word(self.shift());
        gpu.launch("lists_merge", u64::from(count) << self.shift(), merge)?;
        let replace = Params::default()
            .array(&self.begins)
            .array(&self.degrees)
            .long(vertices)
            .word(count)
            .long(places)
            .long(inserted_ends)
            .long(deleted_ends)
            .array(&self.old_begins)
            .array(&self.old_degrees);
        Ok(gpu.launch("lists_replace", u64::from(count), replace)?)
    }

    /// Copies the lists to memory that has room for `needed` more ids, and for as many as all
    /// again.
    fn compact<D: Device>(&mut self, gpu: &mut Gpu<D>, needed: u64) -> Result<(), GpuError> {
        let vertices = self.vertices();
        let mut places = Vec::with_capacity(self.lengths.len());
        let mut used = 0;
        for &length in &self.lengths {
            places.push(used as u32);
            used += u64::from(length);
        }
        let begins = gpu.array(self.begins.room())?;
        gpu.write(&begins, 0, &places)?;
        let ids = gpu.array(room_for(self.live + needed)?)?;
        let params = Params::default()
            .arrays(self.arrays())
            .word(vertices)
            .array(&begins)
            .array(&ids)
            .word(self.shift());
        gpu.launch("lists_compact", u64::from(vertices) << self.shift(), params)?;
        gpu.free(std::mem::replace(&mut self.begins, begins))?;
        gpu.free(std::mem::replace(&mut self.ids, ids))?;
        self.used = used;
        Ok(())
    }
}

/// Room for this many ids, and for as many again as far as they can be counted.
fn room_for(ids: u64) -> Result<u64, GpuError> {
    let most = u64::from(u32::MAX);
    if ids <= most {
        Ok((2 * ids).clamp(LEAST_ROOM, most))
    } else {
        Err(GpuError::TooLarge { ids })
    }
}

impl GroupedBatch {
    fn new(mut batch: ListBatch) -> Self {
        batch.inserted.sort_unstable();
        batch.deleted.sort_unstable();
        let (mut inserted, mut deleted) = (&batch.inserted[..], &batch.deleted[..]);
        let mut grouped = Self::default();
        while let Some(vertex) = [inserted.first(), deleted.first()]
            .into_iter()
            .flatten()
            .map(|(vertex, _)| *vertex)
            .min()
        {
            grouped.vertices.push(vertex);
            inserted = take(vertex, inserted, &mut grouped.inserted);
            deleted = take(vertex, deleted, &mut grouped.deleted);
            grouped.inserted_ends.push(grouped.inserted.len() as u32);
            grouped.deleted_ends.push(grouped.deleted.len() as u32);
        }
        grouped
    }

    /// The lengths of the changed lists after the batch.
    fn lengths(&self, before: &[u32]) -> Vec<u32> {
        let (mut inserted, mut deleted) = (0, 0);
        let ends = self.inserted_ends.iter().zip(&self.deleted_ends);
        let lists = self.vertices.iter().zip(ends);
        lists
            .map(|(&vertex, (&inserted_end, &deleted_end))| {
                let new = inserted_end - std::mem::replace(&mut inserted, inserted_end);
                let gone = deleted_end - std::mem::replace(&mut deleted, deleted_end);
                (before[vertex as usize] + new).saturating_sub(gone)
            })
            .collect()
    }
}

/// Moves the ids of a vertex to `ids`. Returns the other pairs.
fn take<'a>(vertex: u32, pairs: &'a [(u32, u32)], ids: &mut Vec<u32>) -> &'a [(u32, u32)] {
    let count = pairs.partition_point(|(of, _)| *of == vertex);
    ids.extend(pairs[..count].iter().map(|(_, id)| *id));
    &pairs[count..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_beyond_32_bits_are_refused() {
        assert_eq!(room_for(3_000_000_000), Ok(u64::from(u32::MAX)));
        let ids = 1 << 32;
        assert_eq!(room_for(ids), Err(GpuError::TooLarge { ids }));
    }

    #[test]
    fn batches_are_grouped_by_list() {
        let grouped = GroupedBatch::new(ListBatch {
            inserted: vec![(4, 9), (1, 2), (4, 3)],
            deleted: vec![(2, 5), (4, 1)],
        });
        assert_eq!(grouped.vertices, [1, 2, 4]);
        assert_eq!(grouped.inserted, [2, 3, 9]);
        assert_eq!(grouped.inserted_ends, [1, 1, 3]);
        assert_eq!(grouped.deleted, [5, 1]);
        assert_eq!(grouped.deleted_ends, [0, 1, 2]);
        assert_eq!(grouped.lengths(&[0, 0, 1, 0, 7]), [1, 0, 8]);
    }
}
