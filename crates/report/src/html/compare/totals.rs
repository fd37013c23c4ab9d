//! The table of totals of the comparing page: accesses, data, and misses in each cache.

use std::fmt::Write;

use reuselens_document::html::{escape, percent};
use reuselens_document::numbers::{count, grouped};
use reuselens_profile::Profile;

use super::changes::verdict;
use super::{ComparedProfiles, ProfileVariant, series};
use crate::caches::{self, Level};
use crate::conflicts;
use crate::finding_changes::Invalidations;
use crate::words;

/// A column of misses: a cache, and what is shown of its sets.
struct CacheColumn<'l> {
    level: &'l Level,
    /// `Misses in L1d (32 KiB)`.
    head: String,
    /// Misses with its sets that were counted, of each profile; `None` unless all have them, and
    /// one has others than without sets.
    counted: Option<Vec<u64>>,
    /// Whether an estimate of them is shown.
    with_sets: bool,
}

impl<'a> ComparedProfiles<'a> {
    pub(super) fn totals(&self, out: &mut String) {
        let mut levels = self.levels.clone();
        if self.chosen.name.is_none() {
            levels.push(self.chosen.clone());
        }
        let profiles: Vec<&Profile> = self.variants.iter().map(|it| it.profile).collect();
        let columns: Vec<CacheColumn> = levels
            .iter()
            .map(|level| self.column(&profiles, level))
            .collect();
        let invalidations = Invalidations::of_all(&profiles);
        out.push_str(
            "<section id=\"totals\"><h2>Totals</h2><div class=\"scroll\"><table class=\"variants-table stacks\"><thead><tr>\
             <th scope=\"col\">Variant</th><th scope=\"col\">Accesses</th><th scope=\"col\">Distinct data</th>",
        );
        let heads = columns.iter().map(|column| column.head.as_str());
        for head in heads.chain(invalidations.iter().map(|_| SHARING)) {
            let _ = write!(out, "<th scope=\"col\">{head}</th>");
        }
        out.push_str("</tr></thead><tbody>");
        for (index, variant) in self.variants.iter().enumerate() {
            self.total(out, index, variant, &columns);
            if let Some(all) = &invalidations {
                self.sharing(out, index, all);
            }
            out.push_str("</tr>");
        }
        out.push_str("</tbody></table></div>");
        let of = |variant: &ProfileVariant<'a>| (format!("in {}", variant.name), variant.profile);
        let named: Vec<(String, &Profile)> = self.variants.iter().map(of).collect();
        if let Some(conflicts) = conflicts::sentence(&named, &levels) {
            let _ = write!(out, "<p class=\"more\">{}</p>", escape(&conflicts));
        }
        if self.variants.len() > 1 {
            let _ = write!(
                out,
                "<p class=\"more\">Changes are against {}.</p>",
                escape(self.first.name)
            );
        }
        out.push_str("</section>");
    }

    fn column<'l>(&self, profiles: &[&Profile], level: &'l Level) -> CacheColumn<'l> {
        let counted = caches::counted_in_sets(profiles, level);
        let with_sets = counted.is_none() && self.sets_matter(level);
        let associative = profiles.iter().map(|it| it.histogram.misses(level.items));
        CacheColumn {
            level,
            head: format!("Misses in {}", level.label()),
            with_sets,
            counted: counted.filter(|all| !associative.eq(all.iter().copied())),
        }
    }

    /// Whether a cache misses another number of times with its sets, in one of the profiles at
    /// least. Its misses with sets are then shown in every row, so that the rows compare.
    fn sets_matter(&self, level: &Level) -> bool {
        self.variants.iter().any(|variant| {
            let histogram = &variant.profile.histogram;
            let sets = level.set_associative(histogram);
            sets.is_some_and(|sets| sets != histogram.misses(level.items))
        })
    }

    /// Begins the row of a profile, with its cells up to the misses in each cache.
    fn total(
        &self,
        out: &mut String,
        index: usize,
        variant: &ProfileVariant,
        columns: &[CacheColumn<'_>],
    ) {
        let histogram = &variant.profile.histogram;
        let _ = write!(
            out,
            "<tr><th scope=\"row\"><span class=\"v{} swatch\"></span>{}</th>\
             <td data-head=\"Accesses\" title=\"{}\">{}{}</td><td data-head=\"Distinct data\">{}</td>",
            series(index),
            escape(variant.name),
            grouped(histogram.accesses()),
            words::about_all(&variant.profile.method),
            count(histogram.accesses()),
            match variant.profile.method.max_distance {
                None => {
                    let about = words::about(&variant.profile.method);
                    format!("{about}{}", self.size(variant.profile.first_touches()))
                }
                Some(_) => "not known".to_owned(),
            },
        );
        for column in columns {
            let misses = histogram.misses(column.level.items);
            let _ = write!(
                out,
                "<td data-head=\"{}\" title=\"{}\">{}</td>",
                column.head,
                grouped(misses),
                self.misses(index, variant.profile, column)
            );
        }
    }

    /// The misses of a profile in a cache, and with its sets where these are known and others.
    fn misses(&self, index: usize, profile: &Profile, column: &CacheColumn<'_>) -> String {
        let (level, first) = (column.level, self.first.profile);
        let base = (index > 0).then_some(first);
        let mut cell = if profile.method.exact && first.method.exact {
            let versus = base.map(|base| base.histogram.misses(level.items));
            share(profile.histogram.misses(level.items), profile, versus)
        } else {
            estimated(level, base, profile)
        };
        if !level.compares_with_sets(profile) || !level.compares_with_sets(first) {
            return cell;
        }
        let modelled = |profile: &Profile| level.set_associative(&profile.histogram);
        let (how, sets, versus) = match &column.counted {
            Some(all) => ("counted", Some(all[index]), base.map(|_| all[0])),
            None if column.with_sets => ("about", modelled(profile), base.and_then(modelled)),
            None => return cell,
        };
        if let Some(sets) = sets {
            let _ = write!(
                cell,
                "<div class=\"sets\" title=\"{}\">with its sets, {how} {}</div>",
                grouped(sets),
                share(sets, profile, versus)
            );
        }
        cell
    }

    /// The cell of the invalidations of a profile.
    fn sharing(&self, out: &mut String, index: usize, all: &[Invalidations]) {
        let cell = |of: fn(&Invalidations) -> u64| {
            let (then, now) = (of(&all[0]), of(&all[index]));
            let versus = (index > 0).then(|| verdict(then, now));
            format!("{}{}", count(now), versus.unwrap_or_default())
        };
        let _ = write!(
            out,
            "<td data-head=\"{SHARING}\">{}<div class=\"sets\">by true sharing {}</div></td>",
            cell(|it| it.false_sharing),
            cell(|it| it.true_sharing)
        );
    }
}

/// The head of the column of invalidations.
const SHARING: &str = "Invalidations by false sharing";

/// The misses of an estimate, how far they may be off, and how they differ from those of the first
/// profile, as far as that is known.
fn estimated(level: &Level, before: Option<&Profile>, profile: &Profile) -> String {
    let ratio = escape(&level.miss_ratio(profile));
    let change = before.map(|before| caches::change(level, before, profile));
    format!(
        "<span class=\"of\">{ratio}</span>{}",
        change.map_or_else(String::new, |change| format!(" ({})", escape(&change)))
    )
}

/// Misses, their part of the accesses, and the change from those of the first profile.
fn share(misses: u64, profile: &Profile, base: Option<u64>) -> String {
    format!(
        "{} <span class=\"of\">{}</span>{}",
        count(misses),
        percent(misses, profile.histogram.accesses()),
        base.map_or_else(String::new, |base| verdict(base, misses))
    )
}
