//! The tables of a prediction that text and page have in common: the caches of the machine, the
//! sums of the groups beside the program, and what cannot be predicted.

use reuselens_document::numbers::{count, ratio_percent};
use reuselens_document::{Table, TableColumn};
use reuselens_predict::{CacheForecast, Check};

use super::text::{about, interval, short, short_name};
use super::{Forecast, why};

/// What misses in each cache of the machine, with what was observed if there is something to
/// compare with.
pub(super) fn cache_table(forecast: &Forecast) -> Table {
    let observed = forecast.observed.map(|(_, _, check)| check);
    let mut columns = vec![TableColumn::mixed("cache")];
    let predicted = ["fully associative", "with its sets, about"];
    columns.extend(TableColumn::all(&predicted, &[]));
    if observed.is_some() {
        columns.extend(TableColumn::all(&["observed", "with its sets"], &[]));
    }
    let maybe = |ratio: Option<f64>| ratio.map_or("–".to_owned(), ratio_percent);
    let row = |(index, cache): (usize, &CacheForecast)| {
        let mut row = vec![
            cache.name.clone(),
            interval(&cache.miss_ratio, ratio_percent),
            maybe(cache.with_sets),
        ];
        if let Some((full, sets)) = observed.and_then(|check| check.caches.get(index)) {
            row.extend([ratio_percent(*full), maybe(*sets)]);
        }
        row
    };
    let caches = forecast.prediction.caches.iter().enumerate();
    Table::new(columns, caches.map(row))
}

/// Accesses and misses of all groups, and of the program.
pub(super) fn sums_table(forecast: &Forecast) -> Table {
    let prediction = forecast.prediction;
    let caches = prediction.caches.iter();
    let misses = caches.map(|cache| format!("misses in {}", short(&cache.name)));
    let heads = [String::new(), "accesses".to_owned()];
    let heads: Vec<String> = heads.into_iter().chain(misses).collect();
    let sums = &prediction.sums;
    let mut groups = vec![
        format!("{}s that can be predicted", forecast.by),
        about(sums.accesses),
    ];
    groups.extend(sums.caches.iter().map(|cache| count(cache.misses)));
    let mut program = vec![
        "whole program".to_owned(),
        about(prediction.program.accesses.value),
    ];
    program.extend(sums.caches.iter().map(|cache| about(cache.program)));
    Table::new(TableColumn::all(&heads, &[0]), [groups, program])
}

/// The groups that cannot be predicted, and why.
pub(super) fn unpredictable_table(forecast: &Forecast) -> Table {
    let prediction = forecast.prediction;
    let row = |(name, reason)| {
        vec![
            why(reason, &forecast.training, &prediction.training),
            short_name(name),
        ]
    };
    let columns = [TableColumn::words("why"), TableColumn::names(forecast.by)];
    Table::new(columns, prediction.unpredictable().map(row))
}

/// The sentence that explains why the two rows are not equal.
pub(super) fn sums_words(forecast: &Forecast) -> String {
    let by = forecast.by;
    let sums = &forecast.prediction.sums;
    let fewer = if sums.fewer > 0.0 {
        format!(
            " {} are of {by}s that a smaller run does not have, or has with other patterns: they are predicted from the larger ones, and where those are two, intervals of distances have no confidence.",
            ratio_percent(sums.fewer)
        )
    } else {
        String::new()
    };
    format!(
        "Accesses of {by}s are shares of those of the program. Misses of {by}s come of their own distances, and need not agree with the whole program's. {} of the accesses of the largest training run are of {by}s whose distances cannot be predicted; their first touches are counted as misses.{fewer}",
        ratio_percent(sums.unpredictable)
    )
}

/// How much was predicted of the right groups.
pub(super) fn ranking_words(forecast: &Forecast, check: &Check) -> String {
    let ranking = &check.ranking;
    let caches = forecast.prediction.caches.iter().zip(&ranking.misses);
    let misses = caches.map(|(cache, right)| {
        format!(
            "{} of misses in {}",
            ratio_percent(*right),
            short(&cache.name)
        )
    });
    let misses: Vec<String> = misses.collect();
    let all = [format!("{} of accesses", ratio_percent(ranking.accesses))];
    let all: Vec<String> = all.into_iter().chain(misses).collect();
    format!("of the right {}: {}", forecast.by, all.join(", "))
}
