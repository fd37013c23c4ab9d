//! [`Confirmed`]: the answers after the last acknowledged batch, for many readers.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use reuselens_graph::{VertexId, VertexNames};
use reuselens_incremental::{Choice, UNREACHED};
use serde_json::{Value, json};

use crate::answers::{AnswerTotals, Answers, BatchStep, totals};

/// The published state. Readers wait only while changed answers are copied, not while a batch is
/// applied.
#[derive(Debug)]
pub struct Confirmed(RwLock<ConfirmedState>);

/// What readers see.
#[derive(Debug)]
pub struct ConfirmedState {
    /// The last batch.
    pub batch: u64,
    /// The ids of all vertices.
    pub names: VertexNames,
    /// The count of edges.
    pub edges: u64,
    depths: Vec<u32>,
    components: Vec<VertexId>,
    triangles: Vec<u64>,
}

impl Confirmed {
    /// Publishes the first state.
    pub fn new(batch: u64, names: VertexNames, edges: u64, answers: &Answers) -> Self {
        Self(RwLock::new(ConfirmedState {
            batch,
            names,
            edges,
            depths: answers.depths(),
            components: answers.components(),
            triangles: answers.triangles(),
        }))
    }

    /// The state, which does not change while it is held.
    pub fn read(&self) -> RwLockReadGuard<'_, ConfirmedState> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes the state after a batch, whose new vertices are `ids` in the order of their
    /// numbers. Answers that the batch left as they were are not copied; the others cost a pass
    /// over all vertices before the lock is taken, and a move while it is held.
    pub fn publish(
        &self,
        batch: u64,
        ids: &[u64],
        edges: u64,
        answers: &Answers,
        step: &BatchStep,
    ) {
        let [depths, components, triangles] =
            step.work.map(|work| work.choice != Choice::Unchanged);
        let grows = !ids.is_empty();
        let depths = (depths || grows).then(|| answers.depths());
        let components = (components || grows).then(|| answers.components());
        let triangles = (triangles || grows).then(|| answers.triangles());
        let mut guard = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        for id in ids {
            state.names.number(*id);
        }
        state.batch = batch;
        state.edges = edges;
        // The old answers are freed after the lock.
        let old = (
            depths.map(|new| std::mem::replace(&mut state.depths, new)),
            components.map(|new| std::mem::replace(&mut state.components, new)),
            triangles.map(|new| std::mem::replace(&mut state.triangles, new)),
        );
        drop(guard);
        drop(old);
    }
}

impl ConfirmedState {
    /// The answers for a vertex.
    pub fn vertex(&self, id: u64) -> Value {
        let number = self.names.get(id).map(|number| number as usize);
        let known = number.filter(|number| *number < self.depths.len());
        let Some(number) = known else {
            return json!({"id": id, "depth": null, "component": null, "triangles": null});
        };
        let depth = Some(self.depths[number]).filter(|depth| *depth != UNREACHED);
        json!({
            "id": id,
            "depth": depth,
            "component": self.names.id(self.components[number]),
            "triangles": self.triangles[number],
        })
    }

    /// Sums of the answers. Costs a pass over all vertices.
    pub fn totals(&self) -> AnswerTotals {
        totals(&self.depths, &self.components, &self.triangles)
    }
}
