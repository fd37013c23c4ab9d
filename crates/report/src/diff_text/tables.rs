//! The tables of [`diff`](super::diff): the distances and the groups that change most.

use std::fmt::Write;

use reuselens_document::numbers::{change, count, count_or_dash, percent};
use reuselens_document::terminal::{TextStyle, heading};
use reuselens_document::{Table, TableColumn};
use reuselens_profile::{Dimension, GroupChange, LocalityChange};

use super::DiffView;
use crate::conflicts;
use crate::words;

impl DiffView<'_> {
    pub(super) fn bins(&self, out: &mut String, difference: &LocalityChange) {
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
            TableColumn::numbers("distance"),
            TableColumn::numbers("before"),
            TableColumn::numbers("after"),
            TableColumn::numbers("accesses"),
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
        Table::new(columns, cells).write_text(out, self.width, self.paint);
    }

    /// The groups that changed. The first such table says for what `reason` its cache was chosen.
    pub(super) fn groups(&self, out: &mut String, by: Dimension, reason: &mut Option<&str>) {
        let all = self.changed_groups(by);
        if all.is_empty() {
            return;
        }
        let reason = reason.take().map(|reason| format!("({reason})"));
        heading(
            out,
            &self.groups_title(by),
            &reason.unwrap_or_default(),
            self.width,
            self.paint,
        );
        let columns = [
            TableColumn::numbers("before"),
            TableColumn::numbers("after"),
            TableColumn::numbers("misses"),
            TableColumn::numbers(""),
            TableColumn::words(by.name()),
        ];
        let cells: Vec<Vec<String>> = all
            .iter()
            .take(self.top)
            .map(|group| self.group(by, group))
            .collect();
        Table::new(columns, cells).write_text(out, self.width, self.paint);
        if all.len() > self.top {
            let others = reuselens_document::numbers::noun(
                (all.len() - self.top) as u64,
                "other changes",
                "others change",
            );
            let _ = writeln!(
                out,
                "{}",
                self.paint.ink(TextStyle::Soft, &format!("  {others} less"))
            );
        }
        let gone = all.iter().any(|group| group.after.is_none());
        let new = all.iter().any(|group| group.before.is_none());
        if by == Dimension::Line && gone && new {
            let note = "  Lines are known by their numbers: one that moved is gone and new, or stands beside another.\n  \
                        If lines were added above it, compare --by function.";
            let _ = writeln!(out, "{}", self.paint.ink(TextStyle::Soft, note));
        }
    }

    /// The groups that changed, the largest changes first; none if no profile names any.
    pub(crate) fn changed_groups(&self, by: Dimension) -> Vec<GroupChange> {
        let both = [self.before, self.after];
        if both.iter().any(|profile| profile.has_names(by)) {
            conflicts::changed_groups(self.before, self.after, by, &self.chosen)
        } else {
            Vec::new()
        }
    }

    /// What the table of the groups is about.
    pub(crate) fn groups_title(&self, by: Dimension) -> String {
        let cache = conflicts::counted_in(self.before, self.after, &self.chosen);
        format!("Misses in {cache} by {by}, the largest changes")
    }

    /// The row of a group: before, after, change in misses, relative change, name.
    pub(crate) fn group(&self, by: Dimension, group: &GroupChange) -> Vec<String> {
        let relative = match (group.before.is_some(), group.after.is_some()) {
            (true, false) => "gone".to_owned(),
            (false, _) => "new".to_owned(),
            _ => change(group.before_misses, group.after_misses),
        };
        vec![
            count_or_dash(group.known_before()),
            count_or_dash(group.known_after()),
            signed(group.before_misses, group.after_misses),
            relative,
            words::group(by, &group.name).to_owned(),
        ]
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
