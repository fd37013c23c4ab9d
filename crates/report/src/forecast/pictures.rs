//! The large pictures of a prediction: miss-ratio curves, histograms, and how hills move with the
//! data size.

use std::collections::BTreeMap;

use reuselens_document::numbers::count;
use reuselens_document::{ChartAxis, ChartLine, Look, Panel, Unit};
use reuselens_locality::{ExactHistogram, Growth, Log2Histogram, MissRatioCurve};

use super::Forecast;
use super::text::short;

/// Miss ratios of the training runs, predicted with its interval, and observed; by size of the
/// cache.
pub(super) fn curves(forecast: &Forecast) -> Panel {
    let bytes = forecast.prediction.granularity.bytes() as f64;
    let line = |(name, look): (String, Look), histogram: &ExactHistogram| {
        let points = MissRatioCurve::new(histogram).default_points();
        let points = points
            .iter()
            .map(|point| (point.items as f64 * bytes, point.miss_ratio * 100.0));
        ChartLine {
            name,
            points: points.filter(|point| point.1 >= 0.001).collect(),
            look,
            steps: false,
        }
    };
    let caches = forecast.prediction.caches.iter();
    let unit = if bytes > 1.0 {
        Unit::Bytes
    } else {
        Unit::Things
    };
    Panel::Lines {
        title: "Misses per access, by size of the cache".to_owned(),
        x: ChartAxis::logarithmic("bytes in the cache", unit),
        y: ChartAxis::logarithmic("% of accesses", Unit::Things),
        lines: lines(forecast, line),
        marks: caches
            .map(|cache| (cache.items as f64 * bytes, short(&cache.name).to_owned()))
            .collect(),
    }
}

/// A line for each training run, pale, for what is predicted, and for what was observed.
fn lines(
    forecast: &Forecast,
    line: impl Fn((String, Look), &ExactHistogram) -> ChartLine,
) -> Vec<ChartLine> {
    let runs = forecast.by_size();
    let mut lines: Vec<ChartLine> = runs
        .map(|(_, run, items)| line((forecast.size(items), Look::Soft), &run.histogram))
        .collect();
    let predicted = ("predicted".to_owned(), Look::Strong);
    lines.push(line(predicted, &forecast.prediction.program.histogram));
    if let Some((_, run, _)) = forecast.observed {
        lines.push(line(("observed".to_owned(), Look::Plain), &run.histogram));
    }
    lines
}

/// The smallest share that the picture of distances shows, in percent.
const LEAST: f64 = 0.01;

/// Reuses by distance.
pub(super) fn hills(forecast: &Forecast) -> Panel {
    let line = |(name, look): (String, Look), histogram: &ExactHistogram| {
        let log2 = Log2Histogram::of(histogram);
        let all = histogram.accesses().max(1) as f64;
        let share = |count: u64| (count as f64 / all * 100.0).max(LEAST);
        // Bins without accesses are drawn at the bottom: a line over them would suggest accesses.
        let ground = log2.iter().map(|(low, _, _)| low).max().unwrap_or(0);
        let lows = (0..u64::BITS).map(|bit| 1 << bit);
        let mut points: BTreeMap<u64, f64> = lows
            .take_while(|low| *low <= ground)
            .map(|low| (low, LEAST))
            .collect();
        let bins = log2.iter().filter(|(low, _, _)| *low > 0);
        points.extend(bins.map(|(low, _, count)| (low, share(count))));
        ChartLine {
            name,
            points: points
                .iter()
                .map(|(low, share)| (*low as f64, *share))
                .collect(),
            look,
            steps: false,
        }
    };
    let caches = forecast.prediction.caches.iter();
    let distance = format!(
        "reuse distance, in items of {} bytes",
        forecast.prediction.granularity.bytes()
    );
    Panel::Lines {
        title: "Accesses by reuse distance (log2 bins; on the ground: 0.01 % or less)".to_owned(),
        x: ChartAxis::logarithmic(distance, Unit::Things),
        y: ChartAxis::logarithmic("% of accesses", Unit::Things),
        lines: lines(forecast, line),
        marks: caches
            .map(|cache| (cache.items as f64, short(&cache.name).to_owned()))
            .collect(),
    }
}

/// Where the middle of each hill is, by size of the data: those that move, and those that stay.
pub(super) fn moves(forecast: &Forecast) -> Option<Panel> {
    let runs: Vec<_> = forecast.by_size().collect();
    let (small, others) = runs.split_first()?;
    let mut all: Vec<(f64, &ExactHistogram)> =
        others.iter().map(|run| (run.2, &run.1.histogram)).collect();
    all.push((
        forecast.prediction.size,
        &forecast.prediction.program.histogram,
    ));
    let growths: Vec<(f64, Growth)> = all
        .iter()
        .map(|(size, histogram)| (*size, Growth::between(&small.1.histogram, *histogram)))
        .collect();
    let hills = growths.first()?.1.hills.len();
    // Neighbours stay neighbours.
    let near = |growth: &Growth| {
        growth
            .hills
            .iter()
            .all(|hill| hill.small.max(hill.large) <= 1)
    };
    if growths.iter().all(|(_, growth)| near(growth)) {
        return None;
    }
    let line = |hill: usize| {
        let first = growths[0].1.hills[hill];
        let further = growths
            .iter()
            .filter_map(|(size, growth)| Some((*size, growth.hills.get(hill)?.large)));
        let points = std::iter::once((small.2, first.small)).chain(further);
        let end = growths
            .last()
            .and_then(|(_, growth)| growth.hills.get(hill));
        let how = if end.is_some_and(|end| end.moves) {
            "moves"
        } else {
            "stays"
        };
        ChartLine {
            name: format!("hill at {} {how}", count(first.hill.low().max(1))),
            points: points
                .map(|(size, distance)| (size, distance.max(1) as f64))
                .collect(),
            ..ChartLine::default()
        }
    };
    Some(Panel::Lines {
        title: "The middle of each hill, by size of the data; the last point is predicted"
            .to_owned(),
        x: ChartAxis::logarithmic("data, in items", Unit::Things),
        y: ChartAxis::logarithmic("reuse distance", Unit::Things),
        lines: (0..hills).map(line).collect(),
        marks: Vec::new(),
    })
}
