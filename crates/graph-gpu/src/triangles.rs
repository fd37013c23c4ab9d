//! [`GpuTriangles`]: triangles at each vertex on a device.
//!
//! Triangles that a batch destroys have a deleted edge in the graph before it, and those that it
//! makes have an inserted edge in the graph after it. Both are counted by one kernel, on the lists
//! before the batch and on those after it. A triangle with several changed edges is counted for the
//! first of them.

use reuselens_cuda::{Device, DeviceArray, Params};
use reuselens_graph::{Delta, Edge, EdgeKind, StoredGraph};
use reuselens_incremental::{Choice, Work};

use crate::answer::{AnswerArrays, GpuAnswer};
use crate::components::pairs;
use crate::error::GpuError;
use crate::graph::GpuState;

/// Edges that are brought to the device at once when all triangles are counted.
const STAGED_EDGES: usize = 1 << 20;

/// Triangle counts, kept by kernels on a device. They are those of
/// [`StaticTriangles`](reuselens_incremental::StaticTriangles).
///
/// Takes 8 bytes per vertex of the device's memory and of the host's.
pub type GpuTriangles<D> = GpuAnswer<D, TriangleArrays>;

/// What the kernel of triangles works on.
pub struct TriangleArrays {
    counts: DeviceArray<u64>,
    /// Ids of neighbours that were read.
    scanned: DeviceArray<u64>,
}

/// Edges whose triangles are counted.
struct CountedEdges<'a> {
    /// Pairs, and the numbers of the lists of their ends.
    edges: &'a [u32],
    slots: &'a [u32],
    /// The places and lengths of the lists.
    begins: u64,
    degrees: u64,
    /// What a triangle adds to a count, modulo 2^64.
    change: u64,
    /// Whether these are edges of which all of the graph are counted.
    is_all: bool,
}

impl AnswerArrays for TriangleArrays {
    type Value = u64;

    fn repair<D: Device>(
        &mut self,
        state: &mut GpuState<D>,
        _: &Delta,
        values: &mut Vec<u64>,
    ) -> Result<Work, GpuError> {
        let vertices = u64::from(state.vertices);
        state.gpu.grow(&mut self.counts, vertices)?;
        if state.undirected_delta.is_empty() {
            values.resize(state.vertices as usize, 0);
            return Ok(Work::default());
        }
        state.gpu.fill(&self.scanned, 0..1, 0)?;
        let deleted = pairs(state.undirected_delta.deleted.iter());
        let inserted = pairs(state.undirected_delta.inserted.iter());
        let lists = state.both_lists();
        let slots = deleted.iter().map(|&vertex| lists.changed_place(vertex));
        let slots: Vec<u32> = slots.map(|place| place.unwrap_or_default()).collect();
        let destroyed = CountedEdges {
            edges: &deleted,
            slots: &slots,
            begins: lists.old_begins.address(),
            degrees: lists.old_degrees.address(),
            change: u64::MAX,
            is_all: false,
        };
        let made = CountedEdges {
            edges: &inserted,
            slots: &inserted,
            begins: lists.begins.address(),
            degrees: lists.degrees.address(),
            change: 1,
            is_all: false,
        };
        self.count(state, &destroyed)?;
        self.count(state, &made)?;
        let before = std::mem::replace(values, self.read(state)?);
        let before = before.iter().chain(std::iter::repeat(&0));
        let differ = before.zip(values.iter()).filter(|(a, b)| a != b);
        Ok(Work {
            choice: Choice::Repaired,
            scanned: state.gpu.read(&self.scanned, 0..1)?[0],
            affected: differ.count() as u64,
            predicted: 0,
        })
    }

    fn addresses(&self) -> Vec<u64> {
        vec![self.counts.address(), self.scanned.address()]
    }
}

impl TriangleArrays {
    /// Puts the counts of `graph` on the device, and returns them too.
    pub fn new<D: Device, G: StoredGraph>(
        state: &mut GpuState<D>,
        graph: &G,
    ) -> Result<(Self, Vec<u64>), GpuError> {
        state.check(graph)?;
        let new = Self {
            counts: state.gpu.array(u64::from(state.vertices))?,
            scanned: state.gpu.array(1)?,
        };
        new.count_all(state, graph)?;
        let counts = new.read(state)?;
        Ok((new, counts))
    }

    /// Counts all triangles, with a bounded number of edges at a time.
    fn count_all<D: Device, G: StoredGraph>(
        &self,
        state: &mut GpuState<D>,
        graph: &G,
    ) -> Result<(), GpuError> {
        let mut edges = Vec::new();
        for from in 0..graph.vertices() {
            for &to in graph.neighbors(from).flatten() {
                // Of two opposite edges, one counts.
                let back = Edge { from: to, to: from };
                let is_second = graph.kind() == EdgeKind::Directed && graph.contains(back);
                if from < to || (graph.kind() == EdgeKind::Directed && !is_second) {
                    edges.extend([from.min(to), from.max(to)]);
                }
            }
            if edges.len() >= 2 * STAGED_EDGES || from + 1 == graph.vertices() {
                let lists = state.both_lists();
                let counted = CountedEdges {
                    edges: &edges,
                    slots: &edges,
                    begins: lists.begins.address(),
                    degrees: lists.degrees.address(),
                    change: 1,
                    is_all: true,
                };
                self.count(state, &counted)?;
                edges.clear();
            }
        }
        Ok(())
    }

    /// Counts the triangles of edges.
    fn count<D: Device>(
        &self,
        state: &mut GpuState<D>,
        counted: &CountedEdges<'_>,
    ) -> Result<(), GpuError> {
        if counted.edges.is_empty() {
            return Ok(());
        }
        let [edges, slots] = state.gpu.stage([counted.edges, counted.slots])?;
        let count = counted.edges.len() as u32 / 2;
        let lists = state.both_lists();
        let params = Params::default()
            .long(counted.begins)
            .long(counted.degrees)
            .array(&lists.ids)
            .long(edges)
            .word(count)
            .long(slots)
            .long(counted.change)
            .word(u32::from(counted.is_all))
            .array(&self.counts)
            .array(&self.scanned)
            .word(lists.shift());
        let threads = u64::from(count) << lists.shift();
        Ok(state.gpu.launch("triangles_count", threads, params)?)
    }

    fn read<D: Device>(&self, state: &GpuState<D>) -> Result<Vec<u64>, GpuError> {
        let vertices = u64::from(state.vertices);
        Ok(state.gpu.read(&self.counts, 0..vertices)?)
    }
}
