//! `presponse serve`: keeps a graph and its answers, and serves clients on this machine.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use anyhow::Context as _;
use reuselens_graph::formats::stream::StreamRecord;
use reuselens_graph::{EdgeKind, SortedGraph, StoredGraph, VertexId, VertexNames};
use reuselens_units::counted;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::shared::GraphOptions;
use crate::answers::{Answers, Rules};
use crate::batches;
use crate::exit::{Outcome, WrongUsage};
use crate::say::{say, tell};
use crate::service::client::{self, ClientContext};
use crate::service::confirmed::Replica;
use crate::service::listener::Connection;
use crate::service::statistics::ServiceStatistics;
use crate::service::writer::{BatchWriter, WriterRequest};
use crate::service::{Confirmed, Listener, Speculator};
use crate::speculation::SpeculationKind;
use crate::state::{Recover, Recovered, Snapshot, StateFolder, SyncPolicy};

/// Requests that wait for the writer; further clients wait to send.
const WAITING: usize = 256;

/// Keep a graph and its answers, and serve clients on this machine
#[derive(clap::Args, Debug)]
#[command(override_usage = "presponse serve [GRAPH] [--listen ADDRESS | --socket PATH] [OPTIONS]")]
pub struct Args {
    /// The graph to begin with [default: an empty one, or what --state has]
    graph: Option<PathBuf>,

    #[command(flatten)]
    from: GraphOptions,

    /// Listen at this loopback address; port 0 is a free one
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:7474",
        help_heading = "Clients"
    )]
    listen: SocketAddr,

    /// Listen at a Unix socket instead
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with = "listen",
        help_heading = "Clients"
    )]
    socket: Option<PathBuf>,

    /// The most clients at a time
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = "Clients", value_parser = clap::value_parser!(u64).range(1..))]
    max_clients: u64,

    /// The most changes of a batch
    #[arg(long, value_name = "N", default_value_t = 1_000_000, help_heading = "Clients", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    max_batch: u64,

    /// Work ahead of the next batch while none waits; readers do not see it
    #[arg(
        long,
        value_enum,
        value_name = "KIND",
        default_value_t,
        help_heading = "Work ahead"
    )]
    speculate: SpeculationKind,

    /// The stream is a sliding window: it deletes each edge when its last insertion is this old, in
    /// the unit of the times of its changes (needed for expiries)
    #[arg(long, value_name = "LENGTH", help_heading = "Work ahead")]
    window: Option<u64>,

    /// Keep updates in this folder, and go on from what it has
    #[arg(long, value_name = "FOLDER", help_heading = "Durability")]
    state: Option<PathBuf>,

    /// When the update log is forced to the disk: always (before a batch is acknowledged), never,
    /// or at most every so many milliseconds
    #[arg(long, value_name = "WHEN", default_value = "always", value_parser = sync_policy, requires = "state", help_heading = "Durability")]
    sync: SyncPolicy,

    /// Write a snapshot after so many batches; 0 for none but those that clients ask for
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100_000,
        requires = "state",
        help_heading = "Durability"
    )]
    snapshot_every: u64,

    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// A graph whose edges are collected before the answers are computed once.
struct Begin {
    kind: EdgeKind,
    names: VertexNames,
    graph: SortedGraph,
    /// The root of the snapshot; without one, the vertex that comes first.
    root: VertexId,
    is_recovered: bool,
}

impl Recover for Begin {
    fn snapshot(&mut self, snapshot: Snapshot) -> anyhow::Result<()> {
        self.is_recovered = true;
        (self.names, self.root) = (snapshot.names, snapshot.root);
        self.graph.grow(self.names.len() as VertexId);
        self.graph.load(snapshot.edges);
        Ok(())
    }

    fn batch(&mut self, _: u64, records: &[StreamRecord]) -> anyhow::Result<()> {
        self.is_recovered = true;
        let mut changes = Vec::with_capacity(records.len());
        batches::replace_changes(self.kind, &mut self.names, records, &mut changes)?;
        self.graph.grow(self.names.len() as VertexId);
        self.graph.apply(&changes);
        Ok(())
    }
}

impl Args {
    /// Recovers, listens and serves until a signal.
    pub fn run(self) -> Outcome {
        let speculator = self.speculator()?;
        let listener = match &self.socket {
            Some(path) => Listener::unix(path)?,
            None => Listener::tcp(self.listen)?,
        };
        let (writer, context) = self.begin(speculator)?;
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
        }
        if !self.quiet {
            let state = context.confirmed.read();
            let vertices = counted(state.names.len(), "vertex", "vertices");
            let edges = state.answers().graph().edges();
            let edges = counted(edges, "edge", "edges");
            say!("Serving {vertices} and {edges} after batch {}", state.batch)?;
            drop(state);
        }
        // Programs wait for this line, so it comes even if quiet.
        say!("Listening at {}", listener.shown())?;
        let (requests, receiver) = sync_channel(WAITING);
        let ends = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("writer".to_owned());
        let thread = thread.spawn(move || writer.run(&receiver, || ends.load(Ordering::Relaxed)));
        let thread = thread.context("cannot start the thread that applies batches")?;
        let path = self.socket.clone();
        let accepting = std::thread::Builder::new().name("listener".to_owned());
        let most = self.max_clients;
        let accepting = accepting.spawn(move || accept(&listener, &context, &requests, most));
        accepting.context("cannot start the thread that accepts clients")?;
        // The writer sees the signal; the thread that waits for clients ends with the process.
        let ended = thread.join();
        if let Some(path) = path {
            let _ = std::fs::remove_file(path);
        }
        match ended {
            Ok(synced) => synced.context("the last batches may not outlast a power failure"),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// What works ahead, if anything does.
    fn speculator(&self) -> anyhow::Result<Option<Speculator>> {
        let wrong = match (self.speculate, self.window) {
            (SpeculationKind::Expiries, None) => {
                "--speculate expiries needs the length of the window: --window LENGTH"
            }
            (SpeculationKind::Off | SpeculationKind::EdgeBank | SpeculationKind::Warm, Some(_)) => {
                "--window has no effect here; use --speculate expiries or gated, or leave it out"
            }
            (SpeculationKind::Off, None) => return Ok(None),
            (kind, window) => return Ok(Some(Speculator::new(kind, window))),
        };
        Err(WrongUsage(wrong.to_owned()).into())
    }

    /// Reads the graph or the folder, and computes the answers.
    fn begin(
        &self,
        speculator: Option<Speculator>,
    ) -> anyhow::Result<(BatchWriter, Arc<ClientContext>)> {
        let kind = self.from.kind();
        let mut begin = Begin {
            kind,
            names: VertexNames::new(),
            graph: SortedGraph::new(kind, 0),
            root: 0,
            is_recovered: false,
        };
        begin.graph.set_threads(self.from.threads());
        let mut folder = None;
        let mut recovered = Recovered::default();
        if let Some(path) = &self.state {
            let (opened, found) = StateFolder::open(path, kind, self.sync, &mut begin)?;
            (folder, recovered) = (Some(opened), found);
            self.report(path, &recovered);
        }
        if let Some(path) = &self.graph {
            if begin.is_recovered {
                let (graph, state) = (
                    path.display(),
                    self.state.as_deref().unwrap_or(path).display(),
                );
                let what = "leave the graph out to go on, or name another folder";
                return Err(WrongUsage(format!(
                    "{state} has a graph already, so {graph} cannot be the one to begin with; {what}"
                ))
                .into());
            }
            let ready = self.from.read(Some(path), self.quiet)?;
            (begin.names, begin.graph) = (ready.names, ready.graph);
        }
        let root = self.root(&mut begin)?;
        begin.graph.grow(begin.names.len() as VertexId);
        // The log has only changes: without the graph and the root they could not be replayed.
        let has_more = self.graph.is_some() || !begin.names.is_empty();
        let needs_snapshot = folder.is_some() && !begin.is_recovered && has_more;
        let [one, other] = self.replicas(begin, root, recovered.batch);
        let context = Arc::new(ClientContext {
            confirmed: Confirmed::new(one, other),
            statistics: ServiceStatistics::new(),
            max_batch: self.max_batch,
        });
        let mut writer = BatchWriter {
            batch: recovered.batch,
            folder,
            last_snapshot: recovered.batch,
            root,
            snapshot_every: self.snapshot_every,
            speculator,
            context: Arc::clone(&context),
        };
        if needs_snapshot {
            writer.snapshot().map_err(anyhow::Error::msg)?;
        }
        Ok((writer, context))
    }

    /// The number of the root: that of the folder if it has a graph, else that of `--root`.
    fn root(&self, begin: &mut Begin) -> anyhow::Result<VertexId> {
        if !begin.is_recovered {
            return self.from.root_number(&mut begin.names);
        }
        let kept = begin.names.id(begin.root);
        if self.from.root.is_some_and(|asked| Some(asked) != kept) {
            let state = self.state.as_deref().unwrap_or("the folder".as_ref());
            let root = match kept {
                Some(id) => format!("vertex {id}"),
                None => "the vertex that comes first".to_owned(),
            };
            return Err(WrongUsage(format!(
                "{} counts depths from {root}; leave out --root to go on, or name another folder",
                state.display()
            ))
            .into());
        }
        Ok(begin.root)
    }

    /// The two replicas of the state to begin with, computed at the same time.
    fn replicas(&self, begin: Begin, root: VertexId, batch: u64) -> [Replica; 2] {
        let threads = self.from.threads();
        let answers = |graph| Answers::new(graph, root, Rules::Ours, threads);
        let copy = begin.graph.clone();
        let (one, other) = std::thread::scope(|scope| {
            let other = scope.spawn(|| answers(copy));
            let one = answers(begin.graph);
            match other.join() {
                Ok(other) => (one, other),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        });
        [(one, begin.names.clone()), (other, begin.names)]
            .map(|(answers, names)| Replica::new(batch, names, answers))
    }

    fn report(&self, path: &Path, recovered: &Recovered) {
        let shown = path.display();
        if recovered.dropped > 0 {
            tell!(
                "presponse: {shown}: the end of the log is damaged or was cut off, and is dropped ({}); with --sync always a batch in it was acknowledged only if the file was damaged later",
                counted(recovered.dropped, "byte", "bytes")
            );
        }
        if recovered.replayed > 0 && !self.quiet {
            let batches = counted(recovered.replayed, "batch", "batches");
            tell!("presponse: {shown}: {batches} replayed");
        }
    }
}

/// Starts a thread for each client.
fn accept(
    listener: &Listener,
    context: &Arc<ClientContext>,
    requests: &SyncSender<WriterRequest>,
    most: u64,
) {
    loop {
        let Ok(connection) = listener.accept() else {
            // Too many open files: clients that leave make room.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        let clients = &context.statistics.clients;
        context
            .statistics
            .connections
            .fetch_add(1, Ordering::Relaxed);
        if clients.fetch_add(1, Ordering::Relaxed) >= most {
            refuse(
                &connection,
                &format!("there are {most} clients already; try again later"),
            );
            clients.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (shared, requests) = (Arc::clone(context), requests.clone());
        let thread = std::thread::Builder::new().name("client".to_owned());
        let started = thread.spawn(move || {
            client::serve(&connection, &shared, &requests);
            shared.statistics.clients.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            clients.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn refuse(mut connection: &Connection, error: &str) {
    use std::io::Write as _;
    let reply = serde_json::json!({"ok": false, "error": error});
    // The client may have gone already.
    let _ = connection.write_all(format!("{reply}\n").as_bytes());
}

/// `always`, `never`, or a time in milliseconds.
fn sync_policy(text: &str) -> Result<SyncPolicy, String> {
    match text {
        "always" => Ok(SyncPolicy::Always),
        "never" => Ok(SyncPolicy::Never),
        _ => {
            let milliseconds = text.parse().map(Duration::from_millis);
            let every = milliseconds.map(SyncPolicy::Every);
            every.map_err(|_| "it should be always, never, or milliseconds such as 100".to_owned())
        }
    }
}
