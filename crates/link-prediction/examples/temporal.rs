//! All predictors on one temporal graph: a file of lines `u v time`, as SNAP has them.
//!
//! ```text
//! cargo run --release -p reuselens-link-prediction --example temporal -- FILE
//! ```

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Parser;
use reuselens_link_prediction::{
    BatchQuality, BatchReport, BatchRule, CandidateLimits, Evaluation, EvaluationOptions,
    Node2vecOptions, Novelty, Predictor, PredictorOptions, Scorecard, TemporalEdge, batches,
};

const DAY: i64 = 24 * 60 * 60;

/// Compare predictors of new edges on one temporal graph
#[derive(Parser)]
struct Args {
    /// Lines `u v time`, times in seconds; sorted by time before use
    file: PathBuf,
    /// Share of the edges that all predictors know at first
    #[arg(long, default_value_t = 0.6)]
    known: f64,
    /// Days in a batch of the first part, where node2vec is trained anew
    #[arg(long, default_value_t = 30)]
    days: i64,
    /// Leave out the second part, whose batches have equally many edges
    #[arg(long)]
    only_by_time: bool,
    /// Edges in a batch of the second part
    #[arg(long, default_value_t = 1000)]
    edges: usize,
    /// Days that the EdgeBank with a window remembers, and half-life of the fading count
    #[arg(long, default_value_t = 30)]
    memory: i64,
    /// Numbers in a vector
    #[arg(long, default_value_t = 128)]
    dimensions: usize,
    /// Walks from each vertex
    #[arg(long, default_value_t = 10)]
    walks: usize,
    /// How unlikely a walk goes back
    #[arg(short, default_value_t = 1.0)]
    p: f64,
    /// How unlikely a walk goes away
    #[arg(short, default_value_t = 1.0)]
    q: f64,
    /// Accuracy below which node2vec is trained anew
    #[arg(long, default_value_t = 0.7)]
    retrain_below: f64,
    /// Random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads that make walks
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let edges = read(&args.file)?;
    let known = (edges.len() as f64 * args.known.clamp(0.0, 1.0)) as usize;
    println!("{}: {} edges", args.file.display(), edges.len());
    let trained = by_time(&args, &edges, known)?;
    if args.only_by_time {
        return Ok(());
    }
    by_count(&args, &edges, known, trained)
}

/// Reads edges, numbers their vertices densely, and sorts them by time.
fn read(file: &Path) -> Result<Vec<TemporalEdge>, Box<dyn Error>> {
    let mut numbers: HashMap<u64, u32> = HashMap::new();
    let mut edges = Vec::new();
    for (line, text) in (1..).zip(read_to_string(file)?.lines()) {
        if text.starts_with(['#', '%']) || text.trim().is_empty() {
            continue;
        }
        let mut fields = text.split_whitespace();
        let mut field = || {
            let field = fields.next().ok_or("a field is missing")?;
            field.parse::<i64>().map_err(|error| error.to_string())
        };
        let mut next = || field().map_err(|error| format!("line {line}: {error}"));
        let (u, v, time) = (next()? as u64, next()? as u64, next()?);
        let mut number = |vertex| {
            let next = numbers.len() as u32;
            *numbers.entry(vertex).or_insert(next)
        };
        let (u, v) = (number(u), number(v));
        edges.push(TemporalEdge { u, v, time });
    }
    edges.sort_by_key(|edge| edge.time);
    Ok(edges)
}

fn evaluation_options(args: &Args, size: Option<usize>) -> EvaluationOptions {
    EvaluationOptions {
        limits: CandidateLimits::default(),
        size,
        memory: args.memory * DAY,
        seed: args.seed,
    }
}

/// Batches of equal time, with node2vec trained once, and trained anew when it gets bad. Returns
/// those that were trained once.
fn by_time(
    args: &Args,
    edges: &[TemporalEdge],
    known: usize,
) -> Result<[Predictor; 2], Box<dyn Error>> {
    let all = batches(edges, BatchRule::Time(args.days * DAY));
    let (past, future) = split(&all, known);
    let mut evaluation = Evaluation::new(past, evaluation_options(args, None))?;
    let options = PredictorOptions {
        node2vec: Node2vecOptions {
            dimensions: args.dimensions,
            walks_per_vertex: args.walks,
            p: args.p,
            q: args.q,
            seed: args.seed,
            threads: args.threads,
            ..Node2vecOptions::default()
        },
        retrain_below: Some(args.retrain_below),
        ..PredictorOptions::default()
    };
    let begin = Instant::now();
    let retrained = Predictor::train(evaluation.history(), options.clone())?;
    let svm = retrained.training();
    println!(
        "node2vec and SVM trained on {} vertices, {} pairs in {:.1} s (SVM: {} passes, \
         objective {:.1}, bound {:.1})",
        evaluation.history().vertices(),
        evaluation.history().pairs(),
        begin.elapsed().as_secs_f64(),
        svm.passes,
        svm.primal,
        svm.dual,
    );
    let once = retrained.clone().with_retraining(None);
    evaluation.add("node2vec, trained once", once.clone());
    evaluation.add("node2vec, retrained", retrained);
    let begin = Instant::now();
    let held_out = PredictorOptions {
        held_out: 0.2,
        retrain_below: None,
        ..options
    };
    let held_out = Predictor::train(evaluation.history(), held_out)?;
    println!(
        "the same, with the latest fifth of the pairs held out for the SVM, in {:.1} s\n",
        begin.elapsed().as_secs_f64(),
    );
    evaluation.add("node2vec, held out", held_out.clone());

    println!("Batches of {} days; accuracy in %", args.days);
    println!("                       unseen  new     random pairs       known vertices  same ends");
    println!(
        "day    edges    pairs  pairs%  vertex% once   retrained   once   retr.   once   retr.  step"
    );
    let mut total = Totals::new(&evaluation);
    for batch in future {
        let begin = Instant::now();
        let report = evaluation.step(batch)?;
        total.add(&report);
        let [.., once, retrained, _] = &report.cards[..] else {
            return Err("predictors are missing".into());
        };
        println!(
            "{:<6} {:<8} {:<6} {:>6}  {:>6}  {:>5}  {:>5} {:<4}  {:>5}  {:>5}   {:>5}  {:>5}  {:>6.1} s",
            (batch[0].time - edges[0].time) / DAY,
            report.novelty.edges,
            report.novelty.pairs,
            percent(report.novelty.unseen_share()),
            percent(report.novelty.new_vertex_share()),
            percent(once.random.share()),
            percent(retrained.random.share()),
            if retrained.retrainings > 0 { "new" } else { "" },
            percent(once.known.share()),
            percent(retrained.known.share()),
            percent(once.same_ends.share()),
            percent(retrained.same_ends.share()),
            begin.elapsed().as_secs_f64(),
        );
    }
    total.print(&evaluation);
    Ok([once, held_out])
}

/// Batches of equally many edges, with node2vec trained once.
fn by_count(
    args: &Args,
    edges: &[TemporalEdge],
    known: usize,
    trained: [Predictor; 2],
) -> Result<(), Box<dyn Error>> {
    let all = batches(edges, BatchRule::Edges(args.edges));
    // No earlier than where the first part began, which is what the predictor was trained on.
    let trained_on = batches(edges, BatchRule::Time(args.days * DAY));
    let trained_on: usize = split(&trained_on, known)
        .0
        .iter()
        .map(|batch| batch.len())
        .sum();
    let (past, future) = split(&all, trained_on);
    let mut evaluation = Evaluation::new(past, evaluation_options(args, Some(args.edges)))?;
    let [once, held_out] = trained;
    evaluation.add("node2vec, trained once", once);
    evaluation.add("node2vec, held out", held_out);
    let mut total = Totals::new(&evaluation);
    println!("\nBatches of {} edges, as many pairs predicted", args.edges);
    for batch in future {
        total.add(&evaluation.step(batch)?);
    }
    total.print(&evaluation);
    Ok(())
}

/// The batches that hold the first `known` edges, and the others.
fn split<'a, 'b>(
    all: &'a [&'b [TemporalEdge]],
    known: usize,
) -> (&'a [&'b [TemporalEdge]], &'a [&'b [TemporalEdge]]) {
    let mut edges = 0;
    let past = all.iter().take_while(|batch| {
        let is_past = edges < known;
        edges += batch.len();
        is_past
    });
    all.split_at(past.count())
}

/// Sums over all batches of a part.
struct Totals {
    batches: usize,
    novelty: Novelty,
    sums: BTreeMap<&'static str, BatchQuality>,
    cards: Vec<Scorecard>,
}

impl Totals {
    fn new(evaluation: &Evaluation) -> Totals {
        Totals {
            batches: 0,
            novelty: Novelty::default(),
            sums: BTreeMap::new(),
            cards: vec![Scorecard::default(); evaluation.names().len()],
        }
    }

    fn add(&mut self, report: &BatchReport) {
        self.batches += 1;
        self.novelty.add(report.novelty);
        for (name, quality) in [
            ("pairs among the candidates", report.candidates),
            (
                "unseen pairs among the candidates",
                report.unseen_candidates,
            ),
            ("vertices active in the last two batches", report.active),
        ] {
            self.sums.entry(name).or_default().add(quality);
        }
        for (sum, card) in self.cards.iter_mut().zip(&report.cards) {
            sum.add(card);
        }
    }

    fn print(&self, evaluation: &Evaluation) {
        println!(
            "\n{} batches, {} edges, {} pairs; never seen before: {} % of the pairs; with a new \
             vertex: {} %",
            self.batches,
            self.novelty.edges,
            self.novelty.pairs,
            percent(self.novelty.unseen_share()),
            percent(self.novelty.new_vertex_share()),
        );
        for (name, sum) in &self.sums {
            let (precision, recall) = (percent(sum.precision()), percent(sum.recall()));
            println!("  {name}: recall {recall} %, precision {precision} %");
        }
        println!("                          all pairs        unseen pairs     accuracy");
        println!(
            "predictor                 prec.%  recall%  prec.%  recall%  random  known  same ends"
        );
        for (name, card) in evaluation.names().iter().zip(&self.cards) {
            println!(
                "{name:<25} {:>6}  {:>6}   {:>6}  {:>6}   {:>6} {:>6} {:>6}{}",
                percent(card.all.precision()),
                percent(card.all.recall()),
                percent(card.unseen.precision()),
                percent(card.unseen.recall()),
                percent(card.random.share()),
                percent(card.known.share()),
                percent(card.same_ends.share()),
                match card.retrainings {
                    0 => String::new(),
                    times => format!("   (trained anew {times} times)"),
                },
            );
        }
    }
}

/// A share in percent; a dash for nothing.
fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1}", 100.0 * share))
}
