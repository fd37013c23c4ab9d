//! The writer: the one thread that changes the graph.
//!
//! Batches that wait at the same time are written to the log together and synced once; each is
//! applied, published and acknowledged by itself, in the order in which they came.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use reuselens_graph::formats::stream::StreamRecord;
use reuselens_graph::{
    Edge, EdgeChange, EdgeKind, SortedGraph, StoredGraph, VERTEX_LIMIT, VertexId, VertexNames,
};
use serde_json::{Value, json};

use super::client::ClientContext;
use crate::answers::Answers;
use crate::say::tell;
use crate::state::{Snapshot, StateFolder};

/// The most batches that are synced together.
const TOGETHER: usize = 64;
/// How long the writer waits for a request before it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// What the writer is to do.
#[derive(Debug)]
pub enum WriterTask {
    /// Apply a batch.
    Apply(Vec<StreamRecord>),
    /// List the vertices that edges lead to.
    Neighbors(u64),
    /// Write a snapshot.
    Snapshot,
}

/// A task, and where its result goes.
#[derive(Debug)]
pub struct WriterRequest {
    task: WriterTask,
    reply: SyncSender<Result<Value, String>>,
    begun: Instant,
}

impl WriterRequest {
    /// A request that begins now.
    pub fn new(task: WriterTask, reply: SyncSender<Result<Value, String>>) -> Self {
        Self {
            task,
            reply,
            begun: Instant::now(),
        }
    }

    /// Sends the result. The client may have vanished.
    fn reply(&self, result: Result<Value, String>) {
        let _ = self.reply.send(result);
    }
}

/// What the writer owns.
pub struct BatchWriter {
    /// The graph and its answers.
    pub answers: Answers,
    /// The ids of all vertices.
    pub names: VertexNames,
    /// The last batch.
    pub batch: u64,
    /// The folder for updates; without it, a crash loses them.
    pub folder: Option<StateFolder>,
    /// The batch of the last snapshot, tried or written.
    pub last_snapshot: u64,
    /// Batches between two snapshots; 0 for none.
    pub snapshot_every: u64,
    /// What it shares with clients.
    pub context: Arc<ClientContext>,
}

impl BatchWriter {
    /// Syncs the log if its policy asks for it while no batch comes.
    fn sync_if_due(&mut self) {
        let Some(folder) = &mut self.folder else {
            return;
        };
        let log = folder.log();
        if log.sync_due().is_some_and(|due| due <= Instant::now())
            && let Err(error) = log.sync()
        {
            tell!("presponse: {error}");
        }
    }

    /// Does what is asked for until all clients and the listener have gone, or `ends` says so. At
    /// the end the log is synced.
    pub fn run(mut self, requests: &Receiver<WriterRequest>, ends: impl Fn() -> bool) {
        while !ends() {
            let first = match requests.recv_timeout(LOOK) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => {
                    self.sync_if_due();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let mut group = vec![first];
            while group.len() < TOGETHER
                && let Ok(next) = requests.try_recv()
            {
                group.push(next);
            }
            self.handle(group);
        }
        if let Some(folder) = &mut self.folder {
            // The process ends; batches were acknowledged by the policy that was chosen.
            let _ = folder.log().sync_now();
        }
    }

    /// Does requests in their order; consecutive batches are logged together.
    fn handle(&mut self, group: Vec<WriterRequest>) {
        let mut batches = Vec::new();
        for request in group {
            match &request.task {
                WriterTask::Apply(_) => batches.push(request),
                WriterTask::Neighbors(id) => {
                    self.apply_all(std::mem::take(&mut batches));
                    request.reply(Ok(self.neighbors(*id)));
                }
                WriterTask::Snapshot => {
                    self.apply_all(std::mem::take(&mut batches));
                    request.reply(self.snapshot());
                }
            }
        }
        self.apply_all(batches);
    }

    /// Logs batches, syncs once, and applies those that are in the log.
    fn apply_all(&mut self, requests: Vec<WriterRequest>) {
        if requests.is_empty() {
            return;
        }
        let start = Instant::now();
        let (mut logged, mut room) = (Vec::new(), self.room());
        for request in requests {
            let WriterTask::Apply(changes) = &request.task else {
                continue;
            };
            let batch = self.batch + logged.len() as u64 + 1;
            // Counts all ends as new: near the limit some batches that would fit are refused.
            if changes.len() as u64 * 2 > room && !self.fits(changes) {
                let what =
                    "the graph would have more than 4294967294 vertices; the batch is not applied";
                request.reply(Err(what.to_owned()));
                continue;
            }
            let written = match &mut self.folder {
                Some(folder) => folder.log().append(batch, changes),
                None => Ok(()),
            };
            match written {
                Ok(()) => {
                    room = room.saturating_sub(changes.len() as u64 * 2);
                    logged.push(request);
                }
                Err(error) => request.reply(Err(error.to_string())),
            }
        }
        if let Some(folder) = &mut self.folder
            && let Err(error) = folder.log().sync()
        {
            for request in logged {
                request.reply(Err(error.to_string()));
            }
            return;
        }
        let log = start.elapsed() / logged.len().max(1) as u32;
        for request in logged {
            self.apply(&request, log);
        }
        let since = self.batch - self.last_snapshot;
        if self.folder.is_some() && self.snapshot_every > 0 && since >= self.snapshot_every {
            // A failure is printed; the log has everything, and another one is tried later.
            let _ = self.snapshot();
        }
    }

    /// Applies a batch that is in the log, publishes and acknowledges it.
    fn apply(&mut self, request: &WriterRequest, log: Duration) {
        let WriterTask::Apply(records) = &request.task else {
            return;
        };
        let (kind, before) = (self.answers.graph().kind(), self.names.len());
        let changes: Vec<EdgeChange> = records
            .iter()
            .filter_map(|record| numbered(kind, &mut self.names, record))
            .collect();
        let step = self.answers.apply(&changes, self.names.len() as VertexId);
        self.batch += 1;
        let new: Vec<u64> = self.names.ids_from(before).collect();
        let publish = Instant::now();
        let edges = self.answers.graph().edges();
        let confirmed = &self.context.confirmed;
        confirmed.publish(self.batch, &new, edges, &self.answers, &step);
        let (published, all) = (publish.elapsed(), request.begun.elapsed());
        let bytes = self
            .folder
            .as_mut()
            .map_or(0, |folder| folder.log().length());
        self.context.statistics.batches(|times| {
            times.run.add(records.len(), &step);
            times.acknowledged.add(all);
            times.log.add(log);
            times.publish.add(published);
            times.log_bytes = bytes;
        });
        request.reply(Ok(json!({
            "ok": true,
            "batch": self.batch,
            "inserted": step.delta.inserted.len(),
            "deleted": step.delta.deleted.len(),
            "microseconds": all.as_micros() as u64,
        })));
    }

    /// Vertices that the graph can still get.
    fn room(&self) -> u64 {
        u64::from(VERTEX_LIMIT).saturating_sub(self.names.len())
    }

    /// Whether the graph can have the vertices of a batch, counting a new id each time it occurs.
    fn fits(&self, changes: &[StreamRecord]) -> bool {
        let ends = changes.iter().flat_map(|change| [change.from, change.to]);
        let new = ends.filter(|id| self.names.get(*id).is_none());
        new.count() as u64 <= self.room()
    }

    /// The ids of the vertices that edges lead to from one.
    fn neighbors(&self, id: u64) -> Value {
        let graph = self.answers.graph();
        let known = self
            .names
            .get(id)
            .filter(|number| *number < graph.vertices());
        let numbers = known
            .into_iter()
            .flat_map(|number| graph.neighbors(number).flatten());
        let ids: Vec<u64> = numbers
            .filter_map(|number| self.names.id(*number))
            .collect();
        json!({"ok": true, "batch": self.batch, "neighbors": ids})
    }

    /// Writes a snapshot, and a new log after it.
    pub fn snapshot(&mut self) -> Result<Value, String> {
        let Some(folder) = &mut self.folder else {
            return Err("the service keeps no state; start it with --state FOLDER".to_owned());
        };
        self.last_snapshot = self.batch;
        let snapshot = Snapshot {
            batch: self.batch,
            kind: self.answers.graph().kind(),
            names: self.names.clone(),
            edges: all_edges(self.answers.graph()),
        };
        let written = folder.write_snapshot(&snapshot);
        let path = written.map_err(|error| {
            let text = format!("{error:#}");
            tell!("presponse: cannot write a snapshot: {text}");
            text
        })?;
        Ok(json!({"ok": true, "batch": self.batch, "file": path.display().to_string()}))
    }
}

/// The change that a record asks for. `None` only beyond the limit of vertices, which was checked.
fn numbered(kind: EdgeKind, names: &mut VertexNames, record: &StreamRecord) -> Option<EdgeChange> {
    let (u, v) = names.number(record.from).zip(names.number(record.to))?;
    let edge = Edge::new(kind, u, v);
    Some(match record.inserts {
        true => EdgeChange::Insert(edge),
        false => EdgeChange::Delete(edge),
    })
}

/// The edges of a graph, sorted, each once.
pub fn all_edges(graph: &SortedGraph) -> Vec<Edge> {
    let kind = graph.kind();
    let mut edges = Vec::with_capacity(graph.edges() as usize);
    for from in 0..graph.vertices() {
        for to in graph.neighbors(from).flatten().copied() {
            if kind == EdgeKind::Directed || from < to {
                edges.push(Edge { from, to });
            }
        }
    }
    edges.sort_unstable();
    edges
}
