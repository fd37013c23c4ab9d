//! The writer: the one thread that changes the graph.
//!
//! Batches that wait at the same time are written to the log together and synced once; each is
//! applied, published and acknowledged by itself, in the order in which they came.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use reuselens_graph::formats::stream::StreamRecord;
use reuselens_graph::{StoredGraph, VERTEX_LIMIT, VertexId};
use serde_json::{Value, json};

use super::Speculator;
use super::client::ClientContext;
use crate::batches;
use crate::say::tell;
use crate::speculation::SpeculativeStep;
use crate::state::log::LogError;
use crate::state::{Snapshot, StateFolder};

/// The most batches that are synced together.
const TOGETHER: usize = 64;
/// How long the writer waits for a request before it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Where the result of a request goes.
pub type Reply = SyncSender<Result<Value, String>>;

/// What the writer is asked for.
#[derive(Debug)]
pub enum WriterRequest {
    /// To apply a batch.
    Apply(ApplyRequest),
    /// To write a snapshot.
    Snapshot(Reply),
}

/// A batch to apply.
#[derive(Debug)]
pub struct ApplyRequest {
    records: Vec<StreamRecord>,
    reply: Reply,
    begun: Instant,
}

impl ApplyRequest {
    /// A request that begins now.
    pub fn new(records: Vec<StreamRecord>, reply: Reply) -> Self {
        Self {
            records,
            reply,
            begun: Instant::now(),
        }
    }
}

/// Sends a result. The client may have vanished.
fn send(reply: &Reply, result: Result<Value, String>) {
    let _ = reply.send(result);
}

/// What the writer owns.
pub struct BatchWriter {
    /// The last batch.
    pub batch: u64,
    /// The folder for updates; without it, a crash loses them.
    pub folder: Option<StateFolder>,
    /// The batch of the last snapshot, tried or written.
    pub last_snapshot: u64,
    /// The vertex from which depths are counted.
    pub root: VertexId,
    /// Batches between two snapshots; 0 for none.
    pub snapshot_every: u64,
    /// What works ahead while no batch waits.
    pub speculator: Option<Speculator>,
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

    /// Does what is asked for until all clients and the listener have gone, or `ends` returns true.
    /// At the end the log is synced.
    ///
    /// # Errors
    /// If that sync fails.
    pub fn run(
        mut self,
        requests: &Receiver<WriterRequest>,
        ends: impl Fn() -> bool,
    ) -> Result<(), LogError> {
        while !ends() {
            let first = match self.next_request(requests) {
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
        match &mut self.folder {
            Some(folder) => folder.log().sync_now(),
            None => Ok(()),
        }
    }

    /// Waits a while for a request. If none waits already, works ahead of it first.
    fn next_request(
        &mut self,
        requests: &Receiver<WriterRequest>,
    ) -> Result<WriterRequest, RecvTimeoutError> {
        if let Ok(request) = requests.try_recv() {
            return Ok(request);
        }
        if let Some(speculator) = &mut self.speculator
            && let Some(ahead) = speculator.work_ahead(&self.context.confirmed)
        {
            self.context.statistics.batches(|times| {
                let speculation = times.speculation.get_or_insert_default();
                speculation.ahead_now = ahead;
            });
        }
        requests.recv_timeout(LOOK)
    }

    /// Does requests in their order; consecutive batches are logged together.
    fn handle(&mut self, group: Vec<WriterRequest>) {
        let mut waiting = Vec::new();
        for request in group {
            match request {
                WriterRequest::Apply(request) => waiting.push(request),
                WriterRequest::Snapshot(reply) => {
                    self.apply_all(std::mem::take(&mut waiting));
                    send(&reply, self.snapshot());
                }
            }
        }
        self.apply_all(waiting);
    }

    /// Logs batches together, and applies those that are in the log.
    fn apply_all(&mut self, requests: Vec<ApplyRequest>) {
        if requests.is_empty() {
            return;
        }
        let start = Instant::now();
        let logged = self.log_batches(requests);
        if logged.is_empty() {
            return;
        }
        let log = start.elapsed() / logged.len() as u32;
        for request in logged {
            self.apply(request, log);
        }
        self.snapshot_if_due();
    }

    /// Writes batches to the log and syncs it once. Returns those that are in the log; the others
    /// are refused.
    fn log_batches(&mut self, requests: Vec<ApplyRequest>) -> Vec<ApplyRequest> {
        let length = self.log_length();
        let (mut logged, mut room) = (Vec::new(), self.room());
        for request in requests {
            let batch = self.batch + logged.len() as u64 + 1;
            match self.log_batch(batch, &request.records, &mut room) {
                Ok(()) => logged.push(request),
                Err(error) => send(&request.reply, Err(error)),
            }
        }
        if let Some(folder) = &mut self.folder
            && let Err(error) = folder.log().sync()
        {
            // They are refused, so a start must not find them.
            folder.log().cut_back(length);
            for request in logged.drain(..) {
                send(&request.reply, Err(error.to_string()));
            }
        }
        logged
    }

    /// Writes a batch to the log if the graph has room for it; why not, if it is not written.
    fn log_batch(
        &mut self,
        batch: u64,
        records: &[StreamRecord],
        room: &mut u64,
    ) -> Result<(), String> {
        if !self.admit(records, room) {
            return Err(format!(
                "the graph would have more than {VERTEX_LIMIT} vertices; the batch is not applied"
            ));
        }
        match &mut self.folder {
            Some(folder) => folder
                .log()
                .append(batch, records)
                .map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    /// Applies a batch that is in the log, publishes and acknowledges it. Writing to the log took
    /// `log`.
    fn apply(&mut self, request: ApplyRequest, log: Duration) {
        let ApplyRequest {
            records,
            reply,
            begun,
        } = request;
        let ahead = match self.context.confirmed.apply(&records) {
            Ok(ahead) => ahead,
            Err(error) => return send(&reply, Err(format!("{error:#}"))),
        };
        self.batch += 1;
        let (all, bytes) = (begun.elapsed(), self.log_length());
        // Before the reply: a client that then asks for the statistics finds its batch in them.
        self.context.statistics.batches(|times| {
            times.run.add(records.len(), &ahead.step);
            times.acknowledged.add(all);
            times.log.add(log);
            times.log_bytes = bytes;
        });
        send(
            &reply,
            Ok(json!({
                "ok": true,
                "batch": self.batch,
                "inserted": ahead.step.delta.inserted.len(),
                "deleted": ahead.step.delta.deleted.len(),
                "microseconds": all.as_micros() as u64,
            })),
        );
        self.catch_up(&records, ahead, begun);
    }

    /// Applies the batch that was acknowledged to the other replica, and learns from it. Its
    /// request came at `begun`.
    fn catch_up(&mut self, records: &[StreamRecord], mut ahead: SpeculativeStep, begun: Instant) {
        let confirmed = &self.context.confirmed;
        let start = Instant::now();
        // What the first replica has room for, the second has, too.
        let _ = confirmed.catch_up(records);
        let caught_up = start.elapsed();
        let learned = self.speculator.as_mut().map(|speculator| {
            let learned = speculator.learn(confirmed, records, &mut ahead, begun);
            (learned, speculator.work().gates())
        });
        self.context.statistics.batches(|times| {
            times.catch_up.add(caught_up);
            if let Some((learned, gates)) = learned {
                let speculation = times.speculation.get_or_insert_default();
                speculation.add(learned, &ahead, gates);
            }
        });
    }

    /// Writes a snapshot if enough batches came since the last one.
    fn snapshot_if_due(&mut self) {
        let since = self.batch - self.last_snapshot;
        if self.folder.is_some() && self.snapshot_every > 0 && since >= self.snapshot_every {
            // A failure is printed; the log has everything, and another one is tried later.
            let _ = self.snapshot();
        }
    }

    /// Bytes of the log; 0 without one.
    fn log_length(&mut self) -> u64 {
        let folder = self.folder.as_mut();
        folder.map_or(0, |folder| folder.log().length())
    }

    /// Vertices that the graph can still get.
    fn room(&self) -> u64 {
        batches::room(&self.context.confirmed.read().names)
    }

    /// Whether a batch fits into the room that earlier ones of its group left, and takes its part.
    /// A vertex that is new in several of them is counted in each, so near the limit some batches
    /// that would fit are refused.
    fn admit(&self, changes: &[StreamRecord], room: &mut u64) -> bool {
        let added = batches::added(&self.context.confirmed.read().names, changes, *room);
        let fits = added <= *room;
        if fits {
            *room -= added;
        }
        fits
    }

    /// Writes a snapshot, and a new log after it.
    pub fn snapshot(&mut self) -> Result<Value, String> {
        let Some(folder) = &mut self.folder else {
            return Err("the service keeps no state; start it with --state FOLDER".to_owned());
        };
        self.last_snapshot = self.batch;
        let state = self.context.confirmed.read();
        let snapshot = Snapshot {
            batch: self.batch,
            kind: state.answers().graph().kind(),
            root: self.root,
            names: state.names.clone(),
            edges: state.answers().graph().edge_list(),
        };
        drop(state);
        let written = folder.write_snapshot(&snapshot);
        let path = written.map_err(|error| {
            let text = format!("{error:#}");
            tell!("presponse: cannot write a snapshot: {text}");
            text
        })?;
        Ok(json!({"ok": true, "batch": self.batch, "file": path.display().to_string()}))
    }
}

#[cfg(test)]
mod tests;
