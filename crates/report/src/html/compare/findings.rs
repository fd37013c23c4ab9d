//! The section of the comparing page on findings: which are gone, new, and stay, each profile
//! against the first.

use std::fmt::Write;

use reuselens_document::html::{escape, with_code};

use super::{ComparedProfiles, ProfileVariant};
use crate::advice::PlaceNames;
use crate::finding_changes::{FindingChange, FindingChanges, FindingFate};

impl ComparedProfiles<'_> {
    /// What becomes of the findings of the first profile in each other one, where both have causes;
    /// empty if no two do.
    pub(super) fn finding_changes(&self) -> Vec<(&ProfileVariant<'_>, FindingChanges)> {
        let others = self.variants.iter().skip(1);
        let changes = others.map(|other| {
            let changes = FindingChanges::between(self.first.profile, other.profile);
            (other, changes)
        });
        changes
            .filter(|(_, all)| all.changes.is_some() || !all.notes.is_empty())
            .collect()
    }

    /// Appends the section, if there is something to show.
    pub(super) fn findings(
        &self,
        out: &mut String,
        all: &[(&ProfileVariant<'_>, FindingChanges)],
        top: usize,
    ) {
        if all.is_empty() {
            return;
        }
        out.push_str(
            "<section id=\"findings\"><h2>What became of the findings</h2><p class=\"explain\">A \
             finding is the same one in two profiles if its rule, its function and its object are, \
             as lines move when code changes.</p>",
        );
        for (variant, changes) in all {
            let _ = write!(
                out,
                "<h3>{} against {}</h3>",
                escape(variant.name),
                escape(self.first.name)
            );
            write_changes(out, changes, top);
        }
        out.push_str("</section>");
    }
}

fn write_changes(out: &mut String, all: &FindingChanges, top: usize) {
    let compared = all.changes.as_deref();
    if compared.is_some_and(<[FindingChange]>::is_empty) {
        out.push_str("<p>Neither has findings.</p>");
    }
    for fate in FindingFate::ALL {
        let changes = all.with(fate);
        if changes.is_empty() {
            continue;
        }
        let class = match fate {
            FindingFate::Gone => "better",
            FindingFate::New => "worse",
            FindingFate::Stays => "same",
        };
        let _ = write!(out, "<h4 class=\"{class}\">{}</h4><ul>", fate.title());
        let names = PlaceNames::of(changes.iter().filter_map(|change| change.latest()));
        for change in changes.iter().take(top) {
            if let Some(finding) = change.latest() {
                let _ = write!(
                    out,
                    "<li><b>{}</b> {} <span class=\"soft\">{}</span></li>",
                    escape(finding.rule.title),
                    escape(&names.place(finding)),
                    escape(&change.cost())
                );
            }
        }
        out.push_str("</ul>");
        if changes.len() > top {
            let more = changes.len() - top;
            let _ = write!(out, "<p class=\"more\">{more} more.</p>");
        }
    }
    for note in &all.notes {
        let _ = write!(out, "<p class=\"more\">{}</p>", with_code(note));
    }
}
