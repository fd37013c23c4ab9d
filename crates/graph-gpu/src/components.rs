//! [`GpuComponents`]: components on a device.
//!
//! The kernels keep a forest of pointers to smaller vertices, and for each vertex that was hooked
//! below another the edge that did it. These edges are a spanning forest. A batch that deletes none
//! of them cuts nothing. Otherwise the trees of the cut components are put together again from the
//! edges that are left, which costs a pass over vertices; then the lists of all fragments but the
//! largest of each component are searched for edges that join them.

use reuselens_cuda::{Device, DeviceArray, Gpu, Params};
use reuselens_graph::{Delta, Edge, VertexId};
use reuselens_incremental::{Choice, Policy, Work};

use crate::answer::{AnswerArrays, GpuAnswer};
use crate::error::GpuError;
use crate::graph::GpuState;

/// The mean degree from which mending cut trees is less work than joining all edges.
const MENDED_DEGREE: u64 = 14;
/// Words of the kernels' `Tally`, and places in it.
const TALLY_WORDS: u64 = 4;
const CUTS: usize = 0;
const SEARCHED: usize = 1;
const SCANNED: usize = 2;

/// Components, kept by kernels on a device. They are those of
/// [`StaticComponents`](reuselens_incremental::StaticComponents): each is named by its smallest
/// vertex.
///
/// Takes 44 bytes per vertex of the device's memory, and 4 of the host's.
pub type GpuComponents<D> = GpuAnswer<D, ComponentArrays>;

/// What the kernels of components work on.
pub struct ComponentArrays {
    parents: DeviceArray<u32>,
    labels: DeviceArray<u32>,
    /// The edge that hooked each vertex below another.
    trees: DeviceArray<u64>,
    /// By label: whether the component is cut. Zeros between batches.
    broken: DeviceArray<u32>,
    /// Of cut components: edges that are left, fragments, their sizes, and the largest by label.
    kept: DeviceArray<u64>,
    fragments: DeviceArray<u32>,
    sizes: DeviceArray<u32>,
    largest: DeviceArray<u64>,
    tally: DeviceArray<u32>,
}

impl AnswerArrays for ComponentArrays {
    type Value = VertexId;

    fn repair<D: Device>(
        &mut self,
        state: &mut GpuState<D>,
        _: &Delta,
        values: &mut Vec<VertexId>,
    ) -> Result<Work, GpuError> {
        let known = values.len() as u32;
        self.grow(&mut state.gpu, known, state.vertices)?;
        let mut before = values.clone();
        before.extend(known..state.vertices);
        state.gpu.fill(&self.tally, 0..TALLY_WORDS, 0)?;
        self.cut(state)?;
        let is_cut = state.gpu.read(&self.tally, 0..TALLY_WORDS)?[CUTS] > 0;
        if is_cut && is_cheaper_anew(state) {
            self.begin(&mut state.gpu, 0, state.vertices)?;
            self.join(state)?;
            self.label(state)?;
            *values = self.read(state)?;
            return Ok(Work {
                choice: Choice::Recomputed,
                scanned: state.both_lists().ids_in_lists(),
                affected: u64::from(state.vertices),
                predicted: 0,
            });
        }
        if is_cut {
            self.mend(state)?;
        }
        // The ends of any inserted edge may be in two fragments, so all edges count after a cut.
        let joins = |edge: &&Edge| before[edge.from as usize] != before[edge.to as usize];
        let inserted = &state.undirected_delta.inserted;
        let inserted: Vec<u32> = pairs(inserted.iter().filter(|edge| is_cut || joins(edge)));
        self.insert(state, &inserted)?;
        if !is_cut && inserted.is_empty() {
            *values = before;
            return Ok(Work::default());
        }
        self.label(state)?;
        *values = self.read(state)?;
        let tally = state.gpu.read(&self.tally, 0..TALLY_WORDS)?;
        let renamed = before.iter().zip(values.iter()).filter(|(a, b)| a != b);
        Ok(Work {
            choice: Choice::Repaired,
            scanned: u64::from(tally[SCANNED]) | u64::from(tally[SCANNED + 1]) << 32,
            affected: (renamed.count() as u64).max(u64::from(tally[SEARCHED])),
            predicted: 0,
        })
    }

    fn addresses(&self) -> Vec<u64> {
        let words = [
            &self.parents,
            &self.labels,
            &self.broken,
            &self.fragments,
            &self.sizes,
            &self.tally,
        ];
        let longs = [&self.trees, &self.kept, &self.largest];
        let longs = longs.map(DeviceArray::address);
        words
            .map(DeviceArray::address)
            .into_iter()
            .chain(longs)
            .collect()
    }
}

/// Whether joining the ends of all edges is less work than mending cut trees.
///
/// Mending passes over all vertices several times and costs 540 to 750 instructions of threads per
/// vertex, whatever the degrees are. Joining costs about 100, and 40 per id in the lists (example
/// `updates`).
fn is_cheaper_anew<D: Device>(state: &GpuState<D>) -> bool {
    match state.policy {
        Policy::Predict => {
            state.both_lists().ids_in_lists() < MENDED_DEGREE * u64::from(state.vertices)
        }
        Policy::Repair => false,
        Policy::Recompute => true,
    }
}

/// The ends of edges, one after the other.
pub(crate) fn pairs<'a>(edges: impl Iterator<Item = &'a Edge>) -> Vec<u32> {
    edges.flat_map(|edge| [edge.from, edge.to]).collect()
}

impl ComponentArrays {
    /// Puts the components on the device, and returns them too.
    pub fn new<D: Device>(state: &mut GpuState<D>) -> Result<(Self, Vec<VertexId>), GpuError> {
        let gpu = &mut state.gpu;
        let mut new = Self {
            parents: gpu.array(1)?,
            labels: gpu.array(1)?,
            trees: gpu.array(1)?,
            broken: gpu.array(1)?,
            kept: gpu.array(1)?,
            fragments: gpu.array(1)?,
            sizes: gpu.array(1)?,
            largest: gpu.array(1)?,
            tally: gpu.array(TALLY_WORDS)?,
        };
        new.grow(gpu, 0, state.vertices)?;
        new.join(state)?;
        new.label(state)?;
        let labels = new.read(state)?;
        Ok((new, labels))
    }

    /// Makes each new vertex a component of its own.
    fn grow<D: Device>(
        &mut self,
        gpu: &mut Gpu<D>,
        known: u32,
        vertices: u32,
    ) -> Result<(), GpuError> {
        if known == vertices {
            return Ok(());
        }
        let room = u64::from(vertices);
        let words = [
            &mut self.parents,
            &mut self.labels,
            &mut self.broken,
            &mut self.fragments,
            &mut self.sizes,
        ];
        words
            .into_iter()
            .try_for_each(|array| gpu.grow(array, room))?;
        let longs = [&mut self.trees, &mut self.kept, &mut self.largest];
        longs
            .into_iter()
            .try_for_each(|array| gpu.grow(array, room))?;
        self.begin(gpu, known, vertices)
    }

    /// Makes each vertex from `first` on a component of its own.
    fn begin<D: Device>(
        &self,
        gpu: &mut Gpu<D>,
        first: u32,
        vertices: u32,
    ) -> Result<(), GpuError> {
        let params = Params::default()
            .word(first)
            .word(vertices)
            .array(&self.parents)
            .array(&self.labels)
            .array(&self.trees);
        Ok(gpu.launch("components_begin", u64::from(vertices - first), params)?)
    }

    /// Joins the ends of all edges.
    fn join<D: Device>(&self, state: &mut GpuState<D>) -> Result<(), GpuError> {
        let both = state.both_lists();
        let params = Params::default()
            .arrays(both.arrays())
            .word(state.vertices)
            .array(&self.parents)
            .array(&self.trees)
            .word(both.shift());
        let threads = u64::from(state.vertices) << both.shift();
        Ok(state.gpu.launch("components_join", threads, params)?)
    }

    /// Takes the deleted edges out of the forest.
    fn cut<D: Device>(&self, state: &mut GpuState<D>) -> Result<(), GpuError> {
        let deleted = pairs(state.undirected_delta.deleted.iter());
        if deleted.is_empty() {
            return Ok(());
        }
        let [edges] = state.gpu.stage([&deleted])?;
        let params = Params::default()
            .word(state.vertices)
            .array(&self.labels)
            .array(&self.trees)
            .long(edges)
            .word(deleted.len() as u32 / 2)
            .array(&self.broken)
            .array(&self.tally);
        let threads = u64::from(state.vertices);
        Ok(state.gpu.launch("components_cut", threads, params)?)
    }

    /// Puts cut components together again, as far as edges of the graph do.
    fn mend<D: Device>(&self, state: &mut GpuState<D>) -> Result<(), GpuError> {
        let threads = u64::from(state.vertices);
        let marked = || {
            Params::default()
                .word(state.vertices)
                .array(&self.labels)
                .array(&self.broken)
        };
        let part = marked()
            .array(&self.parents)
            .array(&self.trees)
            .array(&self.kept)
            .array(&self.sizes)
            .array(&self.largest);
        let mend = Params::default()
            .word(state.vertices)
            .array(&self.kept)
            .array(&self.parents)
            .array(&self.trees);
        let count = marked()
            .array(&self.parents)
            .array(&self.fragments)
            .array(&self.sizes);
        let largest = marked()
            .array(&self.fragments)
            .array(&self.sizes)
            .array(&self.largest);
        let both = state.both_lists();
        let shift = both.shift();
        let repair = Params::default()
            .arrays(both.arrays())
            .word(state.vertices)
            .array(&self.labels)
            .array(&self.broken)
            .array(&self.fragments)
            .array(&self.largest)
            .array(&self.parents)
            .array(&self.trees)
            .array(&self.tally)
            .word(shift);
        let gpu = &mut state.gpu;
        gpu.launch("components_part", threads, part)?;
        gpu.launch("components_mend", threads, mend)?;
        gpu.launch("components_count", threads, count)?;
        gpu.launch("components_largest", threads, largest)?;
        Ok(gpu.launch("components_repair", threads << shift, repair)?)
    }

    /// Joins the ends of edges, which are pairs.
    fn insert<D: Device>(&self, state: &mut GpuState<D>, edges: &[u32]) -> Result<(), GpuError> {
        if edges.is_empty() {
            return Ok(());
        }
        let [address] = state.gpu.stage([edges])?;
        let count = edges.len() as u32 / 2;
        let params = Params::default()
            .long(address)
            .word(count)
            .array(&self.parents)
            .array(&self.trees);
        Ok(state
            .gpu
            .launch("components_insert", u64::from(count), params)?)
    }

    fn label<D: Device>(&self, state: &mut GpuState<D>) -> Result<(), GpuError> {
        let params = Params::default()
            .word(state.vertices)
            .array(&self.parents)
            .array(&self.labels)
            .array(&self.broken);
        let threads = u64::from(state.vertices);
        Ok(state.gpu.launch("components_label", threads, params)?)
    }

    fn read<D: Device>(&self, state: &GpuState<D>) -> Result<Vec<u32>, GpuError> {
        let vertices = u64::from(state.vertices);
        Ok(state.gpu.read(&self.labels, 0..vertices)?)
    }
}
