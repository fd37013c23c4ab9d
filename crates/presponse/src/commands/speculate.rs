//! `presponse speculate`: runs a stream with each kind of work ahead, and shows what it gains.

use std::path::PathBuf;

use reuselens_document::{Table, TableColumn};
use reuselens_graph::formats::stream::StreamRecord;
use reuselens_graph::{EdgeKind, SortedGraph, StoredGraph, VertexId, VertexNames};
use reuselens_link_prediction::Scorecard;
use reuselens_units::{counted, grouped};
use serde_json::{Value, json};

use super::shared::{
    GRAPH_HELP, GraphOptions, OutputOptions, ReadyGraph, StreamOptions, warn_of_late,
};
use crate::answers::{Answers, Rules};
use crate::batches;
use crate::exit::{Outcome, WrongUsage};
use crate::page;
use crate::progress::BatchMeter;
use crate::say::{say, tell, text_table};
use crate::speculation::{
    DeletionAges, GateCounts, Insertions, PredictionQuality, SpeculationKind, SpeculationRun,
    TimedChange,
};
use crate::summary::{nanoseconds, signed_nanoseconds};

/// Run a stream with each kind of work ahead of its batches, and show what that gains
#[derive(clap::Args, Debug)]
#[command(override_usage = "presponse speculate [GRAPH] --stream FILE [--window LENGTH] [OPTIONS]")]
pub struct Args {
    #[arg(help = GRAPH_HELP)]
    graph: Option<PathBuf>,

    #[command(flatten)]
    from: GraphOptions,

    #[command(flatten)]
    stream: StreamOptions,

    /// The stream is a sliding window: it deletes each edge when its last insertion is this old, in
    /// the unit of its times
    #[arg(long, value_name = "LENGTH", help_heading = "Stream")]
    window: Option<u64>,

    /// Measure how well the inserted edges can be predicted, by node2vec and by simple predictors:
    /// those of the last 40 % of the stream, in PERIODS periods [8 without a number]. Training
    /// takes seconds to minutes
    #[arg(long, value_name = "PERIODS", num_args = 0..=1, require_equals = true, default_missing_value = "8", value_parser = clap::value_parser!(u16).range(1..=1000))]
    predict: Option<u16>,

    /// Compare all answers with recomputed ones after each batch (slow)
    #[arg(long)]
    verify: bool,

    #[command(flatten)]
    out: OutputOptions,
}

impl Args {
    /// Runs all kinds side by side, batch by batch, and reports.
    pub fn run(self) -> Outcome {
        let mut batches = self.stream.open(self.graph.as_deref())?;
        self.out.check()?;
        let ReadyGraph {
            mut names,
            graph,
            root,
            about,
        } = self.from.read(self.graph.as_deref(), self.out.quiet)?;
        let kind = graph.kind();
        let mut runs = self.runs(&graph, root);
        let mut insertions = self
            .predict
            .map(|_| Insertions::of_graph(graph.edge_list()));
        drop(graph);
        let (mut records, mut changes) = (Vec::new(), Vec::new());
        let (mut count, mut total, mut ages) = (0, 0, DeletionAges::default());
        let mut meter = BatchMeter::new("applying", self.out.quiet);
        while batches.next_batch(&mut records)? {
            self.timed(kind, &mut names, &records, &mut changes)?;
            ages.add(&changes);
            if let Some(insertions) = &mut insertions {
                insertions.add(&changes);
            }
            for run in &mut runs {
                run.batch(&changes, names.len() as VertexId);
                if self.verify
                    && let Some((answer, vertex)) = run.answers().difference(root)
                {
                    anyhow::bail!(wrong(run.kind(), answer, names.id(vertex)));
                }
            }
            count += 1;
            total += changes.len() as u64;
            meter.tick(total, "changes");
        }
        drop(meter);
        warn_of_late(batches.late(), self.out.quiet);
        check_agreement(&runs)?;
        let (changes, batches) = (
            counted(total, "change", "changes"),
            counted(count, "batch", "batches"),
        );
        let facts = [
            about,
            format!("{changes} in {batches} ({})", self.stream.cut()),
        ];
        let found = Findings {
            quality: self.quality(insertions)?,
            window: self.window_hint(&ages),
            runs,
        };
        self.report(&facts, &found)
    }

    /// The ways of working ahead that are compared.
    fn runs(&self, graph: &SortedGraph, root: VertexId) -> Vec<SpeculationRun> {
        let threads = self.from.threads();
        let kinds = SpeculationKind::ALL.into_iter();
        let kinds =
            kinds.filter(|kind| *kind != SpeculationKind::Expiries || self.window.is_some());
        let run = |kind| {
            let answers = Answers::new(graph.clone(), root, Rules::Ours, threads);
            SpeculationRun::new(kind, answers, self.window, self.stream.every)
        };
        kinds.map(run).collect()
    }

    /// Warns of a window that is not that of the stream. Without a window, what to add, if anything
    /// can be said.
    fn window_hint(&self, ages: &DeletionAges) -> Option<String> {
        match self.window {
            Some(length) => {
                if let Some(doubt) = ages.doubt(length).filter(|_| !self.out.quiet) {
                    tell!("presponse: warning: {doubt}");
                }
                None
            }
            None => Some(match ages.window() {
                Some(age) => format!(
                    "Expiries of a sliding window were not tried; the stream deletes edges at the \
                     age of {age}: add --window {age}"
                ),
                None => {
                    "Expiries of a sliding window were not tried; --window says how long it is."
                        .to_owned()
                }
            }),
        }
    }

    /// How well the insertions can be predicted, if that is asked for.
    fn quality(&self, insertions: Option<Insertions>) -> anyhow::Result<Option<PredictionQuality>> {
        let Some((insertions, periods)) = insertions.zip(self.predict) else {
            return Ok(None);
        };
        let _meter = BatchMeter::busy("predicting the insertions", self.out.quiet);
        let threads = self.from.threads();
        let quality = insertions.measure(usize::from(periods), self.window, threads)?;
        Ok(Some(quality))
    }

    /// Replaces `changes` by those that the records ask for.
    fn timed(
        &self,
        kind: EdgeKind,
        names: &mut VertexNames,
        records: &[StreamRecord],
        changes: &mut Vec<TimedChange>,
    ) -> anyhow::Result<()> {
        changes.clear();
        for record in records {
            if self.window.is_some() && record.time.is_none() {
                let what = "a window needs times, and the stream has a change without one; leave \
                            --window out, or write times as a third column";
                return Err(WrongUsage(what.to_owned()).into());
            }
            changes.push(TimedChange {
                change: batches::change(kind, names, record)?,
                time: record.time.unwrap_or_default(),
            });
        }
        Ok(())
    }

    fn report(&self, facts: &[String], found: &Findings) -> Outcome {
        let (runs, quality) = (&found.runs[..], found.quality.as_ref());
        let rows = runs.iter().map(|run| row(run, &runs[0]));
        let table = Table::new(TableColumn::all(&HEADS, &[0]), rows);
        if self.out.talks() {
            for fact in facts {
                say!("{fact}")?;
            }
            let text = text_table(&table);
            say!("\nLatency of a batch, and what work ahead costs\n{text}")?;
            if let Some(hint) = &found.window {
                say!("{hint}")?;
            }
            let gated = runs.iter().find(|run| run.kind() == SpeculationKind::Gated);
            for (name, GateCounts { on, off }) in gated.into_iter().flat_map(SpeculationRun::gates)
            {
                say!(
                    "The gate let {name} work before {on} of {} batches.",
                    on + off
                )?;
            }
            if let Some(quality) = quality {
                say!("\n{}", prediction_table(quality))?;
            }
            if self.verify {
                say!("All answers equal recomputed ones after each batch.")?;
            }
            if self.out.output.is_none() {
                say!("\nNext: add -o speculation.html for a page that explains the columns")?;
            }
        }
        self.out.write_json(|| json(runs, quality))?;
        self.out
            .write_page(|| page::speculation::page(facts, table, runs, quality))
    }
}

/// What a run found.
struct Findings {
    runs: Vec<SpeculationRun>,
    quality: Option<PredictionQuality>,
    /// What to say about the window.
    window: Option<String>,
}

/// Whether all runs have the same answers at the end.
fn check_agreement(runs: &[SpeculationRun]) -> Outcome {
    let totals = runs[0].answers().totals();
    let differs = |run: &&SpeculationRun| run.answers().totals() != totals;
    match runs.iter().find(differs) {
        Some(run) => anyhow::bail!(wrong(run.kind(), "answers", None)),
        None => Ok(()),
    }
}

fn wrong(kind: SpeculationKind, answer: &str, id: Option<u64>) -> String {
    let vertex = id.map_or_else(String::new, |id| format!(" of vertex {id}"));
    format!(
        "with {} ahead the {answer}{vertex} are wrong; this is an error in presponse: please report \
         it with the graph and the stream",
        kind.name()
    )
}

/// Heads of [`row`].
const HEADS: [&str; 10] = [
    "",
    "p50",
    "p99",
    "longest",
    "saved",
    "ahead",
    "taken back",
    "idle",
    "wasted",
    "net",
];

fn row(run: &SpeculationRun, off: &SpeculationRun) -> Vec<String> {
    let latency = &run.latency;
    let (ahead, back) = (run.totals.ahead.sum(), run.totals.taken_back.sum());
    let share = match ahead {
        0 => "–".to_owned(),
        _ => format!("{:.1} %", 100.0 * back as f64 / ahead as f64),
    };
    vec![
        run.kind().name().to_owned(),
        nanoseconds(latency.percentile(0.5)),
        nanoseconds(latency.percentile(0.99)),
        nanoseconds(latency.max()),
        signed_nanoseconds(run.saved(off)),
        grouped(ahead),
        share,
        nanoseconds(run.totals.idle.percentile(0.99)),
        nanoseconds(run.totals.wasted_per_batch()),
        signed_nanoseconds(run.net(off)),
    ]
}

/// How well insertions were predicted, for a terminal.
fn prediction_table(quality: &PredictionQuality) -> String {
    let share =
        |value: Option<f64>| value.map_or("–".to_owned(), |it| format!("{:.1}", 100.0 * it));
    let row = |(at, (name, card)): (usize, (&String, &Scorecard))| {
        let periods = quality.periods.iter();
        let periods = periods.map(|cards| share(cards[at].random.share()));
        vec![
            name.clone(),
            share(card.all.precision()),
            share(card.all.recall()),
            share(card.random.share()),
            periods.collect::<Vec<_>>().join(" "),
        ]
    };
    let names = quality.names.iter().zip(&quality.totals);
    let heads = ["", "precision", "recall", "accuracy", "by period"];
    let table = Table::new(TableColumn::all(&heads, &[0]), names.enumerate().map(row));
    format!(
        "Prediction of the last {}, in percent\n{}",
        counted(quality.periods.len() as u64, "period", "periods"),
        text_table(&table),
    )
}

fn json(runs: &[SpeculationRun], quality: Option<&PredictionQuality>) -> Value {
    let run = |run: &SpeculationRun| {
        json!({
            "kind": run.kind().name(),
            "batches": run.latency.count(),
            "p50_ns": run.latency.percentile(0.5),
            "p99_ns": run.latency.percentile(0.99),
            "mean_ns": run.latency.mean(),
            "longest_ns": run.latency.max(),
            "idle_p99_ns": run.totals.idle.percentile(0.99),
            "ahead": run.totals.ahead.sum(),
            "taken_back": run.totals.taken_back.sum(),
            "wasted_ns_per_batch": run.totals.wasted_per_batch(),
            "saved_ns_per_batch": run.saved(&runs[0]),
            "net_ns_per_batch": run.net(&runs[0]),
        })
    };
    json!({
        "schema": "presponse-speculation/1",
        "kinds": runs.iter().map(run).collect::<Vec<_>>(),
        "prediction": quality.map(prediction_json),
    })
}

/// The cards of all predictors; shares from 0 to 1.
fn prediction_json(quality: &PredictionQuality) -> Value {
    let card = |card: &Scorecard| {
        json!({
            "precision": card.all.precision(),
            "recall": card.all.recall(),
            "precision_unseen": card.unseen.precision(),
            "recall_unseen": card.unseen.recall(),
            "accuracy": card.random.share(),
            "accuracy_known": card.known.share(),
            "accuracy_same_ends": card.same_ends.share(),
            "retrainings": card.retrainings,
        })
    };
    let predictor = |(at, name): (usize, &String)| {
        let periods = quality.periods.iter().map(|cards| card(&cards[at]));
        json!({
            "name": name,
            "all": card(&quality.totals[at]),
            "periods": periods.collect::<Vec<_>>(),
        })
    };
    let predictors = quality.names.iter().enumerate().map(predictor);
    json!({
        "insertions_per_period": quality.length,
        "unseen_share": quality.novelty.unseen_share(),
        "predictors": predictors.collect::<Vec<_>>(),
    })
}
