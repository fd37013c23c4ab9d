//! The page of `presponse speculate`.

use reuselens_link_prediction::{Accuracy, BatchQuality, Scorecard};
use reuselens_units::{counted, grouped};

use super::axis::Scale;
use super::chart::{self, Chart, Line};
use super::{PageSection, document};
use crate::speculation::{
    KINDS, KNOWN, NODE2VEC, PredictionQuality, RETRAIN_BELOW, SpeculationKind, SpeculationRun,
    SpeculationWindow,
};
use crate::summary::signed_nanoseconds;
use crate::timeline::Window;

/// The page. `table` compares the runs, of which the first does nothing ahead.
pub fn page(
    facts: &[String],
    table: PageSection,
    runs: &[SpeculationRun],
    quality: Option<&PredictionQuality>,
) -> String {
    let mut sections = vec![table, kinds(), net_benefit(runs)];
    sections.extend(decisions(runs));
    if let Some(quality) = quality {
        sections.push(accuracy(quality));
        sections.push(batches(quality));
    }
    document("Working ahead of batches", facts, &sections)
}

fn kinds() -> PageSection {
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
    PageSection::table(
        "Kinds of work ahead, and their gates",
        "Work ahead changes the answers themselves. When the batch comes, what it does not ask for \
         is taken back together with the batch, by one repair, so answers after a batch are exact. \
         A gate stands before each kind of the row “gated”: it compares the mean latency with and \
         without the work, takes off the processor time that was wasted, and lets the kind work \
         while that is a gain. Both choices are tried for 8 batches at first; the worse one is \
         tried again after 16 batches, and after twice as many each time that changes nothing, up \
         to 256.",
        heads.map(str::to_owned).to_vec(),
        rows.to_vec(),
    )
    .of_words()
}

/// A value of each window of a run.
fn line(
    label: &str,
    run: &SpeculationRun,
    value: impl Fn(&Window<SpeculationWindow>) -> f64,
) -> Line {
    let windows = run.timeline.windows().iter();
    Line::new(label, windows.map(value).collect())
}

fn net_benefit(runs: &[SpeculationRun]) -> PageSection {
    let off = &runs[0];
    let mean =
        |window: &Window<SpeculationWindow>| window.sums.latency as f64 / window.batches as f64;
    let without: Vec<f64> = off.timeline.windows().iter().map(mean).collect();
    let charts = runs[1..].iter().map(|run| {
        let saved = line("saved", run, mean);
        let saved: Vec<f64> = without
            .iter()
            .zip(&saved.values)
            .map(|(one, other)| one - other)
            .collect();
        let wasted = line("wasted", run, |window| {
            window.sums.wasted as f64 / window.batches as f64
        });
        let net = saved
            .iter()
            .zip(&wasted.values)
            .map(|(saved, wasted)| saved - wasted);
        Chart {
            title: run.kind().name().to_owned(),
            lines: vec![Line::new("net", net.collect()), Line::new("saved", saved)],
            scale: Scale::Linear,
            shown: |value| signed_nanoseconds(value.round() as i64),
            ends: chart::over_batches(run.latency.count()),
        }
    });
    PageSection {
        title: "Net benefit over time".to_owned(),
        explain: "“Saved” is the mean latency of a batch without work ahead, less that with it, \
                  and “net” is that less the processor time that was wasted. Below 0, the work \
                  costs more than it gains. Each chart has a scale of its own."
            .to_owned(),
        table: (Vec::new(), Vec::new()),
        charts: charts.collect(),
        is_words: false,
    }
}

/// What gates decided, and what was wrong.
fn decisions(runs: &[SpeculationRun]) -> Option<PageSection> {
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
    let chart = |title: &str, lines: Vec<Line>| Chart {
        title: title.to_owned(),
        lines,
        scale: Scale::Linear,
        shown: chart::percent,
        ends: chart::over_batches(gated.latency.count()),
    };
    Some(PageSection {
        title: "Gates and mistakes".to_owned(),
        explain: "Above: the share of batches before which each gate of the row “gated” let its \
                  kind work. A kind that loses shows as short tries. Below: the share of the \
                  changes made ahead that had to be taken back."
            .to_owned(),
        table: (Vec::new(), Vec::new()),
        charts: vec![
            chart("batches with work", gates.collect()),
            chart("taken back", wrong.collect()),
        ],
        is_words: false,
    })
}

fn share(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{:.1} %", 100.0 * value))
}

/// A chart over the periods of a prediction.
fn over_periods(title: &str, quality: &PredictionQuality, lines: Vec<Line>) -> Chart {
    Chart {
        title: title.to_owned(),
        lines,
        scale: Scale::Linear,
        shown: chart::percent,
        ends: ["period 1".to_owned(), grouped(quality.periods.len() as u64)],
    }
}

/// A value of each period of a predictor; where there is none, no point.
fn of_periods(
    label: &str,
    quality: &PredictionQuality,
    name: &str,
    value: impl Fn(&Scorecard) -> Option<f64>,
) -> Option<Line> {
    let at = quality.names.iter().position(|it| it == name)?;
    let values = quality.periods.iter();
    let values = values.map(|cards| value(&cards[at]).unwrap_or(f64::NAN));
    Some(Line::new(label, values.collect()))
}

fn accuracy(quality: &PredictionQuality) -> PageSection {
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
    PageSection {
        title: "Can the next edges be predicted? Accuracy over time".to_owned(),
        explain: format!(
            "Predictors know the first {:.0} % of the insertions. The rest is {periods} of {}. \
             Accuracy is the share of pairs that were classified rightly, half of them insertions \
             and half random pairs that are no edges; 50 % is a coin. The published predictor \
             (node2vec, products of vectors, a linear SVM) is trained once, or anew after a period \
             below {:.0} %, which happened {}. The product of degrees is the simplest predictor \
             of all.",
            100.0 * KNOWN,
            counted(quality.length as u64, "insertion", "insertions"),
            100.0 * RETRAIN_BELOW,
            counted(trained, "time", "times"),
        ),
        table: (Vec::new(), Vec::new()),
        charts: vec![over_periods(
            title,
            quality,
            lines.into_iter().flatten().collect(),
        )],
        is_words: false,
    }
}

fn batches(quality: &PredictionQuality) -> PageSection {
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
    let charts = vec![
        over_periods("precision", quality, lines(|card| card.all.precision())),
        over_periods("recall", quality, lines(|card| card.all.recall())),
    ];
    PageSection {
        title: "Precision and recall of predicted batches".to_owned(),
        explain: format!(
            "As many pairs are predicted for a period as the one before had. Precision is the \
             share of them that came, recall the share of what came that was predicted. {} of the \
             pairs were never seen before; only these change a simple graph, and a wrong one costs \
             an insertion and a deletion. “Same ends” classifies against pairs of the same \
             vertices: what remains of an accuracy there is knowledge of edges, not of active \
             vertices.",
            share(quality.novelty.unseen_share()),
        ),
        table: (heads.map(str::to_owned).to_vec(), rows.collect()),
        charts,
        is_words: false,
    }
}
