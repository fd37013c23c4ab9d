//! The rows of a prediction's tables: the groups that are named, and the sum of all others.

use reuselens_document::numbers::count;
use reuselens_predict::{GroupForecast, GroupMisses, GroupSeen, Shape};

use reuselens_units::counted;

use super::Forecast;

/// Less than this share of all accesses and of the misses in each cache, predicted and observed, is
/// noise: it has no row of its own.
const NOISE: f64 = 1e-3;

/// The share of a group's reuses from which on a rare pattern is mentioned.
const WORD: f64 = 1e-4;

/// A group and its misses.
pub(super) type ForecastLine = (GroupForecast, Vec<GroupMisses>);

/// What is in a table of groups.
pub(super) struct ShownLines<'a> {
    /// Groups with a row of their own.
    pub shown: Vec<&'a ForecastLine>,
    /// The others.
    pub others: Others,
}

/// Groups without a row of their own, added up.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Others {
    pub number: usize,
    pub accesses: f64,
    /// By cache.
    pub misses: Vec<u64>,
    /// In the run that was compared with.
    pub seen: GroupSeen,
}

impl Others {
    fn add(&mut self, (group, misses): &ForecastLine, seen: Option<&GroupSeen>) {
        self.number += 1;
        self.accesses += group.accesses.value;
        self.misses.resize(misses.len(), 0);
        for (sum, misses) in self.misses.iter_mut().zip(misses) {
            *sum = sum.saturating_add(misses.likely());
        }
        if let Some(seen) = seen {
            self.seen.add(seen);
        }
    }
}

impl Forecast<'_> {
    /// What was observed of a group.
    pub(super) fn seen(&self, group: &GroupForecast) -> Option<&GroupSeen> {
        self.observed
            .and_then(|(_, _, check)| check.seen.get(&group.name))
    }

    /// The groups with most misses in the first cache, `most` at most; in a comparison the larger
    /// of predicted and observed misses counts. Groups below [`NOISE`] are not among them.
    pub(super) fn lines(&self, most: usize) -> ShownLines<'_> {
        let mut all = Others::default();
        for line in &self.prediction.groups {
            all.add(line, self.seen(&line.0));
        }
        let is_noise = |line: &&ForecastLine| {
            let (few, seen) = (
                |part: f64, all: f64| part <= NOISE * all,
                self.seen(&line.0),
            );
            let misses = line.1.iter().zip(&all.misses);
            let mut misses = misses.map(|(part, all)| (part.likely() as f64, *all as f64));
            let seen = seen.is_none_or(|seen| seen.is_below(NOISE, &all.seen));
            few(line.0.accesses.value, all.accesses)
                && misses.all(|(part, all)| few(part, all))
                && seen
        };
        let mut lines: Vec<&ForecastLine> = self.prediction.groups.iter().collect();
        if self.observed.is_some() {
            let first =
                |line: &ForecastLine| line.1.first().map_or(0.0, |misses| misses.likely() as f64);
            let seen = |line: &ForecastLine| {
                self.seen(&line.0)
                    .and_then(|seen| seen.misses.first().copied())
            };
            let most = |line: &ForecastLine| first(line).max(seen(line).unwrap_or(0.0));
            lines.sort_by(|a, b| most(b).total_cmp(&most(a)));
        }
        let mut others = Others::default();
        let mut shown = Vec::new();
        for line in lines {
            if shown.len() < most && !is_noise(&line) {
                shown.push(line)
            } else {
                others.add(line, self.seen(&line.0))
            }
        }
        ShownLines { shown, others }
    }

    /// `12 others`.
    pub(super) fn more(&self, others: &Others) -> String {
        counted(others.number as u64, "other", "others")
    }
}

/// Misses, with a question mark where they are not predicted.
pub(super) fn with_doubt(misses: &GroupMisses) -> String {
    let doubt = if misses.as_trained.is_some() {
        " ?"
    } else {
        ""
    };
    format!("{}{doubt}", count(misses.likely()))
}

/// How the patterns of a group grow, in words; of its rare ones only those that do.
pub(super) fn growth(group: &GroupForecast) -> String {
    let Ok(patterns) = &group.patterns else {
        return "not predictable".to_owned();
    };
    let shapes: Vec<&str> = patterns
        .iter()
        .map(|pattern| pattern.fit.shape.name())
        .collect();
    let common = match shapes.len() {
        0 => "first touches".to_owned(),
        1..=3 => shapes.join(", "),
        more => format!("{more}"),
    };
    let all: f64 = patterns
        .iter()
        .chain(&group.rare)
        .map(|pattern| pattern.accesses.value)
        .sum();
    let grows = |pattern: &&reuselens_predict::PatternPrediction| {
        pattern.fit.shape != Shape::Constant && pattern.accesses.value >= WORD * all
    };
    let fastest = group
        .rare
        .iter()
        .filter(grows)
        .map(|pattern| pattern.fit.shape);
    let place = |shape: &Shape| Shape::ALL.iter().position(|known| known == shape);
    match fastest.max_by_key(place) {
        Some(shape) => format!("{common}; rare: {}", shape.name()),
        None => common,
    }
}
