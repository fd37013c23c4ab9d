//! Depths, components and triangles of a changing graph, kept by CUDA kernels on a device.
//!
//! A [`GpuGraph`] has the lists of neighbours in the memory of a
//! [`Device`](reuselens_cuda::Device): the interpreter, or a GPU by its driver (`DriverDevice` of
//! the crate `cuda-driver`). Its answers are computed there once, and then repaired after each
//! batch of changes: they implement [`Maintain`](reuselens_incremental::Maintain), like those of
//! the crate `incremental`, and equal them after each batch.
//!
//! | answer | computed | repaired |
//! |---|---|---|
//! | [`GpuDepths`] | level by level | what loses its depth, and then what gets one, by levels |
//! | [`GpuComponents`] | roots hooked below smaller ones | fragments of cut trees are joined |
//! | [`GpuTriangles`] | one intersection per edge | one per changed edge, before and after |
//!
//! The kernels are CUDA C++ in `kernels/graphs`. Their PTX is in this crate, so that nobody needs a
//! compiler of CUDA; `cargo xtask kernels` makes it anew. Answers are exact for any order in which
//! a device runs threads.
//!
//! What a device refuses is a [`GpuError`]. The answers stay those of the last batch before it.
//!
//! ```
//! use reuselens_graph::{Edge, EdgeChange, EdgeKind, SortedGraph, StoredGraph};
//! use reuselens_graph_gpu::{GpuGraph, interpreter};
//! use reuselens_incremental::Maintain;
//!
//! let kind = EdgeKind::Undirected;
//! let mut graph = SortedGraph::new(kind, 3);
//! graph.apply(&[EdgeChange::Insert(Edge::new(kind, 0, 1))]);
//! let on_device = GpuGraph::upload(interpreter(1 << 30, 1), &graph)?;
//! let mut depths = on_device.depths(0)?;
//! let delta = graph.apply(&[EdgeChange::Insert(Edge::new(kind, 1, 2))]);
//! depths.update(&graph, &delta)?;
//! assert_eq!(Maintain::<SortedGraph>::answer(&depths), [0, 1, 2]);
//! # Ok::<(), reuselens_graph_gpu::GpuError>(())
//! ```
//!
//! For: programs that keep the same answers after each batch and have a device. Not for: graphs
//! that do not fit a device's memory, and not for timing on the interpreter, which is no GPU.

mod answer;
mod components;
mod depths;
mod error;
mod graph;
mod kernels;
mod lists;
mod triangles;
mod undirected;

pub use answer::GpuAnswer;
pub use components::GpuComponents;
pub use depths::GpuDepths;
pub use error::GpuError;
pub use graph::GpuGraph;
pub use kernels::KernelCode;
pub use triangles::GpuTriangles;

use reuselens_cuda::{Interpreter, KernelCounts};
use reuselens_ptx::Options;

/// The device that runs kernels on the processor, and counts what they do.
pub type CountingInterpreter = Interpreter<KernelCounts>;

/// A device that runs kernels on up to `threads` threads of the processor, with up to `memory`
/// bytes, and counts what they do.
pub fn interpreter(memory: u64, threads: usize) -> CountingInterpreter {
    let options = Options {
        threads,
        ..Options::default()
    };
    Interpreter::new(memory, options, KernelCounts::default())
}
