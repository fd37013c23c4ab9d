//! [`diff`]: the comparison of two profiles as text for a terminal.

mod findings;
mod inputs;
mod tables;

use std::fmt::Write;

use reuselens_document::numbers::{change, count, percent};
use reuselens_document::terminal::{Paint, TextStyle, heading, wrap};
use reuselens_document::{Table, TableColumn};
use reuselens_profile::{
    CacheSize, DifferenceError, Dimension, LocalityChange, Profile, SizeChange, SizeExtent,
    SizeRange,
};
use reuselens_units::shown;

use crate::caches::{self, Level};
use crate::histogram_error::write_error;
use crate::words;
use crate::{comparable, conflicts};

/// Changes of fewer misses than this share of those before are noise.
pub(crate) const NOISE: f64 = 0.01;

/// What the comparison shows, and how.
#[derive(Clone, Debug)]
pub struct DiffOptions {
    /// The cache whose misses the tables count; `None` = the one in which what changed costs or
    /// saves the most time, and of two inputs the one in which the misses of the larger's reuses
    /// do.
    pub cache: Option<CacheSize>,
    /// Columns of the terminal; 60 at least.
    pub width: usize,
    /// Whether to colour.
    pub color: bool,
    /// Rows of each table.
    pub top: usize,
    /// Dimensions to compare the groups of.
    pub by: Vec<Dimension>,
    /// Whether the two are a small and a large input of one program, instead of the same work
    /// before and after a change; `None` = if the same program was run with other arguments, on at
    /// least half as much data again.
    pub inputs: Option<bool>,
    /// Whether the error of the second histogram against the first is shown, as the literature
    /// measures it.
    pub error: bool,
    /// The names of the two, `a.rlprof` and `b.rlprof`; empty = not shown.
    pub names: [String; 2],
}

impl Default for DiffOptions {
    fn default() -> Self {
        let by = vec![Dimension::Line, Dimension::Object];
        DiffOptions {
            cache: None,
            width: 90,
            color: false,
            top: 6,
            by,
            inputs: None,
            error: false,
            names: Default::default(),
        }
    }
}

/// The locality change from one profile to another: totals, the findings that are gone, new and
/// stay, the cache sizes that win and that lose, the distances that moved, the groups that got
/// better or worse; for two inputs of one program also the evadable reuses and what becomes of each
/// hill. Ends with a line break.
///
/// # Errors
/// If the profiles count items of different sizes.
pub fn diff(
    before: &Profile,
    after: &Profile,
    options: &DiffOptions,
) -> Result<String, DifferenceError> {
    let difference = LocalityChange::between(before, after)?;
    let view = DiffView::new(before, after, options);
    let mut out = String::new();
    view.head(&mut out);
    if before.histogram.accesses() == 0 || after.histogram.accesses() == 0 {
        let which = if before.histogram.accesses() == 0 {
            "before"
        } else {
            "after"
        };
        let _ = writeln!(
            out,
            "\nThe profile {which} has no accesses, so there is nothing to compare."
        );
        return Ok(out);
    }
    view.totals(&mut out);
    view.findings(&mut out);
    if view.are_inputs {
        view.growth(&mut out);
    } else {
        view.sizes(&mut out, &difference);
    }
    view.bins(&mut out, &difference);
    if options.error {
        write_error(&mut out, [before, after], view.width, view.paint);
    }
    let mut reason = Some(view.reason);
    for by in &options.by {
        view.groups(&mut out, *by, &mut reason);
    }
    Ok(out)
}

/// Two profiles, and how they are compared.
pub(crate) struct DiffView<'a> {
    pub before: &'a Profile,
    pub after: &'a Profile,
    paint: Paint,
    width: usize,
    /// Whether the two are inputs of one program.
    are_inputs: bool,
    /// The cache whose misses the tables count, and why that one.
    chosen: Level,
    reason: &'static str,
    /// Rows of each table.
    pub top: usize,
    pub names: &'a [String; 2],
}

impl<'a> DiffView<'a> {
    pub(crate) fn new(before: &'a Profile, after: &'a Profile, options: &'a DiffOptions) -> Self {
        let are_inputs = options
            .inputs
            .unwrap_or_else(|| inputs::are_inputs(before, after));
        let (chosen, reason) = if are_inputs {
            // With more data there are more cold accesses everywhere, which is no news.
            let (_, large) = inputs::by_size(before, after);
            let reach = caches::reach([before, after]);
            let chosen = caches::chosen_within(large, reach, options.cache);
            let reason = caches::reason(large, options.cache, &chosen);
            (chosen, reason)
        } else {
            let chosen = caches::chosen_between(before, after, options.cache);
            let reason = caches::reason_between(before, after, options.cache, &chosen);
            (chosen, reason)
        };
        DiffView {
            before,
            after,
            paint: Paint::new(options.color),
            width: options.width.max(60),
            are_inputs,
            chosen,
            reason,
            top: options.top,
            names: &options.names,
        }
    }
}

impl DiffView<'_> {
    fn title(&self, out: &mut String, text: &str) {
        let _ = writeln!(out, "\n{}", self.paint.ink(TextStyle::Strong, text));
    }

    fn size(&self, items: u64) -> String {
        caches::size(items, self.before.granularity)
    }

    fn head(&self, out: &mut String) {
        let both = [("before", self.before), ("after", self.after)];
        for ((name, profile), file) in both.into_iter().zip(self.names) {
            let name = self.paint.ink(TextStyle::Soft, &format!("{name:<7}"));
            let method = format!(
                "{}; {}",
                words::engine(&profile.method),
                words::filter(&profile.method)
            );
            let _ = writeln!(
                out,
                "{name} {}{}",
                match file.as_str() {
                    "" => String::new(),
                    file => format!("{}: ", shown(file)),
                },
                self.paint.ink(TextStyle::Strong, &words::command(profile))
            );
            let _ = writeln!(out, "        {}", self.paint.ink(TextStyle::Soft, &method));
        }
        let warning = self.paint.ink(TextStyle::Warn, "warning:");
        for text in comparable::seen(self.before, self.after) {
            let _ = writeln!(out, "{warning} {}", wrap(&text, self.width, 9));
        }
        for text in comparable::unlike(self.before, self.after) {
            let _ = writeln!(out, "{warning} {text}");
        }
    }

    fn totals(&self, out: &mut String) {
        let levels = self.levels();
        out.push('\n');
        let table = self.total_table(&levels);
        table.write_text(out, self.width, self.paint);
        let both = [("before", self.before), ("after", self.after)];
        if let Some(guess) = comparable::order_guess(&both) {
            let guess = wrap(&guess, self.width, 2);
            let _ = writeln!(out, "  {}", self.paint.ink(TextStyle::Soft, &guess));
        }
        if let Some(conflicts) = conflicts::sentence(&both, &levels) {
            let _ = writeln!(out, "  {}", wrap(&conflicts, self.width, 2));
        }
    }

    /// The caches that are compared: those of the machine, and the one that was asked for.
    pub(crate) fn levels(&self) -> Vec<Level> {
        let reach = caches::reach([self.before, self.after]);
        let mut levels = caches::levels_within(self.before, reach);
        if self.chosen.name.is_none() {
            levels.push(self.chosen.clone());
        }
        levels
    }

    /// The table of totals: what, before, after, change.
    pub(crate) fn total_table(&self, levels: &[Level]) -> Table {
        let mut cells = self.counted_totals();
        cells.extend(levels.iter().flat_map(|level| self.misses(level)));
        cells.extend(self.invalidations());
        let heads = ["", "before", "after", "change"];
        Table::new(TableColumn::all(&heads, &[0]), cells)
    }

    /// The rows of a cache: its misses fully associative, and with its sets where these are others.
    fn misses(&self, level: &Level) -> Vec<Vec<String>> {
        let (old, new) = (&self.before.histogram, &self.after.histogram);
        let row = |name: String, before: u64, after: u64| {
            let ratio =
                |misses: u64, all: u64| format!("{} {:>8}", count(misses), percent(misses, all));
            vec![
                name,
                ratio(before, old.accesses()),
                ratio(after, new.accesses()),
                change(before, after),
            ]
        };
        let (then, now) = (old.misses(level.items), new.misses(level.items));
        let name = format!("misses in {}", level.label());
        let both = [self.before, self.after];
        let mut cells = if both.iter().all(|profile| profile.method.exact) {
            vec![row(name, then, now)]
        } else {
            vec![self.estimated(name, level)]
        };
        if !both.into_iter().all(|it| level.compares_with_sets(it)) {
            return cells;
        }
        // Where lines compete for a few sets, the gain or loss is here. What was counted is better
        // than an estimate, which takes lines to fall on sets at random.
        if let Some(counted) = caches::counted_in_sets(&[self.before, self.after], level) {
            if counted != [then, now] {
                let name = "  with its sets, counted".to_owned();
                cells.push(row(name, counted[0], counted[1]));
            }
            return cells;
        }
        let sets = [old, new].map(|histogram| level.set_associative(histogram));
        if let [Some(before), Some(after)] = sets
            && (before, after) != (then, now)
        {
            cells.push(row("  with its sets, about".to_owned(), before, after));
        }
        cells
    }

    /// The row of a cache where one of the profiles is an estimate: with how far it may be off, and
    /// a change only where that is less.
    fn estimated(&self, name: String, level: &Level) -> Vec<String> {
        let [before, after] = [self.before, self.after].map(|profile| {
            let ratio = level.miss_ratio(profile);
            if level.is_known(profile) {
                let misses = profile.histogram.misses(level.items);
                format!("{}  {ratio}", count(misses))
            } else {
                ratio
            }
        });
        let change = caches::change(level, self.before, self.after);
        vec![name, before, after, change]
    }

    /// The rows of the accesses and, where distances have no limit, of the distinct data.
    fn counted_totals(&self) -> Vec<Vec<String>> {
        let both = [self.before, self.after];
        let are_bursts = both.iter().any(|profile| profile.method.is_from_bursts());
        let accesses = both.map(|profile| profile.histogram.accesses());
        let [before, after] = both.map(|profile| {
            let about = words::about_all(&profile.method);
            format!("{about}{}", count(profile.histogram.accesses()))
        });
        let change_of_all = change(accesses[0], accesses[1]);
        let mut cells = vec![vec!["accesses".to_owned(), before, after, change_of_all]];
        if caches::reach(both).is_some() {
            return cells;
        }
        let distinct = both.map(Profile::first_touches);
        let [before, after] = both.map(|profile| {
            let about = words::about(&profile.method);
            format!("{about}{}", self.size(profile.first_touches()))
        });
        // First touches are what misses in every cache, so the bound is that of the largest. Bursts
        // have none: what is touched between two of them is not in their estimate.
        let unsure = LocalityChange::unsure_misses(both, u64::MAX);
        let change = if are_bursts || caches::may_be_equal(distinct, unsure) {
            "not known".to_owned()
        } else {
            change(distinct[0], distinct[1])
        };
        cells.push(vec!["distinct data".to_owned(), before, after, change]);
        cells
    }

    fn total(
        &self,
        name: &str,
        before: u64,
        after: u64,
        show: impl Fn(u64) -> String,
    ) -> Vec<String> {
        vec![
            name.to_owned(),
            show(before),
            show(after),
            change(before, after),
        ]
    }

    fn sizes(&self, out: &mut String, difference: &LocalityChange) {
        let (wins, losses) = (difference.wins(NOISE), difference.losses(NOISE));
        let title = "Cache sizes that gain or lose by more than 1 % of their misses";
        let both = [self.before, self.after];
        let levels = caches::levels_within(self.before, caches::reach(both));
        let mut counted = levels
            .iter()
            .map(|level| caches::counted_in_sets(&both, level));
        let has_sets = counted.any(|it| it.is_some())
            || caches::counts_sets(&self.chosen, self.before, self.after);
        let aside = if has_sets { "(fully associative)" } else { "" };
        heading(out, title, aside, self.width, self.paint);
        if wins.is_empty() && losses.is_empty() {
            let _ = writeln!(out, "  None: {}.", none(&difference.sizes));
        }
        for (name, ink, ranges) in [
            ("fewer misses", TextStyle::Hit, wins),
            ("more misses", TextStyle::Miss, losses),
        ] {
            for range in ranges {
                let _ = writeln!(
                    out,
                    "  {} {}",
                    self.paint.ink(ink, &format!("{name:<12}")),
                    self.range(&range)
                );
            }
        }
        if let Some(reach) = difference.reach {
            let text = format!(
                "  Above {} nothing is compared: longer distances are not told.",
                self.size(reach)
            );
            let _ = writeln!(out, "{}", self.paint.ink(TextStyle::Soft, &text));
        }
    }

    fn range(&self, range: &SizeRange) -> String {
        let most = format!(
            "{} at {}",
            change(range.most.before, range.most.after),
            self.size(range.most.items)
        );
        match range.extent() {
            SizeExtent::From(from) => format!("from {} on; most: {most}", self.size(from)),
            SizeExtent::At(_) => most,
            SizeExtent::Between(from, to) => {
                format!(
                    "from {} to {}; most: {most}",
                    self.size(from),
                    self.size(to)
                )
            }
        }
    }
}

/// Why no size gains or loses.
fn none(sizes: &[SizeChange]) -> &'static str {
    if sizes.iter().all(|size| size.before == size.after) {
        "the two miss equally often at every cache size"
    } else if sizes.iter().any(|size| size.unsure > 0.0) {
        "at no cache size do the misses change by more than that, and by more than the samples may be off"
    } else {
        "at no cache size do the misses change by more than that"
    }
}
