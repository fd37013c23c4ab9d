//! A prediction for other programs.

use reuselens_predict::{Estimate, GroupForecast, GroupMisses};
use serde_json::{Value, json};

use super::{Forecast, why};

/// What the first key of the export says.
pub const FORECAST_SCHEMA: &str = "reuselens-predict/1";

/// The prediction as JSON: sizes in items, shares of 1. Ends with a line break.
pub fn forecast_json(forecast: &Forecast) -> String {
    let prediction = forecast.prediction;
    let whole = &prediction.whole;
    let runs = forecast.by_size();
    let runs: Vec<Value> = runs
        .map(|(name, _, size)| json!({ "name": name, "size": size }))
        .collect();
    let shapes: Vec<Value> = whole
        .shapes()
        .iter()
        .map(|(shape, groups)| json!([shape.name(), groups]))
        .collect();
    let log2 = reuselens_locality::Log2Histogram::of(&whole.histogram);
    let counts: Vec<Value> = log2
        .iter()
        .map(|(low, high, count)| json!([low, high, count]))
        .collect();
    let curve = reuselens_locality::MissRatioCurve::new(&whole.histogram).default_points();
    let curve: Vec<Value> = curve
        .iter()
        .map(|point| json!([point.items, point.miss_ratio]))
        .collect();
    let value = json!({
        "schema": FORECAST_SCHEMA,
        "version": env!("CARGO_PKG_VERSION"),
        "granularity_bytes": prediction.granularity.bytes(),
        "size": prediction.size,
        "training": runs,
        "fixed_size": prediction.fixed,
        "pattern_rule": prediction.merging.rule.to_string(),
        "pattern_rare": prediction.merging.rare,
        "intervals": { "how": prediction.intervals, "confidence": prediction.intervals.confidence() },
        "accesses": estimate(&whole.accesses),
        "cold": estimate(&whole.cold),
        "shapes": shapes,
        "histogram": { "bins": "log2", "counts": counts, "cold": whole.histogram.cold() },
        "miss_ratio_curve": curve,
        "caches": prediction.caches,
        "by": forecast.by,
        "groups": groups(forecast),
        "check": forecast.observed.map(|(name, _, check)| json!({ "run": name, "coverage": check.groups.coverage(),
            "group_accuracy": check.groups.accuracy(), "measures": check })),
        "warnings": prediction.warnings,
    });
    format!("{value:#}\n")
}

fn estimate(estimate: &Estimate) -> Value {
    json!({ "value": estimate.value, "low": estimate.low, "high": estimate.high })
}

fn groups(forecast: &Forecast) -> Vec<Value> {
    let group = |(group, misses): &(GroupForecast, Vec<GroupMisses>)| match &group.patterns {
        Err(reason) => json!({
            "name": group.name,
            "unpredictable": why(reason, &forecast.training, &forecast.prediction.training),
        }),
        Ok(patterns) => json!({
            "name": group.name,
            "accesses": estimate(&group.accesses),
            "cold": estimate(&group.cold),
            "patterns": patterns,
            "rare": group.rare,
            "caches": misses,
        }),
    };
    forecast.prediction.groups.iter().map(group).collect()
}
