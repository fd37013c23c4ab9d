//! [`Answers`]: a graph and the three answers about it, kept up to date batch by batch.

use std::time::{Duration, Instant};

use reuselens_cuda::Device;
use reuselens_graph::{Delta, EdgeChange, EdgeKind, SortedGraph, StoredGraph, VertexId};
use reuselens_graph_gpu::{GpuError, GpuGraph};
use reuselens_incremental::{
    Components, Depths, Maintain, Policy, PublishedComponents, PublishedDepths, PublishedTriangles,
    StaticComponents, StaticDepths, StaticTriangles, Triangles, UNREACHED, Work,
};

/// How answers are brought up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Rules {
    /// Repair or recompute, whichever is predicted to be less work
    #[default]
    Ours,
    /// Always repair
    Repair,
    /// The published incremental rules, corrected
    Published,
    /// Recompute after each batch
    Recompute,
}

impl Rules {
    /// What the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Repair => "repair",
            Self::Published => "published",
            Self::Recompute => "recompute",
        }
    }
}

/// What is timed for each batch, in the order of [`BatchStep::latencies`].
pub const SERIES: [&str; 5] = ["graph", "depths", "components", "triangles", "all"];

/// An answer whose type is chosen at run time.
type Kept<T> = Box<dyn Maintain<SortedGraph, Value = T> + Send + Sync>;

/// Why a device failed, if it did.
type FaultCheck = Box<dyn Fn() -> Option<GpuError> + Send + Sync>;

/// A graph, and the depths from a root, the components and the triangles of all its vertices.
pub struct Answers {
    graph: SortedGraph,
    depths: Kept<u32>,
    components: Kept<VertexId>,
    triangles: Kept<u64>,
    /// Asks the device that keeps the answers, if one does, why it failed.
    device: Option<FaultCheck>,
}

/// What a batch did.
#[derive(Clone, Debug)]
pub struct BatchStep {
    /// The edges that changed.
    pub delta: Delta,
    /// How long each of [`SERIES`] took.
    pub latencies: [Duration; SERIES.len()],
    /// The work for depths, components and triangles.
    pub work: [Work; 3],
}

impl BatchStep {
    /// Affected vertices, by [`SERIES`]; of the graph, changed edges.
    pub fn affected(&self) -> [u64; SERIES.len()] {
        let [depths, components, triangles] = self.work.map(|work| work.affected);
        let all = depths + components + triangles;
        [self.delta.len() as u64, depths, components, triangles, all]
    }
}

/// What the graph looks like, from its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct AnswerTotals {
    /// Vertices that a path from the root leads to, the root included.
    pub reached: u64,
    /// The sum of their depths.
    pub depth_sum: u64,
    /// Components, vertices without edges included.
    pub components: u64,
    /// Triangles, each once.
    pub triangles: u64,
}

impl Answers {
    /// Computes the answers for a graph. They are kept up to date by up to `threads` threads.
    pub fn new(graph: SortedGraph, root: VertexId, rules: Rules, threads: usize) -> Self {
        let policy = match rules {
            Rules::Repair => Policy::Repair,
            _ => Policy::Predict,
        };
        let (depths, components, triangles): (Kept<u32>, Kept<VertexId>, Kept<u64>) = match rules {
            Rules::Ours | Rules::Repair => (
                Box::new(Depths::new(&graph, root, policy)),
                Box::new(Components::new(&graph, policy)),
                Box::new(Triangles::new(&graph, policy, threads)),
            ),
            Rules::Published => (
                Box::new(PublishedDepths::new(&graph, root)),
                Box::new(PublishedComponents::new(&graph)),
                Box::new(PublishedTriangles::new(&graph)),
            ),
            Rules::Recompute => (
                Box::new(StaticDepths::new(&graph, root)),
                Box::new(StaticComponents::new(&graph)),
                Box::new(StaticTriangles::new(&graph)),
            ),
        };
        Self {
            graph,
            depths,
            components,
            triangles,
            device: None,
        }
    }

    /// Computes the answers for a graph by kernels on a device, which keep them up to date.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn on_device<D: Device + 'static>(
        graph: SortedGraph,
        root: VertexId,
        device: D,
    ) -> Result<Self, GpuError> {
        let on_device = GpuGraph::upload(device, &graph)?;
        Ok(Self {
            depths: Box::new(on_device.depths(root)?),
            components: Box::new(on_device.components()?),
            triangles: Box::new(on_device.triangles(&graph)?),
            device: Some(Box::new(move || on_device.fault())),
            graph,
        })
    }

    /// Why the device failed, if it did. The answers are then those of an earlier batch.
    pub fn fault(&self) -> Option<GpuError> {
        self.device.as_ref().and_then(|fault| fault())
    }

    /// The graph after the last batch.
    pub fn graph(&self) -> &SortedGraph {
        &self.graph
    }

    /// Applies a batch. `vertices` is the count of vertices after it.
    pub fn apply(&mut self, changes: &[EdgeChange], vertices: VertexId) -> BatchStep {
        let start = Instant::now();
        self.graph.grow(vertices);
        let delta = self.graph.apply(changes);
        let changed = Instant::now();
        let depths = self.depths.apply(&self.graph, &delta);
        let searched = Instant::now();
        let components = self.components.apply(&self.graph, &delta);
        let joined = Instant::now();
        let triangles = self.triangles.apply(&self.graph, &delta);
        let end = Instant::now();
        BatchStep {
            delta,
            latencies: [
                changed - start,
                searched - changed,
                joined - searched,
                end - joined,
                end - start,
            ],
            work: [depths, components, triangles],
        }
    }

    /// The depth, component and triangles of a vertex of the graph.
    pub fn vertex(&self, vertex: VertexId) -> (u32, VertexId, u64) {
        let (depth, component) = (self.depths.value(vertex), self.components.value(vertex));
        (depth, component, self.triangles.value(vertex))
    }

    /// The depths of all vertices; [`UNREACHED`] without a path.
    pub fn depths(&self) -> Vec<u32> {
        self.depths.answer()
    }

    /// The components of all vertices, each named by its smallest vertex.
    pub fn components(&self) -> Vec<VertexId> {
        self.components.answer()
    }

    /// The triangles at all vertices.
    pub fn triangles(&self) -> Vec<u64> {
        self.triangles.answer()
    }

    /// Sums over all vertices.
    pub fn totals(&self) -> AnswerTotals {
        let (depths, components) = (self.depths(), self.components());
        let reached = depths.iter().filter(|depth| **depth != UNREACHED);
        let named = (0..)
            .zip(components)
            .filter(|(vertex, name)| vertex == name);
        AnswerTotals {
            reached: reached.clone().count() as u64,
            depth_sum: reached.map(|depth| u64::from(*depth)).sum(),
            components: named.count() as u64,
            triangles: self.triangles().iter().sum::<u64>() / 3,
        }
    }

    /// The first answer that differs from one that is computed anew, and the vertex where it does.
    pub fn difference(&self, root: VertexId) -> Option<(&'static str, VertexId)> {
        let graph = &self.graph;
        let depths = StaticDepths::new(graph, root);
        let components = StaticComponents::new(graph);
        let triangles = StaticTriangles::new(graph);
        let checks = [
            (
                "depths",
                first(self.depths(), Maintain::<SortedGraph>::answer(&depths)),
            ),
            (
                "components",
                first(
                    self.components(),
                    Maintain::<SortedGraph>::answer(&components),
                ),
            ),
            (
                "triangles",
                first(
                    self.triangles(),
                    Maintain::<SortedGraph>::answer(&triangles),
                ),
            ),
        ];
        checks
            .into_iter()
            .find_map(|(name, vertex)| Some((name, vertex?)))
    }

    /// Bytes per directed edge that the graph uses; an undirected edge is two of these.
    pub fn bytes_per_edge(&self) -> f64 {
        let directed = match self.graph.kind() {
            EdgeKind::Undirected => 2 * self.graph.edges(),
            EdgeKind::Directed => self.graph.edges(),
        };
        self.graph.memory() as f64 / directed.max(1) as f64
    }
}

/// The first place where two answers differ.
fn first<T: PartialEq>(one: Vec<T>, other: Vec<T>) -> Option<VertexId> {
    let differs = one.iter().zip(&other).position(|(one, other)| one != other);
    let length = one.len().min(other.len());
    let differs = differs.or((one.len() != other.len()).then_some(length));
    differs.map(|at| at as VertexId)
}
