//! `presponse export`: writes batches as differences, for differential dataflow and others.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use reuselens_graph::EdgeKind;
use reuselens_io::AtomicFile;
use reuselens_io::console::NamedOutput;
use reuselens_units::counted;

use super::shared::StreamOptions;
use crate::differences::DifferenceWriter;
use crate::exit::{Outcome, WrongUsage};
use crate::input::read_graph;
use crate::say::{stdout, tell};
use crate::state;

/// Write batches as lines `from to batch difference`, for differential dataflow and others
#[derive(clap::Args, Debug)]
#[command(
    override_usage = "presponse export FOLDER [OPTIONS]\n       presponse export GRAPH --stream FILE [OPTIONS]"
)]
pub struct Args {
    /// The folder of `presponse serve --state`, while no service has it open, or a graph
    from: PathBuf,

    /// The format of the graph; without it, found from the content and the name
    #[arg(long, value_name = "NAME")]
    format: Option<String>,

    /// Take edges of the graph as directed
    #[arg(long)]
    directed: bool,

    /// The changes of the graph
    #[arg(long, value_name = "FILE")]
    stream: Option<PathBuf>,

    /// Changes per batch
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,

    /// End a batch after this time since its first change, instead of after N changes
    #[arg(long, value_name = "TIME", conflicts_with = "batch", value_parser = clap::value_parser!(u64).range(1..))]
    every: Option<u64>,

    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite the file
    #[arg(short, long)]
    force: bool,
}

impl Args {
    /// Reads and writes.
    pub fn run(self) -> Outcome {
        let target = self
            .output
            .as_deref()
            .filter(|path| *path != Path::new("-"));
        let Some(path) = target else {
            return Ok(self.write(BufWriter::new(stdout()))?.0.flush()?);
        };
        AtomicFile::protect(&self.from);
        let file = AtomicFile::create(path, self.force)?;
        let (file, lines) = self.write(NamedOutput::file(file, path))?;
        file.out.commit()?;
        tell!("{}: {lines}", path.display());
        Ok(())
    }

    /// Writes everything; returns what was written in words.
    fn write<W: Write>(&self, out: W) -> anyhow::Result<(W, String)> {
        let writer = match &self.stream {
            Some(stream) => self.write_stream(out, stream)?,
            None => self.write_folder(out)?,
        };
        let batches = counted(writer.batches, "batch", "batches");
        let lines = counted(writer.lines, "difference", "differences");
        let (out, edges) = writer.finish()?;
        let edges = counted(edges, "edge", "edges");
        Ok((out, format!("{lines} in {batches}; {edges} at the end")))
    }

    fn write_folder<W: Write>(&self, out: W) -> anyhow::Result<DifferenceWriter<W>> {
        if self.from.is_file() {
            let shown = self.from.display();
            let what =
                "a file; add --stream FILE with its changes, or name a folder of `serve --state`";
            return Err(WrongUsage(format!("{shown} is {what}")).into());
        }
        let kind = state::kind_of(&self.from)?.unwrap_or(EdgeKind::Undirected);
        let mut writer = DifferenceWriter::new(out, kind)?;
        state::read_only(&self.from, kind, &mut writer)?;
        Ok(writer)
    }

    fn write_stream<W: Write>(&self, out: W, stream: &Path) -> anyhow::Result<DifferenceWriter<W>> {
        let kind = if self.directed {
            EdgeKind::Directed
        } else {
            EdgeKind::Undirected
        };
        let options = StreamOptions {
            stream: stream.to_owned(),
            batch: self.batch,
            every: self.every,
        };
        let mut batches = options.open(Some(&self.from))?;
        let loaded = read_graph(&self.from, self.format.as_deref())?;
        let mut writer = DifferenceWriter::new(out, kind)?;
        let edges = loaded.census(kind).edges;
        writer.begin(0, loaded.names, edges)?;
        let (mut records, mut batch) = (Vec::new(), 0);
        while batches.next_batch(&mut records)? {
            batch += 1;
            writer.batch(batch, &records)?;
        }
        Ok(writer)
    }
}
