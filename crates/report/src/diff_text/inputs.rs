//! The part of [`diff`](super::diff) for a small and a large input of one program: which reuses
//! grow with the data.

use std::fmt::Write;

use reuselens_document::numbers::{ratio_percent, significant};
use reuselens_document::terminal::{TextStyle, wrap};
use reuselens_document::{Table, TableColumn};
use reuselens_locality::{Growth, HillGrowth};
use reuselens_profile::Profile;

use super::DiffView;
use crate::caches;

/// Whether the same program ran on notably more or less data.
pub(super) fn are_inputs(before: &Profile, after: &Profile) -> bool {
    let (old, new) = (before.first_touches(), after.first_touches());
    // If long distances were not measured, it is not known how much data there was.
    caches::reach([before, after]).is_none()
        && before.command.first() == after.command.first()
        && before.command != after.command
        && old.max(new) >= old.min(new).saturating_add(old.min(new) / 2)
}

/// The profile of the smaller input, and that of the larger.
pub(super) fn by_size<'a>(before: &'a Profile, after: &'a Profile) -> (&'a Profile, &'a Profile) {
    if before.first_touches() > after.first_touches() {
        (after, before)
    } else {
        (before, after)
    }
}

/// The share of evadable reuses from which on they are mentioned.
const SOME: f64 = 0.01;

impl DiffView<'_> {
    /// What becomes of the reuses as the input grows.
    pub(super) fn growth(&self, out: &mut String) {
        if caches::reach([self.before, self.after]).is_some() {
            let text = "  Not known: long distances were not measured; profile both again without --max-distance.";
            self.title(out, "What grows with the input");
            let _ = writeln!(out, "{text}");
            return;
        }
        let (small, large) = by_size(self.before, self.after);
        let growth = Growth::between(&small.histogram, &large.histogram);
        self.title(out, "What grows with the input");
        if !growth.is_known() {
            let text = "Not known: the data of the two inputs differ by less than a quarter, and nothing can grow visibly. Profile an input of four times the data.";
            let _ = writeln!(out, "  {}", wrap(text, self.width, 2));
            return;
        }
        let rate = match growth.rate {
            Some(rate) => format!(" (as its data to the power {})", significant(rate)),
            None => String::new(),
        };
        let text = format!(
            "{} of the reuses are evadable: their distance grows with the input{rate}, so no cache holds them for every input.",
            ratio_percent(growth.evadable)
        );
        let _ = writeln!(out, "  {}", wrap(&text, self.width, 2));
        if growth.hills.is_empty() {
            return;
        }
        let heads = [
            "hill",
            "of the reuses",
            "middle, small",
            "middle, large",
            "",
        ];
        let hills = growth.hills.iter().map(|hill| self.hill(hill));
        Table::new(TableColumn::all(&heads, &[4]), hills).write_text(out, self.width, self.paint);
        if growth.evadable > SOME && growth.hills.iter().all(|hill| !hill.moves) {
            let text = "  No hill moves by more than half: what grows is part of one, and its middle does not show it.";
            let _ = writeln!(out, "{}", self.paint.ink(TextStyle::Soft, text));
        }
    }

    fn hill(&self, growth: &HillGrowth) -> Vec<String> {
        let end = self.size(growth.hill.high().saturating_add(1));
        let range = match growth.hill.low() {
            0 => format!("up to {end}"),
            low => format!("{} – {end}", self.size(low)),
        };
        let fate = match (growth.moves, growth.rate) {
            (true, Some(rate)) => format!("moves, as data^{}", significant(rate)),
            (true, None) => "moves".to_owned(),
            (false, _) => "stays".to_owned(),
        };
        let (small, large) = (self.size(growth.small), self.size(growth.large));
        vec![range, ratio_percent(growth.hill.share), small, large, fate]
    }
}
