//! [`GpuGraph`]: a graph in a device's memory, which its answers share.

use std::sync::{Arc, Mutex, PoisonError};

use reuselens_cuda::{Device, Gpu};
use reuselens_graph::{Delta, EdgeKind, StoredGraph, VertexId};
use reuselens_incremental::Policy;
use reuselens_workers::lock;

use crate::answer::GpuAnswer;
use crate::components::ComponentArrays;
use crate::depths::DepthArrays;
use crate::error::GpuError;
use crate::kernels::KernelCode;
use crate::lists::{DeviceLists, ListBatch};
use crate::triangles::TriangleArrays;
use crate::undirected::undirected_delta;
use crate::{GpuComponents, GpuDepths, GpuTriangles};

/// A graph in a device's memory.
///
/// Its answers share it: the first one that is given a batch changes the lists on the device, and
/// the others find them changed. Each answer must get each batch before any of them gets the next
/// one.
///
/// Lists take 8 bytes per edge and direction at most after they were copied, and twice that while
/// they are; a directed graph has three lists: of neighbours, of in-neighbours, and of both.
pub struct GpuGraph<D> {
    state: Arc<Mutex<GpuState<D>>>,
}

/// What the answers share.
pub struct GpuState<D> {
    pub(crate) gpu: Gpu<D>,
    pub kind: EdgeKind,
    pub vertices: VertexId,
    /// Neighbours.
    pub(crate) out: DeviceLists,
    /// In-neighbours, and neighbours without directions, of a directed graph.
    directed: Option<[DeviceLists; 2]>,
    /// What the last batch changed, without directions.
    pub undirected_delta: Delta,
    /// Whether depths and components are repaired or computed again.
    pub(crate) policy: Policy,
    edges: u64,
    /// Batches that were applied.
    pub batches: u64,
    fault: Option<GpuError>,
}

impl<D: Device> GpuGraph<D> {
    /// Uploads a graph to a device.
    ///
    /// # Errors
    /// If the device refuses the kernels or has too little memory, or the graph is too large.
    pub fn upload<G: StoredGraph>(device: D, graph: &G) -> Result<Self, GpuError> {
        Self::upload_with(device, graph, &KernelCode::CLANG)
    }

    /// Uploads a graph to a device that runs this code.
    ///
    /// # Errors
    /// As for [`upload`](Self::upload).
    pub fn upload_with<G: StoredGraph>(
        device: D,
        graph: &G,
        code: &KernelCode,
    ) -> Result<Self, GpuError> {
        let mut gpu = Gpu::new(device, &code.modules())?;
        let vertices = graph.vertices();
        let out = DeviceLists::upload(&mut gpu, vertices, |vertex, ids| {
            append_sorted(ids, graph.neighbors(vertex));
        })?;
        let directed = match graph.kind() {
            EdgeKind::Undirected => None,
            EdgeKind::Directed => {
                let into = DeviceLists::upload(&mut gpu, vertices, |vertex, ids| {
                    append_sorted(ids, graph.in_neighbors(vertex));
                })?;
                let both = DeviceLists::upload(&mut gpu, vertices, |vertex, ids| {
                    append_sorted(
                        ids,
                        graph.neighbors(vertex).chain(graph.in_neighbors(vertex)),
                    );
                })?;
                Some([into, both])
            }
        };
        let state = GpuState {
            gpu,
            kind: graph.kind(),
            vertices,
            out,
            directed,
            undirected_delta: Delta::default(),
            policy: Policy::default(),
            edges: graph.edges(),
            batches: 0,
            fault: None,
        };
        Ok(Self {
            state: Arc::new(Mutex::new(state)),
        })
    }

    /// The depths of all vertices from `root`, which may be beyond the present vertices.
    ///
    /// # Errors
    /// If the device refuses, or a fault was before.
    pub fn depths(&self, root: VertexId) -> Result<GpuDepths<D>, GpuError> {
        GpuAnswer::new(&self.state, |state| DepthArrays::new(state, root))
    }

    /// The components of all vertices.
    ///
    /// # Errors
    /// If the device refuses, or a fault was before.
    pub fn components(&self) -> Result<GpuComponents<D>, GpuError> {
        GpuAnswer::new(&self.state, ComponentArrays::new)
    }

    /// The triangles at all vertices of `graph`, which is the one that was uploaded, after all
    /// batches so far.
    ///
    /// # Errors
    /// If the device refuses, or a fault was before.
    pub fn triangles<G: StoredGraph>(&self, graph: &G) -> Result<GpuTriangles<D>, GpuError> {
        GpuAnswer::new(&self.state, |state| TriangleArrays::new(state, graph))
    }

    /// Whether depths and components are repaired or computed again after a batch, from now on; at
    /// first, whichever is predicted to be less work. Triangles are always repaired.
    pub fn set_policy(&self, policy: Policy) {
        lock(&self.state).policy = policy;
    }

    /// The first error of any of the answers. They are then those of the last batch before it, and
    /// stay so.
    pub fn fault(&self) -> Option<GpuError> {
        lock(&self.state).fault.clone()
    }

    /// Bytes of the device's memory that are in use; of a GPU, by all programs.
    pub fn device_memory(&self) -> u64 {
        lock(&self.state).gpu.used()
    }

    /// The device, if no answer shares it any more.
    pub fn into_device(self) -> Option<D> {
        let state = Arc::into_inner(self.state)?;
        let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
        Some(state.gpu.into_device())
    }
}

impl<D: Device> GpuState<D> {
    /// In-neighbours.
    pub(crate) fn in_lists(&self) -> &DeviceLists {
        self.directed.as_ref().map_or(&self.out, |[into, _]| into)
    }

    /// Neighbours without directions.
    pub(crate) fn both_lists(&self) -> &DeviceLists {
        self.directed.as_ref().map_or(&self.out, |[_, both]| both)
    }

    /// Does something, if there was no fault before, and keeps the first fault.
    pub fn guard<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, GpuError>,
    ) -> Result<T, GpuError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let result = work(self);
        if let Err(fault) = &result {
            self.fault = Some(fault.clone());
        }
        result
    }

    /// An error if `graph` is not the one that the lists have.
    pub fn check<G: StoredGraph>(&self, graph: &G) -> Result<(), GpuError> {
        let (found, expected) = (graph.edges(), self.edges);
        if found == expected && graph.kind() == self.kind && graph.vertices() == self.vertices {
            Ok(())
        } else {
            Err(GpuError::OutOfStep { found, expected })
        }
    }

    /// Brings the lists up to date for an answer that has seen `batches` so far, if another one has
    /// not done so.
    pub fn follow<G: StoredGraph>(
        &mut self,
        graph: &G,
        delta: &Delta,
        batches: u64,
    ) -> Result<(), GpuError> {
        let is_new = batches == self.batches;
        let expected = if is_new {
            (self.edges + delta.inserted.len() as u64).saturating_sub(delta.deleted.len() as u64)
        } else {
            self.edges
        };
        let is_due = is_new || batches + 1 == self.batches;
        let found = graph.edges();
        if found != expected || !is_due || graph.kind() != self.kind {
            return Err(GpuError::OutOfStep { found, expected });
        }
        if is_new {
            self.change(graph, delta)?;
            self.edges = expected;
            self.batches += 1;
        }
        Ok(())
    }

    fn change<G: StoredGraph>(&mut self, graph: &G, delta: &Delta) -> Result<(), GpuError> {
        self.vertices = graph.vertices();
        self.undirected_delta = undirected_delta(graph, delta);
        let gpu = &mut self.gpu;
        self.out.grow(gpu, self.vertices)?;
        let Some([into, both]) = &mut self.directed else {
            return self.out.apply(gpu, pairs(delta, true, true));
        };
        self.out.apply(gpu, pairs(delta, true, false))?;
        into.grow(gpu, self.vertices)?;
        into.apply(gpu, pairs(delta, false, true))?;
        both.grow(gpu, self.vertices)?;
        both.apply(gpu, pairs(&self.undirected_delta, true, true))
    }
}

/// Appends ids ascending and without repeats.
fn append_sorted<'a>(ids: &mut Vec<u32>, blocks: impl Iterator<Item = &'a [VertexId]>) {
    let mut list: Vec<u32> = blocks.flatten().copied().collect();
    list.sort_unstable();
    list.dedup();
    ids.append(&mut list);
}

/// The changes of lists: of those of vertices where edges begin (`out`), where they end (`into`).
fn pairs(delta: &Delta, out: bool, into: bool) -> ListBatch {
    let of = |edges: &[reuselens_graph::Edge]| {
        let begins = edges.iter().filter(|_| out);
        let ends = edges.iter().filter(|_| into);
        let begins = begins.map(|edge| (edge.from, edge.to));
        begins
            .chain(ends.map(|edge| (edge.to, edge.from)))
            .collect()
    };
    ListBatch {
        inserted: of(&delta.inserted),
        deleted: of(&delta.deleted),
    }
}
