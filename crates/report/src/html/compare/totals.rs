//! The table of totals of the comparing page: accesses, data, and misses in each cache.

use std::fmt::Write;

use reuselens_locality::Profile;

use super::changes::verdict;
use super::{ComparedProfiles, ProfileVariant, series};
use crate::caches::Level;
use crate::conflicts;
use crate::html::escape::{escape, percent};
use crate::numbers::{count, grouped};

impl<'a> ComparedProfiles<'a> {
    pub(super) fn totals(&self, out: &mut String) {
        out.push_str(
            "<section id=\"totals\"><h2>Totals</h2><div class=\"scroll\"><table class=\"variants-table\"><thead><tr>\
             <th scope=\"col\">Variant</th><th scope=\"col\">Accesses</th><th scope=\"col\">Distinct data</th>",
        );
        let mut levels = self.levels.clone();
        if self.chosen.name.is_none() {
            levels.push(self.chosen.clone());
        }
        for level in &levels {
            let _ = write!(out, "<th scope=\"col\">Misses in {}</th>", level.label());
        }
        out.push_str("</tr></thead><tbody>");
        let with_sets: Vec<bool> = levels.iter().map(|level| self.sets_matter(level)).collect();
        for (index, variant) in self.variants.iter().enumerate() {
            self.total(out, index, variant, levels.iter().zip(&with_sets));
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

    /// Whether a cache misses another number of times with its sets, in one of the profiles at
    /// least. Its misses with sets are then shown in every row, so that the rows compare.
    fn sets_matter(&self, level: &Level) -> bool {
        self.variants.iter().any(|variant| {
            let histogram = &variant.profile.histogram;
            let sets = level.set_associative(histogram);
            sets.is_some_and(|sets| sets != histogram.misses(level.items))
        })
    }

    /// The row of a profile. Each cache comes with whether its misses with sets are shown.
    fn total<'l>(
        &self,
        out: &mut String,
        index: usize,
        variant: &ProfileVariant,
        levels: impl Iterator<Item = (&'l Level, &'l bool)>,
    ) {
        let histogram = &variant.profile.histogram;
        let _ = write!(
            out,
            "<tr><th scope=\"row\"><span class=\"v{} swatch\"></span>{}</th><td title=\"{}\">{}</td><td>{}</td>",
            series(index),
            escape(variant.name),
            grouped(histogram.accesses()),
            count(histogram.accesses()),
            match variant.profile.method.max_distance {
                None => self.size(variant.profile.first_touches()),
                Some(_) => "not known".to_owned(),
            },
        );
        let base = (index > 0).then_some(&self.first.profile.histogram);
        for (level, with_sets) in levels {
            let misses = histogram.misses(level.items);
            let versus = base.map(|base| base.misses(level.items));
            let _ = write!(
                out,
                "<td title=\"{}\">{}",
                grouped(misses),
                share(misses, histogram.accesses(), versus)
            );
            let sets = with_sets.then(|| level.set_associative(histogram));
            if let Some(sets) = sets.flatten() {
                let versus = base.and_then(|base| level.set_associative(base));
                let _ = write!(
                    out,
                    "<div class=\"sets\" title=\"{}\">with its sets, about {}</div>",
                    grouped(sets),
                    share(sets, histogram.accesses(), versus)
                );
            }
            out.push_str("</td>");
        }
        out.push_str("</tr>");
    }
}

/// Misses, their part of the accesses, and the change from those of the first profile.
fn share(misses: u64, accesses: u64, base: Option<u64>) -> String {
    format!(
        "{} <span class=\"of\">{}</span>{}",
        count(misses),
        percent(misses, accesses),
        base.map_or_else(String::new, |base| verdict(base, misses))
    )
}
