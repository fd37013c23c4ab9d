//! Two profiles compared, as text for a terminal.

use std::fmt::Write;

use reuselens_locality::{
    DifferenceError, Dimension, GroupChange, GroupChanges, Growth, LocalityChange, Profile,
    SizeRange,
};
use reuselens_units::Bytes;

use crate::caches::{self, Level};
use crate::numbers::{change, count, percent, significant};
use crate::text::{Column, Ink, Paint, rows};
use crate::words;

/// Changes of fewer misses than this share of those before are noise.
const NOISE: f64 = 0.01;

/// What the comparison shows, and how.
#[derive(Clone, Debug)]
pub struct DiffOptions {
    /// The cache whose misses the tables count; `None` = chosen as for the profile before.
    pub cache: Option<Bytes>,
    /// Columns of the terminal; 60 at least.
    pub width: usize,
    /// Whether to colour.
    pub color: bool,
    /// Rows of each table.
    pub top: usize,
    /// Dimensions to compare the groups of.
    pub by: Vec<Dimension>,
    /// Whether the two are a small and a large input of one program, instead of the same work before
    /// and after a change; `None` = if the same program was run with other arguments, on at least half as much data
    /// again.
    pub inputs: Option<bool>,
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
        }
    }
}

/// The locality change from one profile to another: totals, the cache sizes that win and that lose, the
/// distances that moved, the groups that got better or worse; for two inputs of one program also the
/// evadable reuses and what becomes of each hill. Ends with a line break.
///
/// # Errors
/// If the profiles count items of different sizes.
pub fn diff(
    before: &Profile,
    after: &Profile,
    options: &DiffOptions,
) -> Result<String, DifferenceError> {
    let difference = LocalityChange::between(before, after)?;
    let view = View {
        before,
        after,
        paint: Paint::new(options.color),
        width: options.width.max(60),
        chosen: caches::chosen(before, options.cache),
        top: options.top,
    };
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
    if options.inputs.unwrap_or_else(|| view.are_inputs()) {
        view.growth(&mut out);
    } else {
        view.sizes(&mut out, &difference);
    }
    view.bins(&mut out, &difference);
    for by in &options.by {
        view.groups(&mut out, *by);
    }
    Ok(out)
}

struct View<'a> {
    before: &'a Profile,
    after: &'a Profile,
    paint: Paint,
    width: usize,
    chosen: Level,
    top: usize,
}

impl View<'_> {
    fn title(&self, out: &mut String, text: &str) {
        let _ = writeln!(out, "\n{}", self.paint.ink(Ink::Strong, text));
    }

    fn size(&self, items: u64) -> String {
        caches::size(items, self.before.granularity)
    }

    fn head(&self, out: &mut String) {
        for (name, profile) in [("before", self.before), ("after", self.after)] {
            let name = self.paint.ink(Ink::Soft, &format!("{name:<7}"));
            let method = format!(
                "{}; {}",
                words::engine(&profile.method),
                words::filter(&profile.method)
            );
            let _ = writeln!(
                out,
                "{name} {}",
                self.paint.ink(Ink::Strong, &words::command(profile))
            );
            let _ = writeln!(out, "        {}", self.paint.ink(Ink::Soft, &method));
        }
        if self.before.method.kinds != self.after.method.kinds
            || self.before.method.data != self.after.method.data
        {
            let warning = self.paint.ink(Ink::Warn, "warning:");
            let _ = writeln!(
                out,
                "{warning} the two count different accesses; analyse both with the same --kind and --data"
            );
        }
    }

    fn totals(&self, out: &mut String) {
        let (old, new) = (&self.before.histogram, &self.after.histogram);
        let ratio =
            |misses: u64, all: u64| format!("{} {:>8}", count(misses), percent(misses, all));
        let mut cells = vec![
            self.total("accesses", old.accesses(), new.accesses(), count),
            self.total("distinct data", old.cold(), new.cold(), |items| {
                self.size(items)
            }),
        ];
        let mut levels = caches::levels(self.before);
        if self.chosen.name.is_none() {
            levels.push(self.chosen.clone());
        }
        for level in levels {
            let (then, now) = (old.misses(level.items), new.misses(level.items));
            cells.push(vec![
                format!("misses in {}", level.label()),
                ratio(then, old.accesses()),
                ratio(now, new.accesses()),
                change(then, now),
            ]);
        }
        out.push('\n');
        let columns = [
            Column::left(""),
            Column::right("before"),
            Column::right("after"),
            Column::right("change"),
        ];
        rows(out, &columns, &cells, self.width, self.paint);
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
        self.title(
            out,
            "Cache sizes that gain or lose by more than 1 % of their misses",
        );
        if wins.is_empty() && losses.is_empty() {
            let _ = writeln!(out, "  none");
        }
        for (name, ink, ranges) in [
            ("fewer misses", Ink::Hit, wins),
            ("more misses", Ink::Miss, losses),
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
    }

    fn range(&self, range: &SizeRange) -> String {
        let most = format!(
            "{} at {}",
            change(range.most.before, range.most.after),
            self.size(range.most.items)
        );
        if range.from == range.to {
            return most;
        }
        format!(
            "from {} to {}; most: {most}",
            self.size(range.from),
            self.size(range.to)
        )
    }

    fn bins(&self, out: &mut String, difference: &LocalityChange) {
        let (old, new) = difference.accesses;
        let mut moved: Vec<_> = difference
            .bins
            .iter()
            .filter(|bin| bin.before != bin.after)
            .collect();
        moved.sort_by_key(|bin| (std::cmp::Reverse(bin.before.abs_diff(bin.after)), bin.low));
        moved.truncate(self.top);
        moved.sort_by_key(|bin| bin.low);
        if moved.is_empty() {
            return;
        }
        self.title(
            out,
            "Distances that more or fewer accesses have, the largest changes",
        );
        let columns = [
            Column::right("distance"),
            Column::right("before"),
            Column::right("after"),
            Column::right("accesses"),
        ];
        let cells: Vec<Vec<String>> = moved
            .into_iter()
            .map(|bin| {
                let label = match bin.high {
                    0 => "nothing else".to_owned(),
                    high => format!(
                        "{} – {}",
                        self.size(bin.low),
                        self.size(high.saturating_add(1))
                    ),
                };
                vec![
                    label,
                    percent(bin.before, old),
                    percent(bin.after, new),
                    signed(bin.before, bin.after),
                ]
            })
            .collect();
        rows(out, &columns, &cells, self.width, self.paint);
    }

    fn groups(&self, out: &mut String, by: Dimension) {
        let changes = GroupChanges::between(self.before, self.after, by, self.chosen.items);
        let mut all: Vec<&GroupChange> = changes
            .both
            .iter()
            .chain(&changes.only_before)
            .chain(&changes.only_after)
            .collect();
        all.retain(|group| group.change() != 0);
        all.sort_by_key(|group| std::cmp::Reverse(group.change().unsigned_abs()));
        if all.is_empty() {
            return;
        }
        self.title(
            out,
            &format!(
                "Misses in {} by {by}, the largest changes",
                self.chosen.label()
            ),
        );
        let columns = [
            Column::right("before"),
            Column::right("after"),
            Column::right("misses"),
            Column::right(""),
            Column::left(by.name()),
        ];
        let cells: Vec<Vec<String>> = all
            .iter()
            .take(self.top)
            .map(|group| self.group(group))
            .collect();
        rows(out, &columns, &cells, self.width, self.paint);
        if all.len() > self.top {
            let others = crate::numbers::noun(
                (all.len() - self.top) as u64,
                "other changes",
                "others change",
            );
            let _ = writeln!(
                out,
                "{}",
                self.paint.ink(Ink::Soft, &format!("  {others} less"))
            );
        }
    }

    fn group(&self, group: &GroupChange) -> Vec<String> {
        let known = |there: bool, misses: u64| {
            if there {
                count(misses)
            } else {
                "—".to_owned()
            }
        };
        let relative = match (group.before.is_some(), group.after.is_some()) {
            (true, false) => "gone".to_owned(),
            (false, _) => "new".to_owned(),
            _ => change(group.before_misses, group.after_misses),
        };
        vec![
            known(group.before.is_some(), group.before_misses),
            known(group.after.is_some(), group.after_misses),
            signed(group.before_misses, group.after_misses),
            relative,
            group.name.clone(),
        ]
    }

    /// Whether the same program ran on notably more or less data.
    fn are_inputs(&self) -> bool {
        let (old, new) = (self.before.histogram.cold(), self.after.histogram.cold());
        self.before.command.first() == self.after.command.first()
            && self.before.command != self.after.command
            && old.max(new) >= old.min(new).saturating_add(old.min(new) / 2)
    }

    /// What becomes of the reuses as the input grows.
    fn growth(&self, out: &mut String) {
        let swap = self.before.histogram.cold() > self.after.histogram.cold();
        let (small, large) = if swap {
            (self.after, self.before)
        } else {
            (self.before, self.after)
        };
        let growth = Growth::between(&small.histogram, &large.histogram);
        self.title(out, "What grows with the input");
        let rate = match growth.rate {
            Some(rate) => format!(" (as its data to the power {})", significant(rate)),
            None => String::new(),
        };
        let text = format!(
            "{} of the reuses are evadable: their distance grows with the input{rate}, so no cache holds them for every input.",
            crate::numbers::ratio_percent(growth.evadable)
        );
        let _ = writeln!(out, "  {}", crate::text::wrap(&text, self.width, 2));
        if growth.hills.is_empty() {
            return;
        }
        let columns =
            ["hill", "of the reuses", "middle, small", "middle, large"].map(Column::right);
        let columns: Vec<Column> = columns.into_iter().chain([Column::left("")]).collect();
        let cells: Vec<Vec<String>> = growth
            .hills
            .iter()
            .map(|hill| {
                let end = self.size(hill.hill.high().saturating_add(1));
                let range = match hill.hill.low() {
                    0 => format!("up to {end}"),
                    low => format!("{} – {end}", self.size(low)),
                };
                let fate = match (hill.moves, hill.rate) {
                    (true, Some(rate)) => format!("moves, as data^{}", significant(rate)),
                    (true, None) => "moves".to_owned(),
                    (false, _) => "stays".to_owned(),
                };
                vec![
                    range,
                    crate::numbers::ratio_percent(hill.hill.share),
                    self.size(hill.small),
                    self.size(hill.large),
                    fate,
                ]
            })
            .collect();
        rows(out, &columns, &cells, self.width, self.paint);
    }
}

/// A difference of counts with its sign.
fn signed(before: u64, after: u64) -> String {
    match before.cmp(&after) {
        std::cmp::Ordering::Less => format!("+{}", count(after - before)),
        std::cmp::Ordering::Equal => "0".to_owned(),
        std::cmp::Ordering::Greater => format!("−{}", count(before - after)),
    }
}
