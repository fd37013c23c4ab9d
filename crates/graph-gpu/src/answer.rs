//! [`GpuAnswer`]: what the answers on a device have in common.

use std::sync::{Arc, Mutex};

use reuselens_cuda::Device;
use reuselens_graph::{Delta, StoredGraph, VertexId};
use reuselens_incremental::{Maintain, Work};
use reuselens_workers::lock;

use crate::error::GpuError;
use crate::graph::GpuState;

/// An answer about a graph on a device: [`GpuDepths`](crate::GpuDepths),
/// [`GpuComponents`](crate::GpuComponents) or [`GpuTriangles`](crate::GpuTriangles).
///
/// It is copied to the host after each batch that may change it, so its values can be read while
/// the device fails.
pub struct GpuAnswer<D: Device, A: AnswerArrays> {
    state: Arc<Mutex<GpuState<D>>>,
    /// Batches that it has seen.
    batches: u64,
    /// The answer after the last of them.
    values: Vec<A::Value>,
    arrays: A,
}

/// What an answer has in the device's memory, and the kernels that work on it.
pub trait AnswerArrays: Sized {
    /// The answer for one vertex.
    type Value: Copy + Eq + std::fmt::Debug;

    /// Brings the answer on the device up to date after a batch, and `values`, the answer before
    /// it.
    fn repair<D: Device>(
        &mut self,
        state: &mut GpuState<D>,
        delta: &Delta,
        values: &mut Vec<Self::Value>,
    ) -> Result<Work, GpuError>;

    /// The addresses of its memory.
    fn addresses(&self) -> Vec<u64>;
}

impl<D: Device, A: AnswerArrays> GpuAnswer<D, A> {
    /// An answer that `compute` puts on the device and returns.
    pub(crate) fn new(
        state: &Arc<Mutex<GpuState<D>>>,
        compute: impl FnOnce(&mut GpuState<D>) -> Result<(A, Vec<A::Value>), GpuError>,
    ) -> Result<Self, GpuError> {
        let mut locked = lock(state);
        let (arrays, values) = locked.guard(compute)?;
        Ok(Self {
            batches: locked.batches,
            values,
            arrays,
            state: Arc::clone(state),
        })
    }

    /// Brings the answer up to date after a batch, as [`Maintain::apply`] does. `graph` is the
    /// graph after the batch.
    ///
    /// # Errors
    /// If the device refuses, a fault was before, or this is not the next batch.
    pub fn update<G: StoredGraph>(&mut self, graph: &G, delta: &Delta) -> Result<Work, GpuError> {
        lock(&self.state).guard(|state| {
            state.follow(graph, delta, self.batches)?;
            self.batches += 1;
            self.arrays.repair(state, delta, &mut self.values)
        })
    }
}

impl<D: Device, A: AnswerArrays, G: StoredGraph> Maintain<G> for GpuAnswer<D, A> {
    type Value = A::Value;

    /// What the device refuses is kept: see [`GpuGraph::fault`](crate::GpuGraph::fault).
    fn apply(&mut self, graph: &G, delta: &Delta) -> Work {
        self.update(graph, delta).unwrap_or_default()
    }

    fn value(&self, vertex: VertexId) -> A::Value {
        self.values[vertex as usize]
    }

    fn answer(&self) -> Vec<A::Value> {
        self.values.clone()
    }
}

impl<D: Device, A: AnswerArrays> Drop for GpuAnswer<D, A> {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        for address in self.arrays.addresses() {
            state.gpu.abandon(address);
        }
    }
}
