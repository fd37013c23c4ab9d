//! The tables of the comparing page: the groups that change, each profile against the first.

use std::fmt::Write;

use reuselens_document::html::{change, escape};
use reuselens_document::numbers::{count_or_dash, grouped};
use reuselens_profile::{Dimension, GroupChange};

use super::{CompareOptions, ComparedProfiles, ProfileVariant};
use crate::{caches, conflicts};

impl ComparedProfiles<'_> {
    /// The groups that change, each profile against the first.
    pub(super) fn changes(&self, out: &mut String, options: &CompareOptions) {
        let mut tables = String::new();
        for (index, variant) in self.variants.iter().enumerate().skip(1) {
            let known = [self.first.profile, variant.profile];
            let known_in_any =
                |by: &&Dimension| known.iter().any(|profile| profile.has_names(**by));
            for by in options.by.iter().filter(known_in_any) {
                let all = conflicts::changed_groups(
                    self.first.profile,
                    variant.profile,
                    *by,
                    &self.chosen,
                );
                if !all.is_empty() {
                    self.change_table(&mut tables, index, *by, &all, options.top);
                }
            }
        }
        if tables.is_empty() {
            return;
        }
        let _ = write!(
            out,
            "<section id=\"changes\"><h2>What changed where</h2><p class=\"explain\">Misses in {}, group by group, the largest \
             changes first. A line that moved to another number counts as one that is gone and one that is new.</p>\n{tables}\
             </section>",
            self.chosen.label()
        );
    }

    fn change_table(
        &self,
        out: &mut String,
        index: usize,
        by: Dimension,
        all: &[GroupChange],
        top: usize,
    ) {
        let ProfileVariant { name, profile, .. } = self.variants[index];
        let sets = if caches::counts_sets(&self.chosen, self.first.profile, profile) {
            ", with the cache’s sets, about"
        } else {
            ""
        };
        let _ = write!(
            out,
            "<h3>By {by}: {0} against {1}{sets}</h3><div class=\"scroll\"><table><thead><tr><th scope=\"col\">{by}</th>\
             <th scope=\"col\">{1}</th><th scope=\"col\">{0}</th><th scope=\"col\">Change</th></tr></thead><tbody>",
            escape(name),
            escape(self.first.name)
        );
        for group in all.iter().take(top) {
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
                escape(&group.name),
                count_or_dash(group.known_before()),
                count_or_dash(group.known_after()),
                verdict(group.before_misses, group.after_misses)
            );
        }
        out.push_str("</tbody></table></div>");
        if all.len() > top {
            let _ = write!(
                out,
                "<p class=\"more\">{} more change less.</p>",
                grouped((all.len() - top) as u64)
            );
        }
    }
}

/// A change in misses, as better or worse.
pub(super) fn verdict(before: u64, after: u64) -> String {
    let class = match after.cmp(&before) {
        std::cmp::Ordering::Less => "better",
        std::cmp::Ordering::Equal => "same",
        std::cmp::Ordering::Greater => "worse",
    };
    format!(" <span class=\"{class}\">{}</span>", change(before, after))
}
