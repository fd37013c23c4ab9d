//! `presponse compare`: runs all rules, and peers that are installed, on one stream.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use reuselens_document::{Section, Table, TableColumn};
use reuselens_graph::formats::stream::StreamRecord;
use reuselens_graph::{StoredGraph, VertexId};
use reuselens_units::{counted, grouped};
use serde_json::{Value, json};

use super::shared::{
    GRAPH_HELP, GraphOptions, OutputOptions, ReadyGraph, StreamOptions, warn_of_late,
};
use crate::answers::{Answers, Rules, SERIES};
use crate::batches;
use crate::differences::DifferenceWriter;
use crate::exit::Outcome;
use crate::page;
use crate::peers::{self, PeerResult, QUESTIONS};
use crate::progress::BatchMeter;
use crate::say::{say, tell, text_table};
use crate::summary::{RunSummary, latencies_json, nanoseconds};

/// Run all rules, and other programs that are installed, on one stream
#[derive(clap::Args, Debug)]
#[command(override_usage = "presponse compare [GRAPH] --stream FILE [OPTIONS]")]
pub struct Args {
    #[arg(help = GRAPH_HELP)]
    graph: Option<PathBuf>,

    #[command(flatten)]
    from: GraphOptions,

    #[command(flatten)]
    stream: StreamOptions,

    /// End each answer of each program after so many seconds; its percentiles are those so far
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    limit: u64,

    /// A Python with networkit or velographx
    #[arg(
        long,
        value_name = "PROGRAM",
        default_value = "python3",
        help_heading = "Peers"
    )]
    python: PathBuf,

    /// The program that `cargo build --release` makes in programs/graphs/dataflow
    #[arg(long, value_name = "PROGRAM", help_heading = "Peers")]
    dataflow: Option<PathBuf>,

    /// The program that `cargo build --release` makes in programs/graphs/dndtree
    #[arg(long, value_name = "PROGRAM", help_heading = "Peers")]
    dndtree: Option<PathBuf>,

    /// Leave out all programs but this one
    #[arg(long, help_heading = "Peers")]
    no_peers: bool,

    #[command(flatten)]
    out: OutputOptions,
}

/// The stream in memory, so that all read the same.
struct ComparedInput {
    ready: ReadyGraph,
    batches: Vec<Vec<StreamRecord>>,
}

impl ComparedInput {
    /// The id of the root; that of the first vertex of the stream if the graph is empty.
    fn root(&self) -> u64 {
        let first = self.batches.iter().flatten().next();
        let of_graph = self.ready.names.id(self.ready.root);
        of_graph
            .or(first.map(|record| record.from))
            .unwrap_or_default()
    }
}

impl Args {
    /// Runs them one after the other.
    pub fn run(self) -> Outcome {
        let mut stream = self.stream.open(self.graph.as_deref())?;
        self.out.check()?;
        let ready = self.from.read(self.graph.as_deref(), self.out.quiet)?;
        let (mut batches, mut batch) = (Vec::new(), Vec::new());
        while stream.next_batch(&mut batch)? {
            batches.push(batch.clone());
        }
        warn_of_late(stream.late(), self.out.quiet);
        let input = ComparedInput { ready, batches };
        let mut results = Vec::new();
        for rules in [
            Rules::Ours,
            Rules::Repair,
            Rules::Published,
            Rules::Recompute,
        ] {
            results.push(self.run_rules(&input, rules)?);
        }
        if !self.no_peers {
            results.extend(self.run_peers(&input)?);
        }
        self.report(&input, &results)
    }

    /// Runs one set of rules of our own. All three answers are kept together, so the limit is that
    /// of three.
    fn run_rules(&self, input: &ComparedInput, rules: Rules) -> anyhow::Result<PeerResult> {
        let ReadyGraph { graph, root, .. } = &input.ready;
        let (kind, mut names) = (graph.kind(), input.ready.names.clone());
        let mut answers = Answers::new(graph.clone(), *root, rules, self.from.threads());
        let (mut summary, mut changes) = (RunSummary::default(), Vec::new());
        let mut meter = BatchMeter::new(rules.name(), self.out.quiet);
        let begun = Instant::now();
        for records in &input.batches {
            batches::replace_changes(kind, &mut names, records, &mut changes)?;
            let step = answers.apply(&changes, names.len() as VertexId);
            summary.add(changes.len(), &step);
            meter.tick(summary.changes, "changes");
            if begun.elapsed() > Duration::from_secs(3 * self.limit) {
                break;
            }
        }
        let is_whole = summary.batches == input.batches.len() as u64;
        let totals = is_whole.then(|| json!(answers.totals()));
        let totals = totals.and_then(|totals| totals.as_object().cloned());
        // Peers change a graph of their own in that time, so this one counts for each answer, too.
        let with_graph = summary.with_graph;
        Ok(PeerResult {
            name: rules.name().to_owned(),
            latencies: with_graph.map(Some),
            totals: totals.unwrap_or_default(),
        })
    }

    /// Runs the peers that can be run, and says which cannot.
    fn run_peers(&self, input: &ComparedInput) -> anyhow::Result<Vec<PeerResult>> {
        let ReadyGraph { graph, names, .. } = &input.ready;
        let mut file = tempfile::NamedTempFile::new().context("cannot create a temporary file")?;
        let buffer = std::io::BufWriter::new(file.as_file_mut());
        let mut writer = DifferenceWriter::new(buffer, graph.kind())?;
        writer.begin(0, names.clone(), graph.edge_list())?;
        for (records, batch) in input.batches.iter().zip(1..) {
            writer.batch(batch, records)?;
        }
        writer
            .finish()?
            .0
            .flush()
            .context("cannot write a temporary file")?;
        let (root, limit) = (input.root(), Duration::from_secs(self.limit));
        let mut results = Vec::new();
        let mut keep = |name: &str, result: Result<PeerResult, String>| match result {
            Ok(result) => results.push(result),
            Err(why) if self.out.quiet => drop(why),
            Err(why) => tell!("presponse: {name} is skipped: {why}"),
        };
        for peer in ["networkit", "velographx"] {
            let _meter = BatchMeter::busy(peer, self.out.quiet);
            keep(
                peer,
                peers::run_python(&self.python, peer, file.path(), root, limit),
            );
        }
        match &self.dataflow {
            Some(program) => {
                for workers in [1, 2] {
                    let found = peers::run_dataflow(program, workers, file.path(), root, limit);
                    keep("differential-dataflow", found);
                }
            }
            None => keep("differential-dataflow", Err(not_built("dataflow"))),
        }
        keep(
            "dndtree",
            match &self.dndtree {
                Some(program) => {
                    peers::run_program(Command::new(program), file.path(), root, limit)
                }
                None => Err(not_built("dndtree")),
            },
        );
        Ok(results)
    }

    fn report(&self, input: &ComparedInput, results: &[PeerResult]) -> Outcome {
        let ours = &results[0];
        let facts = self.facts(input);
        let tables = (0..QUESTIONS.len()).map(|at| table(at, ours, results));
        let tables: Vec<Table> = tables.collect();
        if self.out.talks() {
            for fact in &facts {
                say!("{fact}")?;
            }
            for table in &tables {
                say!("\n{}", text_table(table))?;
            }
        }
        self.out.write_json(|| {
            let results: Vec<Value> = results.iter().map(|result| as_json(result, ours)).collect();
            json!({"schema": "presponse-compare/1", "facts": facts, "results": results})
        })?;
        self.out.write_page(|| {
            let sections = tables.into_iter().zip(QUESTIONS).enumerate();
            let sections = sections.map(|(at, (table, question))| {
                let explain = if at == 0 { EXPLAIN } else { "" };
                Section::new(question, question, explain).with_table(table)
            });
            let sections: Vec<Section> = sections.collect();
            page::page("Exact answers, compared", &facts, &sections)
        })
    }

    fn facts(&self, input: &ComparedInput) -> Vec<String> {
        let changes: usize = input.batches.iter().map(Vec::len).sum();
        let root = input.root();
        vec![
            input.ready.about.clone(),
            format!(
                "{} in {} ({}); root: {root}; threads of ours: {}, of networkit and velographx: 1",
                counted(changes as u64, "change", "changes"),
                counted(input.batches.len() as u64, "batch", "batches"),
                self.stream.cut(),
                self.from.threads(),
            ),
        ]
    }
}

/// Why a program of `programs/graphs` did not run.
fn not_built(name: &str) -> String {
    format!("build it in programs/graphs/{name}, and name it with --{name}")
}

const HEADS: [&str; 7] = [
    "",
    "p50",
    "p99",
    "longest",
    "batches",
    "p99 × ours",
    "same answers",
];
const EXPLAIN: &str = "The time from a batch to this answer, with the change of the graph. “p99 × \
ours” is how many times longer the p99 is than that of the first row. Answers are compared by sums \
after the last batch; – is a program that did not get there in its time, or has no such sum.";

/// The table of a question: a row for each program that has it.
fn table(question: usize, ours: &PeerResult, results: &[PeerResult]) -> Table {
    let p99 = |result: &PeerResult| {
        let latencies = result.latencies[question].as_ref();
        latencies.map_or(0, |latencies| latencies.percentile(0.99))
    };
    let row = |result: &PeerResult| {
        let latencies = result.latencies[question].as_ref()?;
        let same = same(question, ours, result);
        Some(vec![
            result.name.clone(),
            nanoseconds(latencies.percentile(0.5)),
            nanoseconds(latencies.percentile(0.99)),
            nanoseconds(latencies.max()),
            grouped(latencies.count()),
            ratio(p99(result) as f64 / p99(ours).max(1) as f64),
            same.map_or("–", |same| if same { "yes" } else { "NO" })
                .to_owned(),
        ])
    };
    let mut heads = HEADS;
    heads[0] = QUESTIONS[question];
    let rows = results.iter().filter_map(row);
    Table::new(TableColumn::all(&heads, &[0]), rows)
}

/// A ratio with three digits.
fn ratio(value: f64) -> String {
    match value {
        _ if value < 10.0 => format!("{value:.2}"),
        _ if value < 100.0 => format!("{value:.1}"),
        _ => grouped(value.round() as u64),
    }
}

/// Whether the sums of an answer are those of ours; nothing if either has none.
fn same(question: usize, ours: &PeerResult, other: &PeerResult) -> Option<bool> {
    let fields: &[&str] = match question {
        0 => &["reached", "depth_sum"],
        1 => &["components"],
        _ => &["triangles"],
    };
    let pairs = fields
        .iter()
        .map(|field| Some((ours.totals.get(*field)?, other.totals.get(*field)?)));
    let pairs: Option<Vec<_>> = pairs.collect();
    Some(pairs?.into_iter().all(|(one, other)| one == other))
}

fn as_json(result: &PeerResult, ours: &PeerResult) -> Value {
    let mut answers = serde_json::Map::new();
    for (at, question) in QUESTIONS.iter().enumerate() {
        if let Some(latencies) = &result.latencies[at] {
            let mut value = latencies_json(latencies);
            value["same_answers"] = json!(same(at, ours, result));
            answers.insert((*question).to_owned(), value);
        }
    }
    json!({"name": result.name, "latency_ns": answers, "totals": result.totals})
}

// The questions are the answers of a run, without the graph and the sum of all.
const _: () = assert!(QUESTIONS.len() == SERIES.len() - 2);
