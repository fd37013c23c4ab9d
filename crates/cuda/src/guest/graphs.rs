//! Graphs that were captured from a stream. Their work is done in the order in which it was
//! submitted, which all its dependencies allow.

use super::captures::Parts;
use super::errors::returned;
use super::handles::Handles;
use super::hook;
use super::memory::store;
use super::work::submit;
use crate::status::Status;

static GRAPHS: Handles<Parts> = Handles::new();
static READY: Handles<Parts> = Handles::new();

/// A graph of these parts; its handle.
pub fn add(parts: Parts) -> usize {
    GRAPHS.add(parts)
}

/// The third parameter is `flags` from CUDA 12 on, and there were two more before.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphInstantiate(to: *mut usize, graph: usize) -> u32 {
    let parts = GRAPHS.with(graph, |parts| parts.clone());
    returned(parts.and_then(|parts| store(to, READY.add(parts))))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphLaunch(ready: usize, stream: usize) -> u32 {
    let work = READY.with(ready, |parts| parts.work.clone());
    returned(work.and_then(|work| {
        let mut work = work.into_iter();
        work.try_for_each(|work| submit(stream, work))
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphUpload(ready: usize, _stream: usize) -> u32 {
    returned(READY.with(ready, |_| ()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphDestroy(graph: usize) -> u32 {
    returned(GRAPHS.remove(graph).map(drop))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphExecDestroy(ready: usize) -> u32 {
    returned(READY.remove(ready).map(drop))
}

/// How many parts a graph has. Which ones is not provided.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphGetNodes(graph: usize, nodes: *mut usize, count: *mut usize) -> u32 {
    if !nodes.is_null() {
        super::modules::report_missing("cudaGraphGetNodes with a place for nodes");
        return returned(Err(Status::NOT_SUPPORTED));
    }
    let length = GRAPHS.with(graph, |parts| parts.work.len());
    returned(length.and_then(|length| store(count, length)))
}

/// How many dependencies a graph has. Which ones is not provided.
fn edges(graph: usize, edges: *mut usize, count: *mut usize) -> u32 {
    if !edges.is_null() {
        super::modules::report_missing("cudaGraphGetEdges with a place for edges");
        return returned(Err(Status::NOT_SUPPORTED));
    }
    let known = GRAPHS.with(graph, |parts| parts.edges);
    returned(known.and_then(|known| store(count, known)))
}

/// CUDA 12 has no place for the data of edges, so its place for their number comes before.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphGetEdges(
    graph: usize,
    from: *mut usize,
    _to: *mut usize,
    data_or_count: *mut usize,
    count: *mut usize,
) -> u32 {
    match hook::is_cuda_12() {
        true => edges(graph, from, data_or_count),
        false => edges(graph, from, count),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphGetEdges_v2(
    graph: usize,
    from: *mut usize,
    _to: *mut usize,
    _data: *mut usize,
    count: *mut usize,
) -> u32 {
    edges(graph, from, count)
}
