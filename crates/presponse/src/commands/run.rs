//! `presponse run`: applies a stream of changes to a graph, and says how long the answers took.

use std::fmt::Write as _;
use std::path::PathBuf;

use reuselens_graph::{SortedGraph, StoredGraph, VertexId};
use reuselens_graph_gpu::interpreter;
use reuselens_incremental::UNREACHED;
use reuselens_io::AtomicFile;
use reuselens_units::{counted, grouped};
use serde_json::json;

use super::shared::{
    GRAPH_HELP, GraphOptions, OutputOptions, ReadyGraph, StreamOptions, warn_of_late, write_whole,
};
use crate::answers::{Answers, Rules};
use crate::batches;
use crate::device::{DEVICE_MEMORY, DeviceChoice, first_gpu};
use crate::exit::Outcome;
use crate::page;
use crate::progress::BatchMeter;
use crate::say::{say, tell, text_table};
use crate::summary::{RunSummary, nanoseconds, totals_line};

/// Apply a stream of changes to a graph, and show how long the answers took
#[derive(clap::Args, Debug)]
#[command(override_usage = "presponse run [GRAPH] --stream FILE [OPTIONS]")]
pub struct Args {
    #[arg(help = GRAPH_HELP)]
    graph: Option<PathBuf>,

    #[command(flatten)]
    from: GraphOptions,

    #[command(flatten)]
    stream: StreamOptions,

    /// How answers are brought up to date
    #[arg(long, value_enum, default_value_t)]
    rules: Rules,

    /// Keep the answers by kernels on a device, instead of by rules of the processor
    #[arg(long, value_enum, value_name = "DEVICE", conflicts_with = "rules")]
    device: Option<DeviceChoice>,

    /// Compare all answers with recomputed ones after each batch (slow)
    #[arg(long)]
    verify: bool,

    /// Write the final answers, a line `id depth component triangles` per vertex; - is standard
    /// output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    answers: Option<PathBuf>,

    #[command(flatten)]
    out: OutputOptions,
}

impl Args {
    /// Reads, applies and reports.
    pub fn run(self) -> Outcome {
        let mut batches = self.stream.open(self.graph.as_deref())?;
        self.out.check()?;
        if let Some(file) = &self.answers {
            AtomicFile::check(file, self.out.force)?;
        }
        let ReadyGraph {
            mut names,
            graph,
            root,
            about,
        } = self.from.read(self.graph.as_deref(), self.out.quiet)?;
        let kind = graph.kind();
        let meter = BatchMeter::busy("computing the first answers", self.out.quiet);
        let (mut answers, keeper) = self.first_answers(graph, root)?;
        drop(meter);
        let mut summary = RunSummary::default();
        let (mut records, mut changes) = (Vec::new(), Vec::new());
        let mut meter = BatchMeter::new("applying", self.out.quiet);
        while batches.next_batch(&mut records)? {
            batches::replace_changes(kind, &mut names, &records, &mut changes)?;
            let step = answers.apply(&changes, names.len() as VertexId);
            if let Some(fault) = answers.fault() {
                let batch = summary.batches;
                return Err(anyhow::Error::new(fault)
                    .context(format!("the answers are those after batch {batch}")));
            }
            summary.add(changes.len(), &step);
            if self.verify
                && let Some((answer, vertex)) = answers.difference(root)
            {
                let id = names.id(vertex).unwrap_or_default();
                anyhow::bail!(
                    "after batch {} the {answer} of vertex {id} differ from recomputed ones; \
                     this is an error in presponse: please report it with the graph and the stream",
                    summary.batches
                );
            }
            meter.tick(summary.changes, "changes");
        }
        drop(meter);
        let run = Finished {
            args: &self,
            keeper,
            about,
            root: names.id(root).unwrap_or_default(),
            late: batches.late(),
            summary,
            answers,
        };
        run.write(names.ids())
    }

    /// The answers for the graph as it begins, and what keeps them.
    fn first_answers(
        &self,
        graph: SortedGraph,
        root: VertexId,
    ) -> anyhow::Result<(Answers, &'static str)> {
        let threads = self.from.threads();
        let gpu = match self.device {
            None => None,
            Some(DeviceChoice::Interpreter) => {
                let device = interpreter(DEVICE_MEMORY, threads);
                let answers = Answers::on_device(graph, root, device)?;
                return Ok((answers, "kernels on the interpreter"));
            }
            Some(DeviceChoice::Cuda) => Some(first_gpu().map_err(|error| {
                anyhow::anyhow!("{error}; without a GPU, leave --device out or take interpreter")
            })?),
            Some(DeviceChoice::Auto) => {
                let found = first_gpu();
                if let (Err(error), false) = (&found, self.out.quiet) {
                    tell!("presponse: the rules of the processor keep the answers: {error}");
                }
                found.ok()
            }
        };
        Ok(match gpu {
            Some(gpu) => (Answers::on_device(graph, root, gpu)?, "kernels on a GPU"),
            None => {
                let answers = Answers::new(graph, root, self.rules, threads);
                (answers, self.rules.name())
            }
        })
    }
}

/// A run at the end of its stream.
struct Finished<'a> {
    args: &'a Args,
    /// What keeps the answers.
    keeper: &'static str,
    about: String,
    root: u64,
    late: u64,
    summary: RunSummary,
    answers: Answers,
}

impl Finished<'_> {
    /// Prints and writes what was asked for.
    fn write(&self, ids: impl Iterator<Item = u64>) -> Outcome {
        let args = self.args;
        warn_of_late(self.late, args.out.quiet);
        if args.out.talks() && args.answers.as_deref() != Some("-".as_ref()) {
            self.print()?;
        }
        args.out.write_json(|| self.json())?;
        if let Some(file) = &args.answers {
            let ids: Vec<u64> = ids.collect();
            write_whole(file, self.lines(&ids).as_bytes(), args.out.force)?;
        }
        args.out.write_page(|| self.page())
    }

    fn facts(&self) -> Vec<String> {
        let summary = &self.summary;
        vec![
            self.about.clone(),
            format!(
                "{} in {} ({}): {} inserted, {} deleted",
                counted(summary.changes, "change", "changes"),
                counted(summary.batches, "batch", "batches"),
                self.args.stream.cut(),
                counted(summary.inserted, "edge", "edges"),
                grouped(summary.deleted),
            ),
            format!("rules: {}, root: {}", self.keeper, self.root),
        ]
    }

    fn print(&self) -> std::io::Result<()> {
        for fact in self.facts() {
            say!("{fact}")?;
        }
        let summary = &self.summary;
        say!("\n{}\n", text_table(&summary.table()))?;
        say!(
            "{} changes/s, {} together; {:.1} bytes per directed edge",
            grouped(summary.rate() as u64),
            nanoseconds(summary.busy().as_nanos() as u64),
            self.answers.bytes_per_edge(),
        )?;
        say!("At the end: {}", totals_line(&self.answers.totals()))?;
        if self.args.verify {
            say!("All answers equal recomputed ones after each batch.")?;
        }
        if self.args.out.output.is_none() {
            let graph = self
                .args
                .graph
                .as_ref()
                .map(|path| format!("{} ", path.display()));
            let (graph, stream) = (graph.unwrap_or_default(), self.args.stream.stream.display());
            let compare = format!("presponse compare {graph}--stream {stream}");
            say!("\nNext: add -o run.html for a page, or: {compare}")?;
        }
        Ok(())
    }

    fn json(&self) -> serde_json::Value {
        let graph = self.answers.graph();
        let mut value = self.summary.json();
        value["schema"] = json!("presponse-run/1");
        value["rules"] = json!(self.keeper);
        value["root"] = json!(self.root);
        value["vertices"] = json!(graph.vertices());
        value["edges"] = json!(graph.edges());
        value["bytes_per_directed_edge"] = json!(self.answers.bytes_per_edge());
        value["late_changes"] = json!(self.late);
        value["verified"] = json!(self.args.verify);
        value["totals"] = json!(self.answers.totals());
        value
    }

    fn page(&self) -> String {
        let mut facts = self.facts();
        facts.push(format!(
            "at the end: {}",
            totals_line(&self.answers.totals())
        ));
        page::run::page(&facts, &self.summary)
    }

    /// The answers of all vertices as lines. A depth of - has no path.
    fn lines(&self, ids: &[u64]) -> String {
        let (depths, components) = (self.answers.depths(), self.answers.components());
        let triangles = self.answers.triangles();
        let mut text = String::from("# id depth component triangles\n");
        for (at, id) in ids.iter().enumerate().take(depths.len()) {
            let depth = match depths[at] {
                UNREACHED => "-".to_owned(),
                depth => depth.to_string(),
            };
            let component = ids
                .get(components[at] as usize)
                .copied()
                .unwrap_or_default();
            let _ = writeln!(text, "{id} {depth} {component} {}", triangles[at]);
        }
        text
    }
}
