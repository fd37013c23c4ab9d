//! The parts of [`diff`](super::diff) on what advice is made of: the findings that are gone, new
//! and stay, and invalidations.

use std::fmt::Write;

use reuselens_document::numbers::count;
use reuselens_document::terminal::{TextStyle, heading, wrap};

use super::DiffView;
use crate::advice::PlaceNames;
use crate::finding_changes::{FindingChange, FindingChanges, FindingFate, Invalidations};

impl DiffView<'_> {
    /// The findings by what becomes of them, if both profiles have causes; why they are not
    /// compared, if one has.
    pub(super) fn findings(&self, out: &mut String) {
        let all = FindingChanges::between(self.before, self.after);
        if all.changes.is_none() && all.notes.is_empty() {
            return;
        }
        let is_empty = all.changes.as_ref().is_some_and(Vec::is_empty);
        if is_empty || all.changes.is_none() {
            self.title(out, "Findings");
        }
        if is_empty {
            let _ = writeln!(out, "  None, before and after.");
        }
        for fate in FindingFate::ALL {
            let changes = all.with(fate);
            if !changes.is_empty() {
                self.fate(out, fate, &changes);
            }
        }
        for note in &all.notes {
            let note = wrap(note, self.width, 2);
            let _ = writeln!(out, "  {}", self.paint.ink(TextStyle::Soft, &note));
        }
    }

    fn fate(&self, out: &mut String, fate: FindingFate, changes: &[&FindingChange]) {
        let aside = match fate {
            FindingFate::Stays => "(cost before → after)",
            FindingFate::Gone | FindingFate::New => "",
        };
        heading(out, fate.title(), aside, self.width, self.paint);
        let names = PlaceNames::of(changes.iter().filter_map(|change| change.latest()));
        for change in changes.iter().take(self.top) {
            let Some(finding) = change.latest() else {
                continue;
            };
            let title = finding.rule.title;
            let _ = writeln!(
                out,
                "  {}",
                wrap(&format!("{title}: {}", change.cost()), self.width, 4)
            );
            let place = names.place(finding);
            if !place.is_empty() {
                let place = wrap(&place, self.width, 4);
                let _ = writeln!(out, "    {}", self.paint.ink(TextStyle::Soft, &place));
            }
        }
        if changes.len() > self.top {
            let more = format!("  {} more, in the JSON", changes.len() - self.top);
            let _ = writeln!(out, "{}", self.paint.ink(TextStyle::Soft, &more));
        }
    }

    /// The rows of the totals on invalidations, if both profiles have them.
    pub(super) fn invalidations(&self) -> Vec<Vec<String>> {
        let Some(all) = Invalidations::of_all(&[self.before, self.after]) else {
            return Vec::new();
        };
        let row =
            |name, of: fn(&Invalidations) -> u64| self.total(name, of(&all[0]), of(&all[1]), count);
        vec![
            row("invalidations, true sharing", |it| it.true_sharing),
            row("invalidations, false sharing", |it| it.false_sharing),
        ]
    }
}
