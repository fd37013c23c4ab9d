//! `presponse serve`: keeps a graph and its answers, and serves clients on this machine.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use anyhow::Context as _;
use reuselens_graph::formats::stream::StreamRecord;
use reuselens_graph::{EdgeKind, SortedGraph, StoredGraph, VertexId, VertexNames};
use reuselens_units::counted;

use super::shared::GraphOptions;
use crate::answers::{Answers, Rules};
use crate::batches;
use crate::exit::{Outcome, WrongUsage};
use crate::interrupt;
use crate::say::{say, tell};
use crate::service::client::{self, ClientContext};
use crate::service::confirmed::Replica;
use crate::service::listener::Connection;
use crate::service::statistics::ServiceStatistics;
use crate::service::writer::{BatchWriter, WriterRequest};
use crate::service::{Confirmed, Listener, Speculator};
use crate::speculation::SpeculationKind;
use crate::state::{Recover, RecoverOrBegin, Recovered, Snapshot, StateFolder, SyncPolicy};

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
struct Begin<'a> {
    args: &'a Args,
    kind: EdgeKind,
    names: VertexNames,
    graph: SortedGraph,
    /// The vertex from which depths are counted.
    root: VertexId,
    is_recovered: bool,
}

impl Begin<'_> {
    /// Reads the graph of the command line.
    fn read_graph(&mut self) -> anyhow::Result<()> {
        let args = self.args;
        if let Some(path) = &args.graph {
            let ready = args.from.read(Some(path), args.quiet)?;
            (self.names, self.graph) = (ready.names, ready.graph);
        }
        self.root = args.from.root_number(&mut self.names)?;
        self.graph.grow(self.names.len() as VertexId);
        Ok(())
    }
}

impl RecoverOrBegin for Begin<'_> {
    fn first(&mut self, was_begun: bool) -> anyhow::Result<Snapshot> {
        if let (true, None, Some(state)) = (was_begun, &self.args.graph, &self.args.state) {
            let state = state.display();
            anyhow::bail!(
                "{state} has no graph: the service that began it was ended before it had written one; name the graph \
                 again, or remove {state} to begin with an empty one"
            );
        }
        self.read_graph()?;
        Ok(Snapshot {
            batch: 0,
            kind: self.kind,
            root: self.root,
            names: self.names.clone(),
            edges: self.graph.edge_list(),
        })
    }
}

impl Recover for Begin<'_> {
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
        let stop = interrupt::graceful();
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
        let thread = std::thread::Builder::new().name("writer".to_owned());
        let thread = thread.spawn(move || writer.run(&receiver, || stop.load(Ordering::Relaxed)));
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
            args: self,
            kind,
            names: VertexNames::new(),
            graph: SortedGraph::new(kind, 0),
            root: 0,
            is_recovered: false,
        };
        begin.graph.set_threads(self.from.threads());
        let mut folder = None;
        let mut recovered = Recovered::default();
        match &self.state {
            Some(path) => {
                let (opened, found) = StateFolder::open(path, kind, self.sync, &mut begin)?;
                (folder, recovered) = (Some(opened), found);
                self.report(path, &recovered);
            }
            None => begin.read_graph()?,
        }
        if begin.is_recovered {
            self.check_continued(&begin)?;
        }
        begin.graph.grow(begin.names.len() as VertexId);
        let root = begin.root;
        let [one, other] = self.replicas(begin, root, recovered.batch);
        let context = Arc::new(ClientContext {
            confirmed: Confirmed::new(one, other),
            statistics: ServiceStatistics::new(),
            max_batch: self.max_batch,
        });
        let writer = BatchWriter {
            batch: recovered.batch,
            folder,
            last_snapshot: recovered.batch,
            root,
            snapshot_every: self.snapshot_every,
            speculator,
            context: Arc::clone(&context),
        };
        Ok((writer, context))
    }

    /// Refuses a graph or a root beside those of the folder.
    fn check_continued(&self, begin: &Begin<'_>) -> anyhow::Result<()> {
        let state = self.state.as_deref().unwrap_or("the folder".as_ref());
        let state = state.display();
        if let Some(graph) = &self.graph {
            let graph = graph.display();
            return Err(WrongUsage(format!(
                "{state} has a graph already, so {graph} cannot be the one to begin with; leave the graph out to go \
                 on, or name another folder"
            ))
            .into());
        }
        let kept = begin.names.id(begin.root);
        if self.from.root.is_some_and(|asked| Some(asked) != kept) {
            let root = match kept {
                Some(id) => format!("vertex {id}"),
                None => "the vertex that comes first".to_owned(),
            };
            return Err(WrongUsage(format!(
                "{state} counts depths from {root}; leave out --root to go on, or name another folder"
            ))
            .into());
        }
        Ok(())
    }

    /// The two replicas of the state to begin with, computed at the same time.
    fn replicas(&self, begin: Begin<'_>, root: VertexId, batch: u64) -> [Replica; 2] {
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
