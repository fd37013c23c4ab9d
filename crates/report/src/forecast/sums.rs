//! The table of a prediction that compares the sums of the groups with the prediction of the
//! program.

use reuselens_predict::Check;

use super::Forecast;
use super::text::{about, short};
use crate::numbers::{count, ratio_percent};

/// The columns of [`sums_rows`].
pub(super) fn sums_heads(forecast: &Forecast) -> Vec<String> {
    let caches = forecast.prediction.caches.iter();
    let misses = caches.map(|cache| format!("misses in {}", short(&cache.name)));
    let first = [String::new(), "accesses".to_owned()];
    first.into_iter().chain(misses).collect()
}

/// Accesses and misses of all groups, and of the program.
pub(super) fn sums_rows(forecast: &Forecast) -> Vec<Vec<String>> {
    let prediction = forecast.prediction;
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
    vec![groups, program]
}

/// The sentence that explains why the two rows are not equal.
pub(super) fn sums_words(forecast: &Forecast) -> String {
    let by = forecast.by;
    let sums = &forecast.prediction.sums;
    let fewer = match sums.fewer > 0.0 {
        true => format!(
            " {} are of {by}s that a smaller run does not have, or has with other patterns: they are predicted from the larger ones, and where those are two, intervals of distances have no confidence.",
            ratio_percent(sums.fewer)
        ),
        false => String::new(),
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
