//! Graphs, captured from streams or made node by node ([`super::graph_nodes`]). The work of their
//! nodes is done in one order that all dependencies allow: that in which the nodes were made, as
//! far as it is one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::captures::Parts;
use super::errors::returned;
use super::graph_memory::GraphBlock;
use super::handles::Handles;
use super::hook;
use super::memory::{store, store_if_wanted};
use super::user_objects::HeldObject;
use super::work::{Work, submit};
use crate::status::Status;

/// What a node is (`cudaGraphNodeType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum NodeKind {
    Kernel = 0,
    Copy = 1,
    Fill = 2,
    Call = 3,
    Graph = 4,
    Empty = 5,
    Record = 7,
    Allocation = 10,
    Free = 11,
}

impl NodeKind {
    /// Of a node that does one piece of work.
    pub fn of(work: &Work) -> NodeKind {
        match work {
            Work::Launch(_) => NodeKind::Kernel,
            Work::Copy(_) => NodeKind::Copy,
            Work::Fill(_) => NodeKind::Fill,
            Work::Call(..) => NodeKind::Call,
            Work::Record(_) => NodeKind::Record,
        }
    }
}

/// A node of a graph.
#[derive(Clone)]
pub struct Node {
    pub handle: usize,
    pub kind: NodeKind,
    pub work: Vec<Work>,
    /// Those that it comes after, by their handles.
    pub after: BTreeSet<usize>,
    /// The node of another graph that it was copied from (`cudaGraphClone`).
    pub cloned_from: Option<usize>,
}

/// A graph: its nodes as they were made, and the memory that these take.
#[derive(Clone, Default)]
pub struct WorkGraph {
    nodes: Vec<Node>,
    memory: Vec<Arc<GraphBlock>>,
    objects: Vec<Arc<HeldObject>>,
}

static GRAPHS: Handles<WorkGraph> = Handles::new();
static READY: Handles<WorkGraph> = Handles::new();
/// The graph of each node.
static NODES: Handles<usize> = Handles::new();

/// A graph without nodes; its handle.
pub fn empty() -> usize {
    GRAPHS.add(WorkGraph::default())
}

/// The handle of a node that a graph gets.
pub fn new_node(graph: usize) -> usize {
    NODES.add(graph)
}

/// Gives a graph what was captured for it; its handle.
pub fn complete(parts: Parts) -> Result<usize, Status> {
    let nodes = parts.nodes.into_iter().map(|node| Node {
        handle: node.handle,
        kind: node.kind,
        work: node.work.into_iter().collect(),
        after: node.after.into_iter().collect(),
        cloned_from: None,
    });
    let (nodes, memory) = (nodes.collect(), parts.memory);
    GRAPHS.with(parts.graph, |graph| {
        (graph.nodes, graph.memory) = (nodes, memory);
    })?;
    Ok(parts.graph)
}

/// That there is such a graph.
pub fn exists(graph: usize) -> Result<(), Status> {
    GRAPHS.with(graph, |_| ())
}

/// Makes a graph hold an object.
pub fn hold(graph: usize, object: Arc<HeldObject>) -> Result<(), Status> {
    GRAPHS.with(graph, |graph| graph.objects.push(object))
}

/// Makes a graph let go of an object that it holds: the first that is wanted.
pub fn let_go(
    graph: usize,
    is_wanted: impl Fn(&HeldObject) -> bool,
) -> Result<Arc<HeldObject>, Status> {
    GRAPHS
        .with(graph, |graph| {
            let place = graph.objects.iter().position(|held| is_wanted(held));
            place.map(|place| graph.objects.remove(place))
        })?
        .ok_or(Status::INVALID_VALUE)
}

/// Ends the graph of a capture that gives none.
pub fn discard(parts: &Parts) {
    let _ = GRAPHS.remove(parts.graph);
    for node in &parts.nodes {
        let _ = NODES.remove(node.handle);
    }
}

impl WorkGraph {
    fn node(&mut self, handle: usize) -> Result<&mut Node, Status> {
        let mut nodes = self.nodes.iter_mut();
        let node = nodes.find(|node| node.handle == handle);
        node.ok_or(Status::INVALID_VALUE)
    }

    fn has(&self, handles: &[usize]) -> bool {
        let has = |handle: &usize| self.nodes.iter().any(|node| node.handle == *handle);
        handles.iter().all(has)
    }

    /// The nodes in an order that all dependencies allow.
    ///
    /// # Errors
    /// If there is none.
    fn in_order(&self) -> Result<WorkGraph, Status> {
        let (mut nodes, mut done) = (Vec::new(), BTreeSet::new());
        while nodes.len() < self.nodes.len() {
            let before = nodes.len();
            for node in &self.nodes {
                if !done.contains(&node.handle) && node.after.is_subset(&done) {
                    done.insert(node.handle);
                    nodes.push(node.clone());
                }
            }
            if nodes.len() == before {
                return Err(Status::INVALID_VALUE);
            }
        }
        Ok(WorkGraph {
            nodes,
            memory: self.memory.clone(),
            objects: self.objects.clone(),
        })
    }

    /// All work, in such an order.
    pub fn work(&self) -> Result<Vec<Work>, Status> {
        let ordered = self.in_order()?;
        Ok(ordered
            .nodes
            .into_iter()
            .flat_map(|node| node.work)
            .collect())
    }

    fn edges(&self) -> Vec<(usize, usize)> {
        let nodes = self.nodes.iter();
        let edges = nodes.flat_map(|node| node.after.iter().map(|&from| (from, node.handle)));
        edges.collect()
    }
}

/// Adds a node to a graph, after others of it; its handle.
pub fn add_node(
    graph: usize,
    after: &[usize],
    kind: NodeKind,
    work: Vec<Work>,
) -> Result<usize, Status> {
    GRAPHS.with(graph, |known| {
        if known.has(after) {
            let handle = NODES.add(graph);
            known.nodes.push(Node {
                handle,
                kind,
                work,
                after: after.iter().copied().collect(),
                cloned_from: None,
            });
            Ok(handle)
        } else {
            Err(Status::INVALID_VALUE)
        }
    })?
}

/// Adds a node that is a copy of another graph, whose memory and objects it needs; its handle.
pub fn add_child(graph: usize, after: &[usize], child: usize) -> Result<usize, Status> {
    let child = GRAPHS.with(child, |child| child.in_order())??;
    let work = child.nodes.into_iter().flat_map(|node| node.work).collect();
    let handle = add_node(graph, after, NodeKind::Graph, work)?;
    GRAPHS.with(graph, |graph| {
        graph.memory.extend(child.memory);
        graph.objects.extend(child.objects);
    })?;
    Ok(handle)
}

/// Uses a node of a graph.
fn with_node<R>(node: usize, work: impl FnOnce(&mut Node) -> R) -> Result<R, Status> {
    let graph = NODES.with(node, |graph| *graph)?;
    GRAPHS.with(graph, |graph| graph.node(node).map(work))?
}

/// Gives a node of a kind other work: in its graph, or in what was made ready of that.
pub fn set_work(
    ready: Option<usize>,
    node: usize,
    kind: NodeKind,
    work: Vec<Work>,
) -> Result<(), Status> {
    let set = |node: &mut Node| {
        if node.kind == kind {
            node.work = work;
            Ok(())
        } else {
            Err(Status::INVALID_VALUE)
        }
    };
    match ready {
        None => with_node(node, set)?,
        Some(ready) => READY.with(ready, |graph| set(graph.node(node)?))?,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphCreate(to: *mut usize, flags: u32) -> u32 {
    returned(match flags {
        0 => store(to, empty()),
        _ => Err(Status::INVALID_VALUE),
    })
}

/// The third parameter is `flags` from CUDA 12 on, and there were two more before.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphInstantiate(to: *mut usize, graph: usize) -> u32 {
    let ordered = GRAPHS.with(graph, |graph| graph.in_order());
    returned(ordered.and_then(|ordered| store(to, READY.add(ordered?))))
}

/// How a graph is made ready (`cudaGraphInstantiateParams`), and what came of it.
#[repr(C)]
pub struct Instantiation {
    flags: u64,
    stream: usize,
    wrong_node: usize,
    result: u32,
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphInstantiateWithParams(
    to: *mut usize,
    graph: usize,
    how: *mut Instantiation,
) -> u32 {
    const FAILED: u32 = 1;
    let status = cudaGraphInstantiate(to, graph);
    // SAFETY: the program passes it, or null.
    if let Some(how) = unsafe { how.as_mut() } {
        how.wrong_node = 0;
        how.result = if status == 0 { 0 } else { FAILED };
    }
    status
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphLaunch(ready: usize, stream: usize) -> u32 {
    let work = READY.with(ready, |graph| graph.work());
    returned(work.and_then(|work| {
        let mut work = work?.into_iter();
        work.try_for_each(|work| submit(stream, work))
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphUpload(ready: usize, _stream: usize) -> u32 {
    returned(READY.with(ready, |_| ()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphDestroy(graph: usize) -> u32 {
    returned(GRAPHS.remove(graph).map(|graph| {
        for node in &graph.nodes {
            let _ = NODES.remove(node.handle);
        }
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphExecDestroy(ready: usize) -> u32 {
    returned(READY.remove(ready).map(drop))
}

/// A copy of a graph, with nodes of its own.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphClone(to: *mut usize, graph: usize) -> u32 {
    let copy = GRAPHS.with(graph, |graph| graph.clone());
    returned(copy.and_then(|mut copy| {
        let handle = empty();
        let nodes = copy.nodes.iter();
        let own: BTreeMap<usize, usize> =
            nodes.map(|node| (node.handle, NODES.add(handle))).collect();
        for node in &mut copy.nodes {
            node.cloned_from = Some(node.handle);
            node.handle = own[&node.handle];
            node.after = node.after.iter().map(|before| own[before]).collect();
        }
        GRAPHS.with(handle, |graph| *graph = copy)?;
        store(to, handle)
    }))
}

/// The node of a copy of a graph that was copied from a node of the graph.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphNodeFindInClone(to: *mut usize, node: usize, copy: usize) -> u32 {
    let found = GRAPHS.with(copy, |copy| {
        let mut nodes = copy.nodes.iter();
        nodes
            .find(|it| it.cloned_from == Some(node))
            .map(|it| it.handle)
    });
    returned(found.and_then(|found| store(to, found.ok_or(Status::INVALID_VALUE)?)))
}

/// Takes the work of a graph, with its memory and objects, in place of that of a graph with the
/// same nodes.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphExecUpdate(ready: usize, graph: usize, result: *mut [usize; 3]) -> u32 {
    const TOPOLOGY_CHANGED: usize = 2;
    let new = GRAPHS.with(graph, |graph| graph.in_order());
    returned(new.and_then(|new| {
        let mut new = new?;
        let is_same = READY.with(ready, |old| {
            let kinds =
                |graph: &WorkGraph| graph.nodes.iter().map(|it| it.kind).collect::<Vec<_>>();
            let is_same = kinds(old) == kinds(&new);
            if is_same {
                let pairs = old.nodes.iter_mut().zip(&mut new.nodes);
                pairs.for_each(|(old, new)| std::mem::swap(&mut old.work, &mut new.work));
                std::mem::swap(&mut old.memory, &mut new.memory);
                std::mem::swap(&mut old.objects, &mut new.objects);
            }
            is_same
        })?;
        // `new` has what was replaced. The end of an object runs a function of the program.
        drop(new);
        let outcome = [if is_same { 0 } else { TOPOLOGY_CHANGED }, 0, 0];
        store_if_wanted(result, outcome);
        if is_same {
            Ok(())
        } else {
            Err(Status::GRAPH_UPDATE)
        }
    }))
}

/// Gives a list as CUDA does: as many as there is room for, the rest of the room empty; without
/// room, their number.
fn give_list(list: &[usize], room: *mut usize, count: *mut usize) -> Result<(), Status> {
    if count.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    if room.is_null() {
        return store(count, list.len());
    }
    // SAFETY: the program says how many there is room for.
    let places = unsafe { *count };
    for index in 0..places {
        // SAFETY: as above.
        unsafe { room.add(index).write(list.get(index).copied().unwrap_or(0)) };
    }
    store(count, places.min(list.len()))
}

fn nodes_where(
    graph: usize,
    room: *mut usize,
    count: *mut usize,
    is_wanted: impl Fn(&Node) -> bool,
) -> u32 {
    let list = GRAPHS.with(graph, |graph| {
        let nodes = graph.nodes.iter().filter(|node| is_wanted(node));
        nodes.map(|node| node.handle).collect::<Vec<_>>()
    });
    returned(list.and_then(|list| give_list(&list, room, count)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphGetNodes(graph: usize, room: *mut usize, count: *mut usize) -> u32 {
    nodes_where(graph, room, count, |_| true)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphGetRootNodes(graph: usize, room: *mut usize, count: *mut usize) -> u32 {
    nodes_where(graph, room, count, |node| node.after.is_empty())
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphNodeGetType(node: usize, to: *mut u32) -> u32 {
    returned(with_node(node, |node| node.kind as u32).and_then(|kind| store(to, kind)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphDestroyNode(node: usize) -> u32 {
    let graph = NODES.remove(node);
    returned(graph.and_then(|graph| {
        GRAPHS.with(graph, |graph| {
            graph.nodes.retain(|it| it.handle != node);
            for it in &mut graph.nodes {
                it.after.remove(&node);
            }
        })
    }))
}

/// The dependencies of a graph.
fn give_edges(graph: usize, from: *mut usize, to: *mut usize, count: *mut usize) -> u32 {
    let edges = GRAPHS.with(graph, |graph| graph.edges());
    returned(edges.and_then(|edges| {
        let (before, after): (Vec<usize>, Vec<usize>) = edges.into_iter().unzip();
        if !to.is_null() && !from.is_null() && !count.is_null() {
            // SAFETY: the program says how many there is room for.
            let mut places = unsafe { *count };
            give_list(&after, to, &raw mut places)?;
        }
        give_list(&before, from, count)
    }))
}

/// CUDA 12 has no place for the data of edges, so its place for their number comes before.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphGetEdges(
    graph: usize,
    from: *mut usize,
    to: *mut usize,
    data_or_count: *mut usize,
    count: *mut usize,
) -> u32 {
    if hook::is_cuda_12() {
        give_edges(graph, from, to, data_or_count)
    } else {
        give_edges(graph, from, to, count)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphGetEdges_v2(
    graph: usize,
    from: *mut usize,
    to: *mut usize,
    _data: *mut usize,
    count: *mut usize,
) -> u32 {
    give_edges(graph, from, to, count)
}

/// The nodes that one comes after.
pub fn give_before(node: usize, room: *mut usize, count: *mut usize) -> u32 {
    let list = with_node(node, |node| node.after.iter().copied().collect::<Vec<_>>());
    returned(list.and_then(|list| give_list(&list, room, count)))
}

/// The nodes that come after one.
pub fn give_after(node: usize, room: *mut usize, count: *mut usize) -> u32 {
    let graph = NODES.with(node, |graph| *graph);
    match graph {
        Ok(graph) => nodes_where(graph, room, count, |it| it.after.contains(&node)),
        Err(status) => returned(Err(status)),
    }
}

/// Adds dependencies between nodes of a graph, or takes them away.
pub fn change_edges(graph: usize, edges: &[(usize, usize)], is_added: bool) -> Result<(), Status> {
    GRAPHS.with(graph, |graph| {
        for &(from, to) in edges {
            if from == to || !graph.has(&[from]) {
                return Err(Status::INVALID_VALUE);
            }
            let node = graph.node(to)?;
            let changes = if is_added {
                node.after.insert(from)
            } else {
                node.after.remove(&from)
            };
            if !changes {
                return Err(Status::INVALID_VALUE);
            }
        }
        Ok(())
    })?
}
