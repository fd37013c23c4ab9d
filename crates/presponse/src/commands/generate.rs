//! `presponse generate`: writes graphs and streams made up from random numbers.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use reuselens_graph::formats::stream::StreamRecord;
use reuselens_graph::generate::{
    ChangeMix, Changes, RmatShares, barabasi_albert, delaunay, erdos_renyi, rmat, window,
};
use reuselens_graph::{Edge, EdgeChange, EdgeKind};
use reuselens_io::AtomicFile;
use reuselens_units::counted;

use crate::batches::StreamClock;
use crate::exit::{Outcome, WrongUsage};
use crate::input::{open_stream, read_graph};
use crate::say::{stdout, tell};

/// Write a graph or a stream made up from random numbers; the same seed gives the same one
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    what: What,

    /// The seed
    #[arg(long, default_value_t = 1, global = true)]
    seed: u64,

    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE", global = true)]
    output: Option<PathBuf>,

    /// Overwrite the file
    #[arg(short, long, global = true)]
    force: bool,
}

/// What can be made up.
#[derive(Debug, clap::Subcommand)]
enum What {
    /// A Delaunay triangulation of random points: no hubs, long paths
    Delaunay {
        /// Vertices
        #[arg(long, default_value_t = 1 << 15)]
        vertices: u32,
    },
    /// An R-MAT graph of 2^SCALE vertices: hubs, short paths
    Rmat {
        /// The vertices as a power of two
        #[arg(long, default_value_t = 15)]
        scale: u32,
        /// Pairs that are drawn per vertex
        #[arg(long, default_value_t = 16)]
        degree: u64,
        /// Directed edges
        #[arg(long)]
        directed: bool,
    },
    /// An Erdős–Rényi graph: all graphs of so many edges are equally likely
    ErdosRenyi {
        /// Vertices
        #[arg(long, default_value_t = 1 << 15)]
        vertices: u32,
        /// Edges
        #[arg(long, default_value_t = 1 << 18)]
        edges: u64,
        /// Directed edges
        #[arg(long)]
        directed: bool,
    },
    /// A Barabási–Albert graph: it grows, and new vertices prefer hubs
    BarabasiAlbert {
        /// Vertices
        #[arg(long, default_value_t = 1 << 15)]
        vertices: u32,
        /// Edges of each new vertex
        #[arg(long, default_value_t = 8)]
        each: u32,
    },
    /// A stream of random changes of a graph
    Changes {
        /// The graph
        graph: PathBuf,
        /// The format of the graph; without it, found from the content and the name
        #[arg(long, value_name = "NAME")]
        format: Option<String>,
        /// Changes
        #[arg(long, default_value_t = 100_000)]
        count: u64,
        /// The share of deletions, from 0 to 1
        #[arg(long, default_value_t = 0.5, value_parser = share)]
        deletions: f64,
        /// The share of insertions that bring back a deleted edge, from 0 to 1
        #[arg(long, default_value_t = 0.5, value_parser = share)]
        returns: f64,
        /// Take edges as directed
        #[arg(long)]
        directed: bool,
    },
    /// A sliding window over a temporal graph (`u v time`): each edge is deleted once it is LENGTH
    /// old
    Window {
        /// The temporal graph
        stream: PathBuf,
        /// The age at which an edge is deleted, in the unit of its times
        #[arg(long)]
        length: u64,
        /// Take edges as directed
        #[arg(long)]
        directed: bool,
    },
}

impl Args {
    /// Makes it up and writes it.
    pub fn run(self) -> Outcome {
        if let Some(file) = &self.output {
            AtomicFile::check(file, self.force)?;
        }
        let seed = self.seed;
        let edges = match &self.what {
            What::Delaunay { vertices } => delaunay(*vertices, seed),
            What::Rmat {
                scale,
                degree,
                directed,
            } => {
                let draws = degree.saturating_mul(1 << (*scale).min(31));
                rmat(kind(*directed), *scale, draws, RmatShares::default(), seed)
            }
            What::ErdosRenyi {
                vertices,
                edges,
                directed,
            } => erdos_renyi(kind(*directed), *vertices, *edges, seed),
            What::BarabasiAlbert { vertices, each } => barabasi_albert(*vertices, *each, seed),
            What::Changes { .. } => return self.write_changes(),
            What::Window {
                stream,
                length,
                directed,
            } => {
                AtomicFile::protect(stream);
                let records = read_records(stream)?;
                warn_of_early(&records);
                let records = window(kind(*directed), &records, *length);
                return self.write_stream(records.into_iter());
            }
        };
        let edges = edges.map_err(|error| WrongUsage(error.to_string()))?;
        self.write(|out| {
            for Edge { from, to } in &edges {
                writeln!(out, "{from} {to}")?;
            }
            Ok(edges.len() as u64)
        })
    }

    fn write_changes(&self) -> Outcome {
        let What::Changes {
            graph,
            format,
            count,
            deletions,
            returns,
            directed,
        } = &self.what
        else {
            return Ok(());
        };
        AtomicFile::protect(graph);
        let loaded = read_graph(graph, format.as_deref())?;
        let (kind, names) = (kind(*directed), &loaded.names);
        let mix = ChangeMix {
            deletions: *deletions,
            returns: *returns,
        };
        let edges = loaded.census(kind).edges;
        let changes = Changes::new(kind, names.len() as u32, &edges, mix, self.seed);
        let records = changes.take(*count as usize).map(|change| {
            let Edge { from, to } = change.edge();
            let id = |number| names.id(number).unwrap_or_default();
            StreamRecord {
                inserts: matches!(change, EdgeChange::Insert(_)),
                from: id(from),
                to: id(to),
                time: None,
            }
        });
        self.write_stream(records)
    }

    fn write_stream(&self, records: impl Iterator<Item = StreamRecord>) -> Outcome {
        self.write(|out| {
            let mut lines = 0;
            for record in records {
                let sign = if record.inserts { '+' } else { '-' };
                write!(out, "{sign} {} {}", record.from, record.to)?;
                match record.time {
                    Some(time) => writeln!(out, " {time}")?,
                    None => writeln!(out)?,
                }
                lines += 1;
            }
            Ok(lines)
        })
    }

    /// Writes lines to the file or to standard output, and says how many there are.
    fn write(&self, lines: impl FnOnce(&mut dyn Write) -> std::io::Result<u64>) -> Outcome {
        let Some(path) = self
            .output
            .as_deref()
            .filter(|path| *path != Path::new("-"))
        else {
            let mut out = BufWriter::new(stdout());
            lines(&mut out)?;
            return Ok(out.flush()?);
        };
        let mut file = AtomicFile::create(path, self.force)?;
        let count = lines(&mut file);
        let count = count.with_context(|| format!("cannot write {}", path.display()))?;
        file.commit()?;
        tell!("{}: {}", path.display(), counted(count, "line", "lines"));
        Ok(())
    }
}

fn kind(directed: bool) -> EdgeKind {
    if directed {
        EdgeKind::Directed
    } else {
        EdgeKind::Undirected
    }
}

/// A share from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    let share = text
        .parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "it should be a number from 0 to 1".to_owned())
}

/// Warns of insertions that are earlier than one before: [`window`] gives them the latest time so
/// far. Deletions are left out of a window, whatever their times are.
fn warn_of_early(records: &[StreamRecord]) {
    let mut clock = StreamClock::default();
    let insertions = records.iter().filter(|record| record.inserts);
    insertions
        .filter_map(|record| record.time)
        .for_each(|time| clock.add(time));
    if clock.late > 0 {
        tell!(
            "presponse: warning: {} earlier than one before, and got the latest time so far; sort \
             the stream by time",
            counted(clock.late, "record is", "records are")
        );
    }
}

fn read_records(path: &Path) -> anyhow::Result<Vec<StreamRecord>> {
    let mut stream = open_stream(path)?;
    let mut records = Vec::new();
    loop {
        let record = stream.next_record();
        match record.with_context(|| format!("cannot read {}", path.display()))? {
            Some(record) if record.time.is_none() => {
                let (shown, line) = (path.display(), stream.line());
                let what = "a window needs a time in each line, as in `u v time`";
                return Err(WrongUsage(format!("{shown}: line {line} has none; {what}")).into());
            }
            Some(record) => records.push(record),
            None => return Ok(records),
        }
    }
}
