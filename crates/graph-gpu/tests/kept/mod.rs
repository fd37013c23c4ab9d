//! A graph with its answers on a device, beside those of the processor and of an oracle.

use reuselens_cuda::{Device, Interpreter, KernelCounts};
use reuselens_graph::generate::{ChangeMix, Changes};
use reuselens_graph::{Edge, EdgeChange, EdgeKind, SortedGraph, StoredGraph};
use reuselens_graph_gpu::{GpuComponents, GpuDepths, GpuGraph, GpuTriangles, KernelCode};
use reuselens_incremental::{
    Maintain, Policy, StaticComponents, StaticDepths, StaticTriangles, Work,
};
use reuselens_ptx::Options;

use crate::oracle::Oracle;

/// The vertex from which depths are counted.
pub const ROOT: u32 = 1;

/// How kernels run.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub threads: usize,
    /// Blocks and warps in a random order.
    pub seed: Option<u64>,
    pub code: &'static KernelCode,
    pub policy: Policy,
}

/// With one thread and two, in order and not, as both compilers made the kernels.
pub const WAYS: [Way; 4] = [
    Way {
        threads: 1,
        seed: None,
        code: &KernelCode::CLANG,
        policy: Policy::Predict,
    },
    Way {
        threads: 2,
        seed: None,
        code: &KernelCode::NVCC,
        policy: Policy::Repair,
    },
    Way {
        threads: 2,
        seed: Some(7),
        code: &KernelCode::CLANG,
        policy: Policy::Repair,
    },
    Way {
        threads: 1,
        seed: Some(8),
        code: &KernelCode::NVCC,
        policy: Policy::Recompute,
    },
];

/// A device that runs kernels in a way.
pub fn device(way: Way) -> Interpreter<KernelCounts> {
    let options = Options {
        threads: way.threads,
        seed: way.seed,
        ..Options::default()
    };
    Interpreter::new(1 << 28, options, KernelCounts::default())
}

/// A graph and its answers.
pub struct Kept<D: Device> {
    pub graph: SortedGraph,
    pub on_device: GpuGraph<D>,
    pub depths: GpuDepths<D>,
    pub components: GpuComponents<D>,
    pub triangles: GpuTriangles<D>,
}

impl<D: Device> Kept<D> {
    pub fn new(graph: SortedGraph, device: D, way: Way) -> Self {
        let on_device = GpuGraph::upload_with(device, &graph, way.code).unwrap();
        on_device.set_policy(way.policy);
        Self {
            depths: on_device.depths(ROOT).unwrap(),
            components: on_device.components().unwrap(),
            triangles: on_device.triangles(&graph).unwrap(),
            on_device,
            graph,
        }
    }

    /// Applies a batch, and compares all answers.
    pub fn apply(&mut self, changes: &[EdgeChange], oracle: &Oracle) -> [Work; 3] {
        let delta = self.graph.apply(changes);
        let work = [
            self.depths.update(&self.graph, &delta).unwrap(),
            self.components.update(&self.graph, &delta).unwrap(),
            self.triangles.update(&self.graph, &delta).unwrap(),
        ];
        self.compare(oracle, work);
        work
    }

    /// Compares all answers with recomputed ones of the crate `incremental`, and with the oracle's.
    pub fn compare(&self, oracle: &Oracle, work: [Work; 3]) {
        let graph = &self.graph;
        let depths = answer(&self.depths);
        assert_eq!(depths, oracle.depths(ROOT), "depths, {work:?}");
        assert_eq!(depths, answer(&StaticDepths::new(graph, ROOT)));
        let components = answer(&self.components);
        assert_eq!(components, oracle.components(), "components, {work:?}");
        assert_eq!(components, answer(&StaticComponents::new(graph)));
        let triangles = answer(&self.triangles);
        assert_eq!(triangles, oracle.triangles(), "triangles, {work:?}");
        assert_eq!(triangles, answer(&StaticTriangles::new(graph)));
    }
}

/// The answers of what is kept for a sorted graph.
pub fn answer<M: Maintain<SortedGraph>>(kept: &M) -> Vec<M::Value> {
    kept.answer()
}

/// What a stream did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub updates: usize,
    pub batches: usize,
    /// By answer: how often it was unchanged, repaired and computed again.
    pub choices: [[usize; 3]; 3],
}

/// Applies batches of these sizes and numbers to a graph on a device.
pub fn stream<D: Device>(
    (kind, edges, vertices): (EdgeKind, &[Edge], u32),
    deletions: f64,
    sizes: &[(usize, usize)],
    way: Way,
    device: D,
) -> Seen {
    let insert: Vec<_> = edges.iter().map(|&edge| EdgeChange::Insert(edge)).collect();
    let mut oracle = Oracle::new(kind, vertices as usize);
    oracle.apply(&insert);
    let mut graph = SortedGraph::new(kind, vertices);
    graph.apply(&insert);
    let mut kept = Kept::new(graph, device, way);
    let mix = ChangeMix {
        deletions,
        ..ChangeMix::default()
    };
    // A tenth of the vertices is new.
    let mut changes = Changes::new(kind, vertices + vertices / 10, edges, mix, 3);
    let mut seen = Seen::default();
    for &(size, count) in sizes {
        for _ in 0..count {
            let batch: Vec<_> = changes.by_ref().take(size).collect();
            oracle.apply(&batch);
            let work = kept.apply(&batch, &oracle);
            seen.updates += batch.len();
            seen.batches += 1;
            for (choices, work) in seen.choices.iter_mut().zip(work) {
                choices[work.choice as usize] += 1;
            }
        }
    }
    seen
}
