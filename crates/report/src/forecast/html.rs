//! [`forecast_page`]: a prediction as an HTML page.

use std::fmt::Write;

use reuselens_document::html::{escape, page, with_code};
use reuselens_document::numbers::{count, ratio_percent};
use reuselens_document::{Table, TableColumn, chart_element};
use reuselens_predict::{GroupForecast, GroupMisses, GroupSeen, PatternPrediction};

use super::lines::with_doubt;
use super::tables::{cache_table, ranking_words, sums_table, sums_words, unpredictable_table};
use super::text::{about, interval, short, short_name};
use super::{Forecast, multiples, pictures};
use crate::MAKER;

const CURVES: &str = "Each curve falls off a cliff where the cache becomes large enough for something that the program goes over \
again and again. From a small input to a large one, <b>cliffs of data that grow move to the right</b>. Where the predicted curve \
is above that of a training run, the large input will miss and the small one did not.";
const HILLS: &str = "A hill is a range of distances in which many reuses lie. Those that stay fit into a cache for ever; those that \
move leave every cache once the data are large enough.";
const MOVES: &str = "The same hills, each as a line: level ones stay, those that rise with the data move. The last point of each is \
predicted.";
const BELIEVE: &str = "<p>A prediction takes each thousandth of the reuses, from near to far, looks at how its mean distance grew from \
run to run, and goes on in the same way: not at all, or with a power of the data of up to 1. Believe it if</p><ul><li>the training \
inputs differ several-fold, are of the same kind as the input asked for, and the program does the same with them;</li><li>the size \
asked for is not many times the largest that was run;</li><li>intervals are narrow, and the lines that you care about are not \
among those that cannot be predicted.</li></ul><p>The miss ratio is that of a cache that throws out what was unused for the longest \
time; prefetching and other programs are not in it.</p>";

/// The prediction as one HTML file that works offline: curves and histograms of the training runs
/// with the predicted and the observed one, hills that move, and tables.
pub fn forecast_page(forecast: &Forecast) -> String {
    let mut out = String::with_capacity(96 << 10);
    page::head(&mut out, MAKER, "Prediction");
    let links = [
        ("sizes", "Sizes"),
        ("distances", "Distances"),
        ("moves", "Hills"),
        ("patterns", "Patterns"),
        ("where", "Where"),
        ("method", "Method"),
    ];
    let moves = pictures::moves(forecast);
    let mut patterns = String::new();
    let has_patterns = multiples::write(&mut patterns, forecast);
    page::top(&mut out, MAKER, &links, |id| match id {
        "moves" => moves.is_some(),
        "patterns" => has_patterns,
        _ => true,
    });
    head(&mut out, forecast);
    let draw = |panel| move |out: &mut String| out.push_str(&chart_element(&[panel]));
    page::card(
        &mut out,
        "sizes",
        "What caches will miss",
        CURVES,
        draw(pictures::curves(forecast)),
    );
    page::card(
        &mut out,
        "distances",
        "How far apart data will be reused",
        HILLS,
        draw(pictures::hills(forecast)),
    );
    if let Some(panel) = moves {
        page::card(&mut out, "moves", "Hills that move", MOVES, draw(panel));
    }
    if has_patterns {
        small_multiples(&mut out, forecast, &patterns);
    }
    tables(&mut out, forecast);
    let _ = write!(
        out,
        "<section id=\"method\"><div class=\"card\"><h2>When to believe this</h2>{BELIEVE}<p class=\"explain\">Intervals: {}.</p></div></section>",
        escape(forecast.prediction.intervals.describe())
    );
    page::end(&mut out, MAKER, "");
    out
}

/// Appends the section of the small pictures, which the caller has made.
fn small_multiples(out: &mut String, forecast: &Forecast, pictures: &str) {
    let title = match forecast.by {
        "path" => "Patterns by path".to_owned(),
        by => format!("Patterns by {by}"),
    };
    let observed = match forecast.observed {
        Some(_) => " Outlines are what was observed.",
        None => "",
    };
    let (all, own) = (crate::multiples::EXPLAIN, multiples::EXPLAIN);
    let explain = format!("{all} {own}{observed}");
    page::card(out, "patterns", &title, &explain, |out| {
        out.push_str(pictures)
    });
}

fn head(out: &mut String, forecast: &Forecast) {
    let prediction = forecast.prediction;
    let size = |size: f64| forecast.size(size);
    let runs: Vec<String> = forecast
        .by_size()
        .map(|(name, _, data)| format!("{} ({})", escape(name), size(data)))
        .collect();
    let _ = write!(
        out,
        "<h1 class=\"title\">Predicted for data of {}</h1><p class=\"lead\">From {}. Expected are {} accesses to {} distinct items of {} bytes.</p>",
        size(prediction.size),
        runs.join(" and "),
        interval(&prediction.program.accesses, about),
        interval(&prediction.program.cold, about),
        prediction.granularity.bytes()
    );
    if prediction.fixed > 0.0 {
        let _ = write!(
            out,
            "<p class=\"explain\">Of the data of each run, {} do not grow with the input: the start of the program, tables of fixed size, \
             libraries. They are left out of <i>s</i>, the size by which distances grow, and are in all sizes shown here.</p>",
            size(prediction.fixed)
        );
    }
    for warning in &prediction.warnings {
        let hint = match warning.hint.as_str() {
            "" => String::new(),
            hint => format!(" To do: {}.", with_code(hint)),
        };
        let _ = write!(
            out,
            "<p class=\"explain\"><b>Mind:</b> {}.{hint}</p>",
            with_code(&warning.message)
        );
    }
    if let Some((name, _, check)) = forecast.observed {
        let _ = write!(
            out,
            "<p class=\"lead\">Compared with {}: accuracy {}, mean error of the miss ratio {}; of the accesses, {} are of {}s that could be predicted, and {} of those correctly in every bin (the published measure, which is strict), {} with mean distances within a tenth. Predicted {}.</p>",
            escape(name),
            escape(&ratio_percent(check.accuracy)),
            escape(&ratio_percent(check.curve_error)),
            escape(&ratio_percent(check.groups.coverage())),
            forecast.by,
            escape(&ratio_percent(check.groups.accuracy())),
            escape(&ratio_percent(check.groups.nearness())),
            escape(&ranking_words(forecast, check))
        );
    }
}

fn tables(out: &mut String, forecast: &Forecast) {
    out.push_str(
        "<section id=\"where\"><div class=\"card\"><h2>Misses in the caches of the machine</h2>",
    );
    cache_table(forecast).write_html(out);
    groups(out, forecast);
    failed(out, forecast);
    out.push_str("</div></section>");
}

fn groups(out: &mut String, forecast: &Forecast) {
    let prediction = forecast.prediction;
    let mut heads = vec![forecast.by.to_owned()];
    let caches = prediction.caches.iter();
    let caches = caches.map(|cache| format!("misses in {}", short(&cache.name)));
    for head in std::iter::once("accesses".to_owned()).chain(caches) {
        heads.push(head);
        heads.extend(forecast.observed.map(|_| "observed".to_owned()));
    }
    let patterns_at = heads.len();
    heads.push("patterns: how they grow, and their mean distance".to_owned());
    let lines = forecast.lines(500);
    let nothing = GroupSeen::default();
    let row = |(group, misses): &(GroupForecast, Vec<GroupMisses>)| {
        let misses = misses.iter().map(with_doubt);
        let seen = forecast.seen(group).unwrap_or(&nothing);
        let mut row = vec![short_name(&group.name)];
        row.extend(beside(forecast, group.accesses.value, misses, seen));
        row.push(patterns(group));
        row
    };
    let mut rows: Vec<Vec<String>> = lines.shown.iter().copied().map(row).collect();
    let others = &lines.others;
    if others.number > 0 {
        let mut more = vec![forecast.more(others)];
        more.extend(beside(
            forecast,
            others.accesses,
            others.misses.iter().map(|misses| count(*misses)),
            &others.seen,
        ));
        more.push(String::new());
        rows.push(more);
    }
    let _ = write!(out, "<h2>By {}</h2>", forecast.by);
    let columns = TableColumn::all(&heads, &[0, patterns_at]);
    Table::new(columns, rows).write_html(out);
    sums(out, forecast);
}

/// Predicted accesses and misses in each cache; what was observed beside each, if there is
/// something to compare with.
fn beside(
    forecast: &Forecast,
    accesses: f64,
    misses: impl Iterator<Item = String>,
    seen: &GroupSeen,
) -> Vec<String> {
    let expected = std::iter::once(about(accesses)).chain(misses);
    let seen_misses = seen.misses.iter().map(|misses| about(*misses));
    let none = std::iter::repeat("0".to_owned());
    let seen = std::iter::once(count(seen.accesses))
        .chain(seen_misses)
        .chain(none);
    let pairs = expected.zip(seen);
    pairs
        .flat_map(|(expected, seen)| [Some(expected), forecast.observed.map(|_| seen)])
        .flatten()
        .collect()
}

/// How the patterns of a group grow, and their mean distances.
fn patterns(group: &GroupForecast) -> String {
    let Ok(common) = &group.patterns else {
        return "not predictable (?): as often as in the largest training run".to_owned();
    };
    let words =
        |p: &PatternPrediction| format!("{}: {}", p.fit.shape.name(), interval(&p.mean, about));
    let rare = group.rare.iter().take(3);
    let rare = rare.map(|p| format!("rare, {}", words(p)));
    let common = common.iter().take(6).map(words);
    common.chain(rare).collect::<Vec<_>>().join("; ")
}

/// The sums of the groups, beside the prediction of the program.
fn sums(out: &mut String, forecast: &Forecast) {
    let words = escape(&sums_words(forecast));
    let _ = write!(out, "<p class=\"explain\">{words}</p>");
    sums_table(forecast).write_html(out);
}

fn failed(out: &mut String, forecast: &Forecast) {
    let table = unpredictable_table(forecast);
    if table.rows.is_empty() {
        return;
    }
    out.push_str("<h2>Cannot be predicted</h2>");
    let table = table.first(500, |more| format!("{more} more are in the JSON."));
    table.write_html(out);
}
