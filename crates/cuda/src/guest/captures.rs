//! Captures: streams whose work becomes a graph in place of being done. A stream joins a capture
//! by waiting for an event that was recorded in it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::graph_memory::GraphBlock;
use super::graphs::{self, NodeKind};
use super::lock;
use super::work::Work;
use crate::status::Status;

/// A part of a capture: a node of the graph that it becomes.
pub struct CapturedNode {
    pub handle: usize,
    pub kind: NodeKind,
    pub work: Option<Work>,
    /// The parts before it that it comes after.
    pub after: Vec<usize>,
}

/// What a graph is made of: its work, in the order in which it was submitted, which all its
/// dependencies allow; and its memory.
pub struct Parts {
    /// The handle of the graph, which has no nodes yet.
    pub graph: usize,
    pub nodes: Vec<CapturedNode>,
    pub memory: Vec<Arc<GraphBlock>>,
}

impl Parts {
    /// All work, in order.
    pub fn into_work(self) -> Vec<Work> {
        self.nodes
            .into_iter()
            .filter_map(|node| node.work)
            .collect()
    }
}

struct Capture {
    number: usize,
    /// The stream that began it.
    origin: usize,
    parts: Parts,
    /// What the program was told of the nodes that a stream's next one comes after: their handles,
    /// and the data of the edges from them.
    told: (Vec<usize>, Vec<u64>),
    is_broken: bool,
    /// For each stream of the capture, the parts that its next one depends on.
    streams: BTreeMap<usize, Vec<usize>>,
    /// The same for each event that was recorded.
    events: BTreeMap<usize, Vec<usize>>,
}

static CAPTURES: Mutex<Vec<Capture>> = Mutex::new(Vec::new());

/// Runs `look` with the capture of a stream, if it is captured.
fn of_stream<R>(stream: usize, look: impl FnOnce(&mut Capture) -> R) -> Option<R> {
    let mut captures = lock(&CAPTURES);
    let mut captures = captures.iter_mut();
    captures
        .find(|capture| capture.streams.contains_key(&stream))
        .map(look)
}

/// What a program can know of the capture that a stream is in.
pub struct CaptureInfo {
    /// No other capture has it.
    pub number: usize,
    pub graph: usize,
    /// Where the handles of the nodes are that the stream's next one comes after, where the data of
    /// the edges are, and how many: until the next question.
    pub nodes: *const usize,
    pub edges: *const u64,
    pub count: usize,
}

/// The capture that a stream is in.
pub fn info(stream: usize) -> Option<CaptureInfo> {
    of_stream(stream, |capture| {
        let nodes = capture.streams.get(&stream).cloned().unwrap_or_default();
        let count = nodes.len();
        capture.told = (nodes, vec![0; count]);
        CaptureInfo {
            number: capture.number,
            graph: capture.parts.graph,
            nodes: capture.told.0.as_ptr(),
            edges: capture.told.1.as_ptr(),
            count,
        }
    })
}

/// Whether a stream is captured.
pub fn is_captured(stream: usize) -> bool {
    of_stream(stream, |_| ()).is_some()
}

/// Begins a capture.
pub fn begin(stream: usize) -> Result<(), Status> {
    if is_captured(stream) {
        return Err(Status::INVALID_VALUE);
    }
    static LAST: AtomicUsize = AtomicUsize::new(0);
    lock(&CAPTURES).push(Capture {
        number: LAST.fetch_add(1, Ordering::Relaxed) + 1,
        origin: stream,
        parts: Parts {
            graph: graphs::empty(),
            nodes: Vec::new(),
            memory: Vec::new(),
        },
        told: (Vec::new(), Vec::new()),
        is_broken: false,
        streams: BTreeMap::from([(stream, Vec::new())]),
        events: BTreeMap::new(),
    });
    Ok(())
}

/// Ends the capture that a stream began.
pub fn end(stream: usize) -> Result<Parts, Status> {
    let mut captures = lock(&CAPTURES);
    let index = captures.iter().position(|known| known.origin == stream);
    let capture = captures.remove(index.ok_or(Status::INVALID_VALUE)?);
    if capture.is_broken {
        graphs::discard(&capture.parts);
        Err(Status::CAPTURE_INVALIDATED)
    } else {
        Ok(capture.parts)
    }
}

/// Whether a stream is captured; if so, the work is kept.
pub fn keep(stream: usize, work: &Work) -> bool {
    let keep = |capture: &mut Capture| {
        if let Work::Record(event) = work {
            let before = capture.streams.entry(stream).or_default();
            capture.events.insert(*event, before.clone());
            return;
        }
        capture.push(stream, NodeKind::of(work), Some(work.clone()));
    };
    of_stream(stream, keep).is_some()
}

impl Capture {
    /// Adds a part in the order of a stream.
    fn push(&mut self, stream: usize, kind: NodeKind, work: Option<Work>) {
        let handle = graphs::new_node(self.parts.graph);
        let before = self.streams.insert(stream, vec![handle]);
        self.parts.nodes.push(CapturedNode {
            handle,
            kind,
            work,
            after: before.unwrap_or_default(),
        });
    }
}

/// Keeps memory for the graph of a stream that is captured.
pub fn keep_memory(stream: usize, block: GraphBlock) {
    of_stream(stream, |capture| {
        capture.push(stream, NodeKind::Allocation, None);
        capture.parts.memory.push(Arc::new(block));
    });
}

/// Notes that the graph of a stream that is captured frees memory.
pub fn keep_free(stream: usize) {
    of_stream(stream, |capture| capture.push(stream, NodeKind::Free, None));
}

/// A stream waits for an event: if that was recorded in a capture, the stream belongs to it.
pub fn wait(stream: usize, event: usize) {
    let mut captures = lock(&CAPTURES);
    let recorded = captures.iter_mut().find_map(|capture| {
        let parts = capture.events.get(&event)?.clone();
        Some((capture, parts))
    });
    if let Some((capture, parts)) = recorded {
        let before = capture.streams.entry(stream).or_default();
        before.extend(parts);
        before.sort_unstable();
        before.dedup();
    }
}

/// What a capture does not allow was asked of a stream: if it is captured, that capture gives no
/// graph.
pub fn forbid(stream: usize) -> Result<(), Status> {
    match of_stream(stream, |capture| capture.is_broken = true) {
        Some(()) => Err(Status::CAPTURE_UNSUPPORTED),
        None => Ok(()),
    }
}
