//! What a device refuses is an error, and the answers stay those of the batch before it.

use std::sync::atomic::Ordering;

use reuselens_cuda::{Device, GpuFault, Status};
use reuselens_graph::generate::delaunay;
use reuselens_graph::{Delta, Edge, EdgeChange, EdgeKind, SortedGraph, StoredGraph};
use reuselens_graph_gpu::{GpuError, GpuGraph, interpreter};
use reuselens_incremental::{Maintain, Work};

fn mesh() -> SortedGraph {
    let mut graph = SortedGraph::new(EdgeKind::Undirected, 300);
    graph.load(delaunay(300, 1).unwrap());
    graph
}

fn insert(from: u32, to: u32) -> EdgeChange {
    EdgeChange::Insert(Edge::new(EdgeKind::Undirected, from, to))
}

/// An edge that is absent from the mesh, and shortens ways.
fn shortcut(graph: &mut SortedGraph) -> Delta {
    let far = (0..300).rev().find(|&far| {
        let edge = Edge::new(EdgeKind::Undirected, 0, far);
        far > 0 && !graph.contains(edge)
    });
    let delta = graph.apply(&[insert(0, far.unwrap())]);
    assert_eq!(delta.len(), 1);
    delta
}

#[test]
fn a_graph_that_does_not_fit_is_refused() {
    let Err(error) = GpuGraph::upload(interpreter(8 << 10, 1), &mesh()) else {
        panic!("8 KiB are not enough");
    };
    let GpuError::Gpu(GpuFault::Device { fault, .. }) = &error else {
        panic!("{error}");
    };
    assert_eq!(fault.status, Status::MEMORY_ALLOCATION);
    assert!(error.to_string().contains("allocate memory"), "{error}");
}

#[test]
fn answers_stay_as_they_were_when_a_kernel_is_stopped() {
    let mut graph = mesh();
    let device = interpreter(1 << 24, 1);
    let stop = device.stop();
    let on_device = GpuGraph::upload(device, &graph).unwrap();
    let mut depths = on_device.depths(0).unwrap();
    let mut triangles = on_device.triangles(&graph).unwrap();
    let before = Maintain::<SortedGraph>::answer(&depths);
    stop.store(true, Ordering::Relaxed);
    let delta = shortcut(&mut graph);
    let error = depths.update(&graph, &delta).unwrap_err();
    assert!(error.to_string().contains("run a kernel"), "{error}");
    assert_eq!(on_device.fault(), Some(error.clone()));
    assert_eq!(Maintain::<SortedGraph>::answer(&depths), before);
    // The lists may be half changed, so nothing else is computed from them.
    stop.store(false, Ordering::Relaxed);
    assert_eq!(triangles.apply(&graph, &delta), Work::default());
    assert_eq!(triangles.update(&graph, &delta), Err(error.clone()));
    assert_eq!(on_device.components().err(), Some(error));
}

#[test]
fn a_graph_that_outgrows_the_memory_is_an_error() {
    let mut graph = mesh();
    let on_device = GpuGraph::upload(interpreter(64 << 10, 1), &graph).unwrap();
    let mut components = on_device.components().unwrap();
    let before = Maintain::<SortedGraph>::answer(&components);
    let batch: Vec<_> = (300..4_000).map(|v| insert(v - 1, v)).collect();
    let delta = graph.apply(&batch);
    assert_eq!(components.apply(&graph, &delta), Work::default());
    let Some(GpuError::Gpu(GpuFault::Device { fault, .. })) = on_device.fault() else {
        panic!("64 KiB are not enough");
    };
    assert_eq!(fault.status, Status::MEMORY_ALLOCATION);
    assert_eq!(Maintain::<SortedGraph>::answer(&components), before);
}

#[test]
fn batches_that_are_left_out_or_given_twice_are_errors() {
    let mut graph = mesh();
    let upload = |graph: &SortedGraph| GpuGraph::upload(interpreter(1 << 24, 1), graph).unwrap();
    let (twice, skipped) = (upload(&graph), upload(&graph));
    let mut depths = twice.depths(0).unwrap();
    let mut others = skipped.depths(0).unwrap();
    let delta = shortcut(&mut graph);
    depths.update(&graph, &delta).unwrap();
    let error = depths.update(&graph, &delta).unwrap_err();
    assert!(matches!(error, GpuError::OutOfStep { .. }), "{error}");
    let next = shortcut(&mut graph);
    let error = others.update(&graph, &next).unwrap_err();
    assert!(matches!(error, GpuError::OutOfStep { .. }), "{error}");
}

#[test]
fn an_answer_that_is_one_batch_late_is_an_error() {
    let mut graph = mesh();
    let on_device = GpuGraph::upload(interpreter(1 << 24, 1), &graph).unwrap();
    let mut depths = on_device.depths(0).unwrap();
    let mut components = on_device.components().unwrap();
    let first = shortcut(&mut graph);
    depths.update(&graph, &first).unwrap();
    let second = shortcut(&mut graph);
    depths.update(&graph, &second).unwrap();
    let error = components.update(&graph, &first).unwrap_err();
    assert!(matches!(error, GpuError::OutOfStep { .. }), "{error}");
}

#[test]
fn answers_that_end_give_their_memory_back() {
    let graph = mesh();
    let on_device = GpuGraph::upload(interpreter(1 << 24, 1), &graph).unwrap();
    let before = on_device.device_memory();
    let answers = (
        on_device.depths(0).unwrap(),
        on_device.components().unwrap(),
        on_device.triangles(&graph).unwrap(),
    );
    assert!(on_device.device_memory() > before);
    drop(answers);
    // What batches are staged in has grown.
    let kept = on_device.device_memory() - before;
    assert!(kept <= 16 << 10, "{kept} bytes");
    let counts = on_device.into_device().unwrap().into_watch();
    assert!(
        counts
            .kernels()
            .iter()
            .any(|kernel| kernel.name == "depths_expand")
    );
}

#[test]
fn a_device_that_answers_share_is_not_given_back() {
    let on_device = GpuGraph::upload(interpreter(1 << 24, 1), &mesh()).unwrap();
    let _depths = on_device.depths(0).unwrap();
    assert!(on_device.into_device().is_none());
}
