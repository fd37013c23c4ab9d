//! Options that several commands have, and the graph that they begin with.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use reuselens_graph::formats::LoadedGraph;
use reuselens_graph::{EdgeKind, SortedGraph, StoredGraph, VERTEX_LIMIT, VertexId, VertexNames};
use reuselens_io::AtomicFile;
use reuselens_units::{Bytes, counted, grouped};
use serde_json::Value;

use crate::batches::{BatchLimit, Batches};
use crate::exit::{Outcome, WrongUsage};
use crate::input::{open_stream, read_graph};
use crate::progress::BatchMeter;
use crate::say::{self, say, tell};

/// The graph, its kind, and where answers begin.
#[derive(clap::Args, Debug)]
pub struct GraphOptions {
    /// The format of the graph: edges, matrix-market, metis or dimacs; without it, found from the
    /// content and the name
    #[arg(long, value_name = "NAME", help_heading = "Graph")]
    pub format: Option<String>,

    /// Take edges as directed (depths follow them; components and triangles do not)
    #[arg(long, help_heading = "Graph")]
    pub directed: bool,

    /// The vertex from which depths are counted [default: the first one of the graph]
    #[arg(long, value_name = "ID", help_heading = "Graph")]
    pub root: Option<u64>,

    /// Threads that apply a batch [default: those of the machine]
    #[arg(long, value_name = "N", help_heading = "Graph", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
}

/// The help of the graph, where a stream follows.
pub const GRAPH_HELP: &str = "The graph before the first change: an edge list, MatrixMarket, METIS \
or DIMACS file [default: an empty one]";

/// What is written, and over what.
#[derive(clap::Args, Debug)]
pub struct OutputOptions {
    /// Write the results as JSON; - is standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    json: Option<PathBuf>,

    /// Write a page with the results, for a browser
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Overwrite files
    #[arg(short, long, help_heading = "Output")]
    pub force: bool,

    /// Say nothing but errors
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

impl OutputOptions {
    /// Looks whether the files may be written, before work is done for them.
    ///
    /// # Errors
    /// If one exists and there is no `--force`.
    pub fn check(&self) -> Outcome {
        for file in [&self.json, &self.output].into_iter().flatten() {
            AtomicFile::check(file, self.force)?;
        }
        Ok(())
    }

    /// Whether standard output is for people.
    pub fn talks(&self) -> bool {
        !self.quiet && self.json.as_deref() != Some("-".as_ref())
    }

    /// Writes the JSON that `value` gives, if that is asked for.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_json(&self, value: impl FnOnce() -> Value) -> Outcome {
        let Some(file) = &self.json else {
            return Ok(());
        };
        let text = serde_json::to_string_pretty(&value())? + "\n";
        write_whole(file, text.as_bytes(), self.force)
    }

    /// Writes the page that `page` gives, if that is asked for, and says where it is.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_page(&self, page: impl FnOnce() -> String) -> Outcome {
        let Some(file) = &self.output else {
            return Ok(());
        };
        write_whole(file, page().as_bytes(), self.force)?;
        if !self.quiet {
            say!("Page: {}  (open it in a browser)", file.display())?;
        }
        Ok(())
    }
}

/// A graph that is ready for batches.
pub struct ReadyGraph {
    /// Its ids.
    pub names: VertexNames,
    /// Its edges.
    pub graph: SortedGraph,
    /// The vertex from which depths are counted.
    pub root: VertexId,
    /// What is in the file, on one line.
    pub about: String,
}

impl GraphOptions {
    /// Whether edges have a direction.
    pub fn kind(&self) -> EdgeKind {
        if self.directed {
            EdgeKind::Directed
        } else {
            EdgeKind::Undirected
        }
    }

    /// The threads that apply a batch.
    pub fn threads(&self) -> usize {
        self.threads
            .map_or_else(|| reuselens_workers::processors().get(), usize::from)
    }

    /// Reads the graph; without a path it is empty. The root becomes a vertex if it is none.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self, path: Option<&Path>, quiet: bool) -> anyhow::Result<ReadyGraph> {
        let _meter = BatchMeter::busy("reading the graph", quiet);
        let kind = self.kind();
        let loaded = match path {
            Some(path) => read_graph(path, self.format.as_deref())?,
            None => LoadedGraph::default(),
        };
        let census = loaded.census(kind);
        let mut names = loaded.names;
        let known = names.len();
        let root = self.root_number(&mut names)?;
        check_memory(names.len())?;
        if let Some(id) = self.root
            && names.len() > known
            && known > 0
        {
            tell!(
                "presponse: warning: the root {id} is no vertex of the graph; nothing is reached until \
                 an edge leads from it"
            );
        }
        let mut graph = SortedGraph::new(kind, names.len() as VertexId);
        graph.set_threads(self.threads());
        graph.load(census.edges);
        let mut about = format!(
            "{}: {}, {} ({})",
            path.unwrap_or("no graph".as_ref()).display(),
            counted(names.len(), "vertex", "vertices"),
            counted(graph.edges(), "edge", "edges"),
            if self.directed {
                "directed"
            } else {
                "undirected"
            },
        );
        let left_out = [
            (census.loops, "self loop", "self loops"),
            (census.repeats, "repeat", "repeats"),
        ];
        for (count, one, many) in left_out.into_iter().filter(|(count, ..)| *count > 0) {
            about += &format!("; {} left out", counted(count, one, many));
        }
        if loaded.has_header {
            about += "; its first line is a header";
        }
        Ok(ReadyGraph {
            names,
            graph,
            root,
            about,
        })
    }

    /// The number of the root, which gets one if it has none; without the option, number 0.
    ///
    /// # Errors
    /// If there are too many vertices.
    pub fn root_number(&self, names: &mut VertexNames) -> anyhow::Result<VertexId> {
        match self.root {
            None => Ok(0),
            Some(id) => names
                .number(id)
                .with_context(|| format!("a graph has at most {VERTEX_LIMIT} vertices")),
        }
    }
}

/// The stream and how it is cut.
#[derive(clap::Args, Debug)]
pub struct StreamOptions {
    /// The changes: a file with `u v`, `+ u v` or `- u v` per line, with a time after it if you
    /// like; - is standard input
    #[arg(long, value_name = "FILE", help_heading = "Stream")]
    pub stream: PathBuf,

    /// Changes per batch
    #[arg(long, value_name = "N", default_value_t = 1000, help_heading = "Stream", value_parser = clap::value_parser!(u64).range(1..))]
    pub batch: u64,

    /// End a batch after this time since its first change, in the unit of the stream, instead of
    /// after N changes
    #[arg(long, value_name = "TIME", conflicts_with = "batch", help_heading = "Stream", value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
}

impl StreamOptions {
    /// Opens the stream.
    ///
    /// # Errors
    /// If it cannot be opened, or is the graph too.
    pub fn open(&self, graph: Option<&Path>) -> anyhow::Result<Batches> {
        let stdin = Path::new("-");
        if self.stream == stdin && graph == Some(stdin) {
            let what =
                "the graph and the stream cannot both be standard input; name a file for one";
            return Err(WrongUsage(what.to_owned()).into());
        }
        AtomicFile::protect(&self.stream);
        graph.into_iter().for_each(AtomicFile::protect);
        let limit = match self.every {
            Some(length) => BatchLimit::Time(length),
            None => BatchLimit::Count(self.batch),
        };
        Ok(Batches::new(
            open_stream(&self.stream)?,
            &self.stream,
            limit,
        ))
    }

    /// How it is cut, for a heading.
    pub fn cut(&self) -> String {
        match self.every {
            Some(length) => format!("batches of {} time units", grouped(length)),
            None => format!("batches of {}", counted(self.batch, "change", "changes")),
        }
    }
}

/// The least memory of a vertex without edges, in its lists and in the answers.
const VERTEX_BYTES: u64 = 64;

/// Fails where the system has no memory for this many vertices: a short file may announce billions.
fn check_memory(vertices: u64) -> anyhow::Result<()> {
    let bytes = vertices.saturating_mul(VERTEX_BYTES);
    let is_given =
        usize::try_from(bytes).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok());
    anyhow::ensure!(
        is_given,
        "{} need {} of memory, which the system does not give; are there so many, and would smaller \
         numbers do?",
        counted(vertices, "vertex", "vertices"),
        Bytes(bytes)
    );
    Ok(())
}

/// Warns of changes that were earlier than one before them, where batches end by time.
pub fn warn_of_late(changes: u64, quiet: bool) {
    if changes > 0 && !quiet {
        tell!(
            "presponse: warning: {} earlier than one before; each counts into the batch in \
             which it is read; sort the stream by time",
            counted(changes, "change is", "changes are")
        );
    }
}

/// Writes a file that appears complete or not at all; `-` is standard output.
///
/// # Errors
/// If it exists and there is no `force`, or the disk is full or refuses.
pub fn write_whole(path: &Path, bytes: &[u8], force: bool) -> Outcome {
    if path == Path::new("-") {
        return Ok(say::bytes(bytes)?);
    }
    let mut file = AtomicFile::create(path, force)?;
    file.write_all(bytes)
        .with_context(|| format!("cannot write {}", path.display()))?;
    file.commit()?;
    Ok(())
}
