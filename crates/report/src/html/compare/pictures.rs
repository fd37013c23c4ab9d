//! The pictures of the comparing page: curves and histograms over each other, and a card for each
//! profile.

use std::fmt::Write;

use reuselens_document::html::{change, escape, paragraphs, percent};
use reuselens_document::numbers::count;
use reuselens_locality::FineHistogram;
use reuselens_profile::{LocalityChange, SizeExtent, SizeRange};

use super::{ComparedProfiles, NOISE, ProfileVariant, series};
use crate::html::plot::{self, Plot};
use crate::html::{curve, histogram};
use crate::{comparable, words};

impl ComparedProfiles<'_> {
    fn key(&self, out: &mut String, shape: impl Fn(usize) -> String) {
        out.push_str("<ul class=\"legend\">");
        for (index, variant) in self.variants.iter().enumerate() {
            let _ = write!(
                out,
                "<li class=\"v{}\"><svg viewBox=\"0 0 30 10\" aria-hidden=\"true\">{}</svg>{}</li>",
                series(index),
                shape(index),
                escape(variant.name)
            );
        }
        out.push_str("</ul>");
    }

    pub(super) fn curves(&self, out: &mut String, changes: &[LocalityChange]) {
        let points: Vec<_> = self
            .fine
            .iter()
            .map(|fine| curve::points(fine, &self.axis))
            .collect();
        let ratio =
            |fine: &FineHistogram, misses: u64| misses as f64 / fine.accesses().max(1) as f64;
        let highest = points
            .iter()
            .zip(&self.fine)
            .filter_map(|(points, fine)| points.first().map(|(_, misses)| ratio(fine, *misses)))
            .fold(0.0, f64::max);
        let top = plot::share_top(highest);
        let mut shapes = String::new();
        for (index, (points, fine)) in points.iter().zip(&self.fine).enumerate() {
            let line = curve::path(points, fine.accesses(), &self.axis, top);
            let _ = write!(
                shapes,
                "<g class=\"v{0}\"><path class=\"series dash{0}\" d=\"{line}\"/></g>",
                series(index)
            );
        }
        Plot {
            id: "curves",
            label: self.describe(),
            height: 320,
            axis: &self.axis,
            top,
            shapes,
            words: plot::marks(&self.axis, &self.levels, &self.chosen, |_| None),
            cold: false,
            axis_name: "size of a fully associative LRU cache (log scale)",
        }
        .write(out);
        self.key(out, |index| {
            format!(
                "<path class=\"series dash{}\" d=\"M0 5H30\"/>",
                series(index)
            )
        });
        out.push_str(
            "<div class=\"readout needs-js\" id=\"readout\" aria-live=\"polite\"><span class=\"soft\">Point at the curves, touch \
             them, or focus them and press ← →.</span></div>",
        );
        let named: Vec<_> = self
            .variants
            .iter()
            .map(|it| (it.name, it.profile))
            .collect();
        if let Some(guess) = comparable::order_guess(&named) {
            let _ = write!(out, "<p class=\"soft\">{}</p>", escape(&guess));
        }
        for (change, variant) in changes.iter().zip(&self.variants[1..]) {
            self.ranges(out, change, variant);
        }
    }

    fn describe(&self) -> String {
        let mut text = "Miss-ratio curves of several runs.".to_owned();
        for variant in self.variants {
            let ratio = self.chosen.miss_ratio(variant.profile);
            let _ = write!(
                text,
                " {}: {ratio} miss in {}.",
                variant.name,
                self.chosen.label()
            );
        }
        text
    }

    /// The cache sizes at which a profile gains and loses against the first.
    fn ranges(&self, out: &mut String, change: &LocalityChange, variant: &ProfileVariant) {
        let _ = write!(
            out,
            "<h3>{} against {}</h3><ul class=\"ranges\">",
            escape(variant.name),
            escape(self.first.name)
        );
        let (wins, losses) = (change.wins(NOISE), change.losses(NOISE));
        if wins.is_empty() && losses.is_empty() {
            let or_less = if change.sizes.iter().any(|size| size.unsure > 0.0) {
                ", and more than the estimates may be off"
            } else {
                ""
            };
            let _ = write!(
                out,
                "<li>No cache size gains or loses more than 1 % of its misses{or_less}.</li>"
            );
        }
        for (class, words, ranges) in [
            ("better", "Fewer misses", wins),
            ("worse", "More misses", losses),
        ] {
            for range in ranges {
                let _ = write!(
                    out,
                    "<li><span class=\"{class}\">{words}</span> {}</li>",
                    self.range(&range)
                );
            }
        }
        if let Some(reach) = change.reach {
            let reach = crate::caches::size(reach, self.first.profile.granularity);
            let _ = write!(
                out,
                "<li>Above {reach} nothing is compared: longer distances are not told.</li>"
            );
        }
        out.push_str("</ul>");
    }

    fn range(&self, range: &SizeRange) -> String {
        let most = format!(
            "{} at {}",
            change(range.most.before, range.most.after),
            self.size(range.most.items)
        );
        match range.extent() {
            SizeExtent::From(from) => {
                format!("in caches from {} on; most, {most}", self.size(from))
            }
            SizeExtent::At(size) => format!("in caches of {}: {most}", self.size(size)),
            SizeExtent::Between(from, to) => format!(
                "in caches from {} to {}; most, {most}",
                self.size(from),
                self.size(to)
            ),
        }
    }

    /// All histograms in one picture: a bin is shared by their bars.
    pub(super) fn bars(&self, out: &mut String) {
        let top = plot::share_top(self.highest() * 1.06);
        let mut shapes = String::new();
        let part = 0.9 / self.variants.len() as f64;
        for (index, fine) in self.fine.iter().enumerate() {
            let left = 0.05 + part * index as f64;
            let inset = (left, 1.0 - left - part * 0.94);
            let mut path = histogram::bars(&fine.log2(), fine.accesses(), &self.axis, top, inset);
            let (start, end) = plot::cold_bar();
            let width = end - start;
            let share = fine.cold() as f64 / fine.accesses().max(1) as f64;
            histogram::bar(
                &mut path,
                start + width * inset.0,
                end - width * inset.1,
                share / top,
            );
            let _ = write!(
                shapes,
                "<path class=\"v{} sbar\" d=\"{path}\"/>",
                series(index)
            );
        }
        Plot {
            id: "histograms",
            label: "The histograms of the reuse distances of several runs, bin by bin.".to_owned(),
            height: 280,
            axis: &self.axis,
            top,
            shapes,
            words: plot::marks(&self.axis, &self.levels, &self.chosen, |_| None),
            cold: true,
            axis_name: "how much other data is touched before the reuse (log scale) → the cache it takes to hit",
        }
        .write(out);
        self.key(out, |_| {
            "<path class=\"sbar\" d=\"M0 0H30V10H0Z\"/>".to_owned()
        });
        self.numbers(out);
    }

    fn highest(&self) -> f64 {
        self.fine
            .iter()
            .map(|fine| histogram::highest(&fine.log2()))
            .fold(0.0, f64::max)
    }

    /// The numbers behind both pictures.
    fn numbers(&self, out: &mut String) {
        out.push_str(
            "<details><summary>The numbers</summary><div class=\"scroll\"><table class=\"plain\"><thead><tr><th scope=\"col\">Fits \
             in</th>",
        );
        for variant in self.variants {
            let _ = write!(
                out,
                "<th scope=\"col\">{}</th><th scope=\"col\">misses below</th>",
                escape(variant.name)
            );
        }
        out.push_str("</tr></thead><tbody>");
        let log2: Vec<_> = self.fine.iter().map(FineHistogram::log2).collect();
        let last = log2.iter().filter_map(|log2| log2.top()).max().unwrap_or(0);
        for bin in 0..=last {
            let size = 1_u64.checked_shl(bin as u32).unwrap_or(u64::MAX);
            let _ = write!(out, "<tr><td>{}</td>", self.size(size));
            for (log2, fine) in log2.iter().zip(&self.fine) {
                let all = fine.accesses();
                let _ = write!(
                    out,
                    "<td>{}</td><td>{}</td>",
                    percent(log2.count(bin), all),
                    percent(fine.misses(size), all)
                );
            }
            out.push_str("</tr>");
        }
        out.push_str(
            "</tbody></table></div><p class=\"soft\">The first number of a variant is the part of its accesses that need a cache of \
             just this size to hit; the second is the part that miss in it.</p></details>",
        );
    }

    /// A card for each profile, with its caption and its histogram.
    pub(super) fn cards(&self, out: &mut String) {
        out.push_str("<section id=\"variants\"><h2>One by one</h2><div class=\"variants\">");
        let top = plot::share_top(self.highest() * 1.06);
        for (index, (variant, fine)) in self.variants.iter().zip(&self.fine).enumerate() {
            let _ = write!(
                out,
                "<div class=\"card variant v{}\"><h3>{}</h3>{}",
                series(index),
                escape(variant.name),
                paragraphs(variant.caption)
            );
            if fine.is_empty() {
                let _ = write!(out, "<p>{}</p></div>", words::NOTHING);
                continue;
            }
            self.card_plot(out, index, fine, top);
            let misses = variant.profile.histogram.misses(self.chosen.items);
            let _ = write!(
                out,
                "<p class=\"soft\">{} of {} accesses miss in {}: {}.</p></div>",
                count(misses),
                count(fine.accesses()),
                self.chosen.label(),
                percent(misses, fine.accesses())
            );
        }
        out.push_str("</div></section>");
    }

    fn card_plot(&self, out: &mut String, index: usize, fine: &FineHistogram, top: f64) {
        let log2 = fine.log2();
        let mut path = histogram::bars(&log2, fine.accesses(), &self.axis, top, (0.05, 0.05));
        let (left, right) = plot::cold_bar();
        histogram::bar(
            &mut path,
            left,
            right,
            fine.cold() as f64 / fine.accesses().max(1) as f64 / top,
        );
        Plot {
            id: &format!("histogram-{index}"),
            label: format!(
                "Histogram of the reuse distances of {}.",
                self.variants[index].name
            ),
            height: 170,
            axis: &self.axis,
            top,
            shapes: format!("<path class=\"sbar\" d=\"{path}\"/>"),
            words: plot::marks(&self.axis, &self.levels, &self.chosen, |_| None),
            cold: true,
            axis_name: "other data before the reuse",
        }
        .write(out);
    }
}
