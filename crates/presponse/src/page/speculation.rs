//! The page of `presponse speculate`.

use reuselens_document::{ChartAxis, Panel, Section, Table, TableColumn, Unit};
use reuselens_link_prediction::{Accuracy, BatchQuality, Scorecard};
use reuselens_units::counted;

use super::{OverTime, percent};
use crate::speculation::{
    KINDS, KNOWN, NODE2VEC, PredictionQuality, RETRAIN_BELOW, SpeculationKind, SpeculationRun,
    SpeculationWindow,
};
use crate::summary::signed_nanoseconds;
use crate::timeline::Window;

/// How to read the table of the runs.
const GAINS: &str = "All rows have the same batches and the same exact answers. latency: from a \
batch to its answers, corrections included. saved: mean latency of “off”, less that of the row. ahead: \
changes that were made before their batch, and the share that had to be taken back. idle: p99 of the \
time between batches that the work ahead needs. wasted: processor time per batch for what was taken \
back or was no change. net: saved, less wasted. The oracle knows the next batch; nothing can gain more.";

/// What a line shows: its label, and its values.
type Line = (&'static str, Vec<f64>);

/// The page. `table` compares the runs, of which the first does nothing ahead.
pub fn page(
    facts: &[String],
    table: Table,
    runs: &[SpeculationRun],
    quality: Option<&PredictionQuality>,
) -> String {
    let gains = Section::new("gains", "What each kind gains", GAINS).with_table(table);
    let mut sections = vec![gains, kinds(), net_benefit(runs)];
    sections.extend(decisions(runs));
    if let Some(quality) = quality {
        sections.push(accuracy(quality));
        sections.push(batches(quality));
    }
    super::page("Working ahead of batches", facts, &sections)
}

fn kinds() -> Section {
    let rows = [
        (
            SpeculationKind::Expiries,
            "deletes edges that leave a sliding window before the stream does",
            "unless the edge is renewed",
        ),
        (
            SpeculationKind::EdgeBank,
            "inserts the pairs that were inserted most often and are absent now",
            "rarely",
        ),
        (
            SpeculationKind::Warm,
            "reads the neighbours of the vertices of the last two batches into the caches",
            "changes nothing, so it cannot be wrong",
        ),
        (
            SpeculationKind::Gated,
            "does all three, each while its gate is open",
            "as these",
        ),
        (
            SpeculationKind::Oracle,
            "applies the next batch itself, which only an experiment knows",
            "always: the bound of what can be gained",
        ),
    ];
    let rows =
        rows.map(|(kind, does, right)| [kind.name(), does, right].map(str::to_owned).to_vec());
    let heads = ["", "before a batch comes, it", "right"];
    Section::new(
        "kinds",
        "Kinds of work ahead, and their gates",
        "Work ahead changes the answers themselves. When the batch comes, what it does not ask for \
         is taken back together with the batch, by one repair, so answers after a batch are exact. \
         A gate stands before each kind of the row “gated”: it compares the mean latency with and \
         without the work, takes off the processor time that was wasted, and lets the kind work \
         while that is a gain. Both choices are tried for 8 batches at first; the worse one is \
         tried again after 16 batches, and after twice as many each time that changes nothing, up \
         to 256.",
    )
    .with_table(Table::new(TableColumn::all(&heads, &[0, 1, 2]), rows))
}

/// A value of each window of a run.
fn line(
    label: &'static str,
    run: &SpeculationRun,
    value: impl Fn(&Window<SpeculationWindow>) -> f64,
) -> Line {
    let windows = run.timeline.windows().iter();
    (label, windows.map(value).collect())
}

fn net_benefit(runs: &[SpeculationRun]) -> Section {
    let off = &runs[0];
    let mean =
        |window: &Window<SpeculationWindow>| window.sums.latency as f64 / window.batches as f64;
    let without: Vec<f64> = off.timeline.windows().iter().map(mean).collect();
    let panels = runs[1..].iter().map(|run| {
        let (_, with) = line("", run, mean);
        let pairs = without.iter().zip(&with);
        let saved: Vec<f64> = pairs.map(|(one, other)| one - other).collect();
        let (_, wasted) = line("", run, |window| {
            window.sums.wasted as f64 / window.batches as f64
        });
        let net = saved.iter().zip(&wasted);
        let net = net.map(|(saved, wasted)| saved - wasted).collect();
        let y = ChartAxis::linear("", Unit::Nanoseconds);
        let picture = OverTime::of_batches(run.kind().name(), run.latency.count(), y, |value| {
            signed_nanoseconds(value.round() as i64)
        });
        picture.panel(vec![("net", net), ("saved", saved)])
    });
    Section::new(
        "benefit",
        "Net benefit over time",
        "“Saved” is the mean latency of a batch without work ahead, less that with it, and “net” is \
         that less the processor time that was wasted. Below 0, the work costs more than it gains. \
         Each chart has a scale of its own.",
    )
    .with_pictures(panels.collect())
}

/// What gates decided, and what was wrong.
fn decisions(runs: &[SpeculationRun]) -> Option<Section> {
    let gated = runs
        .iter()
        .find(|run| run.kind() == SpeculationKind::Gated)?;
    let has_gate =
        |kind: &SpeculationKind| gated.gates().iter().any(|(name, _)| *name == kind.name());
    let kinds = KINDS.iter().enumerate().filter(|(_, kind)| has_gate(kind));
    let gates = kinds.map(|(at, kind)| {
        line(kind.name(), gated, |window| {
            window.sums.enabled[at] as f64 / window.batches as f64
        })
    });
    let wrong = runs
        .iter()
        .filter(|run| run.totals.ahead.sum() > 0 && run.kind() != SpeculationKind::Oracle);
    let wrong = wrong.map(|run| {
        line(run.kind().name(), run, |window| {
            // Nothing ahead has no share.
            window.sums.taken_back as f64 / window.sums.ahead as f64
        })
    });
    let panel = |title: &str, lines: Vec<Line>| {
        let y = ChartAxis::linear("", Unit::Share);
        OverTime::of_batches(title, gated.latency.count(), y, percent).panel(lines)
    };
    let panels = vec![
        panel("batches with work", gates.collect()),
        panel("taken back", wrong.collect()),
    ];
    let section = Section::new(
        "gates",
        "Gates and mistakes",
        "Above: the share of batches before which each gate of the row “gated” let its kind work. A \
         kind that loses shows as short tries. Below: the share of the changes made ahead that had \
         to be taken back.",
    );
    Some(section.with_pictures(panels))
}

fn share(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{:.1} %", 100.0 * value))
}

/// A picture over the periods of a prediction.
fn over_periods(title: &str, quality: &PredictionQuality, lines: Vec<Line>) -> Panel {
    let picture = OverTime {
        title: title.to_owned(),
        y: ChartAxis::linear("", Unit::Share),
        x: ("period", quality.periods.len() as u64),
        shown: percent,
    };
    picture.panel(lines)
}

/// A value of each period of a predictor; where there is none, no point.
fn of_periods(
    label: &'static str,
    quality: &PredictionQuality,
    name: &str,
    value: impl Fn(&Scorecard) -> Option<f64>,
) -> Option<Line> {
    let at = quality.names.iter().position(|it| it == name)?;
    let values = quality.periods.iter();
    let values = values.map(|cards| value(&cards[at]).unwrap_or(f64::NAN));
    Some((label, values.collect()))
}

fn accuracy(quality: &PredictionQuality) -> Section {
    let [once, again] = NODE2VEC;
    let random = |card: &Scorecard| card.random.share();
    let lines = [
        of_periods("trained once", quality, once, random),
        of_periods("trained anew", quality, again, random),
        of_periods("product of degrees", quality, "popularity", random),
    ];
    let trained = quality.names.iter().zip(&quality.totals);
    let trained = trained.filter(|(name, _)| *name == again);
    let trained: u64 = trained.map(|(_, card)| card.retrainings).sum();
    let periods = counted(quality.periods.len() as u64, "period", "periods");
    let title = "node2vec against as many random pairs";
    let explain = format!(
        "Predictors know the first {:.0} % of the insertions. The rest is {periods} of {}. Accuracy \
         is the share of pairs that were classified rightly, half of them insertions and half random \
         pairs that are no edges; 50 % is a coin. The published predictor (node2vec, products of \
         vectors, a linear SVM) is trained once, or anew after a period below {:.0} %, which \
         happened {}. The product of degrees is the simplest predictor of all.",
        100.0 * KNOWN,
        counted(quality.length as u64, "insertion", "insertions"),
        100.0 * RETRAIN_BELOW,
        counted(trained, "time", "times"),
    );
    let lines = lines.into_iter().flatten().collect();
    Section::new(
        "accuracy",
        "Can the next edges be predicted? Accuracy over time",
        explain,
    )
    .with_pictures(vec![over_periods(title, quality, lines)])
}

fn batches(quality: &PredictionQuality) -> Section {
    let both = |quality: BatchQuality| [share(quality.precision()), share(quality.recall())];
    let accuracy = |accuracy: &Accuracy| share(accuracy.share());
    let rows = quality
        .names
        .iter()
        .zip(&quality.totals)
        .map(|(name, card)| {
            let mut row = vec![name.clone()];
            row.extend(both(card.all));
            row.extend(both(card.unseen));
            row.extend([&card.random, &card.known, &card.same_ends].map(accuracy));
            row
        });
    let heads = [
        "",
        "precision",
        "recall",
        "precision, new pairs",
        "recall, new pairs",
        "accuracy",
        "accuracy, known vertices",
        "accuracy, same ends",
    ];
    let names = ["EdgeBank, unlimited", "common neighbours", NODE2VEC[1]];
    let lines = |value: fn(&Scorecard) -> Option<f64>| -> Vec<Line> {
        let lines = names
            .iter()
            .filter_map(|name| of_periods(name, quality, name, value));
        lines.collect()
    };
    let panels = vec![
        over_periods("precision", quality, lines(|card| card.all.precision())),
        over_periods("recall", quality, lines(|card| card.all.recall())),
    ];
    let explain = format!(
        "As many pairs are predicted for a period as the one before had. Precision is the share of \
         them that came, recall the share of what came that was predicted. {} of the pairs were \
         never seen before; only these change a simple graph, and a wrong one costs an insertion and \
         a deletion. “Same ends” classifies against pairs of the same vertices: what remains of an \
         accuracy there is knowledge of edges, not of active vertices.",
        share(quality.novelty.unseen_share()),
    );
    Section::new(
        "batches",
        "Precision and recall of predicted batches",
        explain,
    )
    .with_table(Table::new(TableColumn::all(&heads, &[0]), rows))
    .with_pictures(panels)
}
