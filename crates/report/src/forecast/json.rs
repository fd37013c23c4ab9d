//! [`forecast_json`]: a prediction as JSON, schema `reuselens-predict/1`.

use reuselens_predict::{CacheForecast, GroupSeen, GroupSums, Intervals};
use reuselens_predict::{Check, Estimate, GroupForecast, GroupMisses, PatternPrediction};
use reuselens_profile::Warning;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{Forecast, why};
use crate::json::to_text;

/// The name and version of the schema.
pub const FORECAST_SCHEMA: &str = "reuselens-predict/1";

/// The prediction as JSON: sizes in items, shares of 1. One group to a line; ends with a line
/// break.
///
/// Memory: that of the text, and no more; of paths there can be a million.
pub fn forecast_json(forecast: &Forecast) -> String {
    to_text(&document(forecast))
}

#[derive(Serialize)]
struct ForecastDocument<'a> {
    schema: &'static str,
    version: &'static str,
    granularity_bytes: u64,
    size: f64,
    training: Vec<Value>,
    fixed_size: f64,
    pattern_rule: String,
    pattern_rare: f64,
    intervals: IntervalsOf,
    accesses: Estimate,
    cold: Estimate,
    shapes: Vec<Value>,
    histogram: Value,
    miss_ratio_curve: Vec<Value>,
    caches: &'a [CacheForecast],
    by: &'a str,
    groups_sum: &'a GroupSums,
    groups: ForecastGroupsJson<'a>,
    check: Option<CheckOf<'a>>,
    warnings: &'a [Warning],
}

#[derive(Serialize)]
struct IntervalsOf {
    how: Intervals,
    confidence: Option<f64>,
}

#[derive(Serialize)]
struct CheckOf<'a> {
    run: &'a str,
    coverage: f64,
    group_accuracy: f64,
    group_nearness: f64,
    measures: &'a Check,
}

/// The groups, made one by one as they are written.
struct ForecastGroupsJson<'a>(&'a Forecast<'a>);

impl Serialize for ForecastGroupsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let forecast = self.0;
        let groups = forecast.prediction.groups.iter();
        serializer.collect_seq(
            groups.map(|(group, misses)| ForecastGroupJson::of(forecast, group, misses)),
        )
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum ForecastGroupJson<'a> {
    Unpredictable {
        name: &'a str,
        accesses: Estimate,
        cold: Estimate,
        unpredictable: String,
        /// Misses by cache if it missed as often as in the largest training run.
        misses_as_trained: Vec<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        observed: Option<&'a GroupSeen>,
    },
    Predicted {
        name: &'a str,
        runs: usize,
        accesses: Estimate,
        cold: Estimate,
        patterns: &'a [PatternPrediction],
        rare: &'a [PatternPrediction],
        caches: &'a [GroupMisses],
        #[serde(skip_serializing_if = "Option::is_none")]
        observed: Option<&'a GroupSeen>,
    },
}

impl<'a> ForecastGroupJson<'a> {
    fn of(forecast: &'a Forecast, group: &'a GroupForecast, misses: &'a [GroupMisses]) -> Self {
        let name = &group.name;
        match &group.patterns {
            Err(reason) => ForecastGroupJson::Unpredictable {
                name,
                accesses: group.accesses,
                cold: group.cold,
                unpredictable: why(reason, &forecast.training, &forecast.prediction.training),
                misses_as_trained: misses.iter().map(GroupMisses::likely).collect(),
                observed: forecast.seen(group),
            },
            Ok(patterns) => ForecastGroupJson::Predicted {
                name,
                runs: group.runs,
                accesses: group.accesses,
                cold: group.cold,
                patterns,
                rare: &group.rare,
                caches: misses,
                observed: forecast.seen(group),
            },
        }
    }
}

fn document<'a>(forecast: &'a Forecast<'a>) -> ForecastDocument<'a> {
    let prediction = forecast.prediction;
    let program = &prediction.program;
    let runs = forecast.by_size();
    let shapes = program.shapes();
    let log2 = reuselens_locality::Log2Histogram::of(&program.histogram);
    let counts: Vec<Value> = log2
        .iter()
        .map(|(low, high, count)| json!([low, high, count]))
        .collect();
    let curve = reuselens_locality::MissRatioCurve::new(&program.histogram).default_points();
    let check = |(run, _, check): (&'a str, _, &'a Check)| CheckOf {
        run,
        coverage: check.groups.coverage(),
        group_accuracy: check.groups.accuracy(),
        group_nearness: check.groups.nearness(),
        measures: check,
    };
    ForecastDocument {
        schema: FORECAST_SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        granularity_bytes: prediction.granularity.bytes(),
        size: prediction.size,
        training: runs
            .map(|(name, _, size)| json!({ "name": name, "size": size }))
            .collect(),
        fixed_size: prediction.fixed,
        pattern_rule: prediction.merging.rule.to_string(),
        pattern_rare: prediction.merging.rare,
        intervals: IntervalsOf {
            how: prediction.intervals,
            confidence: prediction.intervals.confidence(),
        },
        accesses: program.accesses,
        cold: program.cold,
        shapes: shapes
            .iter()
            .map(|(shape, groups)| json!([shape.name(), groups]))
            .collect(),
        histogram: json!({ "bins": "log2", "counts": counts, "cold": program.histogram.cold() }),
        miss_ratio_curve: curve
            .iter()
            .map(|point| json!([point.items, point.miss_ratio]))
            .collect(),
        caches: &prediction.caches,
        by: forecast.by,
        groups_sum: &prediction.sums,
        groups: ForecastGroupsJson(forecast),
        check: forecast.observed.map(check),
        warnings: &prediction.warnings,
    }
}
